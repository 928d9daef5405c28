"""Matrices of three by three numbers: tuples of three rows."""

from __future__ import annotations

from collections.abc import Sequence

from .arithmetic import Arithmetic, Number
from .vectors import Vector, cross, dot, norm, reject, scale

Matrix = tuple[Vector, Vector, Vector]

# A matrix with a smaller determinant has no inverse in floats.
MIN_DETERMINANT = 1e-300
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
    volume = dot(x, columns[0])
    share = m.divide(1.0, m.where(m.absolute(volume) > MIN_DETERMINANT, volume, 0.0))
    return transpose((scale(columns[0], share), scale(columns[1], share), scale(columns[2], share)))


def orient(m: Arithmetic, a: Matrix) -> Matrix:
    """Return the rotation of a matrix that may scale, shear and mirror.

    The Y axis keeps its direction, and Z is as near as possible. A mirroring matrix has its X
    reversed, as bones of Blender's mirrored rigs have.
    """
    _, y, z = transpose(a)
    y = _normalize(m, y)
    z = _normalize(m, reject(z, y))
    return transpose((cross(y, z), y, z))


def _normalize(m: Arithmetic, a: Vector) -> Vector:
    """Return a vector at unit length; zero stays zero."""
    (x, y, z), size = a, norm(m, a)
    size = m.where(size > 0.0, size, 1.0)
    return x / size, y / size, z / size


def solve_positive(system: tuple[Number, ...], right: Vector) -> Vector:
    """Return x of A x = b for a symmetric positive definite A, given from the diagonal on by rows.

    Source: elimination without pivots, which keeps more digits of weak directions than the inverse.
    """
    xx, xy, xz, yy, yz, zz = system
    a, b, c = right
    by_y, by_z = xy / xx, xz / xx
    yy, yz, b = yy - by_y * xy, yz - by_y * xz, b - by_y * a
    after = yz / yy
    z = (c - by_z * a - after * b) / (zz - by_z * xz - after * yz)
    y = (b - yz * z) / yy
    return (a - xy * y - xz * z) / xx, y, z


def solve_definite(
    lower: Sequence[Sequence[Number]], right: Sequence[Number]
) -> tuple[Number, ...]:
    """Return x of A x = b as ``solve_positive``, for an A of any size, given by its lower half."""
    rows, values, size = [list(row) for row in lower], list(right), len(right)
    for pivot in range(size):
        for row in range(pivot + 1, size):
            share = rows[row][pivot] / rows[pivot][pivot]
            for column in range(pivot + 1, row + 1):
                rows[row][column] = rows[row][column] - share * rows[column][pivot]
            values[row] = values[row] - share * values[pivot]
    for row in reversed(range(size)):
        for later in range(row + 1, size):
            values[row] = values[row] - rows[later][row] * values[later]
        values[row] = values[row] / rows[row][row]
    return tuple(values)
