"""What chains alike are asked for, and what influence and locks leave of a solved pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core import Forces, SolveOptions, Solver
from ..core.algebra import rotation
from .chain_joints import ChainJoints
from .channels import Pose, channels_of, quaternions_of, with_locks
from .limb import Limb
from .plan import ChainPlan
from .spec import ChainSpec, StartFrom

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Pick = slice | npt.NDArray[np.int64]

# Channels that locks change by less than this are as they would be without.
UNLOCKED = 1e-6


def likeness(limb: Limb) -> tuple[object, ...]:
    """Return what chains must have in common to be solved side by side."""
    spec, plan = limb.job.spec, limb.job.plan
    options, force = spec.options, spec.force
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
        None if force is None else (force.mode, force.gain, force.easing),
        (options.lead, options.max_bend) if options.solver is Solver.FOLLOW else None,
        limb.stretch is None,
        limb.slide is None,
    )


@dataclass(frozen=True)
class ChainSettings:
    """The settings of B chains alike of k written bones. Arrays have one row a chain.

    Attributes:
        spec: Of the first one: what all have in common.
        plan: Its bones; of the others only the indices differ.
        modes: Rotation modes, shape (k,).
        stored: Rotation channels of the stored poses, shape (B, k, 4).
        options: With tolerance and soft distance in scene units.
        pole_angle: Radians, shape (B,).
        influence: Shape (B,).
        locks: As ``Pose.locks``, shape (B, k, 4).
        uses_4d_locks: As ``Pose.uses_4d_locks``, shape (B, k).
        joints: None for chains whose joints turn freely.
    """

    spec: ChainSpec
    plan: ChainPlan
    modes: npt.NDArray[np.int32]
    stored: Array
    options: SolveOptions
    pole_angle: Array
    influence: Array
    locks: Flags
    uses_4d_locks: Flags
    joints: ChainJoints | None

    @classmethod
    def of(cls, limbs: Sequence[Limb], poses: Sequence[Pose]) -> ChainSettings:
        """Return the settings of chains that have the same ``likeness``, in these poses."""
        placed = [(pose, limb.job.plan.written) for limb, pose in zip(limbs, poses, strict=True)]
        specs = [limb.job.spec for limb in limbs]
        each, first = [spec.options for spec in specs], limbs[0]
        return cls(
            spec=specs[0],
            plan=first.job.plan,
            modes=first.modes,
            stored=np.array([limb.stored for limb in limbs]),
            options=replace(
                each[0],
                iterations=np.array([int(own.iterations) for own in each]),
                tolerance=np.array([float(own.tolerance) for own in each]),
                use_flip_bend=np.array([bool(own.use_flip_bend) for own in each]),
                soft_distance=np.array([float(own.soft_distance) for own in each]),
            ),
            pole_angle=np.array([spec.pole_angle for spec in specs]),
            influence=np.array([spec.influence for spec in specs]),
            locks=np.array([pose.locks[bones] for pose, bones in placed]),
            uses_4d_locks=np.array([pose.uses_4d_locks[bones] for pose, bones in placed]),
            joints=ChainJoints.of([limb.joints for limb in limbs]),
        )

    def __len__(self) -> int:
        """Return the number of chains."""
        return len(self.influence)

    @property
    def is_current(self) -> bool:
        """Whether chains start from what stands there."""
        return self.spec.start_from is StartFrom.CURRENT

    @property
    def turns_tip(self) -> bool:
        """Whether tips take the rotation of their targets, at least in part."""
        return self.spec.use_rotation and self.spec.options.orient_weight > 0.0

    @property
    def bends_without_tip(self) -> bool:
        """Whether the last segment of a chain of several is turned, and does not bend."""
        return self.spec.use_rotation and self.spec.use_tail and len(self.plan.segments) > 1

    @cached_property
    def is_whole(self) -> bool:
        """Whether all chains have full influence, and none has a lock."""
        return not (self.locks.any() or (self.influence < 1.0).any())

    @cached_property
    def zero(self) -> Array:
        """Local rotations of the stored poses wxyz, shape (B, k, 4)."""
        return self.local_of(self.stored)

    def local_of(self, channels: Array) -> Array:
        """Return the local rotations wxyz (b, k, 4) of rotation channels (b, k, 4)."""
        modes = np.tile(self.modes, len(channels))
        return quaternions_of(channels.reshape(-1, 4), modes).reshape(channels.shape)

    def begun(self, pick: Pick, present: Array) -> Array:
        """Return the local rotations wxyz (b, k, 4) to go on from, where channels stand now.

        That is, of a chain with influence, a share of its last solution. The solve goes on from
        the whole of it; from the share it would creep at every update.
        """
        local, influence = self.local_of(present), self.influence[pick][:, None]
        if not (influence < 1.0).any():
            return local
        share = 1.0 / np.where(influence > 0.0, influence, np.inf)
        whole = part_way(self.zero[pick], local, share)
        return np.where((influence == 1.0)[..., None], local, whole)

    def with_optimum(self, forces: Forces | None, pick: Pick) -> Forces | None:
        """Return forces on some of the chains, whose springs rest in the stored pose if need be."""
        if forces is None or self.joints is None or not self.is_current:
            return forces
        # Springs that rest where the bones stand now would give way at every update.
        zero = self.zero[pick, : forces.shape[-1]]
        return replace(forces, optimum_wxyz=self.joints.take(pick).turns_of(zero))

    def finished(self, pick: Pick, local: Array, near: Array) -> tuple[Array, Flags, Flags]:
        """Return what influence and locks leave of solved poses.

        Args:
            pick: Which chains, b of them.
            local: Local rotations wxyz as solved, shape (b, k, 4).
            near: Rotation channels to stay near, and that locked ones hold, shape (b, k, 4).

        Returns:
            Rotation channels (b, k, 4), which chains locks have kept from following, and which
            stand elsewhere than they were solved, (b,) each.
        """
        has_locks = np.zeros(len(local), dtype=np.bool_)
        if self.is_whole:
            return rotation_channels(local, near, self.modes), has_locks, has_locks
        influence, locks = self.influence[pick], self.locks[pick]
        is_blended = influence < 1.0
        if is_blended.any():
            blended = part_way(self.zero[pick], local, influence[:, None])
            if self.joints is not None:
                blended = self.joints.take(pick).clamped(blended)
            local = np.where(is_blended[:, None, None], blended, local)
        channels = rotation_channels(local, near, self.modes)
        if locks.any():
            held = with_locks(
                channels.reshape(-1, 4),
                np.tile(self.modes, len(channels)),
                near.reshape(-1, 4),
                locks.reshape(-1, 4),
                self.uses_4d_locks[pick].ravel(),
            ).reshape(channels.shape)
            has_locks = (np.abs(held - channels) > UNLOCKED).any(axis=(1, 2))
            channels = held
        return channels, has_locks, is_blended | has_locks


def rotation_channels(local: Array, near: Array, modes: npt.NDArray[np.int32]) -> Array:
    """Return the rotation channels (b, k, 4) of local rotations wxyz (b, k, 4).

    Args:
        local: Of the bones.
        near: Rotation channels to stay near, so that curves do not flip, shape (b, k, 4).
        modes: Rotation modes, shape (k,).
    """
    if not modes.any():
        return rotation.nearest_quaternion(local, near)
    matrices = rotation.matrix_from_quaternion(local.reshape(-1, 4))
    each = np.tile(modes, len(local))
    return channels_of(matrices, each, near.reshape(-1, 4)).reshape(local.shape)


def part_way(start: Array, end: Array, share: float | Array) -> Array:
    """Return rotations wxyz (..., 4) a share of the short way from start to end."""
    if isinstance(share, float) and share == 1.0:
        return end
    turn = rotation.multiply(rotation.conjugate(start), end)
    return rotation.multiply(start, rotation.power(turn, share))
