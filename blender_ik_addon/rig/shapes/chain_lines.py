"""The places of joints, for all chains of armature objects at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from ...core.algebra.arithmetic import Array, Indices
from ..reading.chain_plan import ChainPlan
from ..reading.spaces import transform_point

Floats = npt.NDArray[np.float32]

# Nothing farther away is drawn: squared distances would not fit float32.
FAR = 1e18


class PosedBones(NamedTuple):
    """The bones of an armature object as Blender has evaluated them.

    Attributes:
        world: The object's world matrix, shape (4, 4).
        columns: Pose matrices of all bones, armature space, transposed and in float32 as Blender
            gives them: axes X, Y, Z and head, shape (n, 4, 4).
        bones: What they were read of; valid during one draw only.
    """

    world: Array
    columns: Floats
    bones: bpy.types.bpy_prop_collection[bpy.types.PoseBone]

    def matrix(self, bone: int) -> Array:
        """Return the matrix of one bone, world space, shape (4, 4)."""
        matrix: Array = self.world @ self.columns[bone].T
        return matrix

    def head(self, bone: int) -> tuple[float, float, float]:
        """Return the head of one bone, world space."""
        head = self.columns[bone, 3, :3].astype(np.float64)
        x, y, z = transform_point(self.world, head).tolist()
        return x, y, z


def read_posed(evaluated: bpy.types.Object, count: int) -> PosedBones | None:
    """Return the bones of an evaluated armature object; None if their number is another one.

    Args:
        evaluated: The object.
        count: How many bones it is known to have.
    """
    if evaluated.pose is None:
        return None
    bones, buffer = evaluated.pose.bones, np.empty(16 * count, dtype=np.float32)
    try:
        # This counts the bones as well, which takes half of its time.
        bones.foreach_get("matrix", buffer)
    except TypeError:
        return None
    world = np.array(evaluated.matrix_world, dtype=np.float64)
    return PosedBones(world, buffer.reshape(count, 4, 4), bones)


@dataclass(frozen=True)
class ChainRows:
    """The p joints of c chains; kept while their bones stay the same.

    Attributes:
        bones: Bone of each joint, one chain after the other, root first, shape (p,).
        reach: Distance of each joint from its bone's head at rest: zero but for effectors at
            tails, shape (p, 1).
        starts: First joint of each chain, and the end of the last one, shape (c + 1,).
        rig_of: Armature object of each joint, as an index into those joined, shape (p,).
    """

    bones: Indices
    reach: Array
    starts: Indices
    rig_of: Indices

    @classmethod
    def of(cls, plans: Sequence[ChainPlan]) -> ChainRows:
        """Return the joints of chains of one armature."""
        bones = [bone for plan in plans for bone in (*plan.segments.tolist(), plan.tip)]
        ends = np.cumsum([len(plan.segments) + 1 for plan in plans], dtype=np.int64)
        reach = np.zeros((len(bones), 1))
        lengths = [plan.skeleton.lengths[plan.tip] if plan.ends_at_tail else 0.0 for plan in plans]
        reach[ends - 1, 0] = lengths
        own, starts = np.array(bones, dtype=np.int64), np.concatenate(([0], ends))
        return cls(own, reach, starts, np.zeros_like(own))

    @classmethod
    def join(cls, parts: Sequence[ChainRows], counts: Sequence[int]) -> ChainRows:
        """Return the joints of several armature objects, one after the other.

        Args:
            parts: The joints of each.
            counts: How many bones each of these has.
        """
        if len(parts) == 1:
            return parts[0]
        sizes = [len(part.bones) for part in parts]
        places, firsts = np.cumsum([0, *sizes]), np.cumsum([0, *counts])
        starts = [part.starts[:-1] + place for part, place in zip(parts, places, strict=False)]
        bones = [part.bones + first for part, first in zip(parts, firsts, strict=False)]
        return cls(
            np.concatenate(bones),
            np.concatenate([part.reach for part in parts]),
            np.concatenate([*starts, places[-1:]]),
            np.repeat(np.arange(len(parts)), sizes),
        )

    @np.errstate(over="ignore", invalid="ignore")
    def place(self, posed: Sequence[PosedBones]) -> Array:
        """Return the joints in world space, the last of each chain its effector, shape (p, 3).

        Not finite where bones are not.

        Args:
            posed: The bones of each armature object.
        """
        worlds = np.concatenate([each.world for each in posed]).reshape(-1, 4, 4)
        columns = np.concatenate([each.columns for each in posed])
        own, world = columns.take(self.bones, axis=0), worlds.take(self.rig_of, axis=0)
        local = own[:, 3, :3] + own[:, 1, :3] * self.reach
        points: Array = np.einsum("pij,pj->pi", world[:, :3, :3], local) + world[:, :3, 3]
        return points

    def near(self, points: Array) -> list[int]:
        """Return the chains whose joints (p, 3) are all near enough to be drawn."""
        is_near = (np.abs(points) < FAR).all(axis=1)
        return np.flatnonzero(np.logical_and.reduceat(is_near, self.starts[:-1])).tolist()

    @cached_property
    def ends(self) -> Indices:
        """The joints at both ends of every segment, shape (2 s,)."""
        is_last = np.zeros(len(self.bones), dtype=np.bool_)
        is_last[self.starts[1:] - 1] = True
        first = np.flatnonzero(~is_last)
        return np.column_stack((first, first + 1)).ravel()

    @cached_property
    def chain_of(self) -> Indices:
        """The chain of each joint, shape (p,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def chain_of_ends(self) -> Indices:
        """The chain of each of ``ends``, shape (2 s,)."""
        return self.chain_of[self.ends]


def are_near(points: Array) -> bool:
    """Tell whether points (p, 3) are all finite, and none is too far away to be drawn."""
    flat = points.ravel()
    # Faster than to find the farthest one. Nothing that is not a number is less, either.
    return bool(flat.dot(flat) < FAR * FAR)
