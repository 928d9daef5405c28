"""The ranges of joints: turns brought inside them, and which way their edges block a turn.

Layout as in ``vectors``: turns (..., 4, B), ranges (..., 3, B) in radians, both for joints of one
kind. A swing is told by s = sin(angle / 2) times its axis, which has an X and a Z only.

Source: what Blender's own IK solver allows, /intern/iksolver/ of its source, restated; proved
against its evaluated bones in tests/blender/test_joint_clamp.py. Normals are derived for this
project and tested in tests/core/test_limits.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import turns
from .joints import JointKind
from .vectors import Array, Flags

# A joint nearer to an edge of its range than this, in radians or sines, stands on it.
ON_EDGE = 1e-9
# Nearer to a swing by half a turn than this cosine there is no telling swing from twist.
HALF_TURN = 1e-9
# A range narrower than this holds its axis.
HELD = 1e-9
HINGES = {JointKind.HINGE_X: 0, JointKind.HINGE_Y: 1, JointKind.HINGE_Z: 2}
ELBOWS = {JointKind.ELBOW_X: 0, JointKind.ELBOW_Z: 2}


@dataclass(frozen=True)
class Edges:
    """The edges of ranges that joints stand on: at most a swing's two and one of a turn about Y.

    Attributes:
        normals: Unit vectors along which a turn would leave the range, told before the joint's own
            turn, shape (..., 3 edges, 3, B).
        is_on: Which edges joints stand on, shape (..., 3 edges, B).
        is_held: Which ranges are so narrow that neither way is free, shape (..., 3 edges, B).
    """

    normals: Array
    is_on: Flags
    is_held: Flags


@dataclass(frozen=True)
class _Parts:
    """Turns taken apart; all of shape (..., B).

    Attributes:
        x: Of the swing's s.
        z: The same.
        cosine: Of half the swing, at least 0.
        twist: Radians about Y.
    """

    x: Array
    z: Array
    cosine: Array
    twist: Array


def clamped(kind: JointKind, turn: Array, low: Array, high: Array) -> Array:
    """Return turns brought inside their ranges; those inside stay as they are, to rounding.

    Args:
        kind: Of all of the joints.
        turn: Unit quaternions wxyz, shape (..., 4, B).
        low: Shape (..., 3, B).
        high: Shape (..., 3, B).
    """
    if kind is JointKind.FIXED:
        return _about(0, np.zeros_like(turn[..., 0, :]))
    if kind in HINGES:
        axis = HINGES[kind]
        return _about(axis, in_range(_angle(turn, axis), low[..., axis, :], high[..., axis, :]))
    if kind in ELBOWS:
        axis = ELBOWS[kind]
        bend, twist = _elbow(turn, axis)
        bend = in_range(bend, low[..., axis, :], high[..., axis, :])
        twist = in_range(twist, low[..., 1, :], high[..., 1, :])
        return turns.multiply(_about(axis, bend), _about(1, twist))
    parts = _taken_apart(turn)
    x, z = _swing_in_range(parts, low, high)
    if kind is JointKind.SWING:
        twist = np.zeros_like(x)
    else:
        twist = in_range(parts.twist, low[..., 1, :], high[..., 1, :])
    swing = np.stack((np.sqrt(np.maximum(1.0 - x * x - z * z, 0.0)), x, np.zeros_like(x), z), -2)
    return turns.multiply(swing, _about(1, twist))


def clamped_rotations(
    kinds: tuple[JointKind, ...], rotations_wxyz: Array, low: Array, high: Array
) -> Array:
    """Return rotations of bones brought inside their ranges.

    Args:
        kinds: One a bone.
        rotations_wxyz: Unit quaternions, shape (..., n, 4).
        low: Radians about X, Y and Z, -inf for no limit, shape (..., n, 3).
        high: Shape (..., n, 3).
    """
    result = np.array(rotations_wxyz, dtype=np.float64)
    for i, kind in enumerate(kinds):
        columns = (np.moveaxis(np.asarray(a)[..., i, :], -1, 0)[..., None] for a in (low, high))
        turn = np.moveaxis(result[..., i, :], -1, 0)[..., None]
        turn = turn.reshape(4, -1)
        least, most = (column.reshape(3, -1) for column in columns)
        result[..., i, :] = np.moveaxis(
            clamped(kind, turn, least, most).reshape(4, *result.shape[:-2]), 0, -1
        )
    return result


def in_range(angle: Array, low: Array, high: Array) -> Array:
    """Return angles inside ranges; one outside goes to the edge that is nearer on the circle."""
    is_open = ~(np.isfinite(low) & np.isfinite(high))
    middle = np.where(
        is_open, 0.0, 0.5 * (np.where(is_open, 0.0, low) + np.where(is_open, 0.0, high))
    )
    wound = angle - 2.0 * np.pi * np.round((angle - middle) / (2.0 * np.pi))
    return np.clip(wound, low, high)


def edges(kind: JointKind, turn: Array, low: Array, high: Array) -> Edges:
    """Return the edges of their ranges that turns inside them stand on; shapes as ``clamped``."""
    shape = (*turn.shape[:-2], 3, 3, turn.shape[-1])
    normals, is_on = np.zeros(shape), np.zeros((*shape[:-2], shape[-1]), dtype=np.bool_)
    is_held = np.zeros_like(is_on)
    if kind is JointKind.FIXED:
        return Edges(normals, is_on, is_held)
    if kind in HINGES:
        axis = HINGES[kind]
        _add_angle(
            normals, is_on, is_held, axis, _unit_axis(axis, turn), _angle(turn, axis), low, high
        )
        return Edges(normals, is_on, is_held)
    if kind in ELBOWS:
        axis = ELBOWS[kind]
        bend, twist = _elbow(turn, axis)
        _add_angle(normals, is_on, is_held, axis, _unit_axis(axis, turn), bend, low, high)
        _add_angle(normals, is_on, is_held, 1, _along(turn), twist, low, high)
        return Edges(normals, is_on, is_held)
    parts = _taken_apart(turn)
    _add_swing(normals, is_on, is_held, turn, parts, low, high)
    if kind is JointKind.BALL:
        _add_angle(normals, is_on, is_held, 1, _twist_gradient(parts), parts.twist, low, high)
    return Edges(normals, is_on, is_held)


def mobilities(kind: JointKind, turn: Array, weights: Array) -> Array:
    """Return how a unit of torque turns joints, symmetric matrices of shape (..., 3, 3, B).

    Args:
        kind: Of all of the joints.
        turn: Shape (..., 4, B).
        weights: About X, Y and Z of the posed bone, shape (..., 3, B).
    """
    if kind is JointKind.FIXED:
        return np.zeros((*turn.shape[:-2], 3, 3, turn.shape[-1]))
    if kind in HINGES:
        axis = HINGES[kind]
        return weights[..., axis, :][..., None, None, :] * _square(_unit_axis(axis, turn))
    if kind in ELBOWS:
        axis = ELBOWS[kind]
        about_axis = weights[..., axis, :][..., None, None, :] * _square(_unit_axis(axis, turn))
        about_bone = weights[..., 1, :][..., None, None, :] * _square(_along(turn))
        whole: Array = about_axis + about_bone
        return whole
    axes = turns.matrices(turn)
    whole = np.einsum("...ikb,...kb,...jkb->...ijb", axes, weights, axes)
    if kind is JointKind.SWING:
        whole = blocked(whole, _twist_gradient(_taken_apart(turn)), np.bool_(True))
    return whole


def blocked(mobility: Array, normal: Array, is_blocked: Flags | np.bool_) -> Array:
    """Return mobilities (..., 3, 3, B) without turns along flagged normals (..., 3, B).

    What is left gives the least turn that stays across the normal, in the same measure.
    """
    along = np.einsum("...ijb,...jb->...ib", mobility, normal)
    size = np.einsum("...ib,...ib->...b", along, normal)
    has_any = is_blocked & (size > 1e-12)
    share = np.where(has_any, 1.0 / np.where(has_any, size, 1.0), 0.0)
    left: Array = mobility - _square(along) * share[..., None, None, :]
    return left


def _angle(turn: Array, axis: int) -> Array:
    """Return the turns' parts about a frame axis, radians from -pi to pi.

    About Y it is the twist; about X and Z the first of the Euler angles in the order of Z, Y, X,
    and of X, Y, Z, as Blender reads them.
    """
    w, x, y, z = turn[..., 0, :], turn[..., 1, :], turn[..., 2, :], turn[..., 3, :]
    if axis == 0:
        return np.arctan2(2.0 * (w * x - y * z), w * w - x * x - y * y + z * z)
    if axis == 2:
        return np.arctan2(2.0 * (w * z - x * y), w * w + x * x - y * y - z * z)
    return _wrapped(2.0 * np.arctan2(y, w))


def _wrapped(angle: Array) -> Array:
    wrapped: Array = angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))
    return wrapped


def _about(axis: int, angle: Array) -> Array:
    turn = np.zeros((*angle.shape[:-1], 4, angle.shape[-1]))
    turn[..., 0, :], turn[..., 1 + axis, :] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return turn


def _elbow(turn: Array, axis: int) -> tuple[Array, Array]:
    """Return bend about an axis and twist about Y before it, of turns R = bend * twist."""
    along = _along(turn)
    aside = along[..., 2, :] if axis == 0 else -along[..., 0, :]
    bend = np.arctan2(aside, along[..., 1, :])
    twist = turns.multiply(_about(axis, -bend), turn)
    return bend, _angle(twist, 1)


def _taken_apart(turn: Array) -> _Parts:
    w, x, y, z = turn[..., 0, :], turn[..., 1, :], turn[..., 2, :], turn[..., 3, :]
    cosine = np.hypot(w, y)
    has_twist = cosine > HALF_TURN
    divisor = np.where(has_twist, cosine, 1.0)
    w, y = np.where(has_twist, w / divisor, 1.0), np.where(has_twist, y / divisor, 0.0)
    return _Parts(x * w + z * y, z * w - x * y, cosine, _wrapped(2.0 * np.arctan2(y, w)))


@dataclass(frozen=True)
class _Quadrant:
    """Where swings stand in their ranges; all of shape (..., B).

    Attributes:
        x: From the middle of the range, in s.
        z: The same.
        middle_x: Of the range; the rest pose unless the range excludes it.
        middle_z: The same.
        half_x: The range's half axis on this side, inf for none.
        half_z: The same.
        is_round: Whether both are limited, none to zero: an ellipse bounds them then, else a box.
    """

    x: Array
    z: Array
    middle_x: Array
    middle_z: Array
    half_x: Array
    half_z: Array
    is_round: Flags


def _quadrant(parts: _Parts, low: Array, high: Array) -> _Quadrant:
    x, middle_x, half_x = _side(parts.x, low[..., 0, :], high[..., 0, :])
    z, middle_z, half_z = _side(parts.z, low[..., 2, :], high[..., 2, :])
    is_round = np.isfinite(half_x) & np.isfinite(half_z) & (half_x > HELD) & (half_z > HELD)
    return _Quadrant(x, z, middle_x, middle_z, half_x, half_z, is_round)


def _side(s: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return s from the middle of a range, the middle, and the half axis on the side of s."""
    middle = _sine(np.clip(0.0, low, high))
    offset = s - middle
    half = np.where(offset >= 0.0, _sine(high) - middle, middle - _sine(low))
    return offset, middle, half


