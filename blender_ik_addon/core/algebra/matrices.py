"""Matrices of three by three numbers: tuples of three rows."""

from __future__ import annotations

from .arithmetic import Arithmetic
from .vectors import Vector, cross, dot, scale

Matrix = tuple[Vector, Vector, Vector]

IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def transform(a: Matrix, v: Vector) -> Vector:
    """Return the product of a matrix and a vector."""
    x, y, z = v
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = a
    return xx * x + xy * y + xz * z, yx * x + yy * y + yz * z, zx * x + zy * y + zz * z


def transpose(a: Matrix) -> Matrix:
    """Return a matrix with rows and columns exchanged."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = a
    return (xx, yx, zx), (xy, yy, zy), (xz, yz, zz)


def multiply(outer: Matrix, inner: Matrix) -> Matrix:
    """Return the matrix that transforms by ``inner`` first, then by ``outer``."""
    columns = transpose(inner)
    first, second, third = outer
    return transform(columns, first), transform(columns, second), transform(columns, third)


def inverse(m: Arithmetic, a: Matrix) -> Matrix:
    """Return the inverse; zero for a matrix without one."""
    x, y, z = a
    columns = cross(y, z), cross(z, x), cross(x, y)
    share = m.divide(1.0, dot(x, columns[0]))
    return transpose((scale(columns[0], share), scale(columns[1], share), scale(columns[2], share)))
