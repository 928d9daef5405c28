"""FOLLOW: a chain dragged by one of its ends, like a rope or a train of carriages.

Every joint runs toward the joint ahead of it: its path is a tractrix. A segment of length l whose
leading joint moves by h in a straight line turns from the angle a to the angle b with
tan(b / 2) = tan(a / 2) exp(-h / l). This is exact for a step of any size. The path of the leading
joint is a polyline for the segment behind it, so a move is divided into short steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..algebra import quaternions
from ..algebra.arithmetic import Arithmetic, Number
from ..algebra.nested import Nested, choose
from ..algebra.vectors import (
    MIN_LENGTH,
    Vector,
    add,
    dot,
    norm,
    perpendicular,
    reject,
    scale,
    subtract,
    unit,
)
from ..algebra.vectors import choose as choose_vector
from ..kinematics.bones import Bone, Bones, SweepPose, clamp_orientation

# Exponent beyond which a segment lies along its move; far below where exp() underflows.
MAX_DRAG_EXPONENT = 300.0
# A joint at its limit swings all bones behind it. No joint may move farther than the led end times
# these factors: the first is the goal of a partial step, the second holds after joints have been
# brought back into their ranges.
AHEAD_GOAL = 1.015
MAX_AHEAD = 1.05


class LedEnd(NamedTuple):
    """The end that is moved: the tip or the root, and whether the joint of the root holds it."""

    is_tip: bool
    is_held: bool = False


Turn = Callable[[int, Vector, Vector], Vector]
"""From a bone, its vector to the joint ahead and that joint's move to the vector after it."""


def step(m: Arithmetic, chain: Bones, pose: SweepPose, goal: Vector, end: LedEnd) -> SweepPose:
    """Return the pose after the led end has moved a short way and has dragged the rest.

    A joint at the end of its range is carried by the bone ahead of it. The first joint of a chain
    that moves freely has no neighbour, and no range. Chains of free joints have no orientations.
    The pose has no local rotations. If the end is already at its goal, joints are only brought into
    their ranges.

    Source: the tractrix, d' = (I - d d^T) v / l; solved by separation of variables.
    """

    def drag(bone: int, way: Vector, move: Vector) -> Vector:
        return drag_segment(m, way, move, chain.bones[bone].length)

    dragged = _turn_bones(m, chain, pose, goal, end, drag)
    # The rest has to come along when the anchor draws it back.
    if end.is_held or not is_limited(chain):
        return dragged
    return _hold_back(m, chain, pose, dragged, end)


def is_limited(chain: Bones) -> bool:
    """Return whether any joint has a range."""
    return any(bone.joint is not None or bone.max_bend is not None for bone in chain.bones)


def drag_segment(m: Arithmetic, way: Vector, move: Vector, length: Number) -> Vector:
    """Return the vector to the joint ahead after that joint has moved."""
    distance = norm(m, move)
    direction, along = scale(way, 1.0 / length), scale(move, m.divide(1.0, distance))
    cosine = m.minimum(m.maximum(dot(direction, along), -1.0), 1.0)
    share = m.exp(-m.minimum(distance / length, MAX_DRAG_EXPONENT))
    ahead, behind = 1.0 + cosine, (1.0 - cosine) * share * share
    # Cosine and sine of the new angle, by the tangent of its half.
    inverse = m.divide(1.0, ahead + behind)
    side = 2.0 * share * inverse
    turned = add(scale(along, (ahead - behind) * inverse - side * cosine), scale(direction, side))
    size = norm(m, turned)
    moved = scale(turned, m.divide(length, size))
    stays = (distance <= 0.0) | (size <= MIN_LENGTH)
    return choose_vector(m, stays, way, moved) if m.any(stays) else moved


