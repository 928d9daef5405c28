"""The limits of a chain's joints in world space: arcs and cones, and where the bones stand."""

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
from ..reading.spaces import RestFrames, parent_frames
from .chain_lines import PosedBones
from .limit_shapes import Arc, LimitPart, find_bounds, swing_axes

# Shares of a bone's length: radius of its limits, that of its twist, and where the twist is drawn.
BEND_SIZE, TWIST_SIZE, TWIST_PLACE = 0.45, 0.22, 0.3
# A frame is flat if its volume is less than this share of that of a box with the same sides.
FLAT = 1e-9
# The least length to divide by, so that a zero vector stays zero.
SHORTEST = 1e-300


class Outline(NamedTuple):
    """One boundary.

    Attributes:
        row: The written bone that it limits, counted from the root.
        part: What it bounds.
        arc: Axis and ends of a bend or twist; None for a swing, which is a closed line.
        stop: One past its last point.
    """

    row: int
    part: LimitPart
    arc: Arc | None
    stop: int

    @property
    def is_closed(self) -> bool:
        """Whether its last point is joined to its first one."""
        return self.part is LimitPart.SWING

    @property
    def has_ends(self) -> bool:
        """Whether it stops the bone anywhere."""
        return self.arc is None or self.arc.has_ends


@dataclass(frozen=True)
class LimitOutlines:
    """The limits of the k written bones of a chain; kept while its settings stay the same.

    Attributes:
        bones: Indices of the bones, shape (k,).
        joints: What they allow.
        outlines: One or two for each bone with limits.
        directions: Of all points of all outlines, shape (p, 3), in the axes of their joints at
            zero; those of twists in these axes after the swing.
        outline_of: The outline of each point, shape (p,).
        owners: The bone of each outline, shape (o,).
        names: The name of each of these.
        lengths: The rest length of each, shape (o,).
        parents: The bone above each, -1 for none, shape (o,).
        rest: The rest frames of these bones under their parents.
        zeros: Local rotations that count as no turn, shape (o, 3, 3); None where all are rest.
    """

    bones: Indices
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
        """The lines and triangles that draw them."""
        return make_mesh(self.outlines)

    @cached_property
    def roots(self) -> Indices:
        """The outlines of bones without a parent."""
        return np.flatnonzero(self.parents < 0)

    @cached_property
    def twists(self) -> Indices:
        """The outlines that bound twists."""
        return np.flatnonzero(self._is_twist)

    @cached_property
    def shown_axes(self) -> tuple[Indices, Indices]:
        """Which axis of which outline's bone shows its present place: Z for twists, else Y."""
        return np.arange(len(self.outlines)), np.where(self._is_twist, 2, 1)

    @cached_property
    def shares(self) -> tuple[Array, Array]:
        """The size of each outline and its distance along its bone, at rest, (o, 1) each."""
        sizes = np.where(self._is_twist, TWIST_SIZE, BEND_SIZE) * self.lengths
        places = np.where(self._is_twist, TWIST_PLACE, 0.0) * self.lengths
        return sizes[:, None], places[:, None]

    @cached_property
    def _is_twist(self) -> Flags:
        return np.array([each.part is LimitPart.TWIST for each in self.outlines], dtype=np.bool_)


@dataclass(frozen=True)
class PlacedLimits:
    """Limits on a pose, world space.

    Attributes:
        outlines: The limits.
        points: Of the outlines, shape (p, 3).
        centres: Of the outlines, shape (o, 3).
        present: Where the bone's own axis meets each surface, shape (o, 3).
        frames: The axes of each outline's directions, shape (o, 3, 3).
        sizes: Distances from centres to points, shape (o,).
    """

    outlines: LimitOutlines
    points: Array
    centres: Array
    present: Array
    frames: Array
    sizes: Array

    def point_at(self, outline: int, direction: Array) -> Array:
        """Return the points of directions (..., 3) in an outline's axes, shape (..., 3)."""
        seen = direction @ self.frames[outline].T
        point: Array = self.centres[outline] + self.sizes[outline] * seen / _length(seen)
        return point


