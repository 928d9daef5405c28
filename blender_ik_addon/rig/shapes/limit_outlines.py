"""The limits of a chain's joints in world space: arcs, cones, and the present bone directions."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ..reading.bone_joints import BoneJoints
from ..reading.skeleton import Skeleton
from ..reading.spaces import RestFrames, inverse, parent_frames, transform_direction
from .chain_lines import EvaluatedPose
from .limit_shapes import Arc, find_bounds, swing_axes

# Shares of a bone's length: radius of bends and swings, of twists, and the place of the twists.
BEND_SIZE, TWIST_SIZE, TWIST_PLACE = 0.45, 0.22, 0.3
# Least length to divide by, so that a zero vector stays zero.
MIN_DIVISOR = 1e-300


class Outline(NamedTuple):
    """One boundary of a bone's joint, a line of consecutive points.

    Attributes:
        row: Row of the bone among the written bones, root first.
        arc: Axis and ends of a bend or twist; None for a swing, which is a closed line.
        stop: Index after its last point.
    """

    row: int
    arc: Arc | None
    stop: int

    @property
    def is_twist(self) -> bool:
        """Whether it bounds a twist, about Y."""
        return self.arc is not None and self.arc.axis == 1


@dataclass(frozen=True)
class LimitOutlines:
    """The limits of the k written bones of a chain; cached while its settings stay the same.

    Attributes:
        joints: The joints of the k bones.
        outlines: One or two outlines for each bone with limits, o in all.
        directions: Directions of all points of all outlines, shape (p, 3), in the axes of their
            joints at zero; those of twists in these axes after the swing.
        outline_of: Index of the outline of each point, shape (p,).
        owners: Index of the bone of each outline, shape (o,).
        names: Names of these bones.
        lengths: Rest lengths of these bones, shape (o,).
        parents: Indices of their parents, -1 for none, shape (o,).
        rest: Rest frames of these bones under their parents.
        zeros: Local rotations that count as no turn, shape (o, 3, 3); None if all are rest.
    """

    joints: BoneJoints
    outlines: tuple[Outline, ...]
    directions: Array
    outline_of: Indices
    owners: Indices
    names: tuple[str, ...]
    lengths: Array
    parents: Indices
    rest: RestFrames
    zeros: Array | None

    @cached_property
    def mesh(self) -> LimitMesh:
        """The lines and triangles that draw the outlines."""
        return make_mesh(self.outlines)

    @cached_property
    def roots(self) -> Indices:
        """Indices of the outlines of bones without a parent."""
        return np.flatnonzero(self.parents < 0)

    @cached_property
    def twists(self) -> Indices:
        """Indices of the outlines that bound twists."""
        return np.flatnonzero(self._is_twist)

    @cached_property
    def shown_axes(self) -> tuple[Indices, Indices]:
        """Outlines (o,) and the bone axes (o,) whose directions are drawn: Z for twists, or Y."""
        return np.arange(len(self.outlines)), np.where(self._is_twist, 2, 1)

    @cached_property
    def sizes_and_offsets(self) -> tuple[Array, Array]:
        """Rest radius of each outline and distance of its centre from the head, (o, 1) each."""
        sizes = np.where(self._is_twist, TWIST_SIZE, BEND_SIZE) * self.lengths
        offsets = np.where(self._is_twist, TWIST_PLACE, 0.0) * self.lengths
        return sizes[:, None], offsets[:, None]

    @cached_property
    def _is_twist(self) -> Flags:
        return np.array([item.is_twist for item in self.outlines], dtype=np.bool_)


@dataclass(frozen=True)
class PlacedLimits:
    """The limits of a chain on a pose, world space.

    Attributes:
        outlines: The limits.
        points: Points of the outlines, shape (p, 3).
        centres: Centres of the outlines, shape (o, 3).
        present: Points where the present axis of the bone meets each surface, shape (o, 3).
        frames: Axes of each outline's directions, as columns, shape (o, 3, 3).
        sizes: Distances from centres to points, shape (o,).
    """

    outlines: LimitOutlines
    points: Array
    centres: Array
    present: Array
    frames: Array
    sizes: Array

    def point_at(self, outline: int, direction: Array) -> Array:
        """Return the points in directions (..., 3) of an outline's axes, shape (..., 3)."""
        rotated = direction @ self.frames[outline].T
        point: Array = self.centres[outline] + self.sizes[outline] * rotated / _norms(rotated)
        return point


def compile_outlines(
    skeleton: Skeleton, bones: Indices, joints: BoneJoints
) -> LimitOutlines | None:
    """Compile the limits of the written bones (k,) of a chain; None if there are no limits."""
    outlines: list[Outline] = []
    directions: list[Array] = []
    count, ranges = 0, zip(joints.low.tolist(), joints.high.tolist(), strict=True)
    for row, (kind, ends) in enumerate(zip(joints.kinds, ranges, strict=True)):
        for arc, line in find_bounds(kind, *map(tuple, ends)):
            directions.append(line)
            count += len(line)
            outlines.append(Outline(row, arc, count))
    if not outlines:
        return None
    sizes = [len(line) for line in directions]
    rows = [outline.row for outline in outlines]
    owners, zero = bones[rows], joints.zero_wxyz
    return LimitOutlines(
        joints,
        tuple(outlines),
        np.concatenate(directions),
        np.repeat(np.arange(len(outlines)), sizes),
        owners,
        tuple([skeleton.names[owner] for owner in owners.tolist()]),
        skeleton.lengths[owners],
        skeleton.parents[owners],
        skeleton.frames.take(owners),
        None if zero is None else rotation.matrix_from_quaternion(zero[rows]),
    )


