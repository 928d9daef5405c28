"""Soles of feet: heel and toe of a foot, and their heights above the floor."""

from __future__ import annotations

import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.skeleton import Skeleton
from ..reading.spaces import transform_point
from .bone_names import read


def heel_and_toe(skeleton: Skeleton, foot: int, up: Array) -> tuple[Array, Array]:
    """Return heel and toe of a foot bone at rest and their heights, shapes (2, 3) and (2,).

    They are in armature space, like the upward unit vector (3,).
    """
    foot_bones = [bone for bone in range(len(skeleton.names)) if foot in skeleton.ancestors(bone)]
    ends = {bone: _ends(skeleton, bone) for bone in foot_bones}
    heels = [
        ends[bone].mean(axis=0) for bone in foot_bones if "heel" in read(skeleton.names[bone]).words
    ]
    points = np.array((np.mean(heels, axis=0) if heels else ends[foot][0], ends[foot][1]))
    lowest = float(np.min([head_and_tail @ up for head_and_tail in ends.values()]))
    return points, points @ up - lowest


def soles(skeleton: Skeleton, foot: int, up: Array) -> Array:
    """Return where heel and toe touch the floor at rest, in the space of the bone, shape (2, 3).

    Arguments as for ``heel_and_toe``.
    """
    points, heights = heel_and_toe(skeleton, foot, up)
    return transform_point(np.linalg.inv(skeleton.rest[foot]), points - heights[:, None] * up)


def up_in(world: Array) -> Array:
    """Return the upward unit vector (3,) in the space of an object with a world matrix."""
    return world[2, :3] / np.linalg.norm(world[2, :3])


def _ends(skeleton: Skeleton, bone: int) -> Array:
    """Return head and tail of a bone at rest, armature space, shape (2, 3)."""
    matrix = skeleton.rest[bone]
    tail = matrix[:3, 3] + skeleton.lengths[bone] * matrix[:3, 1]
    return np.array((matrix[:3, 3], tail))