def compile_outlines(
    skeleton: Skeleton, bones: Indices, joints: BoneJoints
) -> LimitOutlines | None:
    """Return the limits of the written bones of a chain; None where there are none.

    Args:
        skeleton: The armature's bones.
        bones: Their indices, shape (k,).
        joints: What they allow.
    """
    outlines: list[Outline] = []
    directions: list[Array] = []
    count, ranges = 0, zip(joints.low.tolist(), joints.high.tolist(), strict=True)
    for row, (kind, ends) in enumerate(zip(joints.kinds, ranges, strict=True)):
        for part, arc, line in find_bounds(kind, *map(tuple, ends)):
            directions.append(line)
            count += len(line)
            outlines.append(Outline(row, part, arc, count))
    if not outlines:
        return None
    sizes = [len(line) for line in directions]
    rows = [each.row for each in outlines]
    owners, zero = bones[rows], joints.zero_wxyz
    return LimitOutlines(
        bones,
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
def place_outlines(outlines: LimitOutlines, posed: PosedBones) -> PlacedLimits:
    """Return the limits of a chain on a pose; not finite where bones are not."""
    to_world, columns = posed.world[:3, :3].T, posed.columns.take(outlines.owners, axis=0)
    axes, frames = columns[:, :3, :3] @ to_world, _find_zero_frames(outlines, posed)
    lengths = _length(axes)
    own, scales = axes / lengths, [posed.bones[name].scale[:] for name in outlines.names]
    if min(map(min, scales)) < 0.0:
        # A bone mirrored by its own scale shows its axes reversed.
        own = own * np.where(np.array(scales) < 0.0, -1.0, 1.0)[:, :, None]
    twists = outlines.twists
    if twists.size:
        zeros = frames[twists]
        turned = np.linalg.solve(_solid(zeros), own[twists, 1, :, None])[..., 0]
        frames[twists] = zeros @ swing_axes(turned / _length(turned))
    shares, places = outlines.shares
    sizes = shares * lengths[:, 1]
    centres = columns[:, 3, :3] @ to_world + posed.world[:3, 3] + places * axes[:, 1]
    present = centres + sizes * own[outlines.shown_axes]
    of = outlines.outline_of
    seen = np.einsum("pij,pj->pi", frames.take(of, axis=0), outlines.directions)
    points = centres.take(of, axis=0) + seen * (sizes.take(of, axis=0) / _length(seen))
    return PlacedLimits(outlines, points, centres, present, frames, sizes[:, 0])


def _find_zero_frames(outlines: LimitOutlines, posed: PosedBones) -> Array:
    """Return the axes of each outline's joint at zero, world space, shape (o, 3, 3)."""
    above = posed.columns.take(outlines.parents, axis=0)[:, :3, :3].astype(np.float64)
    above[outlines.roots] = np.eye(3)
    frames = parent_frames(above.swapaxes(1, 2), outlines.rest).rs
    axes: Array = posed.world[:3, :3] @ frames
    return axes if outlines.zeros is None else axes @ outlines.zeros


def _length(vectors: Array) -> Array:
    """Return the lengths of vectors (..., 3), shape (..., 1), to divide by: never quite zero."""
    squares = np.add.reduce(vectors * vectors, axis=-1, keepdims=True)
    return np.maximum(np.sqrt(squares), SHORTEST)


def _solid(frames: Array) -> Array:
    """Return frames (o, 3, 3), flat ones replaced by the identity, as they have no inverse."""
    sizes = np.prod(np.sqrt(np.einsum("oij,oij->oj", frames, frames)), axis=1)
    # False for frames that are not finite as well.
    is_solid = np.abs(np.linalg.det(frames)) > FLAT * sizes
    return np.where(is_solid[:, None, None], frames, np.eye(3))


class Stroke(enum.IntEnum):
    """What a line of a limit shows."""

    LIMIT = 0
    WHOLE_TURN = 1
    PRESENT = 2


class LimitMesh(NamedTuple):
    """Lines and triangles. Vertices are all points of outlines, then centres, then present places.

    Attributes:
        lines: Vertices at the ends of lines, in pairs, shape (2 l,).
        strokes: The ``Stroke`` of each of these, shape (2 l,).
        triangles: Vertices of the corners of areas, shape (3 t,).
    """

    lines: Indices
    strokes: Indices
    triangles: Indices


def make_mesh(outlines: Sequence[Outline]) -> LimitMesh:
    """Return the mesh of outlines, whose points follow one another."""
    count, total, first = len(outlines), outlines[-1].stop, 0
    lines: list[Indices] = []
    strokes: list[Stroke] = []
    triangles: list[Indices] = [np.zeros(0, dtype=np.int64)]
    for number, outline in enumerate(outlines):
        centre, points, bounds = total + number, np.arange(first, outline.stop), outline.has_ends
        first = outline.stop
        pieces = np.column_stack((points, np.roll(points, -1)))
        pieces = pieces if outline.is_closed else pieces[:-1]
        is_open = bounds and not outline.is_closed
        sides = [centre, points[0], centre, points[-1]] if is_open else []
        lines += [pieces.ravel(), np.array([*sides, centre, centre + count], dtype=np.int64)]
        boundary = Stroke.LIMIT if bounds else Stroke.WHOLE_TURN
        strokes += [boundary] * (pieces.size + len(sides)) + [Stroke.PRESENT] * 2
        if bounds:
            triangles.append(np.column_stack((np.full(len(pieces), centre), pieces)).ravel())
    every = np.array(strokes, dtype=np.int64)
    return LimitMesh(np.concatenate(lines), every, np.concatenate(triangles))