def _sine(angle: Array) -> Array:
    """Return sin(angle / 2), endless for an angle without limit; half a turn is no limit either."""
    sine = np.sin(0.5 * np.clip(angle, -np.pi, np.pi))
    return np.where(np.isfinite(angle), sine, np.copysign(np.inf, angle))


def _swing_in_range(parts: _Parts, low: Array, high: Array) -> tuple[Array, Array]:
    at = _quadrant(parts, low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.hypot(at.x / at.half_x, at.z / at.half_z)
    is_out = at.is_round & (out > 1.0)
    share = np.where(is_out, 1.0 / np.where(is_out, out, 1.0), 1.0)
    x = np.where(at.is_round, at.x * share, np.clip(at.x, -at.half_x, at.half_x)) + at.middle_x
    z = np.where(at.is_round, at.z * share, np.clip(at.z, -at.half_z, at.half_z)) + at.middle_z
    size = np.maximum(np.hypot(x, z), 1.0)
    return x / size, z / size


def _add_swing(
    normals: Array,
    is_on: Flags,
    is_held: Flags,
    turn: Array,
    parts: _Parts,
    low: Array,
    high: Array,
) -> None:
    at = _quadrant(parts, low, high)
    by_x, by_z = _swing_gradients(parts, _along(turn))
    half_x, half_z = np.where(at.is_round, at.half_x, 1.0), np.where(at.is_round, at.half_z, 1.0)
    out = np.hypot(at.x / half_x, at.z / half_z)
    round_normal = by_x * (at.x / half_x**2)[..., None, :] + by_z * (at.z / half_z**2)[..., None, :]
    sign_x, sign_z = np.where(at.x >= 0.0, 1.0, -1.0), np.where(at.z >= 0.0, 1.0, -1.0)
    is_round = at.is_round[..., None, :]
    normals[..., 0, :, :] = _unit(np.where(is_round, round_normal, by_x * sign_x[..., None, :]))
    normals[..., 2, :, :] = _unit(by_z * sign_z[..., None, :])
    on_x, on_z = np.abs(at.x) >= at.half_x - ON_EDGE, np.abs(at.z) >= at.half_z - ON_EDGE
    is_on[..., 0, :] = np.where(at.is_round, out >= 1.0 - ON_EDGE, on_x)
    is_on[..., 2, :] = ~at.is_round & on_z
    for edge in (0, 2):
        is_held[..., edge, :] = high[..., edge, :] - low[..., edge, :] < HELD


def _add_angle(
    normals: Array,
    is_on: Flags,
    is_held: Flags,
    axis: int,
    direction: Array,
    angle: Array,
    low: Array,
    high: Array,
) -> None:
    least, most = low[..., axis, :], high[..., axis, :]
    at = in_range(angle, least, most)
    is_high = at >= most - ON_EDGE
    normals[..., axis, :, :] = np.where(is_high[..., None, :], direction, -direction)
    is_on[..., axis, :] = is_high | (at <= least + ON_EDGE)
    is_held[..., axis, :] = most - least < HELD


def _unit_axis(axis: int, turn: Array) -> Array:
    direction = np.zeros((*turn.shape[:-2], 3, turn.shape[-1]))
    direction[..., axis, :] = 1.0
    return direction


def _along(turn: Array) -> Array:
    """Return where turns carry the Y axis, shape (..., 3, B)."""
    w, x, y, z = turn[..., 0, :], turn[..., 1, :], turn[..., 2, :], turn[..., 3, :]
    return np.stack(
        (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)), axis=-2
    )


