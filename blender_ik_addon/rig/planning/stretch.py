"""Growth of bones along themselves toward targets out of reach, by their IK Stretch."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ...core import Goals, SolveOptions
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.kinematics.reach import distances_in_reach
from ..reading.batch_record import BatchRecord
from ..reading.channels import read_flags, read_floats

# Least cosine between segment and Y axis; a bone with less gains little by growing along Y.
MIN_COSINE = 0.5
# Bones that get thinner may shorten parts across Y: repeat their factors until they agree.
MAX_ITERATIONS = 50
FACTOR_TOLERANCE = 1e-15


@dataclass(frozen=True)
class BoneStretch:
    """Stretch settings of n bones: shares (n,) and locked scale channels (n, 3)."""

    share: Array
    is_locked: Flags


def read_stretch(armature_object: bpy.types.Object) -> BoneStretch:
    """Return the stretch settings of all bones of an armature object, in their order."""
    bones = armature_object.pose.bones
    count = len(bones)
    return BoneStretch(
        share=read_floats(bones, "ik_stretch", 1, count).astype(np.float64),
        is_locked=read_flags(bones, "lock_scale", 3, count),
    )


@dataclass(frozen=True)
class ChainStretch(BatchRecord):
    """Stretch settings of the k written bones of one chain, or of B chains.

    Attributes:
        share: ``PoseBone.ik_stretch``, shape (..., k).
        is_locked: Locked scale channels, shape (..., k, 3).
        scale: Scale channels without any growth, shape (..., k, 3).
        use_keep_volume: Whether bones get thinner as they grow, shape (...).
    """

    share: Array
    is_locked: Flags
    scale: Array
    use_keep_volume: Flags

    def of_first(self, count: int) -> ChainStretch:
        """Return the settings of the first ``count`` bones of one chain."""
        values = self.share[:count], self.is_locked[:count], self.scale[:count]
        return ChainStretch(*values, self.use_keep_volume)

    @property
    def can_grow(self) -> Flags:
        """Whether any bone grows, shape (...)."""
        return (self._weights > 0.0).any(axis=-1)

    @property
    def _weights(self) -> Array:
        # Square of the share, as Blender's own solver weighs it.
        return np.where(self.is_locked[..., 1], 0.0, self.share) ** 2

    def grown(self, joints: Array, along: Array, goals: Goals, options: SolveOptions) -> Array:
        """Return the lengths of segments with which effectors reach targets, shape (B, m).

        Their sum grows by the ratio of the distance to the target over the part of it that the
        chain would reach, so the chain straightens no sooner than without. Bones take their shares.

        Args:
            joints: Joints of the start poses, shape (B, m + 1, 3).
            along: Absolute cosines between the segments and the bones' Y axes, shape (B, m).
            goals: Goals in the space of the joints.
            options: Options in that space.

        Returns:
            NaN if the target is in reach, or no bone may grow.
        """
        segments = np.diff(joints, axis=1)
        lengths = np.linalg.norm(segments, axis=2)
        offset, count = goals.target_position - joints[:, 0], lengths.shape[1]
        if goals.tip_rotation_wxyz is not None and options.orient_weight == 1.0 and count > 1:
            # The tip is turned first; the others bring its head to the place that results.
            offset = offset - rotation.rotate(goals.tip_rotation_wxyz, segments[:, -1])
            count -= 1
        shares = np.where(along >= MIN_COSINE, self._weights[:, : lengths.shape[1]], 0.0)[:, :count]
        distance, soft = np.linalg.norm(offset, axis=1), np.asarray(options.soft_distance)
        reached = distances_in_reach(lengths[:, :count], distance, soft)
        length = lengths[:, :count].sum(axis=1)
        grows = shares.any(axis=1) & (reached < distance)
        growth = length * (distance / np.where(grows, reached, 1.0) - 1.0)
        weighted = np.where(grows, (lengths[:, :count] * shares).sum(axis=1), 1.0)
        lengths[:, :count] *= 1.0 + (growth / weighted)[:, None] * shares
        return np.where(grows[:, None], lengths, np.nan)

    def scale_giving(
        self, bone: int, scale: Array, segment: Array, matrix: Array, lengths: Array
    ) -> Array:
        """Return the factors of scale channels (B, 3) that give segments the requested lengths.

        Args:
            bone: Row of one bone of each chain.
            scale: Its scale channels without growth, shape (B, 3).
            segment: From head to next joint before these scales, shape (B, 3).
            matrix: From there to the space of the lengths, shape (B, 3, 3).
            lengths: Requested lengths, shape (B,); NaN to keep the length.
        """
        scaled = scale * segment
        is_aside = np.abs(scaled[:, 1]) < MIN_COSINE * np.linalg.norm(scaled, axis=1)
        stays = self.is_locked[:, bone, 1] | is_aside | np.isnan(lengths)
        lengths = np.where(stays, 1.0, lengths)
        is_thin = ~self.is_locked[:, bone] & self.use_keep_volume[:, None]
        is_thin = is_thin & np.array([True, False, True])
        factors, along = np.ones(scale.shape), matrix[:, :, 1] * scaled[:, 1, None]
        square = (along * along).sum(axis=1)
        across = scaled * [1.0, 0.0, 1.0]
        is_open = ~stays
        for _ in range(MAX_ITERATIONS if across.any() else 1):
            rest = (matrix @ (factors * across)[..., None])[..., 0]
            half = (along * rest).sum(axis=1)
            room = half * half - square * ((rest * rest).sum(axis=1) - lengths * lengths)
            root = np.sqrt(np.maximum(room, 0.0)) - half
            factor = np.where(square > 0.0, root / np.where(square > 0.0, square, 1.0), 0.0)
            stays |= is_open & ~(factor > 0.0)
            is_open &= factor > 0.0
            is_settled = np.abs(factor - factors[:, 1]) <= FACTOR_TOLERANCE * factor
            safe = np.where(is_open, factor, 1.0)[:, None]
            new_factors = np.where(is_thin, safe**-0.5, np.where([False, True, False], safe, 1.0))
            factors = np.where(is_open[:, None], new_factors, factors)
            is_open &= ~is_settled
            if not is_open.any():
                break
        return np.where(stays[:, None], 1.0, factors)
