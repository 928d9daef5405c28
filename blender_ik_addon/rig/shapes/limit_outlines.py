"""The limits of a chain's joints in world space: arcs and cones, and where the bones stand."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.algebra import rotation
from ...core.kinematics.limit_shapes import AXIS_Y, AXIS_Z, Arc, LimitShape, find_shape, swing_of
from ..reading.bone_joints import NOT_TURNED, BoneJoints
from ..reading.skeleton import Skeleton
from ..reading.spaces import local_from_pose, parent_frames
from .chain_lines import PosedBones

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Shapes = dict[tuple[object, ...], LimitShape]
"""Shapes of joints that are known, by kind and ranges."""

# Of a bone's length: how large its limits are drawn, and how far along it that of its twist is.
BEND_SIZE, TWIST_SIZE, TWIST_PLACE = 0.45, 0.22, 0.3


class Part(enum.Enum):
    """What a line bounds."""

    BEND = "BEND"
    SWING = "SWING"
    TWIST = "TWIST"


class Outline(NamedTuple):
    """One boundary.

    Attributes:
        row: The written bone that it limits, counted from the root.
        part: What it bounds.
        arc: Axis and ends of a bend or twist; None for a swing, which is a closed line.
        first: Its first point.
        stop: One past the last.
    """

    row: int
    part: Part
    arc: Arc | None
    first: int
    stop: int

    @property
    def points(self) -> slice:
        """Which points are its own."""
        return slice(self.first, self.stop)


@dataclass(frozen=True)
class LimitOutlines:
    """The limits of the k written bones of a chain; kept while its settings stay the same.

    Attributes:
        bones: Indices of the bones, shape (k,).
        joints: What they allow.
        outlines: One or two a bone with limits.
        directions: Of all points of all outlines, shape (p, 3), in the axes of the joints' zeros,
            or for twists in those that the swing leads to.
        outline_of: The outline of each point, shape (p,).
    """

    bones: Indices
    joints: BoneJoints
    outlines: tuple[Outline, ...]
    directions: Array
    outline_of: Indices

    @property
    def rows(self) -> Indices:
        """The row of the bone of each outline, shape (o,)."""
        return np.array([each.row for each in self.outlines], dtype=np.int64)

    @property
    def is_twist(self) -> npt.NDArray[np.bool_]:
        """Which outlines bound twists, shape (o,)."""
        return np.array([each.part is Part.TWIST for each in self.outlines], dtype=np.bool_)


@dataclass(frozen=True)
class PlacedLimits:
    """Limits where they are seen, world space.

    Attributes:
        outlines: What there is.
        points: Of the boundaries, shape (p, 3).
        centres: What they are seen from, shape (o, 3).
        present: Where the bone's own axis meets each surface, shape (o, 3).
        frames: Unit axes in which each outline's directions count, shape (o, 3, 3).
        sizes: Distances from centres to points, shape (o,).
    """

    outlines: LimitOutlines
    points: Array
    centres: Array
    present: Array
    frames: Array
    sizes: Array

    def point_at(self, outline: int, direction: Array) -> Array:
        """Return where directions (..., 3) of an outline's axes are seen, shape (..., 3)."""
        seen = _unit(direction @ self.frames[outline].T)
        point: Array = self.centres[outline] + self.sizes[outline] * seen
        return point


def compile_outlines(bones: Indices, joints: BoneJoints, known: Shapes) -> LimitOutlines | None:
    """Return the limits of the written bones of a chain; None where there are none.

    Args:
        bones: Their indices, shape (k,).
        joints: What they allow.
        known: Shapes of joints, to share; grows.
    """
    outlines: list[Outline] = []
    directions: list[Array] = []
    count = 0
    for row, kind in enumerate(joints.kinds):
        key = (kind, joints.low[row].tobytes(), joints.high[row].tobytes())
        if key not in known:
            known[key] = find_shape(kind, joints.low[row], joints.high[row])
        for part, arc, line in _lines(known[key]):
            outlines.append(Outline(row, part, arc, count, count + len(line)))
            directions.append(line)
            count += len(line)
    if not outlines:
        return None
    lengths = [len(line) for line in directions]
    return LimitOutlines(
        bones,
        joints,
        tuple(outlines),
        np.concatenate(directions),
        np.repeat(np.arange(len(outlines)), lengths),
    )


def _lines(shape: LimitShape) -> Sequence[tuple[Part, Arc | None, Array]]:
    lines: list[tuple[Part, Arc | None, Array]] = []
    if shape.bend is not None:
        lines.append((Part.BEND, shape.bend, shape.bend.trace()))
    if shape.swing is not None:
        lines.append((Part.SWING, None, shape.swing))
    if shape.twist is not None:
        lines.append((Part.TWIST, shape.twist, shape.twist.trace()))
    return lines


def place_outlines(outlines: LimitOutlines, skeleton: Skeleton, posed: PosedBones) -> PlacedLimits:
    """Return the limits of a chain as they are seen on a pose."""
    bones, rows, is_twist = outlines.bones, outlines.rows, outlines.is_twist
    zero_frames, turns = _find_turns(outlines, skeleton, posed)
    swings = swing_of(turns)
    swung = zero_frames @ rotation.matrix_from_quaternion(swings)
    frames = np.where(is_twist[:, None, None], swung[rows], zero_frames[rows])
    along = posed.axes(bones, skeleton.lengths[bones])[rows]
    lengths = np.linalg.norm(along, axis=1)
    centres = posed.heads(bones)[rows] + np.where(is_twist, TWIST_PLACE, 0.0)[:, None] * along
    sizes = np.where(is_twist, TWIST_SIZE, BEND_SIZE) * lengths
    twists = rotation.multiply(rotation.conjugate(swings), turns)
    own = np.where(
        is_twist[:, None],
        rotation.rotate(twists[rows], np.broadcast_to(AXIS_Z, (len(rows), 3))),
        rotation.rotate(turns[rows], np.broadcast_to(AXIS_Y, (len(rows), 3))),
    )
    present = centres + sizes[:, None] * _unit((frames @ own[..., None])[..., 0])
    of = outlines.outline_of
    seen = _unit(np.einsum("pij,pj->pi", frames[of], outlines.directions))
    points = centres[of] + sizes[of, None] * seen
    return PlacedLimits(outlines, points, centres, present, frames, sizes)


def _find_turns(
    outlines: LimitOutlines, skeleton: Skeleton, posed: PosedBones
) -> tuple[Array, Array]:
    """Return the axes of joints at their zeros, world space, (k, 3, 3), and turns from there."""
    bones, zero = outlines.bones, outlines.joints.zero_wxyz
    parents = skeleton.parents[bones]
    above = np.where((parents >= 0)[:, None, None], posed.matrices[parents, :3, :3], np.eye(3))
    frames = parent_frames(above, skeleton.frames.take(bones))
    local = local_from_pose(frames, posed.matrices[bones, :3, :3], posed.scale[bones])
    turns = outlines.joints.turns_of(rotation.quaternion_from_matrix(local))
    if zero is None:
        zero = np.broadcast_to(NOT_TURNED, (len(bones), 4))
    axes = posed.world[:3, :3] @ frames.rs @ rotation.matrix_from_quaternion(zero)
    return axes, turns


def _unit(vectors: Array) -> Array:
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: Array = vectors / np.where(size > 0.0, size, 1.0)
    return unit
