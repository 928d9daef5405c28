"""The limits of a chain's joints in world space: arcs and cones, and where the bones stand."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.algebra import rotation
from ...core.kinematics.limit_shapes import Arc, LimitShape, find_shape, swing_axes
from ..reading.bone_joints import BoneJoints
from ..reading.skeleton import Skeleton
from ..reading.spaces import parent_frames
from .chain_lines import PosedBones

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Shapes = dict[tuple[object, ...], LimitShape]
"""Shapes of joints that are known, by kind and ranges."""

# Of a bone's length: how large its limits are drawn, and how far along it that of its twist is.
BEND_SIZE, TWIST_SIZE, TWIST_PLACE = 0.45, 0.22, 0.3
# A frame of less volume than this, of a box with its sides, shows no turn.
FLAT = 1e-9


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

    @cached_property
    def rows(self) -> Indices:
        """The row of the bone of each outline, shape (o,)."""
        return np.array([each.row for each in self.outlines], dtype=np.int64)

    @cached_property
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
    rows, is_twist = outlines.rows, outlines.is_twist
    bones = outlines.bones[rows]
    zero_frames = _find_zero_frames(outlines, rows, skeleton, posed)
    matrices = posed.world[:3, :3] @ posed.matrices[bones, :3, :3]
    # A bone mirrored by its own scale shows its axes reversed.
    signs = np.where(posed.scale[bones] < 0.0, -1.0, 1.0)
    own = _unit(np.swapaxes(matrices, 1, 2)) * signs[:, :, None]
    turned = _unit(np.linalg.solve(_solid(zero_frames), own[:, 1, :, None])[..., 0])
    frames = np.where(is_twist[:, None, None], zero_frames @ swing_axes(turned), zero_frames)
    along = posed.axes(bones, skeleton.lengths[bones])
    lengths = np.sqrt(np.einsum("oi,oi->o", along, along))
    centres = posed.heads(bones) + np.where(is_twist, TWIST_PLACE, 0.0)[:, None] * along
    sizes = np.where(is_twist, TWIST_SIZE, BEND_SIZE) * lengths
    present = centres + sizes[:, None] * np.where(is_twist[:, None], own[:, 2], own[:, 1])
    of = outlines.outline_of
    seen = _unit(np.einsum("pij,pj->pi", frames[of], outlines.directions))
    points = centres[of] + sizes[of, None] * seen
    return PlacedLimits(outlines, points, centres, present, frames, sizes)


def _find_zero_frames(
    outlines: LimitOutlines, rows: Indices, skeleton: Skeleton, posed: PosedBones
) -> Array:
    """Return the axes of the joints of outlines at their zeros, world space, shape (o, 3, 3)."""
    bones, zero = outlines.bones[rows], outlines.joints.zero_wxyz
    parents = skeleton.parents[bones]
    above = np.where((parents >= 0)[:, None, None], posed.matrices[parents, :3, :3], np.eye(3))
    axes: Array = posed.world[:3, :3] @ parent_frames(above, skeleton.frames.take(bones)).rs
    return axes if zero is None else axes @ rotation.matrix_from_quaternion(zero[rows])


def _solid(frames: Array) -> Array:
    """Return frames (o, 3, 3) of which those squashed flat, which show no turn, are replaced."""
    sizes = np.prod(np.sqrt(np.einsum("oij,oij->oj", frames, frames)), axis=1)
    is_flat = np.abs(np.linalg.det(frames)) <= FLAT * sizes
    return np.where(is_flat[:, None, None], np.eye(3), frames)


def _unit(vectors: Array) -> Array:
    size = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    unit: Array = vectors / np.where(size > 0.0, size, 1.0)
    return unit
