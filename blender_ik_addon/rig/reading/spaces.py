"""Conversions between world, armature, parent bone, local and screen space.

How Blender poses a bone below its parent, 3x3 matrices in armature space, columns as axes::

    pose = (rs @ local_rotation @ diag(scale)) * post
    rs   = parent frame @ offset

``offset`` is the bone's rest matrix relative to its parent's. The parent frame is the parent's pose
matrix, cleaned as ``inherit_scale`` and ``use_inherit_rotation`` ask. ``post`` holds three factors
for the finished columns and differs from one in ALIGNED only. All of them may be reflected,
stretched or sheared, so no transpose replaces an inverse here.

A frame is *flat* if its shortest side is below ``_MIN_SIDE_RATIO`` of its longest, as under a zero
scale. Nothing raises there: what the frame cannot show stays unchanged, and every result is finite.

Every function works on any leading shape ``...`` and returns new arrays.

Source: derived from the behaviour of Blender's pose evaluation (4.2 to 5.2); proved by
tests/blender/rig/test_spaces.py against ``PoseBone.matrix``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from .batch_record import BatchRecord

# Ratio of sides below which a frame is flat: float32 directions (1e-7) are noise across it.
_MIN_SIDE_RATIO = 1e-6
# Blender leaves X and Z if the cosine between them is smaller, or rounds to one (measured).
_MIN_COSINE, _MAX_COSINE = 1e-4, 1.0 - 2.0**-24
_X, _Y = np.eye(3)[:2]
_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


class InheritScale(enum.IntEnum):
    """``Bone.inherit_scale`` as the integers that ``foreach_get`` gives."""

    FULL = 0
    FIX_SHEAR = 1
    AVERAGE = 2
    NONE = 3
    NONE_LEGACY = 4
    ALIGNED = 5


@dataclass(frozen=True)
class RestFrames(BatchRecord):
    """Rest data of bones for the pose evaluation; all fields share one leading shape ``...``.

    Attributes:
        parent_rest: Parents' rest matrices, armature space, (..., 3, 3); identity without parent.
        offset: ``inverse(parent rest) @ rest``, (..., 3, 3); the rest matrix without parent.
        use_inherit_rotation: As on the bones, (...); True without parent.
        inherit_scale: ``InheritScale`` values, (...); FULL without parent.
    """

    parent_rest: Array
    offset: Array
    use_inherit_rotation: Flags
    inherit_scale: npt.NDArray[np.int32]

    @cached_property
    def is_plain(self) -> bool:
        """Whether all bones take the whole parent matrix, as new bones do."""
        return self.turns_and_grows and bool(np.all(self.inherit_scale == InheritScale.FULL))

    @cached_property
    def turns_and_grows(self) -> bool:
        """Whether all bones take the whole parent matrix, or all but its shear."""
        whole = np.isin(self.inherit_scale, (InheritScale.FULL, InheritScale.FIX_SHEAR))
        return bool(np.all(self.use_inherit_rotation & whole))


@dataclass(frozen=True)
class ParentFrames:
    """Spaces in which the local rotations and scales of bones act.

    Attributes:
        rs: The parents' rotation, scale and shear with the rest offset, (..., 3, 3).
        post: Factors of the finished pose matrices' columns, never negative, (..., 3).
    """

    rs: Array
    post: Array


def parent_frames(parent_pose: Array, rest: RestFrames) -> ParentFrames:
    """Return the frames in which the local rotations of bones act.

    The pose matrices of parents are in armature space, (..., 3, 3), identity without parent. Their
    leading shape and that of the bones' rest frames are broadcast.
    """
    if rest.turns_and_grows:
        rs = parent_pose @ rest.offset
        if not rest.is_plain:
            has_shear = rest.inherit_scale == InheritScale.FULL
            rs = np.where(has_shear[..., None, None], rs, _without_shear(rs))
        return ParentFrames(rs, np.ones(rs.shape[:-1]))
    mode, turns = rest.inherit_scale[..., None], rest.use_inherit_rotation[..., None]
    is_full, is_aligned = mode == InheritScale.FULL, mode == InheritScale.ALIGNED
    is_fix_shear, is_legacy = mode == InheritScale.FIX_SHEAR, mode == InheritScale.NONE_LEGACY
    straight = _without_shear(parent_pose)
    lengths = rotation.length(parent_pose, -2)[..., 0, :]
    volume = np.abs(np.linalg.det(parent_pose))[..., None]
    # Sheared columns are longer than their volume warrants; a zero column has no box.
    box = np.prod(lengths, axis=-1, keepdims=True)
    trimmed = lengths * np.cbrt(np.where(box > 0.0, volume / np.where(box > 0.0, box, 1.0), 1.0))
    axes = rotation.unit(np.where(is_legacy[..., None], parent_pose, straight), axis=-2)
    axes = np.where((is_full | is_fix_shear)[..., None], parent_pose, axes)
    axes = np.where(turns[..., None], axes, rest.parent_rest)
    sizes = np.where(mode == InheritScale.AVERAGE, np.cbrt(volume), np.ones(3))
    sizes = np.where(is_full & ~turns, lengths, np.where(is_fix_shear & ~turns, trimmed, sizes))
    post = np.where(
        is_aligned, np.where(turns, rotation.length(straight, -2)[..., 0, :], trimmed), 1.0
    )
    rs = (axes * sizes[..., None, :]) @ rest.offset
    return ParentFrames(np.where(is_fix_shear[..., None], _without_shear(rs), rs), post)


def pose_from_local(frames: ParentFrames, local_rotation: Array, scale: Array) -> Array:
    """Return pose matrices (..., 3, 3) of local rotations (..., 3, 3) and scales (..., 3)."""
    return (frames.rs @ local_rotation) * (scale * frames.post)[..., None, :]


def local_from_pose(frames: ParentFrames, pose: Array, scale: Array) -> Array:
    """Return the local rotations (..., 3, 3), determinant +1, that give goal pose matrices.

    Exact for every pose that these frames and scales can show. For any other the Y direction is
    exact and X as near as possible. If a zero scale hides an axis, the visible ones decide.

    Args:
        frames: Frames of the bones' parents.
        pose: Goal pose matrices, armature space, (..., 3, 3), of any scale and shear.
        scale: The bones' scale channels, (..., 3); only the signs matter.
    """
    # ``post`` is never negative and lengths are dropped, so it does not matter here.
    sign = np.where(scale < 0.0, -1.0, 1.0)[..., None, :]
    x, pose_y, z = np.moveaxis(rotation.unit(inverse(frames.rs) @ pose, axis=-2) * sign, -1, 0)
    # If the first two do not show y, only x or z is left: any direction across it will do.
    aside = x + z
    y = _first_visible(pose_y, lambda: (rotation.cross(z, x), across(_Y, aside), across(_X, aside)))
    x = _first_visible(across(x, y), lambda: (rotation.cross(y, z), across(_X, y), across(_Y, y)))
    return np.stack((x, y, rotation.cross(x, y)), axis=-1)


def local_start(frames: ParentFrames, segment: Array, scale: Array) -> Array:
    """Return unit directions (..., 3) of segments before the bones' local rotations turn them.

    A segment scaled to zero keeps its unscaled direction; one without length lies along Y.

    Args:
        frames: Frames of the bones' parents.
        segment: From head to next joint in the bone's pose space, (..., 3): ``head_in_parent`` of
            the next bone, or (0, length, 0) for the tail.
        scale: The bones' scale channels, (..., 3).
    """
    visible = scale * frames.post * segment
    plain = np.where(np.any(segment != 0.0, axis=-1, keepdims=True), segment, _Y)
    return rotation.unit(np.where(np.any(visible != 0.0, axis=-1, keepdims=True), visible, plain))


def local_direction(frames: ParentFrames, direction: Array, otherwise: Array) -> Array:
    """Return unit directions (..., 3) to which local rotations have to turn ``local_start``.

    The segment then lies along ``direction``, or as near to it as a flat frame can show, because
    ``pose @ segment = rs @ local_rotation @ (scale * post * segment)``.

    Args:
        frames: Frames of the bones' parents.
        direction: Goal directions, armature space, (..., 3), of any length.
        otherwise: Unit vectors, (..., 3), for a zero direction, or one that a flat frame hides.
            ``local_rotation @ local_start(...)`` keeps the bone.
    """
    size = rotation.length(frames.rs, (-2, -1))[..., 0]
    vectors = transform_direction(inverse(frames.rs), rotation.unit(direction)) * size
    return _first_visible(vectors, lambda: (np.broadcast_to(otherwise, vectors.shape),))


def head_in_parent(
    offset: Array, location: Array, use_local_location: Flags, use_connect: Flags
) -> Array:
    """Return bones' heads in the pose space of their parents, (..., 3).

    They stay there while only rotations and scales change, whatever the bones inherit. ``offset``
    are rest matrices relative to the parents', (..., 4, 4), ``location`` the channels, (..., 3). A
    bone with ``use_connect`` ignores its location.
    """
    moved = np.where(use_local_location[..., None], transform_direction(offset, location), location)
    return offset[..., :3, 3] + np.where(use_connect[..., None], 0.0, moved)


def matrices_from_buffer(buffer: npt.NDArray[np.float32]) -> Array:
    """Return matrices (n, 4, 4), [row, column], from a ``foreach_get`` buffer of 16 n numbers."""
    matrices = buffer.reshape(-1, 4, 4).swapaxes(-1, -2)
    return np.array(matrices, dtype=np.float64, order="C")


def transform_point(matrix: Array, point: Array) -> Array:
    """Return points (..., 3) transformed by matrices (..., 4, 4)."""
    return transform_direction(matrix, point) + matrix[..., :3, 3]


def transform_direction(matrix: Array, vector: Array) -> Array:
    """Return vectors (..., 3) transformed by matrices (..., 3, 3) or (..., 4, 4)."""
    return (matrix[..., :3, :3] @ vector[..., None])[..., 0]


def find_pixels(points: npt.NDArray[np.floating], matrix: Array, size: tuple[int, int]) -> Array:
    """Return the pixels (..., 2) of points (..., 3) in world space; NaN for points behind the eye.

    ``matrix`` is the perspective matrix of the view, (4, 4), and ``size`` that of the region,
    pixels.
    """
    visible = points @ matrix[:3, :3].T + matrix[:3, 3]
    depth = points @ matrix[3, :3] + matrix[3, 3]
    depth = np.where(depth > 0.0, depth, np.nan)
    return (0.5 + 0.5 * visible[..., :2] / depth[..., None]) * size


def _without_shear(matrix: Array) -> Array:
    """Return (..., 3, 3) with perpendicular columns: Y kept, X and Z moved alike, volume kept."""
    x, y, z = np.moveaxis(matrix, -1, 0)
    x, z = across(x, rotation.unit(y)), across(z, rotation.unit(y))
    cosine = np.sum(rotation.unit(x) * rotation.unit(z), axis=-1, keepdims=True)
    cosine[(np.abs(cosine) < _MIN_COSINE) | (np.abs(cosine) > _MAX_COSINE)] = 0.0
    # X and Z turn by equal angles about Y, away from each other, until they are perpendicular.
    over, under = (1.0 + cosine) ** -0.5, (1.0 - cosine) ** -0.5
    keep, lean = (over + under) / 2.0, (over - under) / 2.0
    shrink = (1.0 - cosine**2) ** 0.25
    x_straight = keep * x + lean * rotation.unit(z) * rotation.length(x)
    z_straight = keep * z + lean * rotation.unit(x) * rotation.length(z)
    return np.stack((x_straight * shrink, y, z_straight * shrink), axis=-1)


def inverse(matrix: Array) -> Array:
    """Return inverses (..., 3, 3); of flat matrices the pseudo-inverse without the flat side."""
    by_next, by_last = matrix[..., _NEXT], matrix[..., _LAST]
    cofactors = by_next[..., _NEXT, :] * by_last[..., _LAST, :]
    cofactors = cofactors - by_last[..., _NEXT, :] * by_next[..., _LAST, :]
    determinant = np.sum(matrix[..., 0, :] * cofactors[..., 0, :], axis=-1)
    # The product of the norms of a matrix and its inverse is its longest over its shortest side.
    sides = (rotation.length(matrix, (-2, -1)) * rotation.length(cofactors, (-2, -1)))[..., 0, 0]
    is_flat = np.abs(determinant) <= _MIN_SIDE_RATIO * sides
    divisor = np.where(is_flat, 1.0, determinant)[..., None, None]
    inverse: Array = np.swapaxes(cofactors, -1, -2) / divisor
    if np.any(is_flat):
        inverse[is_flat] = np.linalg.pinv(matrix[is_flat], rcond=_MIN_SIDE_RATIO)
    return inverse


def _first_visible(first: Array, find_others: Callable[[], tuple[Array, ...]]) -> Array:
    """Return the directions of the first nonzero vectors (..., 3), all about of unit length."""
    length = rotation.length(first)
    if (length > _MIN_SIDE_RATIO).all():
        return first / length
    vectors = first, *find_others()
    result = rotation.unit(vectors[-1])
    for vector in vectors[-2::-1]:
        is_zero = rotation.length(vector) <= _MIN_SIDE_RATIO
        result = np.where(is_zero, result, rotation.unit(vector))
    return result


def across(vector: Array, axis: Array) -> Array:
    """Return the components of vectors (..., 3) perpendicular to unit axes."""
    return vector - axis * np.sum(vector * axis, axis=-1, keepdims=True)
