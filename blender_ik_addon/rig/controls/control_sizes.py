"""How large controls are drawn, and where: around the part of the body that they move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..anatomy.bone_names import read
from ..anatomy.limb_chains import chain_of
from ..anatomy.limbs import Limb, LimbKind
from ..reading import spaces
from ..reading.spec import Anchor
from ..reading.world import array_of, ends_of, matrix_of
from .control_shapes import Shape

# What bones leave out of a body: shares of a box's length that it is wider and longer than its
# bones on each side, and the least width and height of it.
MARGIN = 0.08
FOOT_SIDES, HAND_SIDES, HEAD_SIDES = (0.4, 0.12), (0.5, 0.25), (0.7, 0.7)
# Of a tail or another limb without hand or foot: its width as a share of its last bone.
TIP_WIDTH = 0.5
# A foot that goes less than this share of its length along the floor shows no way forward.
UPRIGHT = 0.2
# The radius of the ring around the hips, of the way from their axis to the thighs.
HIPS_WIDTH = 1.5
# How far a box may go on the way to that of the other side, of which the middle is a half; and the
# least width that is left where they are nearer, of its width.
NEAREST, LEAST_WIDTH = 0.45, 0.2
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Look:
    """What a control is drawn as.

    Attributes:
        shape: What it is.
        matrix: Takes the shape of a bone of length one to where it is drawn, world space, shape
            (4, 4); its columns are at right angles.
    """

    shape: Shape
    matrix: Array

    @property
    def sides(self) -> Array:
        """Return how long the unit of the shape is along its axes, shape (3,)."""
        return np.linalg.norm(self.matrix[:3, :3], axis=0)


def look_of(
    armature_object: bpy.types.Object, limb: Limb, target: Array, other: Array | None = None
) -> Look | None:
    """Return what the target of a limb is drawn as: its foot, hand, head or chest, or its tip.

    None where that is scaled to nothing.

    Args:
        armature_object: The original object, in the pose that the control is made in.
        limb: The limb.
        target: Where the control is, world space, shape (4, 4).
        other: Where the same control of the other side is, which is kept clear, shape (4, 4); None
            without.
    """
    if np.linalg.matrix_rank(target[:3, :3]) < 3:
        return None
    if not limb.end:
        return _look_of_tip(armature_object, limb, target)
    points = _points_below(armature_object, limb.end)
    forward = _forward(points) if limb.kind is LimbKind.LEG else None
    if forward is not None:
        frame = np.eye(4)
        frame[:3, :3] = np.stack((np.cross(forward, UP), forward, UP), axis=1)
        frame[:3, 3] = target[:3, 3]
        least = FOOT_SIDES
    else:
        frame, least = target, HEAD_SIDES if limb.kind is LimbKind.NECK else HAND_SIDES
    low, high = _around(spaces.transform_point(np.linalg.inv(frame), points), least)
    if forward is not None:
        # What is as high as a sole, not as the ankle.
        bottom = float(np.min((points - frame[:3, 3]) @ UP))
        low[2], high[2] = bottom, bottom + least[1] * (high[1] - low[1])
    if other is not None:
        low, high = _kept_clear(frame, low, high, other[:3, 3])
    return Look("CUBE", _box(frame, low, high))


def _look_of_tip(armature_object: bpy.types.Object, limb: Limb, target: Array) -> Look:
    """Return a ring around a last bone that is turned, else a box around its tail."""
    bone = armature_object.pose.bones[limb.bones[-1]]
    head, tail = ends_of(armature_object, [bone])
    length = float(np.linalg.norm(tail - head))
    if chain_of(limb).use_rotation:
        frame = np.eye(4)
        turned = matrix_of(Anchor(armature_object, bone.name))[:3, :3]
        frame[:3, :3], frame[:3, 3] = rotation.orientation(turned), head
        return Look("BELT", _scaled(frame, np.full(3, length)))
    # Where a leg stands a box as long as its last bone would lie below the floor.
    along = TIP_WIDTH if limb.kind is LimbKind.SPIDER_LEG else 1.0
    sides = np.array([TIP_WIDTH, along, TIP_WIDTH]) * length
    return Look("CUBE", _box(target, -sides / 2.0, sides / 2.0))


def belt_of(armature_object: bpy.types.Object, hips: str, limbs: Sequence[Limb]) -> Array:
    """Return the scale (3,) of a ring around the hips, as wide as what hangs on these.

    Args:
        armature_object: The original object.
        hips: The bone that the ring is drawn for.
        limbs: All limbs of the body.
    """
    bones = armature_object.data.bones
    to_hips = np.linalg.inv(array_of(bones[hips].matrix_local))
    legs = [limb.bones[0] for limb in limbs if limb.kind is LimbKind.LEG]
    starts = [bones[leg].head_local for leg in legs if bones[hips] in bones[leg].parent_recursive]
    places = spaces.transform_point(to_hips, np.array(starts, dtype=np.float64).reshape(-1, 3))
    across = np.linalg.norm(places[:, [0, 2]], axis=1).tolist()
    width = max(1.0, HIPS_WIDTH * max(across, default=0.0) / bones[hips].length)
    return np.array([width, 1.0, width])


def look_of_hips(armature_object: bpy.types.Object, hips: str, limbs: Sequence[Limb]) -> Look:
    """Return the same ring for a control of the hips, where they are at rest."""
    bone = armature_object.data.bones[hips]
    matrix = array_of(armature_object.matrix_world @ bone.matrix_local)
    frame, length = matrix.copy(), bone.length * float(np.linalg.norm(matrix[:3, 1]))
    frame[:3, :3] = rotation.orientation(matrix[:3, :3])
    return Look("BELT", _scaled(frame, length * belt_of(armature_object, hips, limbs)))


def _points_below(armature_object: bpy.types.Object, end: str) -> Array:
    """Return heads and tails of a bone and of all below it that are of the body, world space.

    Of the helpers of riggers only heels count, which Rigify lays across the heel.

    Returns:
        Points of shape (n, 3), the head of the bone first.
    """
    bone = armature_object.pose.bones[end]
    below = [read(each.name) for each in bone.children_recursive]
    bones = [
        each
        for each, name in zip(bone.children_recursive, below, strict=True)
        if not name.is_helper or "heel" in name.words
    ]
    points = ends_of(armature_object, (bone, *bones))
    return points[np.isfinite(points).all(axis=1)]


def _forward(points: Array) -> Array | None:
    """Return where a foot goes along the floor, shape (3,); None for one that stands on its tip."""
    ways = points - points[0]
    flat = ways * (1.0, 1.0, 0.0)
    distances = np.linalg.norm(flat, axis=1)
    farthest = int(np.argmax(distances))
    if distances[farthest] <= UPRIGHT * np.linalg.norm(ways, axis=1).max():
        return None
    forward: Array = flat[farthest] / distances[farthest]
    return forward


def _around(points: Array, least: tuple[float, float]) -> tuple[Array, Array]:
    """Return the lowest and highest corner (3,) of a box around points along its axes.

    Args:
        points: In the frame of the box, whose length is along Y, shape (n, 3).
        least: Its least width along X and Z, shares of its length.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    length = (high[1] - low[1]) * (1.0 + 2.0 * MARGIN)
    sides = np.maximum(
        high - low + 2.0 * MARGIN * length, length * np.array((least[0], 0, least[1]))
    )
    middle = (low + high) / 2.0
    sides[1] = length
    return middle - sides / 2.0, middle + sides / 2.0


