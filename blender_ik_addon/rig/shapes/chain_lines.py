"""Where the joints of chains stand, for many chains of one armature object at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

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
        scale: Scale channels, shape (n, 3); None where limits are not asked for.
    """

    world: Array
    matrices: Array
    scale: Array | None

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
    return replace(read_all_posed([evaluated]).rig(0), scale=read_scale(evaluated))


def read_scale(evaluated: bpy.types.Object) -> Array:
    """Return the scale channels of the bones of an evaluated armature object, shape (n, 3)."""
    return read_floats(evaluated.pose.bones, "scale", 3).reshape(-1, 3).astype(np.float64)


@dataclass(frozen=True)
class PosedRigs:
    """The bones of several armature objects, one object after the other.

    Attributes:
        worlds: World matrices of the objects, shape (r, 4, 4).
        matrices: Pose matrices of all bones of all, shape (n, 4, 4).
        firsts: Where the bones of each begin, and where the last ones end.
    """

    worlds: Array
    matrices: Array
    firsts: tuple[int, ...]

    def rig(self, number: int) -> PosedBones:
        """Return the bones of one of them, without their scales."""
        bones = slice(self.firsts[number], self.firsts[number + 1])
        return PosedBones(self.worlds[number], self.matrices[bones], None)


def read_all_posed(evaluated: Sequence[bpy.types.Object]) -> PosedRigs:
    """Return how the bones of evaluated armature objects stand."""
    pose_bones = [each.pose.bones for each in evaluated]
    firsts = (0, *accumulate([len(bones) for bones in pose_bones]))
    buffer = np.empty(16 * firsts[-1], dtype=np.float32)
    for bones, first, stop in zip(pose_bones, firsts, firsts[1:], strict=False):
        bones.foreach_get("matrix", buffer[16 * first : 16 * stop])
    worlds = np.array([each.matrix_world for each in evaluated], dtype=np.float64)
    return PosedRigs(worlds, matrices_from_buffer(buffer, firsts[-1]), firsts)


@dataclass(frozen=True)
class ChainRows:
    """Which bones the joints of chains are; kept while their bones stay the same.

    Attributes:
        bones: Of all joints of all chains, one chain after the other, root first, shape (p,).
        reach: How far along its bone each joint lies, from its head: zero but for effectors at
            tails, shape (p,).
        starts: Where each chain begins, and where the last one ends, shape (c + 1,).
        rig_of: Of joined ones the armature object of each joint, shape (p,); None for those of
            one.
    """

    bones: Indices
    reach: Array
    starts: Indices
    rig_of: Indices | None = None

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
    def join(cls, parts: Sequence[ChainRows], firsts: Sequence[int]) -> ChainRows:
        """Return the joints of chains of several armatures, one after the other, as one.

        Args:
            parts: Those of each.
            firsts: Where the bones of each begin among all of them.
        """
        if len(parts) == 1:
            return parts[0]
        sizes = [len(part.bones) for part in parts]
        counts = np.cumsum([0, *sizes])
        starts = [part.starts[:-1] + first for part, first in zip(parts, counts, strict=False)]
        bones = [part.bones + first for part, first in zip(parts, firsts, strict=False)]
        return cls(
            np.concatenate(bones),
            np.concatenate([part.reach for part in parts]),
            np.concatenate([*starts, counts[-1:]]),
            np.repeat(np.arange(len(parts)), sizes),
        )

    def place_all(self, posed: PosedRigs) -> Array:
        """Return the joints of all rigs in world space, as ``place`` does for one."""
        if self.rig_of is None:
            return self.place(posed.rig(0))
        local = posed.matrices[self.bones, :3, 3]
        local = local + posed.matrices[self.bones, :3, 1] * self.reach[:, None]
        return transform_point(posed.worlds[self.rig_of], local)

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
