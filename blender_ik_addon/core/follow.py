"""FOLLOW: a free chain dragged by one of its ends, as a rope or a train of carriages is.

Every joint runs toward the one before it: its path is a tractrix. A segment of length l whose
leading joint moves by h in a straight line turns from the angle a to the angle b with
tan(b / 2) = tan(a / 2) exp(-h / l), which is exact for a step of any size. Only that the path of
the leading joint is a polyline for the segment behind it is not, so a move goes in short steps.
"""

from __future__ import annotations

import enum

import numpy as np

from .errors import InvalidChainError, InvalidGoalError, InvalidOptionError
from .vectors import Array, across, any_perpendicular, dot, norm, unit

# A step is no longer than this share of the shortest segment ...
LONGEST_STEP = 0.1
# ... unless a single move would take more steps than these: what is behind a jump of so many
# lengths has long become straight.
MOST_STEPS = 256
# Beyond this exponent a segment lies along its move; far below where exp() underflows.
MOST_TURN = 300.0
# A joint at its limit swings all that is behind it. No joint may run so much farther than the led
# end: aimed at, and after joints on the way to it have been brought back into their limits.
AIMED_AHEAD = 1.015
MOST_AHEAD = 1.05
# Where joints are held the way is less smooth: steps are so much shorter there.
SHORTER_IN_LIMITS = 0.5


class Lead(enum.StrEnum):
    """Which end of a chain is led."""

    TIP = "TIP"
    ROOT = "ROOT"


def follow(
    points: Array, path: Array, lead: Lead = Lead.TIP, max_bend: Array | float | None = None
) -> Array:
    """Return chains after one end of each has been led along a path and has dragged the rest.

    The other end is free. The same path in more or fewer pieces leads to the same pose, to what
    the shape of the pieces differs by.

    Args:
        points: Joints, root first, in any one Cartesian frame, shape (n + 1, 3, B).
        path: Where the led end goes, straight from point to point, shape (f, 3, B).
        lead: Which end is led.
        max_bend: Greatest angle between neighbouring segments in radians: one for all, or shape
            (n - 1,) or (n - 1, B), root first; None for any. Chains that are bent more are first
            brought into it, from the led end on.

    Returns:
        Joints, shape (n + 1, 3, B); the led end lies on the last point of the path.

    Raises:
        InvalidChainError: If a joint is not finite or a segment has no length.
        InvalidGoalError: If a point of the path is not finite.
        InvalidOptionError: If an angle is negative or no number.

    Source: the tractrix, d' = (I - d d^T) v / l; solved by separation of variables.
    """
    _check(points, path)
    ordered = points[::-1] if lead is Lead.TIP else points
    segments = ordered[:-1] - ordered[1:]
    lengths = norm(segments)
    if not (lengths > 0.0).all():
        raise InvalidChainError(
            "A segment of the chain has no length: lengthen that bone or leave it out."
        )
    directions = segments / lengths[:, None]
    limits = _limits(max_bend, lengths, lead)
    if limits is not None:
        directions = _in_cones(directions, limits)
    led = ordered[0]
    for point in path:
        steps = _step_count(norm(point - led), lengths, is_limited=limits is not None)
        if limits is None:
            directions = _dragged(directions, lengths, point - led, steps)
        else:
            directions = _dragged_in_limits(directions, lengths, point - led, steps, limits)
        led = point
    moved = np.empty(points.shape)
    moved[0] = led
    for i, (length, direction) in enumerate(zip(lengths, directions, strict=True)):
        moved[i + 1] = moved[i] - length * direction
    return moved[::-1].copy() if lead is Lead.TIP else moved


def _check(points: Array, path: Array) -> None:
    if not np.isfinite(points).all():
        raise InvalidChainError(
            "A joint position is not a finite number: check the bones' transforms."
        )
    if not np.isfinite(path).all():
        raise InvalidGoalError("The path is not finite: check the target's transform.")


def _limits(max_bend: Array | float | None, lengths: Array, lead: Lead) -> Array | None:
    """Return the greatest angles from the led end on, (n - 1, B); None where nothing is held."""
    if max_bend is None or len(lengths) < 2:
        return None
    angles = np.asarray(max_bend, dtype=np.float64)
    if not (angles >= 0.0).all():
        raise InvalidOptionError("The greatest bend must be zero or more: set an angle.")
    if (angles >= np.pi).all():
        return None
    if angles.ndim == 1:
        angles = angles[:, None]
    angles = np.broadcast_to(np.minimum(angles, np.pi), (len(lengths) - 1, lengths.shape[1]))
    return angles[::-1] if lead is Lead.TIP else angles


def _step_count(distance: Array, lengths: Array, *, is_limited: bool) -> Array:
    """Return how many steps a move takes, (B,)."""
    longest = LONGEST_STEP * (SHORTER_IN_LIMITS if is_limited else 1.0)
    # Divided twice: the product of a share and a tiny length could vanish.
    wanted = distance / lengths.min(axis=0) / longest
    # Moves of just so many steps shall not take one more by rounding, here and there.
    steps: Array = np.minimum(np.ceil(wanted * (1.0 - 1e-9)), MOST_STEPS)
    return steps


