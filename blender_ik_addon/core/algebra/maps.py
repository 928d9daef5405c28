"""Linear maps between axes: a unit quaternion where they are rigid, a matrix where they are not."""

from __future__ import annotations

from . import matrices, quaternions
from .arithmetic import Arithmetic
from .matrices import Matrix
from .quaternions import Quaternion
from .vectors import Vector

Map = Quaternion | Matrix


def apply(map_: Map, v: Vector) -> Vector:
    """Return a vector carried along by a map."""
    return quaternions.rotate(map_, v) if len(map_) == 4 else matrices.transform(map_, v)


def unapply(m: Arithmetic, map_: Map, v: Vector) -> Vector:
    """Return the vector that a map carries to another one."""
    if len(map_) == 4:
        return quaternions.unrotate(map_, v)
    return matrices.transform(matrices.inverse(m, map_), v)


def compose(outer: Map, inner: Map) -> Map:
    """Return the map that does what ``inner`` does first, then ``outer``."""
    if len(outer) == 4 and len(inner) == 4:
        return quaternions.multiply(outer, inner)
    return matrices.multiply(to_matrix(outer), to_matrix(inner))


def to_matrix(map_: Map) -> Matrix:
    """Return a map as a matrix."""
    return quaternions.to_matrix(map_) if len(map_) == 4 else map_
