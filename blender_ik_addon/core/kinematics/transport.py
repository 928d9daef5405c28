"""Rotations carried along chains: each bone swings from its parent's rotation, as little as it can.

With R the rotation of the parent, s the bone's start direction and w its wanted one, the shortest
swing from R s to w carried on by R is R' = (1 - w u) R / 2 cos(angle / 2) with the pure quaternion
u = R s R^-1, so R' is proportional to R - w R s, or to |w| R - w R s for w of any length.

Source: derived for this project; tests/core/kinematics/test_transport.py compares it with shortest
rotations taken one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..algebra import quaternions
from ..algebra.arithmetic import Arithmetic
from ..algebra.quaternions import Quaternion, multiply, normalize, rotate
from ..algebra.vectors import Vector, perpendicular, reject, scale, unit

# Swings nearer to a half turn than this cosine of half the angle lose digits in the product.
NEARLY_OPPOSITE = 1e-2


def carry_rotation(
    m: Arithmetic,
    rotation: Quaternion,
    start: Iterable[Vector],
    wanted: Iterable[Vector],
    normal: Vector,
) -> list[Quaternion]:
    """Return the rotations of the bones of a chain, root first.

    Args:
        m: Arithmetic of the numbers.
        rotation: Of the whole chain.
        start: Unit directions of the start pose.
        wanted: Directions to reach, of any length.
        normal: Of the plane that the start pose bends in: a bone that turns over turns about it,
            as a hinge does.
    """
    found = []
    for source, target in zip(start, wanted, strict=True):
        rotation = _swing(m, rotation, source, target, normal)
        found.append(rotation)
    return found


def _swing(
    m: Arithmetic, rotation: Quaternion, start: Vector, wanted: Vector, normal: Vector
) -> Quaternion:
    """Return the rotation of a bone from that of its parent."""
    w, x, y, z = rotation
    a, b, c = start
    pw = -x * a - y * b - z * c
    px, py, pz = w * a + y * c - z * b, w * b - x * c + z * a, w * c + x * b - y * a
    a, b, c = wanted
    length = m.length(a, b, c)
    w, x, y, z = (
        length * w + a * px + b * py + c * pz,
        length * x - a * pw - b * pz + c * py,
        length * y - b * pw - c * px + a * pz,
        length * z - c * pw - a * py + b * px,
    )
    size = m.sqrt(w * w + x * x + y * y + z * z)
    is_wide = size < 2.0 * NEARLY_OPPOSITE * length
    share = m.divide(1.0, size)
    swung = w * share, x * share, y * share, z * share
    if not m.any(is_wide):
        return swung
    along = rotate(rotation, start)
    hinge = unit(m, reject(rotate(rotation, normal), along), perpendicular(m, along))
    swing = quaternions.between(m, along, scale(wanted, m.divide(1.0, length)), hinge)
    return quaternions.choose(m, is_wide, normalize(m, multiply(swing, rotation)), swung)