def _twist_gradient(parts: _Parts) -> Array:
    """Return by which turn the twist grows at once, per radian: unit vectors (..., 3, B)."""
    # The half-way direction between the Y axis before and after the swing.
    return np.stack((-parts.z, parts.cosine, parts.x), axis=-2)


def _swing_gradients(parts: _Parts, along: Array) -> tuple[Array, Array]:
    """Return how s_x and s_z grow with turns, (..., 3, B) each.

    From s_x = y_z / (2 c), s_z = -y_x / (2 c), c^2 = (1 + y_y) / 2 with y the swung Y axis, whose
    components change with a turn w by dy = w x y.
    """
    cosine = np.maximum(parts.cosine, 1e-6)
    x, y, z = along[..., 0, :], along[..., 1, :], along[..., 2, :]
    zero = np.zeros_like(x)
    of_x = np.stack((zero, z, -y), axis=-2)
    of_y = np.stack((-z, zero, x), axis=-2)
    of_z = np.stack((y, -x, zero), axis=-2)
    half, quarter = (0.5 / cosine)[..., None, :], (0.25 / cosine**2)[..., None, :]
    by_x = of_z * half - of_y * (quarter * parts.x[..., None, :])
    by_z = -of_x * half - of_y * (quarter * parts.z[..., None, :])
    return by_x, by_z


def _unit(vector: Array) -> Array:
    size = np.sqrt(np.einsum("...ib,...ib->...b", vector, vector))
    unit: Array = vector / np.where(size > 0.0, size, 1.0)[..., None, :]
    return unit


def _square(vector: Array) -> Array:
    square: Array = vector[..., :, None, :] * vector[..., None, :, :]
    return square
