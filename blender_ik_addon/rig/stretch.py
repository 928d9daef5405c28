"""Bones that grow along themselves toward targets out of reach, by their IK Stretch."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt

from ..core import Goal, SolveOptions
from ..core.algebra import rotation
from ..core.kinematics.reach import distance_in_reach
from .channels import read_flags, read_floats

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

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
        is_locked=read_flags(bones, "lock_scale", 3).reshape(-1, 3),
    )


@dataclass(frozen=True)
class ChainStretch:
    """How far the k written bones of a chain may grow, and from where.

    Attributes:
        share: Shape (k,).
        is_locked: Shape (k, 3).
        scale: Scale channels without any growth, shape (k, 3).
        use_keep_volume: Bones get thinner as they grow.
    """

    share: Array
    is_locked: Flags
    scale: Array
    use_keep_volume: bool

    @property
    def may_grow(self) -> bool:
        """Whether any bone grows at all."""
        return bool((self._weights > 0.0).any())

    @property
    def _weights(self) -> Array:
        # The square, as Blender's own solver weighs it.
        weights: Array = np.where(self.is_locked[:, 1], 0.0, self.share) ** 2
        return weights

    def is_same(self, other: ChainStretch | None) -> bool:
        """Tell whether another record says the same."""
        return other is not None and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in vars(self)
        )

    def grown(self, joints: Array, along: Array, goal: Goal, options: SolveOptions) -> Array | None:
        """Return the lengths of segments that bring the effector to the target, shape (m,).

        All of them together grow as the distance to the target does over what the chain would
        reach of it, which straightens it no sooner than without. Each bone takes its share.

        Args:
            joints: The start pose, shape (m + 1, 3).
            along: Shares of the segments that lie along the bones' Y axes, shape (m,).
            goal: In the space of the joints.
            options: In that space.

        Returns:
            None where the target is in reach, or no bone may grow.
        """
        segments = np.diff(joints, axis=0)
        lengths = np.linalg.norm(segments, axis=1)
        offset, count = goal.target_position - joints[0], len(lengths)
        if goal.tip_rotation_wxyz is not None and options.orient_weight == 1.0 and count > 1:
            # The tip is turned first; the others bring its head to where it then has to be.
            offset = offset - rotation.rotate(goal.tip_rotation_wxyz, segments[-1])
            count -= 1
        own = np.where(along >= LEAST_ALONG, self._weights[: len(lengths)], 0.0)[:count]
        distance = float(np.linalg.norm(offset))
        near = distance_in_reach(lengths[:count], distance, float(options.soft_distance))
        most = float(lengths[:count].sum())
        if not own.any() or near >= distance:
            return None
        growth = most * (distance / near - 1.0)
        lengths[:count] *= 1.0 + growth * own / (lengths[:count] @ own)
        return lengths

    def scale_giving(
        self, bone: int, scale: Array, segment: Array, matrix: Array, length: float
    ) -> Array:
        """Return the scale channels, shape (3,), that give the segment of a bone a length.

        Args:
            bone: Which one.
            scale: Its scale channels without growth, and what they are multiplied by, shape (3,).
            segment: From head to next joint before these scales, shape (3,).
            matrix: From there to the space of the length, shape (3, 3).
            length: Wanted.
        """
        visible = scale * segment
        if self.is_locked[bone, 1] or abs(visible[1]) < LEAST_ALONG * np.linalg.norm(visible):
            return np.ones(3)
        is_thin = np.array([True, False, True]) & ~self.is_locked[bone] & self.use_keep_volume
        factors, along = np.ones(3), matrix[:, 1] * visible[1]
        square = float(along @ along)
        across = visible * [1.0, 0.0, 1.0]
        for _ in range(MOST_REPEATS if across.any() else 1):
            rest = matrix @ (factors * across)
            half = float(along @ rest)
            room = half * half - square * (float(rest @ rest) - length * length)
            factor = (np.sqrt(max(room, 0.0)) - half) / square if square > 0.0 else 0.0
            if not factor > 0.0:
                return np.ones(3)
            is_settled = abs(factor - factors[1]) <= AGREES * factor
            factors = np.where(is_thin, factor**-0.5, [1.0, factor, 1.0])
            if is_settled:
                break
        return factors