def _kept_clear(frame: Array, low: Array, high: Array, other: Array) -> tuple[Array, Array]:
    """Return the corners of a box made narrower where it would go over to the other side's.

    Args:
        frame: Of the box, world space, shape (4, 4).
        low: Its lowest corner in that, shape (3,).
        high: Its highest corner, shape (3,).
        other: The place that the other side's is at, world space, shape (3,).
    """
    way = frame[:3, :3].T @ (other - frame[:3, 3])
    distance = float(np.linalg.norm(way))
    if distance == 0.0 or abs(way[0]) < distance / 2.0:
        return low, high
    toward = way / distance
    low, high = low.copy(), high.copy()
    corner = np.where(toward > 0.0, high, low)
    excess = (float(toward @ corner) - NEAREST * distance) / abs(toward[0])
    cut = float(np.clip(excess, 0.0, (1.0 - LEAST_WIDTH) * (high[0] - low[0])))
    if toward[0] > 0.0:
        high[0] -= cut
    else:
        low[0] += cut
    return low, high


def _box(frame: Array, low: Array, high: Array) -> Array:
    """Return what takes the box around a bone of length one to these corners of a frame."""
    start = np.array([(low[0] + high[0]) / 2.0, low[1], (low[2] + high[2]) / 2.0])
    matrix = _scaled(frame, high - low)
    matrix[:3, 3] = spaces.transform_point(frame, start)
    return matrix


def _scaled(frame: Array, sides: Array) -> Array:
    """Return a matrix (4, 4) whose axes are as long as these sides (3,)."""
    matrix = frame.copy()
    matrix[:3, :3] *= sides
    return matrix