def _dragged(directions: Array, lengths: Array, move: Array, steps: Array) -> Array:
    """Return the directions of segments, (n, 3, B), after their led ends have moved.

    Segment i takes step s once segment i - 1 has; so segment i at step s and segment i + 1 at step
    s - 1 are computed at once, and a move of m steps takes n + m rounds instead of n m.
    """
    directions = directions.copy()
    count, most = len(directions), int(max(steps.tolist(), default=0.0))
    step = move / np.maximum(steps, 1.0)
    moves = np.zeros((count + 1, *move.shape))
    for turn in range(count + most - 1 if most else 0):
        first, last = max(0, turn - most + 1), min(count, turn + 1)
        moves[0] = np.where(turn < steps, step, 0.0)
        old, by = directions[first:last], moves[first:last]
        new = _turned(old, by, lengths[first:last])
        moves[first + 1 : last + 1] = by + lengths[first:last, None] * (old - new)
        directions[first:last] = new
    return directions


def _turned(directions: Array, moves: Array, lengths: Array) -> Array:
    """Return directions toward joints, (..., 3, B), after these have moved by (..., 3, B)."""
    distance = norm(moves)
    along = moves / np.where(distance > 0.0, distance, 1.0)[..., None, :]
    cosine = np.clip(dot(directions, along), -1.0, 1.0)
    share = np.exp(-np.minimum(distance / lengths, MOST_TURN))
    ahead, behind = 1.0 + cosine, (1.0 - cosine) * share * share
    # cos and sin of the new angle, by the tangent of its half; the sum is above zero.
    total = ahead + behind
    new_cosine, side = (ahead - behind) / total, 2.0 * share / total
    aside = directions - cosine[..., None, :] * along
    return unit(new_cosine[..., None, :] * along + side[..., None, :] * aside, directions)


def _dragged_in_limits(
    directions: Array, lengths: Array, move: Array, steps: Array, limits: Array
) -> Array:
    """Return directions as ``_dragged`` does, with no joint bent more than it may be."""
    step = move / np.maximum(steps, 1.0)
    for number in range(int(max(steps.tolist(), default=0.0))):
        by = np.where(number < steps, step, 0.0)
        new = _swept(directions, by, lengths, limits)
        directions = _held_back(directions, new, by, lengths, limits)
    return directions


def _swept(directions: Array, by: Array, lengths: Array, limits: Array) -> Array:
    """Return directions after one step; what is bent too far is carried by what leads it."""
    new = np.empty(directions.shape)
    for i, (direction, length) in enumerate(zip(directions, lengths, strict=True)):
        new[i] = _turned(direction, by, length)
        if i:
            new[i] = _in_cone(new[i], new[i - 1], limits[i - 1])
        by = by + length * (direction - new[i])
    return new


def _held_back(old: Array, new: Array, by: Array, lengths: Array, limits: Array) -> Array:
    """Return new directions, or ones on the way to them if a joint would run ahead too far.

    Where nothing turns every joint moves just as the led end does, so there is always such a way.
    """
    swings = _swings(old, new, lengths)
    size, along = dot(swings, swings), dot(swings, np.broadcast_to(by, swings.shape))
    square = dot(by, by)
    root = np.sqrt(along * along + size * (AIMED_AHEAD**2 - 1.0) * square)
    share = np.where(size > 0.0, (along + root) / np.where(size > 0.0, size, 1.0), 1.0)
    least = np.minimum(share.min(axis=0), 1.0)
    if (least == 1.0).all():
        return new
    between = _in_cones(unit(old + least * (new - old), old), limits)
    moves = by - _swings(old, between, lengths)
    is_ahead = (dot(moves, moves) > MOST_AHEAD**2 * square).any(axis=0)
    return np.where(least < 1.0, np.where(is_ahead, old, between), new)


def _swings(old: Array, new: Array, lengths: Array) -> Array:
    """Return how far turns alone move the joints behind the led end against it, (n, 3, B)."""
    swings: Array = np.cumsum(lengths[:, None] * (new - old), axis=0)
    return swings


def _in_cones(directions: Array, limits: Array) -> Array:
    """Return directions within their limits, segment after segment."""
    held = directions.copy()
    for i in range(1, len(held)):
        held[i] = _in_cone(held[i], held[i - 1], limits[i - 1])
    return held


def _in_cone(direction: Array, axis: Array, limit: Array) -> Array:
    """Return directions (3, B) within angles of axes."""
    edge = np.cos(limit)
    is_beyond = dot(direction, axis) < edge
    if not is_beyond.any():
        return direction
    aside = unit(across(direction, axis), any_perpendicular(axis))
    held = unit(edge * axis + np.sin(limit) * aside, axis)
    return np.where(is_beyond, held, direction)
