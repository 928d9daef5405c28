"""Solve chains of rigid bones side by side: targets in, local rotations out, nothing else.

A chain whose bones stay rigid is solved in the space that its root bone turns in, its *base*. With
G the turn of a bone there and R its rest frame as it stands in the start pose, a bone's new local
rotation is (R^-1 (G_parent^-1 G) R) before the one that it started from. Everything but the turns
is compiled; the long way of ``solving``, bone by bone through any parent matrix, gives the same
and is what tests/blender/test_rig_rigid.py compares this with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core import (
    FEW,
    Chains,
    Goals,
    PlanarTurns,
    Solutions,
    SolveOptions,
    Solver,
    batch_rotations,
    planar_turns,
    rotation,
    solve_batch,
)
from . import spaces
from .bases import Bases, point_in_base
from .forces import gravity_in_bases, rigid_forces
from .free_solving import LENGTHS_AGREE
from .limb import Limb
from .rigid_channels import RigidChannels
from .rigid_limb import REACHED, Codes, RigidLimb, Solved, joined
from .rigid_start import posed_start, rigid_joints, rigid_zeros

Array = npt.NDArray[np.float64]

# Chains that lie in planes take so little one by one that it pays for more of them than for others;
# `scripts/benchmark.py --stages` measures where that ends.
FEW_LIMBS, FEW_PLANAR = 24, 10
# Joints that are off the plane of their chain by less than this share of its length are so by the
# float32 that rest matrices are stored in, which leaves no more of positions anyway.
IN_PLANE_AS_STORED = 3e-7
# So many choices of so few jointed chains are kept compiled.
MOST_TAKEN, FEW_TAKEN = 64, 24
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def likeness(limb: Limb) -> tuple[object, ...]:
    """Return what chains must have in common to be solved side by side."""
    spec, plan = limb.job.spec, limb.job.plan
    options = spec.options
    return (
        options.solver,
        options.orient_weight if spec.use_rotation else None,
        options.use_acceleration,
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
        self.use_acceleration = spec.options.use_acceleration
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
        self._alone: dict[int, RigidLimb] = {}
        self._taken: dict[bytes, Chains] = {}
        self.is_planar = self._are_planar()
        self._are_all_planar = bool(self.is_planar.all())

    def _are_planar(self) -> Flags:
        """Tell which chains can be turned in the planes that they lie in, shape (B,)."""
        if self.turns_tip or self.has_joints:
            return np.zeros(len(self.chains), dtype=np.bool_)
        if self.solver is Solver.NEWTON:
            return self.chains.start.off_plane < IN_PLANE_AS_STORED
        # A limb of two bones is off the plane of its bend by what counts as straight, at most.
        return np.full(len(self.chains), self.solver is Solver.TWO_BONE)

    @cached_property
    def _planar(self) -> PlanarTurns:
        return planar_turns(self.chains, self.bones.local, self.bones.rest)

    @cached_property
    def reach(self) -> Array:
        """The lengths of the chains in units of their bases, shape (B,)."""
        reach: Array = self.chains.start.reach * self.chains.start.unit
        return reach

    def solved(self, rows: Indices, bases: Bases, targets: Array, poles: Array | None) -> Solved:
        """Return what brings some of the chains to their targets.

        Args:
            rows: Which chains, shape (b,).
            bases: Of all B chains.
            targets: World matrices of those chains' targets, shape (b, 4, 4).
            poles: World positions of their poles, shape (b, 3); None if they have none.
        """
        in_planes = self._are_all_planar or bool(self.is_planar[rows].all())
        if not self.has_joints and len(rows) <= self._few(in_planes=in_planes):
            return self._one_by_one(rows, bases, targets, poles)
        if not in_planes and self.is_planar[rows].any():
            return self._parted(self.is_planar[rows], rows, bases, targets, poles)
        is_all = len(rows) == len(self.iterations)
        pick = slice(None) if is_all else rows
        from_world = bases.from_world[pick]
        goals = Goals(
            target_positions=point_in_base(from_world, targets[:, :3, 3]),
            pole_positions=None if poles is None else point_in_base(from_world, poles),
            pole_angles=self.pole_angle[pick],
            tip_rotations_wxyz=self._tip_turns(pick, from_world, targets),
        )
        if in_planes:
            planar = self._planar if is_all else self._planar.take(rows)
            return self._bent(planar, pick, goals, bases)
        return self._turned(self.chains if is_all else self._some(rows), pick, goals, bases)

    def _parted(
        self, is_planar: Flags, rows: Indices, bases: Bases, targets: Array, poles: Array | None
    ) -> Solved:
        """Solve chains that lie in planes, then the others; they come out in their order."""
        parts, found = [np.flatnonzero(is_planar), np.flatnonzero(~is_planar)], []
        for part in parts:
            around = None if poles is None else poles[part]
            found.append(self.solved(rows[part], bases, targets[part], around))
        return joined(found, np.argsort(np.concatenate(parts)))

    def _few(self, *, in_planes: bool) -> int:
        """Return of how many chains it is quicker to solve them one by one."""
        if not in_planes:
            return FEW
        return FEW_LIMBS if self.solver is Solver.TWO_BONE else FEW_PLANAR

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
        off = solutions.joint_positions[:, -1] - goals.target_positions
        return Solved(
            channels=self._channels(chains, solutions, goals, pick),
            residuals=_sizes(bases.to_world[pick], off),
            iterations=solutions.iterations,
            status_codes=self._codes(pick, options, solutions.residuals, solutions.status_codes),
            holds=solutions.holds,
            tip_gaps=solutions.tip_gaps,
        )

    def _options(self, pick: slice | Indices, bases: Bases) -> SolveOptions:
        return SolveOptions(
            solver=self.solver,
            iterations=self.iterations[pick],
            tolerance=bases.tolerance[pick],
            use_flip_bend=self.use_flip[pick],
            use_acceleration=self.use_acceleration,
            soft_distance=bases.soft_distance[pick],
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
        turns = batch_rotations(chains, solutions)
        return bones.channels(self.bones.with_tips(turns, goals.tip_rotations_wxyz))

    def _bent(
        self, planar: PlanarTurns, pick: slice | Indices, goals: Goals, bases: Bases
    ) -> Solved:
        """Solve chains that lie in planes straight to the turns of their bones."""
        options = self._options(pick, bases)
        turned = planar.solved(goals, options)
        residuals: Array = turned.residuals
        codes: Codes = turned.status_codes
        if turned.gaps is not None:
            residuals = _sizes(bases.to_world[pick], turned.gaps)
            codes = self._codes(pick, options, turned.residuals, codes)
        return Solved(
            channels=self.bones.take(pick).written(turned.local_wxyz),
            residuals=residuals,
            iterations=turned.iterations,
            status_codes=codes,
        )

    def _one_by_one(
        self, rows: Indices, bases: Bases, targets: Array, poles: Array | None
    ) -> Solved:
        """Solve a few chains one by one; the same, and quicker."""
        found = []
        for i, row in enumerate(rows.tolist()):
            limb = self._alone.get(row)
            if limb is None:
                limb = self._alone[row] = self._limb(row)
            pole = None if poles is None else poles[i]
            found.append(limb.solved(bases, row, targets[i], pole))
        channels, residuals, iterations, codes = zip(*found, strict=True)
        return Solved(
            channels=np.array(channels),
            residuals=np.array(residuals),
            iterations=np.array(iterations),
            status_codes=np.array(codes, dtype=np.int8),
        )

    def _limb(self, row: int) -> RigidLimb:
        return RigidLimb(
            chain=self.chains.alone(row),
            bones=self.bones.take(np.array([row])),
            tip=self.tip[row],
            options=SolveOptions(
                solver=self.solver,
                iterations=int(self.iterations[row]),
                use_flip_bend=bool(self.use_flip[row]),
                use_acceleration=self.use_acceleration,
            ),
            pole_angle=float(self.pole_angle[row]),
            turns_tip=self.turns_tip,
            ends_at_tail=self.ends_at_tail,
            is_planar=bool(self.is_planar[row]),
        )

    def _tip_turns(self, pick: slice | Indices, from_world: Array, targets: Array) -> Array | None:
        """Return the turns of tip bones from the start pose to their targets' orientations."""
        if not self.turns_tip:
            return None
        wanted = spaces.orientation(from_world[:, :, :3] @ targets[:, :3, :3])
        return rotation.multiply(
            rotation.quaternion_from_matrix(wanted), rotation.conjugate(self.tip[pick])
        )


def _without_tips(goals: Goals) -> Goals:
    return Goals(goals.target_positions, goals.pole_positions, goals.pole_angles)


def _sizes(to_world: Array, gaps: Array) -> Array:
    """Return how long gaps (b, 3) in the bases are in world space, shape (b,)."""
    sizes: Array = np.sqrt(np.square(np.einsum("bij,bj->bi", to_world, gaps)).sum(axis=1))
    return sizes
