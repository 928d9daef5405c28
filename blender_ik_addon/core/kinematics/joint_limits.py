"""The limits of joints: rotations brought to the nearest one that a kind and a range allow.

Formulas take numbers; functions of arrays (..., components, B) or rows (..., components) call them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..algebra import matrices, nested, quaternions, turns
from ..algebra.arithmetic import ARRAYS, Arithmetic, Array, Number
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector
from ..model.joints import JointKind
from . import swing_twist
from .swing_twist import SwingTwist, SwingTwistRange

# A range is wide if it ends beyond this, in radians: one step may come near to half a turn.
MIN_WIDE_END = 2.6
HINGES = {JointKind.HINGE_X: 0, JointKind.HINGE_Y: 1, JointKind.HINGE_Z: 2}
ELBOWS = {JointKind.ELBOW_X: 0, JointKind.ELBOW_Z: 2}
# Joints that bend about one axis across their bones: the bone before carries the plane of the bend.
BENDING_AXES = {**ELBOWS, JointKind.HINGE_X: 0, JointKind.HINGE_Z: 2}
# Whether kinds leave the axes X, Y and Z free; the others are locked.
FREE = {
    JointKind.BALL: (True, True, True),
    JointKind.SWING: (True, False, True),
    JointKind.ELBOW_X: (True, True, False),
    JointKind.ELBOW_Z: (False, True, True),
    JointKind.HINGE_X: (True, False, False),
    JointKind.HINGE_Y: (False, True, False),
    JointKind.HINGE_Z: (False, False, True),
    JointKind.FIXED: (False, False, False),
}
# Width of a range without one of its ends, in radians.
OPEN_RANGE = 1.2


def clamp_joint(
    m: Arithmetic, kind: JointKind, q: Quaternion, low: Vector, high: Vector
) -> Quaternion:
    """Return a unit quaternion brought inside its range; one inside changes only by rounding.

    Turns that the kind does not allow are dropped, as in Blender: a hinge keeps the angle about its
    axis, a fixed joint nothing.
    """
    if kind in HINGES:
        axis = HINGES[kind]
        return _rotate_within(m, axis, find_hinge_angle(m, q, axis), low, high)
    if kind in ELBOWS:
        return _clamp_elbow(m, q, ELBOWS[kind], low, high)
    low, high = _lock_ends(kind, low), _lock_ends(kind, high)
    return swing_twist.clamp(m, swing_twist.compile_range(m, low, high), q)


def _lock_ends(kind: JointKind, ends: Vector) -> Vector:
    x, y, z = (end if is_free else 0.0 for end, is_free in zip(ends, FREE[kind], strict=True))
    return x, y, z


def find_hinge_angle(m: Arithmetic, q: Quaternion, axis: int) -> Number:
    """Return the angle of a rotation about a frame axis, in radians.

    About Y it is the twist; about X and Z it is the first of the Euler angles in the order of Z, Y,
    X, and of X, Y, Z, as in Blender.
    """
    if axis == 1:
        return 2.0 * m.atan2(q[2], q[0])
    (xx, xy, _), (_, _, yz), (_, _, zz) = quaternions.to_matrix(q)
    return m.atan2(-yz, zz) if axis == 0 else m.atan2(-xy, xx)


def _clamp_elbow(m: Arithmetic, q: Quaternion, axis: int, low: Vector, high: Vector) -> Quaternion:
    """Return a rotation reduced to a twist and, after it, a bend about an axis, inside ranges."""
    (_, xy, _), (_, yy, _), (_, zy, _) = quaternions.to_matrix(q)
    angle = m.atan2(zy if axis == 0 else -xy, yy)
    unbent = quaternions.multiply(quaternions.about(m, matrices.IDENTITY[axis], -angle), q)
    bend = _rotate_within(m, axis, angle, low, high)
    twist = _rotate_within(m, 1, find_hinge_angle(m, unbent, 1), low, high)
    return quaternions.multiply(bend, twist)


def _rotate_within(
    m: Arithmetic, axis: int, angle: Number, low: Vector, high: Vector
) -> Quaternion:
    """Return the rotation about a frame axis by an angle brought inside its range."""
    least, most = low[axis], high[axis]
    middle = swing_twist.find_middle(m, least, most)
    clamped = swing_twist.clamp_angle(m, angle, least, most, middle)
    return quaternions.about(m, matrices.IDENTITY[axis], clamped)


def compile_ranges(low: Array, high: Array) -> SwingTwistRange:
    """Return ranges from smallest and greatest turns about X, Y and Z, (..., 3, B), radians."""
    return swing_twist.compile_range(ARRAYS, nested.split(low), nested.split(high))


def decompose_turns(ranges: SwingTwistRange, turn: Array) -> SwingTwist:
    """Return turns (..., 4, B) brought inside their ranges, as swing and twist."""
    return swing_twist.decompose(ARRAYS, ranges, nested.split(turn))


def clamp_rotations(
    kinds: tuple[JointKind, ...], rotations_wxyz: Array, low: Array, high: Array
) -> Array:
    """Return rotations (..., n, 4) of bones of these kinds brought inside their ranges.

    Ranges are radians about X, Y and Z, (..., n, 3), -inf and inf for no limit.
    """
    result = np.array(rotations_wxyz, dtype=np.float64)
    for kind in set(kinds):
        bones = [bone for bone, other in enumerate(kinds) if other is kind]
        arrays = (np.moveaxis(rows[..., bones, :], -1, 0) for rows in (result, low, high))
        clamped = clamp_joint(ARRAYS, kind, *(tuple(components) for components in arrays))
        result[..., bones, :] = np.moveaxis(np.array(clamped), 0, -1)
    return result


def keep_hinge_angles(kinds: tuple[JointKind, ...], turn: Array) -> Array:
    """Return turns (n, 4, B), in place, with those of hinges reduced to turns about their axes."""
    for axis in range(3):
        bones = [bone for bone, kind in enumerate(kinds) if HINGES.get(kind) == axis]
        if bones:
            angle = find_hinge_angle(ARRAYS, nested.split(turn[bones]), axis)
            turn[bones] = turn_about(axis, angle)
    return turn


def turn_about(axis: int, angle: Array) -> Array:
    """Return the turns (..., 4, B) about a frame axis, given by its index, by angles (..., B)."""
    return nested.join(quaternions.about(ARRAYS, matrices.IDENTITY[axis], angle))


def turn_joints(angle: Array) -> Array:
    """Return turns (n, 4, B) that twist about Y, then swing about X and Z, by angles (n, 3, B)."""
    across = np.array([1.0, 0.0, 1.0])[:, None]
    return turns.multiply(turns.from_vectors(angle * across), turn_about(1, angle[:, 1]))


def lock_axes(kind: JointKind, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the ranges (..., 3, B) of a kind with zero for the axes that it locks."""
    free = np.array(FREE[kind])[:, None]
    return np.where(free, low, 0.0), np.where(free, high, 0.0)


