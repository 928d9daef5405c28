"""Solve chains of rigid bones side by side: targets in, local rotations out, nothing else.

A chain whose bones stay rigid is solved in the space that its root bone turns in, its *base*. With
G the turn of a bone there and R its rest frame as it stands in the start pose, a bone's new local
rotation is (R^-1 (G_parent^-1 G) R) before the one that it started from. Everything but the turns
is compiled; the long way of ``solving``, bone by bone through any parent matrix, gives the same
and is what tests/blender/test_rig_rigid.py compares this with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core import (
    Chains,
    Goals,
    Solutions,
    SolveOptions,
    Solver,
    Status,
    bone_rotations,
    solve_batch,
)
from ..core.algebra import rotation
from ..core.model.status import STATUSES
from . import spaces
from .bases import Bases, point_in_base
from .forces import gravity_in_bases, rigid_forces
from .free_solving import LENGTHS_AGREE
from .limb import Limb
from .rigid_channels import RigidChannels
from .rigid_start import posed_start, rigid_joints, rigid_zeros

Array = npt.NDArray[np.float64]

# So many choices of so few chains are kept compiled.
MOST_TAKEN, FEW_TAKEN = 64, 24
Indices = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]

REACHED = np.int8(STATUSES.index(Status.REACHED))


@dataclass(frozen=True)
class Solved:
    """What a solve of b chains with k written bones did.

    Attributes:
        channels: Rotation channels, shape (b, k, 4).
        residuals: From effectors to targets in scene units, shape (b,).
        iterations: Sweeps used, shape (b,).
        status_codes: Indices into ``core.STATUSES``, shape (b,).
        holds: As ``core.Solutions``, shape (b, m, 3); None for chains without joints.
        tip_gaps: Radians, shape (b,); zero for chains without joints.
    """

    channels: Array
    residuals: Array
    iterations: npt.NDArray[np.int64]
    status_codes: Codes
    holds: npt.NDArray[np.bool_] | None = None
    tip_gaps: Array | float = 0.0


def likeness(limb: Limb) -> tuple[object, ...]:
    """Return what chains must have in common to be solved side by side."""
    spec, plan = limb.job.spec, limb.job.plan
    options = spec.options
    return (
        options.solver,
        options.orient_weight if spec.use_rotation else None,
        options.use_finish,
        spec.pole is None,
        plan.ends_at_tail,
        len(plan.segments),
        tuple(limb.modes.tolist()),
        None if limb.joints is None else limb.joints.kinds,
        None if spec.force is None else (spec.force.mode, spec.force.gain),
        (options.lead, options.max_bend) if options.solver is Solver.FOLLOW else None,
    )


class RigidSolve:
    """B chains alike, compiled. Arrays with one row a chain unless said otherwise."""

    def __init__(self, limbs: Sequence[Limb]) -> None:
        """Compile chains that have the same ``likeness`` and rigid bones."""
        first = limbs[0]
        spec = first.job.spec
        self.solver: Solver = spec.options.solver
        self.use_finish = spec.options.use_finish
        self.turns_tip = spec.use_rotation and spec.options.orient_weight == 1.0
        self.has_pole = spec.pole is not None
        self.ends_at_tail = first.job.plan.ends_at_tail
        self.iterations = np.array([int(limb.job.spec.options.iterations) for limb in limbs])
        self.use_flip = np.array([bool(limb.job.spec.options.use_flip_bend) for limb in limbs])
        self.pole_angle = np.array([limb.job.spec.pole_angle for limb in limbs])
        start = posed_start([limb.rigid for limb in limbs if limb.rigid is not None])
        self.tip = start.tip
        lengths = np.linalg.norm(np.diff(start.joints, axis=1), axis=2)
        forces = rigid_forces([limb.job.spec for limb in limbs], lengths)
        self.chains = Chains(start.joints, start.hints, rigid_joints(limbs), forces)
        self.has_joints = first.joints is not None
        self.zero = rigid_zeros(limbs)
        stored = np.array([limb.stored for limb in limbs])
        self.bones = RigidChannels(start.local, start.rest, stored, first.modes)
        self._taken: dict[bytes, Chains] = {}
        self._bases: Bases | None = None
        self._options_of_all = SolveOptions()

    @cached_property
    def reach(self) -> Array:
        """The lengths of the chains in units of their bases, shape (B,)."""
        reach: Array = self.chains.max_reach
        return reach

    def solved(self, rows: Indices, bases: Bases, targets: Array, poles: Array | None) -> Solved:
        """Return what brings some of the chains to their targets.

        Args:
            rows: Which chains, shape (b,).
            bases: Of all B chains.
            targets: World matrices of those chains' targets, shape (b, 4, 4).
            poles: World positions of their poles, shape (b, 3); None if they have none.
        """
        is_all = len(rows) == len(self.iterations)
        pick = slice(None) if is_all else rows
        from_world = bases.from_world[pick]
        goals = Goals(
            target_position=point_in_base(from_world, targets[:, :3, 3]),
            pole_position=None if poles is None else point_in_base(from_world, poles),
            pole_angle=0.0 if poles is None else self.pole_angle[pick],
            tip_rotation_wxyz=self._tip_turns(pick, from_world, targets),
        )
        return self._turned(self.chains if is_all else self._some(rows), pick, goals, bases)

    def _some(self, rows: Indices) -> Chains:
        """Return some of the chains; what is compiled of a few of them is kept."""
        if len(rows) > FEW_TAKEN:
            return self.chains.take(rows)
        key = rows.tobytes()
        if key not in self._taken:
            if len(self._taken) >= MOST_TAKEN:
                self._taken.clear()
            self._taken[key] = self.chains.take(rows)
        return self._taken[key]

    def _turned(self, chains: Chains, pick: slice | Indices, goals: Goals, bases: Bases) -> Solved:
        """Solve chains of any number of bones for their joints, and turn the bones to them."""
        options = self._options(pick, bases)
        if chains.forces is not None:
            chains = chains.under(gravity_in_bases(chains.forces, bases.to_world[pick]))
        in_tail = goals if self.ends_at_tail or not self.turns_tip else _without_tips(goals)
        solutions = solve_batch(chains, in_tail, options)
        off = solutions.joint_positions[:, -1] - goals.target_position
        return Solved(
            channels=self._channels(chains, solutions, goals, pick),
            residuals=_sizes(bases.to_world[pick], off),
            iterations=solutions.iterations,
            status_codes=self._codes(pick, options, solutions.residual, solutions.status_code),
            holds=solutions.holds,
            tip_gaps=solutions.tip_gap,
        )

    def _options(self, pick: slice | Indices, bases: Bases) -> SolveOptions:
        if bases is not self._bases:
            self._bases, self._options_of_all = bases, self._options_in(bases)
        options = self._options_of_all
        return options if isinstance(pick, slice) else options.take(pick)

    def _options_in(self, bases: Bases) -> SolveOptions:
        return SolveOptions(
            solver=self.solver,
            iterations=self.iterations,
            tolerance=bases.tolerance,
            use_flip_bend=self.use_flip,
            use_finish=self.use_finish,
            soft_distance=bases.soft_distance,
        )

    def _codes(
        self, pick: slice | Indices, options: SolveOptions, residuals: Array, codes: Codes
    ) -> Codes:
        """Return status codes less what float32 parents make of a solve that has arrived."""
        has_arrived = residuals <= options.tolerance + LENGTHS_AGREE * self.reach[pick]
        return np.where(has_arrived, REACHED, codes)

    def _channels(
        self, chains: Chains, solutions: Solutions, goals: Goals, pick: slice | Indices
    ) -> Array:
        bones = self.bones.take(pick)
        if solutions.local_rotations_wxyz is not None:
            local = solutions.local_rotations_wxyz
            return bones.written(
                local if self.zero is None else rotation.multiply(self.zero[pick], local)
            )
        turns = bone_rotations(chains, solutions)
        return bones.channels(self.bones.with_tips(turns, goals.tip_rotation_wxyz))

    def _tip_turns(self, pick: slice | Indices, from_world: Array, targets: Array) -> Array | None:
        """Return the turns of tip bones from the start pose to their targets' orientations."""
        if not self.turns_tip:
            return None
        wanted = spaces.orientation(from_world[:, :, :3] @ targets[:, :3, :3])
        return rotation.multiply(
            rotation.quaternion_from_matrix(wanted), rotation.conjugate(self.tip[pick])
        )


def _without_tips(goals: Goals) -> Goals:
    return Goals(goals.target_position, goals.pole_position, goals.pole_angle)


def _sizes(to_world: Array, gaps: Array) -> Array:
    """Return how long gaps (b, 3) in the bases are in world space, shape (b,)."""
    sizes: Array = np.sqrt(np.square(np.einsum("bij,bj->bi", to_world, gaps)).sum(axis=1))
    return sizes
