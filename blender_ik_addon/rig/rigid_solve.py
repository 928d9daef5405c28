"""Solve chains of rigid bones side by side: targets in, local rotations out, nothing else.

A chain whose bones stay rigid is solved in the space that its root bone turns in, its *base*. With
G the turn of a bone there and R its rest frame as it stands in the start pose, a bone's new local
rotation is (R^-1 (G_parent^-1 G) R) before the one that it started from. Everything but the turns
is compiled; the long way of ``solving``, bone by bone through any parent matrix, gives the same
and is what tests/blender/test_rig_rigid.py compares this with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core import (
    Chains,
    Forces,
    Goals,
    Solutions,
    SolveOptions,
    Solver,
    Status,
    bone_rotations,
    solve_batch,
)
from ..core.algebra import rotation
from ..core.model.status import BLENDED, STATUSES
from ..core.solving.compiled_chains import compile_chains
from . import spaces
from .bases import Bases, point_in_base
from .channels import quaternions_of, with_locks
from .forces import gravity_in_bases, rigid_forces
from .free_solving import LENGTHS_AGREE
from .limb import Limb
from .rigid_channels import RigidChannels
from .rigid_start import RigidChain, RigidJoints
from .side import is_on_side_of
from .spec import StartFrom

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]
Pick = slice | Indices

# So many choices of so few chains are kept compiled.
MOST_TAKEN, FEW_TAKEN = 64, 24
# Channels that locks change by less than this are as they would be without.
UNLOCKED = 1e-6

REACHED, USED_UP = (
    np.int8(STATUSES.index(each)) for each in (Status.REACHED, Status.ITERATIONS_USED_UP)
)


@dataclass(frozen=True)
class Solved:
    """What a solve of b chains with k written bones did.

    Attributes:
        channels: Rotation channels, shape (b, k, 4).
        residuals: From effectors to targets in scene units, shape (b,).
        iterations: Sweeps used, shape (b,).
        status_codes: Indices into ``core.STATUSES``, shape (b,).
        has_locks: Which chains locked channels have kept from following, shape (b,).
        holds: As ``core.Solutions``, shape (b, m, 3); None for chains without joints.
        tip_gaps: Radians, shape (b,); zero for chains without joints.
    """

    channels: Array
    residuals: Array
    iterations: npt.NDArray[np.int64]
    status_codes: Codes
    has_locks: Flags
    holds: Flags | None = None
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
        spec.start_from is StartFrom.CURRENT,
        plan.ends_at_tail,
        len(plan.segments),
        tuple(limb.modes.tolist()),
        None if limb.joints is None else limb.joints.kinds,
        None if spec.force is None else (spec.force.mode, spec.force.gain),
        (options.lead, options.max_bend) if options.solver is Solver.FOLLOW else None,
    )


@dataclass(frozen=True)
class Started:
    """B chains in the poses that they start from.

    Attributes:
        local: Local rotations wxyz, shape (B, k, 4).
        tip: Rotations of the tip bones, shape (B, 4).
        chains: The segments, for the core.
        bones: What makes channels of turns from there.
        use_flip: Which bend to the other side than their start poses, shape (B,).
    """

    local: Array
    tip: Array
    chains: Chains
    bones: RigidChannels
    use_flip: Flags


class RigidSolve:
    """B chains alike, compiled. Arrays with one row a chain unless said otherwise."""

    def __init__(self, limbs: Sequence[Limb]) -> None:
        """Compile chains that have the same ``likeness`` and rigid bones."""
        first = limbs[0]
        self._spec, self._plan, self._modes = first.job.spec, first.job.plan, first.modes
        self.is_current = self._spec.start_from is StartFrom.CURRENT
        specs = [limb.job.spec for limb in limbs]
        self._iterations = np.array([int(spec.options.iterations) for spec in specs])
        self._use_flip = np.array([bool(spec.options.use_flip_bend) for spec in specs])
        self._pole_angle = np.array([spec.pole_angle for spec in specs])
        self._influence = np.array([spec.influence for spec in specs])
        self._tolerance = np.array([spec.options.tolerance for spec in specs])
        self._locks = np.array([limb.locks for limb in limbs])
        self._uses_4d_locks = np.array([limb.uses_4d_locks for limb in limbs])
        self._stored = np.array([limb.stored for limb in limbs])
        rigid = [limb.rigid for limb in limbs if limb.rigid is not None]
        self._chain, self._joints = RigidChain.of(rigid), RigidJoints.of(limbs)
        local = np.array([each.local_wxyz for each in rigid])
        lengths = np.linalg.norm(np.diff(self._chain.laid(local).joints, axis=1), axis=2)
        self._reach = lengths.sum(axis=1)
        self._forces = self._acting(rigid_forces(specs, lengths))
        self._start = self._started(slice(None), local, self._stored)
        self._taken: dict[bytes, Chains] = {}
        self._bases: Bases | None = None
        self._options_of_all = SolveOptions()

    @property
    def modes(self) -> npt.NDArray[np.int32]:
        """Rotation modes of the written bones, shape (k,)."""
        return self._modes

    @property
    def turns_tip(self) -> bool:
        """Whether tips take the rotation of their targets, at least in part."""
        return self._spec.use_rotation and self._spec.options.orient_weight > 0.0

    @property
    def ends_at_tail(self) -> bool:
        """Whether the effector is the tip bone's tail, else its head."""
        return self._plan.ends_at_tail

    @cached_property
    def _zero(self) -> Array:
        """Local rotations of the stored poses wxyz, shape (B, k, 4)."""
        return self._local_of(self._stored)

    def _local_of(self, channels: Array) -> Array:
        """Return the local rotations wxyz (b, k, 4) of rotation channels (b, k, 4)."""
        modes = np.tile(self._modes, len(channels))
        return quaternions_of(channels.reshape(-1, 4), modes).reshape(channels.shape)

    def _acting(self, forces: Forces | None) -> Forces | None:
        if forces is None or self._joints is None or not self.is_current:
            return forces
        # Springs that rest where the bones stand now would give way at every update.
        count = self._chain.segments.shape[1]
        return replace(forces, optimum_wxyz=self._joints.turns_of(self._zero[:, :count]))

    def _started(self, pick: Pick, local: Array, near: Array) -> Started:
        """Return some of the chains in a pose, and the channels (b, k, 4) to stay near."""
        chain = self._chain.take(pick)
        laid, count = chain.laid(local), chain.segments.shape[1]
        joints, forces = self._joints, self._forces
        chains = Chains(
            laid.joints,
            rotation.rotate(laid.posed[:, 0], chain.hints),
            None if joints is None else joints.take(pick).for_core(local, count),
            forces if forces is None or isinstance(pick, slice) else forces.take(pick),
        )
        # What is compiled together decides how chains are solved, not how many of them move.
        compile_chains(chains).count = len(self._iterations)
        bones = RigidChannels(local, laid.rest, near, self._modes)
        use_flip = self._use_flip[pick]
        if self.is_current and self._spec.pole is None and use_flip.any():
            # A chain that starts from its own last pose would change sides at every update, so
            # there a flip is relative to the stored pose.
            use_flip = use_flip & is_on_side_of(
                *(self._bending(chain, each) for each in (local, self._zero[pick]))
            )
        return Started(local, laid.posed[:, -1], chains, bones, use_flip)

    def _bending(self, chain: RigidChain, local: Array) -> tuple[Array, Array]:
        """Return the joints (b, n, 3) that bend in a pose, and where they would if straight."""
        laid, spec = chain.laid(local), self._spec
        has_turned_tip = spec.use_rotation and spec.use_tail and laid.joints.shape[1] > 2
        joints = laid.joints[:, :-1] if has_turned_tip else laid.joints
        return joints, rotation.rotate(laid.posed[:, 0], chain.hints)

    def solved(
        self, rows: Indices, bases: Bases, targets: Array, poles: Array | None, present: Array
    ) -> Solved:
        """Return what brings some of the chains to their targets.

        Args:
            rows: Which chains, shape (b,).
            bases: Of all B chains.
            targets: World matrices of those chains' targets, shape (b, 4, 4).
            poles: World positions of their poles, shape (b, 3); None if they have none.
            present: Rotation channels as they stand on those chains' bones, shape (b, k, 4).
        """
        is_all = len(rows) == len(self._iterations)
        pick: Pick = slice(None) if is_all else rows
        start = self._present_start(pick, present) if self.is_current else self._some(pick)
        from_world = bases.from_world[pick]
        tips = self._tip_turns(start.tip, from_world, targets)
        goals = Goals(
            target_position=point_in_base(from_world, targets[:, :3, 3]),
            pole_position=None if poles is None else point_in_base(from_world, poles),
            pole_angle=0.0 if poles is None else self._pole_angle[pick],
            tip_rotation_wxyz=tips if self.ends_at_tail else None,
        )
        options, chains = self._options(pick, bases), start.chains
        if self.is_current:
            options = replace(options, use_flip_bend=start.use_flip)
        if chains.forces is not None:
            chains = chains.under(gravity_in_bases(chains.forces, bases.to_world[pick]))
        solutions = solve_batch(chains, goals, options)
        local, tip_gaps = self._turned(pick, start, chains, solutions, tips)
        return self._finished(pick, bases, start, goals, (solutions, local, tip_gaps))

    def _present_start(self, pick: Pick, present: Array) -> Started:
        """Return chains started from what stands there.

        That is, of a chain with influence, a share of its last solution. The solve goes on from
        the whole of it; from the share it would creep at every update.
        """
        local, influence = self._local_of(present), self._influence[pick][:, None]
        if (influence < 1.0).any():
            zero = self._zero[pick]
            whole = _part_way(zero, local, 1.0 / np.where(influence > 0.0, influence, np.inf))
            local = np.where((influence == 1.0)[..., None], local, whole)
        return self._started(pick, local, present)

    def _some(self, pick: Pick) -> Started:
        """Return the compiled start of some of the chains; of a few of them it is kept."""
        start = self._start
        if isinstance(pick, slice):
            return start
        key = pick.tobytes()
        chains = self._taken.get(key)
        if chains is None:
            chains = start.chains.take(pick)
            if len(pick) <= FEW_TAKEN:
                if len(self._taken) >= MOST_TAKEN:
                    self._taken.clear()
                self._taken[key] = chains
        use_flip = start.use_flip[pick]
        return Started(start.local[pick], start.tip[pick], chains, start.bones.take(pick), use_flip)

    def _options(self, pick: Pick, bases: Bases) -> SolveOptions:
        if bases is not self._bases:
            own = self._spec.options
            self._bases = bases
            self._options_of_all = SolveOptions(
                solver=own.solver,
                iterations=self._iterations,
                tolerance=bases.tolerance,
                use_flip_bend=self._use_flip,
                orient_weight=own.orient_weight,
                use_finish=own.use_finish,
                soft_distance=bases.soft_distance,
            )
        options = self._options_of_all
        return options if isinstance(pick, slice) else options.take(pick)

    def _tip_turns(self, start: Array, from_world: Array, targets: Array) -> Array | None:
        """Return the turns of tip bones from the start pose to their targets' orientations."""
        if not self.turns_tip:
            return None
        wanted = spaces.orientation(from_world[:, :, :3] @ targets[:, :3, :3])
        return rotation.multiply(rotation.quaternion_from_matrix(wanted), rotation.conjugate(start))

    def _turned(
        self, pick: Pick, start: Started, chains: Chains, solutions: Solutions, tips: Array | None
    ) -> tuple[Array, Array | float]:
        """Return the local rotations wxyz (b, k, 4) of a solution, and what tips lack (b,)."""
        is_tip_beyond = tips is not None and not self.ends_at_tail
        weight = self._spec.options.orient_weight
        if self._joints is None:
            turns = bone_rotations(chains, solutions)
            bones = start.bones
            local = bones.turned(bones.with_tips(turns, tips))
            if is_tip_beyond and weight < 1.0:
                local[:, -1] = _part_way(start.local[:, -1], local[:, -1], weight)
            return local, 0.0
        joints = self._joints.take(pick)
        assert solutions.local_rotations_wxyz is not None
        local = joints.local_of(solutions.local_rotations_wxyz)
        if local.shape == start.local.shape:
            return local, solutions.tip_gap
        local = np.concatenate((local, start.local[:, -1:]), axis=1)
        if not is_tip_beyond:
            return local, solutions.tip_gap
        assert tips is not None
        frame = self._chain.take(pick).laid(local).rest[:, -1]
        there = rotation.multiply(tips, start.tip)
        wanted = rotation.multiply(rotation.conjugate(frame), there)
        wanted = _part_way(start.local[:, -1], wanted, weight)
        local[:, -1] = wanted
        local[:, -1] = joints.clamped(local)[:, -1]
        left = rotation.multiply(rotation.conjugate(local[:, -1]), wanted)
        return local, 2.0 * np.arctan2(np.linalg.norm(left[:, 1:], axis=1), np.abs(left[:, 0]))

    def _finished(
        self,
        pick: Pick,
        bases: Bases,
        start: Started,
        goals: Goals,
        found: tuple[Solutions, Array, Array | float],
    ) -> Solved:
        """Return what influence and locks leave of a solution, measured on what is left."""
        solutions, local, tip_gaps = found
        influence, locks = self._influence[pick], self._locks[pick]
        is_blended = influence < 1.0
        if is_blended.any():
            blended = _part_way(self._zero[pick], local, influence[:, None])
            if self._joints is not None:
                blended = self._joints.take(pick).clamped(blended)
            local = np.where(is_blended[:, None, None], blended, local)
        channels = start.bones.written(local)
        has_locks = np.zeros(len(channels), dtype=np.bool_)
        if locks.any():
            free, channels = channels, self._locked(pick, channels, start.bones.near)
            has_locks = (np.abs(channels - free) > UNLOCKED).any(axis=(1, 2))
        points, codes = solutions.joint_positions, solutions.status_code
        is_measured = is_blended | has_locks
        if is_measured.any():
            laid = self._chain.take(pick).laid(self._local_of(channels))
            points = np.where(is_measured[:, None, None], laid.joints, points)
        off = points[:, -1] - goals.target_position
        gaps = np.where(is_measured, np.sqrt((off * off).sum(axis=1)), solutions.residual)
        has_arrived = gaps <= bases.tolerance[pick] + LENGTHS_AGREE * self._reach[pick]
        unmet = np.where(is_measured & (codes == REACHED), USED_UP, codes)
        codes = np.where(is_blended, BLENDED, unmet)
        return Solved(
            channels=channels,
            residuals=_sizes(bases.to_world[pick], off),
            iterations=solutions.iterations,
            status_codes=np.where(has_arrived, REACHED, codes),
            has_locks=has_locks,
            holds=solutions.holds,
            tip_gaps=tip_gaps,
        )

    def _locked(self, pick: Pick, channels: Array, near: Array) -> Array:
        """Return rotation channels (b, k, 4) with locked ones held."""
        flat = channels.reshape(-1, 4)
        held = with_locks(
            flat,
            np.tile(self._modes, len(channels)),
            near.reshape(-1, 4),
            self._locks[pick].reshape(-1, 4),
            self._uses_4d_locks[pick].ravel(),
        )
        return held.reshape(channels.shape)


def _part_way(start: Array, end: Array, share: float | Array) -> Array:
    """Return rotations wxyz (..., 4) a share of the short way from start to end."""
    if isinstance(share, float) and share == 1.0:
        return end
    turn = rotation.multiply(rotation.conjugate(start), end)
    return rotation.multiply(start, rotation.power(turn, share))


def _sizes(to_world: Array, gaps: Array) -> Array:
    """Return how long gaps (b, 3) in the bases are in world space, shape (b,)."""
    sizes: Array = np.sqrt(np.square(np.einsum("bij,bj->bi", to_world, gaps)).sum(axis=1))
    return sizes