def find_wide_middle(kind: JointKind, low: Array, high: Array) -> tuple[int, Array] | None:
    """Return the axis and the middle of a hinge or elbow with a wide range; None for other joints.

    Sines of half angles describe swings up to half a turn to either side only: the turns of such a
    joint must count from the middle of its range.
    """
    axis = {**HINGES, **ELBOWS}.get(kind, 1)
    least, most = low[..., axis, :], high[..., axis, :]
    is_wide = np.isfinite(least) & np.isfinite(most) & (np.maximum(-least, most) > MIN_WIDE_END)
    if axis == 1 or not is_wide.any():
        return None
    return axis, np.where(is_wide, 0.5 * (least + most), 0.0)


def find_spans(kinds: Sequence[JointKind], low: Array, high: Array) -> tuple[Array, Array]:
    """Return ranges (n, 3, B), infinite ends put at ``OPEN_RANGE`` from the other end or from zero.

    Hinges without any end make whole turns: nothing else brings what they carry behind them.
    """
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    is_hinge = np.array([kind in HINGES for kind in kinds])[:, None, None]
    width = np.where(is_hinge & ~has_low & ~has_high, np.pi, OPEN_RANGE)
    least = np.where(has_low, low, np.where(has_high, high, 0.0) - width)
    most = np.where(has_high, high, np.where(has_low, low, 0.0) + width)
    return least, most