@np.errstate(over="ignore", invalid="ignore")
def place_outlines(outlines: LimitOutlines, pose: EvaluatedPose) -> PlacedLimits:
    """Return the limits of a chain on a pose; not finite where bones are not."""
    to_world, columns = pose.world[:3, :3].T, pose.columns.take(outlines.owners, axis=0)
    axes, frames = columns[:, :3, :3] @ to_world, _find_zero_frames(outlines, pose)
    lengths = _norms(axes)
    units, scales = axes / lengths, [pose.bones[name].scale[:] for name in outlines.names]
    if min(map(min, scales)) < 0.0:
        # A negative scale of a bone reverses the axes of its matrix.
        units = units * np.where(np.array(scales) < 0.0, -1.0, 1.0)[:, :, None]
    twists = outlines.twists
    if twists.size:
        zeros = frames[twists]
        turned = transform_direction(inverse(zeros), units[twists, 1])
        frames[twists] = zeros @ swing_axes(turned / _norms(turned))
    rest_sizes, offsets = outlines.sizes_and_offsets
    sizes = rest_sizes * lengths[:, 1]
    centres = columns[:, 3, :3] @ to_world + pose.world[:3, 3] + offsets * axes[:, 1]
    present = centres + sizes * units[outlines.shown_axes]
    rows = outlines.outline_of
    rotated = np.einsum("pij,pj->pi", frames.take(rows, axis=0), outlines.directions)
    points = centres.take(rows, axis=0) + rotated * (sizes.take(rows, axis=0) / _norms(rotated))
    return PlacedLimits(outlines, points, centres, present, frames, sizes[:, 0])


def _find_zero_frames(outlines: LimitOutlines, pose: EvaluatedPose) -> Array:
    """Return the axes of each outline's joint at zero, world space, shape (o, 3, 3)."""
    parents = pose.columns.take(outlines.parents, axis=0)[:, :3, :3].astype(np.float64)
    parents[outlines.roots] = np.eye(3)
    frames = parent_frames(parents.swapaxes(1, 2), outlines.rest).rs
    axes: Array = pose.world[:3, :3] @ frames
    return axes if outlines.zeros is None else axes @ outlines.zeros


def _norms(vectors: Array) -> Array:
    """Return the norms of vectors (..., 3), at least ``MIN_DIVISOR``, shape (..., 1)."""
    squares = np.add.reduce(vectors * vectors, axis=-1, keepdims=True)
    return np.maximum(np.sqrt(squares), MIN_DIVISOR)


class Stroke(enum.IntEnum):
    """The kind of a line in the drawing of a limit."""

    LIMIT = 0
    WHOLE_TURN = 1
    PRESENT = 2


class LimitMesh(NamedTuple):
    """Lines and triangles. Vertices are all points of outlines, then centres, then present points.

    Attributes:
        lines: Indices of the vertices at both ends of each line, shape (2 l,).
        strokes: The ``Stroke`` of each of these vertices, shape (2 l,).
        triangles: Indices of the vertices at the corners of each triangle, shape (3 t,).
    """

    lines: Indices
    strokes: Indices
    triangles: Indices


def make_mesh(outlines: Sequence[Outline]) -> LimitMesh:
    """Build the mesh of outlines, whose points follow one another."""
    count, total, first = len(outlines), outlines[-1].stop, 0
    lines: list[Indices] = []
    strokes: list[Stroke] = []
    triangles: list[Indices] = [np.zeros(0, dtype=np.int64)]
    for index, outline in enumerate(outlines):
        centre, points, arc = total + index, np.arange(first, outline.stop), outline.arc
        first, stops = outline.stop, arc is None or arc.has_ends
        pieces = np.column_stack((points, np.roll(points, -1)))
        pieces = pieces if arc is None else pieces[:-1]
        sides = [centre, points[0], centre, points[-1]] if arc is not None and stops else []
        lines += [pieces.ravel(), np.array([*sides, centre, centre + count], dtype=np.int64)]
        boundary = Stroke.LIMIT if stops else Stroke.WHOLE_TURN
        strokes += [boundary] * (pieces.size + len(sides)) + [Stroke.PRESENT] * 2
        if stops:
            triangles.append(np.column_stack((np.full(len(pieces), centre), pieces)).ravel())
    stroke_of_vertex = np.array(strokes, dtype=np.int64)
    return LimitMesh(np.concatenate(lines), stroke_of_vertex, np.concatenate(triangles))
