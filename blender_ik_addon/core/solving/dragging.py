"""Chains dragged along paths by FOLLOW: short steps, free chains and chains with joints."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..algebra import nested
from ..algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Counts, Number
from ..algebra.nested import Nested
from ..algebra.vectors import Vector, add, norm, scale, subtract
from ..kinematics.bones import Bone, Bones, Pose, pose_bones
from ..model.errors import InvalidChainError, InvalidGoalError, InvalidOptionError
from ..model.options import Lead
from ..solvers import follow
from ..solvers.follow import Led, drag_segment

# A step is no longer than this share of the shortest segment ...
LONGEST_STEP = 0.1
# ... unless a single move would take more steps than these: what is behind a jump of so many
# lengths has long become straight.
MOST_STEPS = 256
# Where joints are held the way is less smooth: steps are so much shorter there.
SHORTER_IN_LIMITS = 0.5
# Up to so many chains compiled together are quicker one by one.
FEW = 24


class Drag(NamedTuple):
    """How chains are dragged.

    Attributes:
        lead: Which end is led.
        is_anchored: Whether the other end stays where it is.
        is_few: Whether to go one by one.
    """

    lead: Lead = Lead.TIP
    is_anchored: bool = False
    is_few: bool = True


def drag_points(
    drag: Drag, points: Array, path: Array, max_bend: Array | float | None = None
) -> Array:
    """Return free chains after one end of each has been led along a path and has dragged the rest.

    The same path in more or fewer pieces leads to the same pose, to what the shape of the pieces
    differs by.

    Args:
        drag: How.
        points: Joints, root first, in any one Cartesian frame, shape (n + 1, 3, B).
        path: Where the led end goes, straight from point to point, shape (f, 3, B).
        max_bend: Greatest angle between neighbouring segments in radians: one for all, or shape
            (n - 1,) or (n - 1, B), root first; None for any. Chains that are bent more are first
            brought into it, from the led end on.

    Returns:
        Joints, shape (n + 1, 3, B).

    Raises:
        InvalidChainError: If a joint is not finite or a segment has no length.
        InvalidGoalError: If a point of the path is not finite.
        InvalidOptionError: If an angle is negative or no number.
    """
    _check(points, path)
    bends = _bends(max_bend, len(points) - 1, points.shape[-1])

    if not (drag.is_few or drag.is_anchored or (bends < np.pi).any()):
        return _drag_in_waves(drag.lead, points, path)

    def dragged(m: Arithmetic, joints: Nested, way: Nested, limits: Nested) -> Nested:
        chain = _free_bones(m, joints, limits)
        return _drag_along(m, drag, chain, Pose(joints), way).points

    rows = _rows(drag, points, path, bends)
    return _stack(drag, points.shape[-1], [dragged(*each) for each in rows])


def _drag_in_waves(lead: Lead, points: Array, path: Array) -> Array:
    """Return many free chains after one end of each has been led along a path.

    A segment takes a step once the one ahead has; so one at a step and the next one at the step
    before are computed at once, and a move of m steps takes n + m rounds instead of n m.
    """
    ordered = points[::-1] if lead is Lead.TIP else points
    ways = ordered[:-1] - ordered[1:]
    lengths = ARRAYS.length(*ways.transpose(1, 0, 2))
    end = ordered[0]
    for point in path:
        move = point - end
        steps = _count_steps(ARRAYS, lengths.min(axis=0), ARRAYS.length(*move), is_limited=False)
        ways, end = _drag_once(ways, lengths, move, steps), point
    joints = np.concatenate((end[None], end - np.cumsum(ways, axis=0)))
    return joints[::-1].copy() if lead is Lead.TIP else joints


def _drag_once(ways: Array, lengths: Array, move: Array, steps: Array) -> Array:
    """Return the ways to joints ahead, (n, 3, B) from the led end on, after one move (3, B)."""
    ways, count, most = ways.copy(), len(ways), int(max(steps.tolist(), default=0.0))
    short = move / np.maximum(steps, 1.0)
    moves = np.zeros((count + 1, *move.shape))
    for wave in range(count + most - 1 if most else 0):
        first, last = max(0, wave - most + 1), min(count, wave + 1)
        moves[0] = np.where(wave < steps, short, 0.0)
        old, by = ways[first:last], moves[first:last]
        turned = drag_segment(
            ARRAYS, tuple(old.swapaxes(0, 1)), tuple(by.swapaxes(0, 1)), lengths[first:last]
        )
        new = np.stack(turned, axis=1)
        moves[first + 1 : last + 1] = by + old - new
        ways[first:last] = new
    return ways


def drag_joints(
    drag: Drag, chains: list[Bones], rotations: Array, path: Array
) -> tuple[Array, Array]:
    """Return chains with joints after one end of each has been led along a path.

    Args:
        drag: How.
        chains: Their bones, one by one; or one record of all of them side by side.
        rotations: Local rotations wxyz, inside their ranges, shape (n, 4, B).
        path: Shape (f, 3, B).

    Returns:
        Joints (n + 1, 3, B), and local rotations (n, 4, B). Of a chain whose root moves the first
        rotation is in no range: it has no neighbour.
    """
    found = []
    for chain, (m, turns, way) in zip(chains, _rows(drag, rotations, path), strict=True):
        pose = _drag_along(m, drag, chain, pose_bones(m, chain, turns), way)
        # Bones that shear are longer where they point elsewhere.
        posed = pose_bones(m, chain._replace(root=pose.points[0]), pose.rotations)
        led = -1 if drag.lead is Lead.TIP else 0
        off = subtract(pose.points[led], posed.points[led])
        found.append((tuple(add(point, off) for point in posed.points), pose.rotations))
    count = rotations.shape[-1]
    points, turned = (_stack(drag, count, [each[part] for each in found]) for part in (0, 1))
    return points, turned


def _drag_along(m: Arithmetic, drag: Drag, chain: Bones, pose: Pose, path: Nested) -> Pose:
    """Lead one end from point to point of a path."""
    is_limited = follow.is_limited(chain)
    is_tip = drag.lead is Lead.TIP
    led = Led(is_tip)
    if is_limited and not drag.is_anchored:
        pose = follow.hold(m, chain, pose, led)
    end, other = (-1, 0) if is_tip else (0, -1)
    anchor, shortest = pose.points[other], chain.bones[0].length
    for bone in chain.bones:
        shortest = m.minimum(shortest, bone.length)
    for point in path:
        before = pose.points[end]
        distance = norm(m, subtract(point, before))
        steps = _count_steps(m, shortest, distance, is_limited=is_limited)
        taken = 0.0
        while m.any(taken < steps):
            taken += 1.0
            left = m.divide(m.maximum(steps - taken, 0.0), steps)
            here = subtract(point, scale(subtract(point, before), left))
            pose = follow.step(m, chain, pose, subtract(here, pose.points[end]), led)
            if drag.is_anchored:
                back = subtract(anchor, pose.points[other])
                pose = follow.step(m, chain, pose, back, Led(not is_tip, is_held=is_tip))
        if not drag.is_anchored:
            pose = _put(pose, end, point)
    return pose


def _put(pose: Pose, led: int, point: Vector) -> Pose:
    """Return a pose whose led end is where it shall be, to the last digit."""
    points = list(pose.points)
    points[led] = point
    return pose._replace(points=tuple(points))


def _count_steps(m: Arithmetic, shortest: Number, distance: Number, *, is_limited: bool) -> Number:
    # Divided twice: the product of a share and a tiny length could vanish.
    wanted = distance / shortest / (LONGEST_STEP * (SHORTER_IN_LIMITS if is_limited else 1.0))
    # Moves of just so many steps shall not take one more by rounding, here and there.
    return m.minimum(m.round(wanted * (1.0 - 1e-9) + 0.5), MOST_STEPS)


def _check(points: Array, path: Array) -> None:
    if not np.isfinite(points).all():
        raise InvalidChainError(
            "A joint position is not a finite number: check the bones' transforms."
        )
    if not np.isfinite(path).all():
        raise InvalidGoalError("The path is not finite: check the target's transform.")
    if not (np.diff(points, axis=0) != 0.0).any(axis=1).all():
        raise InvalidChainError(
            "A segment of the chain has no length: lengthen that bone or leave it out."
        )


def _bends(max_bend: Array | float | None, count: int, rows: int) -> Array:
    """Return the greatest angles, root first, (n - 1, B); half a turn where nothing is held."""
    angles = np.asarray(np.pi if max_bend is None else max_bend, dtype=np.float64)
    if not (angles >= 0.0).all():
        raise InvalidOptionError("The greatest bend must be zero or more: set an angle.")
    if angles.ndim == 1:
        angles = angles[:, None]
    return np.ascontiguousarray(np.broadcast_to(np.minimum(angles, np.pi), (count - 1, rows)))


def _free_bones(m: Arithmetic, points: Nested, bends: Nested) -> Bones:
    """Return the segments of free chains, each with its greatest bend from the one before."""
    bones = []
    for i, (head, end) in enumerate(pairwise(points)):
        segment = subtract(end, head)
        most = bends[i - 1] if i and m.any(bends[i - 1] < math.pi) else None
        bones.append(Bone(norm(m, segment), segment, most_bend=most))
    return Bones(tuple(bones), points[0], sum(bone.length for bone in bones))


def _rows(drag: Drag, *arrays: Array | Counts) -> list[tuple[Nested, ...]]:
    """Return the arithmetic and arrays (..., B) as numbers: chain by chain, or once for all."""
    count = arrays[0].shape[-1]
    if drag.is_few:
        return [
            (FLOATS, *(nested.to_floats(array, row) for array in arrays)) for row in range(count)
        ]
    # NumPy rounds one row otherwise than several.
    given = tuple(nested.to_numbers(array, array.ndim - 1) for array in arrays)
    if count == 1:
        given = nested.take_rows(given, np.zeros(2, dtype=np.int64))
    return [(ARRAYS, *given)]


def _stack(drag: Drag, count: int, found: list[Nested]) -> Array:
    if not drag.is_few:
        return np.array(found[0])[..., :count]
    return np.ascontiguousarray(np.moveaxis(np.array(found), 0, -1))