def _turn_bones(
    m: Arithmetic, chain: Bones, pose: SweepPose, goal: Vector, end: LedEnd, turn: Turn
) -> SweepPose:
    """Turn bones one after the other, from the led end on; the bone ahead limits each of them."""
    count, is_tip = len(chain.bones), end.is_tip
    points, orientations = [goal], []
    ahead: Nested = quaternions.IDENTITY if end.is_held else None
    for i in reversed(range(count)) if is_tip else range(count):
        near, far = (i + 1, i) if is_tip else (i, i + 1)
        old = subtract(pose.points[near], pose.points[far])
        new = turn(i, old, subtract(points[-1], pose.points[near]))
        if pose.orientations:
            before = pose.orientations[i]
            turned = quaternions.multiply(quaternions.swing(m, old, new), before)
            turned = quaternions.normalize(m, turned)
            if ahead is not None:
                turned = clamp_orientation(m, chain.bones[near], turned, ahead, is_child=not is_tip)
            swing = quaternions.multiply(turned, quaternions.conjugate(before))
            new = quaternions.rotate(quaternions.normalize(m, swing), old)
            orientations.append(turned)
            ahead = turned
        else:
            if ahead is not None:
                length = chain.bones[i].length
                new = _hold_in_cone(m, chain.bones[near], new, length, ahead)
            ahead = new
        points.append(subtract(points[-1], new))
    order = -1 if is_tip else 1
    return SweepPose(tuple(points[::order]), orientations=tuple(orientations[::order]))


def _hold_in_cone(m: Arithmetic, joint: Bone, way: Vector, length: Number, ahead: Vector) -> Vector:
    """Return a vector of the same length, within the greatest bend from the one ahead."""
    if joint.max_bend is None:
        return way
    axis = scale(ahead, m.divide(1.0, norm(m, ahead)))
    cosine, sine = m.cos(joint.max_bend), m.sin(joint.max_bend)
    is_beyond = dot(way, axis) < cosine * length
    if not m.any(is_beyond):
        return way
    aside = reject(scale(way, 1.0 / length), axis)
    size = norm(m, aside)
    if m.any(size <= MIN_LENGTH):
        aside, size = unit(m, aside, perpendicular(m, axis)), 1.0
    edge = add(scale(axis, cosine * size), scale(aside, sine))
    # A segment that is folded back has only rounding across the axis, partly along the axis.
    return choose_vector(m, is_beyond, scale(edge, m.divide(length, norm(m, edge))), way)


def _hold_back(
    m: Arithmetic, chain: Bones, pose: SweepPose, dragged: SweepPose, end: LedEnd
) -> SweepPose:
    """Return the pose after a step, or only part of the step if a joint would run ahead too far.

    Where no bone turns, every joint moves as the led end does. So there is always such a part.
    """
    index = -1 if end.is_tip else 0
    goal = dragged.points[index]
    move = subtract(goal, pose.points[index])
    square, fraction = dot(move, move), 1.0
    for before, after in zip(pose.points, dragged.points, strict=True):
        by_turns = subtract(move, subtract(after, before))
        size, along = dot(by_turns, by_turns), dot(by_turns, move)
        root = m.sqrt(along * along + size * (AHEAD_GOAL**2 - 1.0) * square)
        fraction = m.where(size > 0.0, m.minimum(fraction, m.divide(along + root, size)), fraction)
    fraction = m.where(square > 0.0, fraction, 1.0)
    if m.all(fraction >= 1.0):
        return dragged

    def turn_partly(bone: int, way: Vector, _: Vector) -> Vector:
        near, far = (bone + 1, bone) if end.is_tip else (bone, bone + 1)
        whole = subtract(dragged.points[near], dragged.points[far])
        mixed = add(way, scale(subtract(whole, way), fraction))
        size, length = norm(m, mixed), chain.bones[bone].length
        turned = scale(mixed, m.divide(length, size))
        return choose_vector(m, size > MIN_LENGTH * length, turned, way)

    partly = _turn_bones(m, chain, pose, goal, end, turn_partly)
    is_ahead = square < 0.0
    for before, after in zip(pose.points, partly.points, strict=True):
        moved = subtract(after, before)
        is_ahead = is_ahead | (dot(moved, moved) > MAX_AHEAD**2 * square)
    shifted = SweepPose(tuple(add(point, move) for point in pose.points), (), pose.orientations)
    held_back: SweepPose = choose(fraction >= 1.0, dragged, choose(is_ahead, shifted, partly))
    return held_back
