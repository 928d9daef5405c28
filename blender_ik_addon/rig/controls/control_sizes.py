"""Displays of controls: shapes around the parts of the body that the controls move."""

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

# Controls are larger than the bones of a part, which leave out some of the body: the margin on each
# side, and the minimum width and height of a box, as shares of its length.
MARGIN = 0.08
FOOT_SIDES, HAND_SIDES, HEAD_SIDES = (0.4, 0.12), (0.5, 0.25), (0.7, 0.7)
# Width of the box of a limb without hand or foot, such as a tail, as a share of its last bone.
TIP_WIDTH = 0.5
# Minimum share of a foot's length along the floor; below it the foot has no forward direction.
MIN_FORWARD_SHARE = 0.2
# Radius of the ring around the hips, as a factor on the distance from their axis to the thighs.
HIPS_RING_FACTOR = 1.5
# Maximum extent of a box as a share of the way to the same control of the other side (0.5 is the
# middle), and the minimum width that is left of it, as a share of its width.
MAX_SHARE_OF_WAY, MIN_WIDTH_SHARE = 0.45, 0.2
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class ControlLook:
    """The display of a control.

    Attributes:
        shape: The shape.
        matrix: Matrix from the shape of a bone of length one to its display, world space, shape
            (4, 4); its columns are at right angles.
    """

    shape: Shape
    matrix: Array

    @property
    def sides(self) -> Array:
        """Lengths of the shape's unit along its axes, shape (3,)."""
        return np.linalg.norm(self.matrix[:3, :3], axis=0)


def look_of(
    armature_object: bpy.types.Object, limb: Limb, target: Array, other: Array | None
) -> ControlLook | None:
    """Return the display of a limb's target: around its foot, hand, head, chest or tip.

    None if the target has a scale of zero. ``target`` is the matrix of the control in the present
    pose, ``other`` that of the same control of the other side, which is to stay clear; both in
    world space, shape (4, 4).
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
        min_sides = FOOT_SIDES
    else:
        frame, min_sides = target, HEAD_SIDES if limb.kind is LimbKind.NECK else HAND_SIDES
    low, high = _around(spaces.transform_point(np.linalg.inv(frame), points), min_sides)
    if forward is not None:
        # The box is as high as the sole, not as the ankle.
        bottom = float(np.min((points - frame[:3, 3]) @ UP))
        low[2], high[2] = bottom, bottom + min_sides[1] * (high[1] - low[1])
    if other is not None:
        low, high = _clear_of_other_side(frame, low, high, other[:3, 3])
    return ControlLook("CUBE", _box(frame, low, high))


def _look_of_tip(armature_object: bpy.types.Object, limb: Limb, target: Array) -> ControlLook:
    """Return a ring around the last bone if the target turns it, otherwise a box at its tail."""
    bone = armature_object.pose.bones[limb.bones[-1]]
    head, tail = ends_of(armature_object, [bone])
    length = float(np.linalg.norm(tail - head))
    if chain_of(limb).use_rotation:
        frame = np.eye(4)
        axes = matrix_of(Anchor(armature_object, bone.name))[:3, :3]
        frame[:3, :3], frame[:3, 3] = rotation.orientation(axes), head
        return ControlLook("BELT", _scaled(frame, np.full(3, length)))
    # At the foot of a standing leg, a box as long as the last bone would reach below the floor.
    length_share = TIP_WIDTH if limb.kind is LimbKind.SPIDER_LEG else 1.0
    sides = np.array([TIP_WIDTH, length_share, TIP_WIDTH]) * length
    return ControlLook("CUBE", _box(target, -sides / 2.0, sides / 2.0))


def belt_of(armature_object: bpy.types.Object, hips: str, limbs: Sequence[Limb]) -> Array:
    """Return the scale (3,) of a ring around the bone of the hips that contains the thighs."""
    bones = armature_object.data.bones
    to_hips = np.linalg.inv(array_of(bones[hips].matrix_local))
    legs = [limb.bones[0] for limb in limbs if limb.kind is LimbKind.LEG]
    starts = [bones[leg].head_local for leg in legs if bones[hips] in bones[leg].parent_recursive]
    thighs = spaces.transform_point(to_hips, np.array(starts, dtype=np.float64).reshape(-1, 3))
    distances = np.linalg.norm(thighs[:, [0, 2]], axis=1).tolist()
    width = max(1.0, HIPS_RING_FACTOR * max(distances, default=0.0) / bones[hips].length)
    return np.array([width, 1.0, width])


def look_of_hips(
    armature_object: bpy.types.Object, hips: str, limbs: Sequence[Limb]
) -> ControlLook:
    """Return the ring of ``belt_of`` for a control of the hips, at their rest pose."""
    bone = armature_object.data.bones[hips]
    matrix = array_of(armature_object.matrix_world @ bone.matrix_local)
    frame, length = matrix.copy(), bone.length * float(np.linalg.norm(matrix[:3, 1]))
    frame[:3, :3] = rotation.orientation(matrix[:3, :3])
    return ControlLook("BELT", _scaled(frame, length * belt_of(armature_object, hips, limbs)))


def _points_below(armature_object: bpy.types.Object, end: str) -> Array:
    """Return heads and tails of a bone and of the bones of the body below it, world space, (n, 3).

    The head of the bone is the first. Helper bones are left out, except heels, which Rigify lays
    across the heel.
    """
    bone = armature_object.pose.bones[end]
    below = bone.children_recursive
    bones = [i for i in below if not read(i.name).is_helper or "heel" in read(i.name).words]
    points = ends_of(armature_object, (bone, *bones))
    return points[np.isfinite(points).all(axis=1)]


def _forward(points: Array) -> Array | None:
    """Return the forward direction (3,) of a foot along the floor; None if it is on its tip."""
    offsets = points - points[0]
    level_offsets = offsets * (1.0, 1.0, 0.0)
    distances = np.linalg.norm(level_offsets, axis=1)
    farthest = int(np.argmax(distances))
    if distances[farthest] <= MIN_FORWARD_SHARE * np.linalg.norm(offsets, axis=1).max():
        return None
    forward: Array = level_offsets[farthest] / distances[farthest]
    return forward


def _around(points: Array, min_sides: tuple[float, float]) -> tuple[Array, Array]:
    """Return the lowest and highest corner (3,) of a box with a margin around points (n, 3).

    The points are in the frame of the box, whose length is along Y. ``min_sides`` are its minimum
    widths along X and Z, as shares of its length.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    length = (high[1] - low[1]) * (1.0 + 2.0 * MARGIN)
    sides = np.maximum(
        high - low + 2.0 * MARGIN * length, length * np.array((min_sides[0], 0, min_sides[1]))
    )
    middle = (low + high) / 2.0
    sides[1] = length
    return middle - sides / 2.0, middle + sides / 2.0


