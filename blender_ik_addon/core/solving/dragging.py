"""Chains dragged along paths by FOLLOW: short steps, free chains and chains with joints."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..algebra.arithmetic import ARRAYS, Arithmetic, Array, Number
from ..algebra.nested import Nested, choose, split
from ..algebra.vectors import add, norm, scale, subtract
from ..kinematics.bones import Bone, Bones, Pose, find_rotations, pose_bones
from ..model.options import Lead
from ..solvers import follow
from ..solvers.follow import Led, drag_segment
from .iteration import run_chains

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


def drag_points(drag: Drag, points: Array, path: Array, max_bend: Array | float = math.pi) -> Array:
    """Return free chains after one end of each has been led along a path and has dragged the rest.

    The same path in more or fewer pieces leads to the same pose, to what the shape of the pieces
    differs by.

    Args:
        drag: How.
        points: Joints, root first, in any one Cartesian frame, shape (n + 1, 3, B).
        path: Where the led end goes, straight from point to point, shape (f, 3, B).
        max_bend: Greatest angle between neighbouring segments in radians: one for all, or shape
            (n - 1,), root first; half a turn is none. Chains that are bent more are first brought
            into it, from the led end on.

    Returns:
        Joints, shape (n + 1, 3, B).
    """
    bends = np.minimum(np.zeros(len(points) - 2) + max_bend, np.pi).tolist()
    if not (drag.is_few or drag.is_anchored or min(bends, default=np.pi) < np.pi):
        return _drag_in_waves(drag.lead, points, path)

    def run(m: Arithmetic, _: None, joints: Nested, way: Nested) -> Nested:
        pose = _drag_along(m, drag, _lay_bones(m, joints, bends), Pose(joints), way)
        return (pose.points,)

    dragged: Array = run_chains(run, None, points, path, is_few=drag.is_few)[0]
    return dragged


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

    def run(m: Arithmetic, chain: Bones, turns: Nested, way: Nested) -> Nested:
        start = pose_bones(m, chain, turns)._replace(rotations=())
        pose = _drag_along(m, drag, chain, start, way)
        found = find_rotations(m, chain, pose.orientations)
        # Bones that shear are longer where they point elsewhere.
        posed = pose_bones(m, chain, found)
        end = -1 if (drag.lead is Lead.TIP) != drag.is_anchored else 0
        off = subtract(pose.points[end], posed.points[end])
        return tuple(add(point, off) for point in posed.points), found

    points, turned = run_chains(run, chains, rotations, path, is_few=drag.is_few)
    return points, turned


def _lay_bones(m: Arithmetic, points: Nested, bends: list[float]) -> Bones:
    """Return the segments of a free chain, each with its greatest bend from the one before."""
    segments = [subtract(end, head) for head, end in pairwise(points)]
    limits = [None, *(bend if bend < math.pi else None for bend in bends)]
    bones = tuple(
        Bone(norm(m, segment), segment, most_bend=bend)
        for segment, bend in zip(segments, limits, strict=True)
    )
    return Bones(bones, points[0], sum(bone.length for bone in bones))


def _drag_along(m: Arithmetic, drag: Drag, chain: Bones, pose: Pose, path: Nested) -> Pose:
    """Lead one end from point to point of a path."""
    is_limited, is_tip = follow.is_limited(chain), drag.lead is Lead.TIP
    end, other = (-1, 0) if is_tip else (0, -1)
    led, drawn_back = Led(is_tip), Led(not is_tip, is_held=is_tip)
    if is_limited and not drag.is_anchored:
        pose = follow.hold(m, chain, pose, led)
    anchor, shortest = pose.points[other], chain.bones[0].length
    for bone in chain.bones:
        shortest = m.minimum(shortest, bone.length)
    for point in path:
        before = pose.points[end]
        way = subtract(point, before)
        steps = _count_steps(m, shortest, norm(m, way), is_limited=is_limited)
        taken = 0.0
        while m.any(is_open := taken < steps):
            taken += 1.0
            left = m.divide(m.maximum(steps - taken, 0.0), steps)
            moved = follow.step(m, chain, pose, subtract(point, scale(way, left)), led)
            if drag.is_anchored:
                moved = follow.step(m, chain, moved, anchor, drawn_back)
            pose = choose(is_open, moved, pose)
    return pose


def _drag_in_waves(lead: Lead, points: Array, path: Array) -> Array:
    """Return many free chains after one end of each has been led along a path.

    A segment takes a step once the one ahead has; so one at a step and the next one at the step
    before are computed at once, and m steps take n + m rounds instead of n m.
    """
    ordered = points[::-1] if lead is Lead.TIP else points
    ways = ordered[:-1] - ordered[1:]
    lengths = ARRAYS.length(*ways.swapaxes(0, 1))
    moves = _split_moves(lengths.min(axis=0), ordered[0], path)
    count, most = len(ways), len(moves)
    going = np.zeros((count + 1, *path.shape[1:]))
    for wave in range(count + most - 1 if most else 0):
        first, last = max(0, wave - most + 1), min(count, wave + 1)
        going[0] = moves[min(wave, most - 1)]
        old, by = ways[first:last], going[first:last]
        turned = drag_segment(ARRAYS, split(old), split(by), lengths[first:last])
        new = np.stack(turned, axis=1)
        going[first + 1 : last + 1] = by + old - new
        ways[first:last] = new
    joints = np.concatenate((path[-1:], path[-1] - np.cumsum(ways, axis=0)))
    return joints[::-1].copy() if lead is Lead.TIP else joints


def _split_moves(shortest: Array, start: Array, path: Array) -> Array:
    """Return the short moves of led ends along a path, zero for chains that have arrived."""
    found = []
    for before, point in pairwise((start, *path)):
        way = point - before
        steps = _count_steps(ARRAYS, shortest, ARRAYS.length(*way), is_limited=False)
        taken = np.arange(steps.max(initial=0.0))[:, None, None]
        found.append(np.where(taken < steps, way / np.maximum(steps, 1.0), 0.0))
    return np.concatenate(found)


def _count_steps(m: Arithmetic, shortest: Number, distance: Number, *, is_limited: bool) -> Number:
    # Divided twice: the product of a share and a tiny length could vanish.
    wanted = distance / shortest / (LONGEST_STEP * (SHORTER_IN_LIMITS if is_limited else 1.0))
    # Moves of just so many steps shall not take one more by rounding, here and there.
    return m.minimum(m.round(wanted * (1.0 - 1e-9) + 0.5), MOST_STEPS)
