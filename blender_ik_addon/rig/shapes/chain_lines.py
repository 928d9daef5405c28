"""Where the joints of chains stand, for many chains of one armature object at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import bpy
import numpy as np
import numpy.typing as npt

from ..reading.chain_plan import ChainPlan
from ..reading.channels import read_floats
from ..reading.skeleton import Skeleton
from ..reading.spaces import matrices_from_buffer, transform_point

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PosedBones:
    """The bones of an armature object as Blender has evaluated them.

    Attributes:
        world: The object's world matrix, shape (4, 4).
        matrices: Pose matrices of all bones, armature space, shape (n, 4, 4).
        scale: Scale channels, shape (n, 3).
    """

    world: Array
    matrices: Array
    scale: Array

    def heads(self, bones: Indices) -> Array:
        """Return the heads of some bones, world space, shape (m, 3)."""
        return transform_point(self.world, self.matrices[bones, :3, 3])

    def axes(self, bones: Indices, lengths: Array) -> Array:
        """Return the ways from heads to tails of some bones, world space, shape (m, 3)."""
        along = self.matrices[bones, :3, 1] @ self.world[:3, :3].T
        ways: Array = along * lengths[:, None]
        return ways


def read_posed(evaluated: bpy.types.Object) -> PosedBones:
    """Return how the bones of an evaluated armature object stand."""
    bones = evaluated.pose.bones
    count = len(bones)
    return PosedBones(
        world=np.array(evaluated.matrix_world, dtype=np.float64),
        matrices=matrices_from_buffer(read_floats(bones, "matrix", 16), count),
        scale=read_floats(bones, "scale", 3).reshape(count, 3).astype(np.float64),
    )


@dataclass(frozen=True)
class ChainRows:
    """Which bones the joints of chains are; kept while their bones stay the same.

    Attributes:
        bones: Of all joints of all chains, one chain after the other, root first, shape (p,).
        reach: How far along its bone each joint lies, from its head: zero but for effectors at
            tails, shape (p,).
        starts: Where each chain begins, and where the last one ends, shape (c + 1,).
    """

    bones: Indices
    reach: Array
    starts: Indices

    @classmethod
    def of(cls, skeleton: Skeleton, plans: Sequence[ChainPlan]) -> ChainRows:
        """Return the joints of chains of one armature."""
        bones = [bone for plan in plans for bone in (*plan.segments.tolist(), plan.tip)]
        ends = np.cumsum([len(plan.segments) + 1 for plan in plans], dtype=np.int64)
        reach = np.zeros(len(bones))
        lengths = [skeleton.lengths[plan.tip] if plan.ends_at_tail else 0.0 for plan in plans]
        reach[ends - 1] = lengths
        return cls(np.array(bones, dtype=np.int64), reach, np.concatenate(([0], ends)))

    @classmethod
    def join(cls, parts: Sequence[ChainRows]) -> ChainRows:
        """Return the joints of chains of several armatures, one after the other, as one."""
        if len(parts) == 1:
            return parts[0]
        counts = np.cumsum([0, *[len(part.bones) for part in parts]])
        starts = [part.starts[:-1] + first for part, first in zip(parts, counts, strict=False)]
        return cls(
            np.concatenate([part.bones for part in parts]),
            np.concatenate([part.reach for part in parts]),
            np.concatenate([*starts, counts[-1:]]),
        )

    def place(self, posed: PosedBones) -> Array:
        """Return the joints in world space, the last of each chain its effector, shape (p, 3)."""
        places: Array = posed.heads(self.bones) + posed.axes(self.bones, self.reach)
        return places

    @cached_property
    def segments(self) -> Indices:
        """The joints that each segment joins, shape (s, 2)."""
        is_last = np.zeros(len(self.bones), dtype=np.bool_)
        is_last[self.starts[1:] - 1] = True
        first = np.flatnonzero(~is_last)
        return np.column_stack((first, first + 1))

    @cached_property
    def chain_of(self) -> Indices:
        """The chain of each joint, shape (p,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
