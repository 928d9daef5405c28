"""The turns that kinds of joints allow: any rotation brought to the nearest sense of its kind."""

from __future__ import annotations

import numpy as np

from . import swings, turns
from .model.joints import JointKind
from .swings import WHOLE_TURN, in_range, middle_of
from .vectors import Array

# A range that ends farther out than this, in radians, comes near to half a turn within one step.
WIDE = 2.6
HINGES = {JointKind.HINGE_X: 0, JointKind.HINGE_Y: 1, JointKind.HINGE_Z: 2}
ELBOWS = {JointKind.ELBOW_X: 0, JointKind.ELBOW_Z: 2}
# The axes that kinds leave free, X, Y and Z; the others have no room at all.
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


def clamped(kind: JointKind, turn: Array, low: Array, high: Array) -> Array:
    """Return turns brought inside their ranges; those inside stay as they are, to rounding.

    What a kind does not allow is dropped, as Blender drops it: a hinge keeps its own angle, a fixed
    joint nothing.

    Args:
        kind: Of all of the joints.
        turn: Unit quaternions wxyz, shape (..., 4, B).
        low: Shape (..., 3, B).
        high: Shape (..., 3, B).
    """
    if kind in HINGES:
        return about(HINGES[kind], _ranged(_angle(turn, HINGES[kind]), HINGES[kind], low, high))
    if kind in ELBOWS:
        return _elbow(turn, ELBOWS[kind], low, high)
    return swings.clamped(swings.compiled(*room(kind, low, high)), turn)


def hinged(kinds: tuple[JointKind, ...], turn: Array) -> Array:
    """Return turns (n, 4, B) of which those of hinges keep their parts about their axes only."""
    for axis in range(3):
        bones = [bone for bone, kind in enumerate(kinds) if HINGES.get(kind) == axis]
        if bones:
            turn[bones] = about(axis, _angle(turn[bones], axis))
    return turn


def room(kind: JointKind, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the ranges (..., 3, B) of a kind with no room about the axes that it locks."""
    free = np.array(FREE[kind])[:, None]
    return np.where(free, low, 0.0), np.where(free, high, 0.0)


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
    leading = result.shape[:-2]
    for i, kind in enumerate(kinds):
        turn = np.moveaxis(result[..., i, :], -1, 0).reshape(4, -1)
        least, most = (
            np.moveaxis(np.broadcast_to(ends, (*leading, len(kinds), 3))[..., i, :], -1, 0)
            for ends in (low, high)
        )
        placed = clamped(kind, turn, least.reshape(3, -1), most.reshape(3, -1))
        result[..., i, :] = np.moveaxis(placed.reshape(4, *leading), 0, -1)
    return result


def wide_middle(kind: JointKind, low: Array, high: Array) -> tuple[int, Array] | None:
    """Return the axis of a hinge or elbow with a range toward half a turn or more, and its middle.

    Swings are told by sines of half angles, which know no more than half a turn to either side:
    such a joint has to count from the middle of its range.
    """
    axis = {**HINGES, **ELBOWS}.get(kind, 1)
    least, most = low[..., axis, :], high[..., axis, :]
    is_wide = np.isfinite(least) & np.isfinite(most) & (np.maximum(-least, most) > WIDE)
    if axis == 1 or not is_wide.any():
        return None
    return axis, np.where(is_wide, 0.5 * (least + most), 0.0)


def _ranged(angle: Array, axis: int, low: Array, high: Array) -> Array:
    least, most = low[..., axis, :], high[..., axis, :]
    return in_range(angle, least, most, middle_of(least, most))


def _angle(turn: Array, axis: int) -> Array:
    """Return the turns' parts about a frame axis, radians.

    About Y it is the twist; about X and Z the first of the Euler angles in the order of Z, Y, X,
    and of X, Y, Z, as Blender reads them.
    """
    w, x, y, z = turn[..., 0, :], turn[..., 1, :], turn[..., 2, :], turn[..., 3, :]
    if axis == 0:
        return np.arctan2(2.0 * (w * x - y * z), w * w - x * x - y * y + z * z)
    if axis == 2:
        return np.arctan2(2.0 * (w * z - x * y), w * w + x * x - y * y - z * z)
    angle: Array = 2.0 * np.arctan2(y, w)
    return angle - WHOLE_TURN * np.round(angle / WHOLE_TURN)


def about(axis: int, angle: Array) -> Array:
    """Return the turns (..., 4, B) about a frame axis, told by its number, by angles (..., B)."""
    turn = np.zeros((*angle.shape[:-1], 4, angle.shape[-1]))
    turn[..., 0, :], turn[..., 1 + axis, :] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return turn


def _elbow(turn: Array, axis: int, low: Array, high: Array) -> Array:
    """Return turns without what is neither a bend about an axis nor a twist about Y before it."""
    w, x, y, z = turn[..., 0, :], turn[..., 1, :], turn[..., 2, :], turn[..., 3, :]
    aside = 2.0 * (y * z + w * x) if axis == 0 else 2.0 * (w * z - x * y)
    angle = np.arctan2(aside, 1.0 - 2.0 * (x * x + z * z))
    twist = _angle(turns.multiply(about(axis, -angle), turn), 1)
    bend = about(axis, _ranged(angle, axis, low, high))
    return turns.multiply(bend, about(1, _ranged(twist, 1, low, high)))