def _clear_of_other_side(
    frame: Array, low: Array, high: Array, other: Array
) -> tuple[Array, Array]:
    """Return the corners of a box, narrower if it would reach over to that of the other side.

    ``low`` and ``high`` are its corners in its frame (4, 4); ``other`` is the place of the control
    of the other side, world space, shape (3,).
    """
    to_other = frame[:3, :3].T @ (other - frame[:3, 3])
    distance = float(np.linalg.norm(to_other))
    if distance == 0.0 or abs(to_other[0]) < distance / 2.0:
        return low, high
    direction = to_other / distance
    low, high = low.copy(), high.copy()
    corner = np.where(direction > 0.0, high, low)
    excess = (float(direction @ corner) - MAX_SHARE_OF_WAY * distance) / abs(direction[0])
    cut = float(np.clip(excess, 0.0, (1.0 - MIN_WIDTH_SHARE) * (high[0] - low[0])))
    if direction[0] > 0.0:
        high[0] -= cut
    else:
        low[0] += cut
    return low, high


def _box(frame: Array, low: Array, high: Array) -> Array:
    """Return the matrix (4, 4) from the box of a bone of length one to a box in a frame."""
    start = np.array([(low[0] + high[0]) / 2.0, low[1], (low[2] + high[2]) / 2.0])
    matrix = _scaled(frame, high - low)
    matrix[:3, 3] = spaces.transform_point(frame, start)
    return matrix


def _scaled(frame: Array, sides: Array) -> Array:
    """Return a frame (4, 4) with its axes scaled by sides (3,)."""
    matrix = frame.copy()
    matrix[:3, :3] *= sides
    return matrix
