"""The rotation channels of bones: their stored pose, and what influence and locks leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.algebra.twist_spread import TwistSpread
from ..reading.channels import Integers, channels_of, quaternions_of, with_locks
from ..reading.rows import Rows
from .chain_joints import ChainJoints

# Channels that locks change by less than this are as they would be without.
UNLOCKED = 1e-6


@dataclass(frozen=True)
class BoneChannels:
    """The channels of the k bones of B chains or trees alike. Arrays have one row each.

    Attributes:
        modes: Rotation modes, shape (k,).
        stored: Rotation channels of the stored poses, shape (B, k, 4).
        influence: Shape (B, k).
        locks: As ``Pose.locks``, shape (B, k, 4).
        uses_4d_locks: As ``Pose.uses_4d_locks``, shape (B, k).
        joints: None where all bones turn freely.
        spread: How turns of hands and feet are spread along limbs; None where none is.
    """

    modes: Integers
    stored: Array
    influence: Array
    locks: Flags
    uses_4d_locks: Flags
    joints: ChainJoints | None
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
    def fades_to(self) -> Array:
        """What poses with less influence are nearer to: the stored ones inside of all ranges."""
        return self.zero if self.joints is None else self.joints.clamped(self.zero)

    def local_of(self, channels: Array) -> Array:
        """Return the local rotations wxyz (b, k, 4) of rotation channels (b, k, 4)."""
        modes = np.tile(self.modes, len(channels))
        return quaternions_of(channels.reshape(-1, 4), modes).reshape(channels.shape)

    def resumed(self, pick: Rows, present: Array, known: Array | None = None) -> Array:
        """Return the local rotations wxyz (b, k, 4) to go on from, where channels stand now.

        That is, of a bone with influence, a share of its last solution. The solve goes on from
        the whole of it; from the share it would creep at every update.

        Args:
            pick: Which chains or trees, b of them.
            present: Rotation channels as they stand, shape (b, k, 4).
            known: These solutions, shape (b, k, 4), NaN where they are forgotten: what limits hold
                of a share does not tell them. None where all are.
        """
        local, influence = self.local_of(present), self.influence[pick]
        if not (influence < 1.0).any():
            return local
        share = 1.0 / np.where(influence > 0.0, influence, np.inf)
        whole = rotation.interpolate(self.fades_to[pick], local, share)
        if known is not None:
            whole = np.where(np.isnan(known), whole, known)
        return np.where((influence == 1.0)[..., None], local, whole)

    def finished(self, pick: Rows, local: Array, near: Array) -> tuple[Array, Flags, Flags]:
        """Return what twist spread, influence and locks leave of solved poses.

        Args:
            pick: Which chains or trees, b of them.
            local: Local rotations wxyz as solved, shape (b, k, 4).
            near: Rotation channels to stay near, and that locked ones hold, shape (b, k, 4).

        Returns:
            Rotation channels (b, k, 4), which bones locks have kept from following (b, k), and
            which chains or trees stand elsewhere than they were solved, (b,).
        """
        if self.is_whole:
            local = self.twisted(pick, local)
            none = np.zeros(local.shape[:2], dtype=np.bool_)
            return rotation_channels(local, near, self.modes), none, none[:, 0]
        blended = self.twisted(pick, self.blended(pick, local))
        channels, is_kept = self.held(pick, blended, near)
        is_blended = (self.influence[pick] < 1.0).any(axis=1)
        return channels, is_kept, is_blended | is_kept.any(axis=1)

    def blended(self, pick: Rows, local: Array) -> Array:
        """Return the share of the way to solved poses wxyz (b, k, 4) that influence leaves."""
        influence = self.influence[pick]
        is_blended = (influence < 1.0).any(axis=1)
        if not is_blended.any():
            return local
        blended = rotation.interpolate(self.fades_to[pick], local, influence)
        blended = np.where((influence < 1.0)[..., None], blended, local)
        if self.joints is not None:
            blended = self.joints.take(pick).clamped(blended)
        return np.where(is_blended[:, None, None], blended, local)

    def twisted(self, pick: Rows, local: Array) -> Array:
        """Return poses wxyz (b, k, 4) with the turns of hands and feet spread along limbs."""
        if self.spread is None:
            return local
        clamped = None if self.joints is None else self.joints.take(pick).clamped
        zero, influence = self.fades_to[pick], self.influence[pick]
        return self.spread.take(pick).spread(local, zero, influence, clamped)

    def held(self, pick: Rows, local: Array, near: Array) -> tuple[Array, Flags]:
        """Return what locks leave of poses: as ``finished``, but for influence."""
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
        return held, (np.abs(held - channels) > UNLOCKED).any(axis=2)


def rotation_channels(local: Array, near: Array, modes: Integers) -> Array:
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
