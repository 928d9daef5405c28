"""Chains dragged to goals by FOLLOW: short steps, free chains and chains with joints."""

from __future__ import annotations

import math
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Number
from ..algebra.nested import Nested, choose, split
from ..algebra.vectors import Vector, add, norm, scale, subtract
from ..kinematics.bones import Bones, SweepPose, find_rotations, lay_bones, pose_bones
from ..model.options import Lead
from ..solvers import follow
from ..solvers.follow import LedEnd, drag_segment
from .iteration import run_chains

# Longest step, as a share of the shortest segment ...
MAX_STEP_SHARE = 0.1
# ... unless a single move would take more steps than these: after a move of so many lengths the
# chain behind the led end is straight.
MAX_DRAG_STEPS = 256
# Factor on the step in chains with limits, where the path is less smooth.
LIMITED_STEP_FACTOR = 0.5


class Drag(NamedTuple):
    """The end of chains that is led, whether the other end stays, and the arithmetic."""

    lead: Lead = Lead.TIP
    is_anchored: bool = False
    m: Arithmetic = FLOATS

    @property
    def is_by_tip(self) -> bool:
        """Whether the tip is led."""
        return self.lead is Lead.TIP


def drag_points(drag: Drag, points: Array, goal: Array, max_bend: Array | float = math.pi) -> Array:
    """Return the joints (n + 1, 3, B) of free chains after one end has been led to a goal.

    The end moves in a straight line to the goal (3, B) and drags the rest. The same move in more or
    fewer parts gives nearly the same pose. Angles between neighbouring segments are at most
    ``max_bend`` radians, one for all or shape (n - 1,), root first; half a turn is no limit. Chains
    that are bent more are first brought within it, from the led end on.
    """
    angles = (np.zeros(len(points) - 2) + max_bend).tolist()
    bends = [None, *(angle if angle < math.pi else None for angle in angles)]
    if not (drag.m is FLOATS or drag.is_anchored or any(bend is not None for bend in bends)):
        return _drag_in_waves(drag, points, goal)

    def run(m: Arithmetic, _: None, joints: Nested, place: Nested) -> Nested:
        lengths = [norm(m, subtract(end, head)) for head, end in pairwise(joints)]
        pose = _drag_pose(m, drag, lay_bones(joints, lengths, bends), SweepPose(joints), place)
        return (pose.points,)

    dragged: Array = run_chains(drag.m, run, None, points, goal)[0]
    return dragged


def drag_joints(
    drag: Drag, chains: list[Bones], rotations: Array, tip: Array, goal: Array
) -> tuple[Array, Array]:
    """Return joints (n + 1, 3, B) and local rotations (n, 4, B) after one end has been led.

    Chains are a list as for ``run_chains``; rotations lie inside their ranges. The first rotation
    of a chain whose root moves has no range, because it has no neighbour. The tip (3, B) is its
    present place. Rotations put it elsewhere if they were brought into their ranges, and by
    rounding: a tip that has arrived would be led by that offset again and again.
    """
    reference_end = -1 if drag.is_by_tip != drag.is_anchored else 0

    def place(pose: SweepPose, point: Vector) -> SweepPose:
        offset = subtract(point, pose.points[reference_end])
        return pose._replace(points=tuple(add(joint, offset) for joint in pose.points))

    def run(m: Arithmetic, chain: Bones, turns: Nested, start_tip: Nested, end: Nested) -> Nested:
        start = pose_bones(m, chain, turns)._replace(rotations=())
        if drag.is_by_tip and not drag.is_anchored:
            start = place(start, start_tip)
        pose = _drag_pose(m, drag, chain, start, end)
        rotations = find_rotations(m, chain, pose.orientations)
        # Bones that shear are longer where they point elsewhere.
        return place(pose_bones(m, chain, rotations), pose.points[reference_end]).points, rotations

    points, turned = run_chains(drag.m, run, chains, rotations, tip, goal)
    return points, turned


def _drag_pose(m: Arithmetic, drag: Drag, chain: Bones, pose: SweepPose, goal: Vector) -> SweepPose:
    """Return the pose after one end has been led straight to a goal."""
    end, other = (-1, 0) if drag.is_by_tip else (0, -1)
    led_end = LedEnd(drag.is_by_tip)
    anchored_end = LedEnd(not drag.is_by_tip, is_held=drag.is_by_tip)
    is_limited = follow.is_limited(chain)
    if is_limited and not drag.is_anchored:
        pose = follow.step(m, chain, pose, pose.points[end], led_end)
    shortest = reduce(m.minimum, (bone.length for bone in chain.bones))
    anchor, way = pose.points[other], subtract(goal, pose.points[end])
    steps = _count_steps(m, shortest, norm(m, way), is_limited=is_limited)
    count = 0.0
    while m.any(is_open := count < steps):
        count += 1.0
        remaining = m.divide(m.maximum(steps - count, 0.0), steps)
        moved = follow.step(m, chain, pose, subtract(goal, scale(way, remaining)), led_end)
        if drag.is_anchored:
            moved = follow.step(m, chain, moved, anchor, anchored_end)
        pose = choose(is_open, moved, pose)
    return pose


def _drag_in_waves(drag: Drag, points: Array, goal: Array) -> Array:
    """Return many free chains after one end of each has been led straight to a goal.

    A segment takes a step after the one ahead. A segment at a step and the next one at the step
    before are computed at once, so m steps take n + m rounds instead of n m. With ``_drag_pose``
    a hundred chains of 20 bones take twice as long for moves of a tenth of a bone, seven times for
    moves of two bones; 12 chains of 200 bones 28 times.
    """
    order = -1 if drag.is_by_tip else 1
    ordered = np.ascontiguousarray(points[::order])
    segments, move = ordered[:-1] - ordered[1:], goal - ordered[0]
    lengths = ARRAYS.length(*split(segments))
    steps = _count_steps(ARRAYS, lengths.min(axis=0), ARRAYS.length(*move), is_limited=False)
    step_move = move / np.maximum(steps, 1.0)
    count, max_steps = len(segments), int(steps.max(initial=0.0))
    moves = np.zeros((count + 1, *move.shape))
    for wave in range(count + max_steps - 1 if max_steps else 0):
        first, last = max(0, wave - max_steps + 1), min(count, wave + 1)
        moves[0] = np.where(wave < steps, step_move, 0.0)
        old, shifts = segments[first:last], moves[first:last]
        new = np.stack(drag_segment(ARRAYS, split(old), split(shifts), lengths[first:last]), axis=1)
        moves[first + 1 : last + 1] = shifts + old - new
        segments[first:last] = new
    joints = np.concatenate((goal[None], goal - np.cumsum(segments, axis=0)))
    return joints[::order].copy()


def _count_steps(m: Arithmetic, shortest: Number, distance: Number, *, is_limited: bool) -> Number:
    # Divided twice: the product of a share and a tiny length could vanish.
    steps = distance / shortest / (MAX_STEP_SHARE * (LIMITED_STEP_FACTOR if is_limited else 1.0))
    # A move of an exact number of steps must not take one more by rounding.
    return m.minimum(m.round(steps * (1.0 - 1e-9) + 0.5), MAX_DRAG_STEPS)
