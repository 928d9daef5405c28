"""Bones that grow along themselves toward targets out of reach, by their IK Stretch."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ...core import Goals, SolveOptions
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.kinematics.reach import distances_in_reach
from ..reading.channels import read_flags, read_floats
from ..reading.rows import Alike

# A bone whose segment lies farther than this off its own Y axis gains little by growing along that.
LEAST_ALONG = 0.5
# Bones that get thinner as they grow may shorten what lies across: repeated until it agrees.
MOST_REPEATS = 50
AGREES = 1e-15


@dataclass(frozen=True)
class BoneStretch:
    """How far n bones may grow.

    Attributes:
        share: ``PoseBone.ik_stretch``, shape (n,).
        is_locked: Locked scale channels, shape (n, 3).
    """

    share: Array
    is_locked: Flags


def read_stretch(armature_object: bpy.types.Object) -> BoneStretch:
    """Return how far all bones of an armature object may grow, in the order of its bones."""
    bones = armature_object.pose.bones
    return BoneStretch(
        share=read_floats(bones, "ik_stretch", 1).astype(np.float64),
        is_locked=read_flags(bones, "lock_scale", 3),
    )


@dataclass(frozen=True)
class ChainStretch(Alike):
    """How far the k written bones of a chain may grow, and from where; or of B chains.

    Attributes:
        share: Shape (..., k).
        is_locked: Shape (..., k, 3).
        scale: Scale channels without any growth, shape (..., k, 3).
        use_keep_volume: Bones get thinner as they grow, shape (...).
    """

    share: Array
    is_locked: Flags
    scale: Array
    use_keep_volume: Flags

    def of_first(self, count: int) -> ChainStretch:
        """Return the same of so many bones of one chain."""
        own = self.share[:count], self.is_locked[:count], self.scale[:count]
        return ChainStretch(*own, self.use_keep_volume)

    @property
    def may_grow(self) -> Flags:
        """Whether any bone grows at all, shape (...)."""
        return (self._weights > 0.0).any(axis=-1)

    @property
    def _weights(self) -> Array:
        # The square, as Blender's own solver weighs it.
        return np.where(self.is_locked[..., 1], 0.0, self.share) ** 2

    def grown(self, joints: Array, along: Array, goals: Goals, options: SolveOptions) -> Array:
        """Return the lengths of segments that bring effectors to targets, shape (B, m).

        All of them together grow as the distance to the target does over what the chain would
        reach of it, which straightens it no sooner than without. Each bone takes its share.

        Args:
            joints: The start poses, shape (B, m + 1, 3).
            along: Shares of the segments that lie along the bones' Y axes, shape (B, m).
            goals: In the space of the joints.
            options: In that space.

        Returns:
            NaN where the target is in reach, or no bone may grow.
        """
        segments = np.diff(joints, axis=1)
        lengths = np.linalg.norm(segments, axis=2)
        offset, count = goals.target_position - joints[:, 0], lengths.shape[1]
        if goals.tip_rotation_wxyz is not None and options.orient_weight == 1.0 and count > 1:
            # The tip is turned first; the others bring its head to where it then has to be.
            offset = offset - rotation.rotate(goals.tip_rotation_wxyz, segments[:, -1])
            count -= 1
        own = np.where(along >= LEAST_ALONG, self._weights[:, : lengths.shape[1]], 0.0)[:, :count]
        distance, soft = np.linalg.norm(offset, axis=1), np.asarray(options.soft_distance)
        near = distances_in_reach(lengths[:, :count], distance, soft)
        most = lengths[:, :count].sum(axis=1)
        grows = own.any(axis=1) & (near < distance)
        growth = most * (distance / np.where(grows, near, 1.0) - 1.0)
        weighted = np.where(grows, (lengths[:, :count] * own).sum(axis=1), 1.0)
        lengths[:, :count] *= 1.0 + (growth / weighted)[:, None] * own
        return np.where(grows[:, None], lengths, np.nan)

    def scale_giving(
        self, bone: int, scale: Array, segment: Array, matrix: Array, lengths: Array
    ) -> Array:
        """Return what scale channels (B, 3) are multiplied by to give segments lengths.

        Args:
            bone: Which one of each chain.
            scale: Its scale channels without growth, shape (B, 3).
            segment: From head to next joint before these scales, shape (B, 3).
            matrix: From there to the space of the lengths, shape (B, 3, 3).
            lengths: Wanted, shape (B,); NaN for those that are there.
        """
        visible = scale * segment
        is_aside = np.abs(visible[:, 1]) < LEAST_ALONG * np.linalg.norm(visible, axis=1)
        stays = self.is_locked[:, bone, 1] | is_aside | np.isnan(lengths)
        lengths = np.where(stays, 1.0, lengths)
        is_thin = ~self.is_locked[:, bone] & self.use_keep_volume[:, None]
        is_thin = is_thin & np.array([True, False, True])
        factors, along = np.ones(scale.shape), matrix[:, :, 1] * visible[:, 1, None]
        square = (along * along).sum(axis=1)
        across = visible * [1.0, 0.0, 1.0]
        is_open = ~stays
        for _ in range(MOST_REPEATS if across.any() else 1):
            rest = (matrix @ (factors * across)[..., None])[..., 0]
            half = (along * rest).sum(axis=1)
            room = half * half - square * ((rest * rest).sum(axis=1) - lengths * lengths)
            root = np.sqrt(np.maximum(room, 0.0)) - half
            factor = np.where(square > 0.0, root / np.where(square > 0.0, square, 1.0), 0.0)
            stays |= is_open & ~(factor > 0.0)
            is_open &= factor > 0.0
            is_settled = np.abs(factor - factors[:, 1]) <= AGREES * factor
            safe = np.where(is_open, factor, 1.0)[:, None]
            found = np.where(is_thin, safe**-0.5, np.where([False, True, False], safe, 1.0))
            factors = np.where(is_open[:, None], found, factors)
            is_open &= ~is_settled
            if not is_open.any():
                break
        return np.where(stays[:, None], 1.0, factors)
