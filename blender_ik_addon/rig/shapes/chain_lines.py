"""Joint positions in world space, of all chains of armature objects at once."""

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

Float32s = npt.NDArray[np.float32]

# Largest drawn coordinate, in scene units. At ten times, squared distances could overflow float32.
MAX_DRAWN_COORDINATE = 1e18


class EvaluatedPose(NamedTuple):
    """The evaluated pose of an armature object.

    Attributes:
        world: The object's world matrix, shape (4, 4).
        columns: Pose matrices of all bones, armature space, transposed and in float32 as Blender
            stores them: axes X, Y, Z and head, shape (n, 4, 4).
        bones: The evaluated pose bones, valid during one draw only.
    """

    world: Array
    columns: Float32s
    bones: bpy.types.bpy_prop_collection[bpy.types.PoseBone]

    def matrix(self, bone: int) -> Array:
        """Return the matrix of one bone, world space, shape (4, 4)."""
        matrix: Array = self.world @ self.columns[bone].T
        return matrix


def read_evaluated_pose(evaluated: bpy.types.Object, count: int) -> EvaluatedPose | None:
    """Return the pose of an evaluated armature object; None unless it has ``count`` bones."""
    if evaluated.pose is None:
        return None
    bones, buffer = evaluated.pose.bones, np.empty(16 * count, dtype=np.float32)
    try:
        # This raises for a wrong count. It counts the bones itself, which takes half of its time.
        bones.foreach_get("matrix", buffer)
    except TypeError:
        return None
    world = np.array(evaluated.matrix_world, dtype=np.float64)
    return EvaluatedPose(world, buffer.reshape(count, 4, 4), bones)


@dataclass(frozen=True)
class ChainRows:
    """The p joints of c chains; cached while their bones stay the same.

    Attributes:
        bones: Index of each joint's bone, one chain after the other, root first, shape (p,).
        reach: Distance of each joint from the head of its bone at rest: zero except for effectors
            at tails, shape (p, 1).
        starts: Index of the first joint of each chain, then the count p, shape (c + 1,).
        rig_of: Index of each joint's armature object among those joined, shape (p,).
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
        indices, starts = np.array(bones, dtype=np.int64), np.concatenate(([0], ends))
        return cls(indices, reach, starts, np.zeros_like(indices))

    @classmethod
    def join(cls, parts: Sequence[ChainRows], counts: Sequence[int]) -> ChainRows:
        """Return the joints of objects, one after the other; ``counts`` are of their bones."""
        if len(parts) == 1:
            return parts[0]
        sizes = [len(part.bones) for part in parts]
        first_joints, first_bones = np.cumsum([0, *sizes]), np.cumsum([0, *counts])
        starts = [part.starts[:-1] + n for part, n in zip(parts, first_joints, strict=False)]
        bones = [part.bones + n for part, n in zip(parts, first_bones, strict=False)]
        return cls(
            np.concatenate(bones),
            np.concatenate([part.reach for part in parts]),
            np.concatenate([*starts, first_joints[-1:]]),
            np.repeat(np.arange(len(parts)), sizes),
        )

    @np.errstate(over="ignore", invalid="ignore")
    def place(self, poses: Sequence[EvaluatedPose]) -> Array:
        """Return the positions of the joints, world space, shape (p, 3).

        The last joint of each chain is its effector. Positions are not finite where bones are not.
        """
        worlds = np.concatenate([pose.world for pose in poses]).reshape(-1, 4, 4)
        columns = np.concatenate([pose.columns for pose in poses])
        column, world = columns.take(self.bones, axis=0), worlds.take(self.rig_of, axis=0)
        in_armature = column[:, 3, :3] + column[:, 1, :3] * self.reach
        points: Array = np.einsum("pij,pj->pi", world[:, :3, :3], in_armature) + world[:, :3, 3]
        return points

    def near(self, points: Array) -> list[int]:
        """Return the indices of the chains whose joints (p, 3) are all near enough to be drawn."""
        is_near = (np.abs(points) < MAX_DRAWN_COORDINATE).all(axis=1)
        return np.flatnonzero(np.logical_and.reduceat(is_near, self.starts[:-1])).tolist()

    @cached_property
    def ends(self) -> Indices:
        """Indices of the joints at both ends of every segment, shape (2 s,)."""
        is_last = np.zeros(len(self.bones), dtype=np.bool_)
        is_last[self.starts[1:] - 1] = True
        first = np.flatnonzero(~is_last)
        return np.column_stack((first, first + 1)).ravel()

    @cached_property
    def chain_of(self) -> Indices:
        """Index of the chain of each joint, shape (p,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def chain_of_ends(self) -> Indices:
        """Index of the chain of each joint in ``ends``, shape (2 s,)."""
        return self.chain_of[self.ends]


def are_drawable(points: Array) -> bool:
    """Tell whether all points (p, 3) are finite and near enough to be drawn."""
    flat = points.ravel()
    # Faster than the largest coordinate. The comparison is false for NaN.
    return bool(flat.dot(flat) < MAX_DRAWN_COORDINATE * MAX_DRAWN_COORDINATE)
