"""The rotation channels of bones after twist spread, influence and locks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.algebra.twist_spread import TwistSpread
from ..reading.batch_record import Rows
from ..reading.bone_joints import BoneJoints
from ..reading.channels import Integers, channels_of_matrices, quaternions_of, with_locks

# Least change of a rotation channel by locks that counts as a change.
MIN_LOCK_CHANGE = 1e-6


@dataclass(frozen=True)
class BoneChannels:
    """The channels of the k bones of B similar chains or trees, as rows of arrays.

    Attributes:
        modes: Rotation modes, shape (k,).
        stored: Rotation channels of the stored poses, shape (B, k, 4).
        influence: Influences of the bones, shape (B, k).
        locks: As ``Pose.locks``, shape (B, k, 4).
        uses_4d_locks: As ``Pose.uses_4d_locks``, shape (B, k).
        joints: Joints of the bones; None where all bones turn freely.
        spread: How limbs spread the twist of hands and feet; None where no limb does.
    """

    modes: Integers
    stored: Array
    influence: Array
    locks: Flags
    uses_4d_locks: Flags
    joints: BoneJoints | None
    spread: TwistSpread | None

    @cached_property
    def is_whole(self) -> bool:
        """Whether all bones have full influence, and none has a lock."""
        return not (self.locks.any() or (self.influence < 1.0).any())

    @cached_property
    def zero(self) -> Array:
        """Local rotations of the stored poses wxyz, shape (B, k, 4)."""
        return self.local_of(self.stored)

    @cached_property
    def zero_influence(self) -> Array:
        """Poses at influence zero wxyz, (B, k, 4): the stored poses, clamped to joint ranges."""
        return self.zero if self.joints is None else self.joints.clamped(self.zero)

    def local_of(self, channels: Array) -> Array:
        """Return the local rotations wxyz (b, k, 4) of rotation channels (b, k, 4)."""
        modes = np.tile(self.modes, len(channels))
        return quaternions_of(channels.reshape(-1, 4), modes).reshape(channels.shape)

    def recover_solution(self, pick: Rows, present: Array, known: Array | None = None) -> Array:
        """Return the local rotations wxyz (b, k, 4) that the present channels came from.

        A bone with partial influence shows only that share of its last solution. The solve starts
        from the full solution: from the share, the pose would creep at every update.

        Args:
            pick: Indices of the b chains or trees.
            present: Present rotation channels, shape (b, k, 4).
            known: The last solutions, shape (b, k, 4); NaN where they are unknown, because limits
                can clamp a share so that it no longer tells its solution. None if all are unknown.
        """
        local, influence = self.local_of(present), self.influence[pick]
        if not (influence < 1.0).any():
            return local
        share = 1.0 / np.where(influence > 0.0, influence, np.inf)
        full = rotation.interpolate(self.zero_influence[pick], local, share)
        if known is not None:
            full = np.where(np.isnan(known), full, known)
        return np.where((influence == 1.0)[..., None], local, full)

    def finished(self, pick: Rows, local: Array, near: Array) -> tuple[Array, Flags, Flags]:
        """Return solved poses after twist spread, influence and locks.

        Args:
            pick: Indices of the b chains or trees.
            local: Solved local rotations wxyz, shape (b, k, 4).
            near: Rotation channels to stay near; locked channels keep them, shape (b, k, 4).

        Returns:
            Rotation channels (b, k, 4); which bones locks keep from following the solution (b, k);
            which chains or trees differ from their solution by influence or locks, (b,).
        """
        if self.is_whole:
            local = self.twisted(pick, local)
            no_bones = np.zeros(local.shape[:2], dtype=np.bool_)
            return rotation_channels(local, near, self.modes), no_bones, no_bones[:, 0]
        blended = self.twisted(pick, self.blended(pick, local))
        channels, is_locked = self.held(pick, blended, near)
        is_blended = (self.influence[pick] < 1.0).any(axis=1)
        return channels, is_locked, is_blended | is_locked.any(axis=1)

    def blended(self, pick: Rows, local: Array) -> Array:
        """Return solved poses wxyz (b, k, 4) blended with the stored ones by influence."""
        influence = self.influence[pick]
        is_blended = (influence < 1.0).any(axis=1)
        if not is_blended.any():
            return local
        blended = rotation.interpolate(self.zero_influence[pick], local, influence)
        blended = np.where((influence < 1.0)[..., None], blended, local)
        if self.joints is not None:
            blended = self.joints.take(pick).clamped(blended)
        return np.where(is_blended[:, None, None], blended, local)

    def twisted(self, pick: Rows, local: Array) -> Array:
        """Return poses wxyz (b, k, 4) whose limbs spread the twist of hands and feet."""
        if self.spread is None:
            return local
        clamped = None if self.joints is None else self.joints.take(pick).clamped
        zero, influence = self.zero_influence[pick], self.influence[pick]
        return self.spread.take(pick).spread(local, zero, influence, clamped)

    def held(self, pick: Rows, local: Array, near: Array) -> tuple[Array, Flags]:
        """Return the channels of poses after locks, and the locked bones, as ``finished`` does."""
        channels, locks = rotation_channels(local, near, self.modes), self.locks[pick]
        if not locks.any():
            return channels, np.zeros(channels.shape[:2], dtype=np.bool_)
        held = with_locks(
            channels.reshape(-1, 4),
            np.tile(self.modes, len(channels)),
            near.reshape(-1, 4),
            locks.reshape(-1, 4),
            self.uses_4d_locks[pick].ravel(),
        ).reshape(channels.shape)
        return held, (np.abs(held - channels) > MIN_LOCK_CHANGE).any(axis=2)


def rotation_channels(local: Array, near: Array, modes: Integers) -> Array:
    """Return the rotation channels (b, k, 4) of local rotations wxyz (b, k, 4).

    Args:
        local: Local rotations of the bones.
        near: Rotation channels to stay near, so that curves do not flip, shape (b, k, 4).
        modes: Rotation modes, shape (k,).
    """
    if not modes.any():
        return rotation.nearest_quaternion(local, near)
    matrices = rotation.matrix_from_quaternion(local.reshape(-1, 4))
    all_modes = np.tile(modes, len(local))
    return channels_of_matrices(matrices, all_modes, near.reshape(-1, 4)).reshape(local.shape)
