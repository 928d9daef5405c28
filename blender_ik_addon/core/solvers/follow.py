"""FOLLOW: a chain dragged by one of its ends, as a rope or a train of carriages is.

Every joint runs toward the one before it: its path is a tractrix. A segment of length l whose
leading joint moves by h in a straight line turns from the angle a to the angle b with
tan(b / 2) = tan(a / 2) exp(-h / l), which is exact for a step of any size. The path of the leading
joint is a polyline for the segment behind it, so a move goes in short steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..algebra import quaternions
from ..algebra.arithmetic import Arithmetic, Number
from ..algebra.nested import choose
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import (
    AHEAD,
    NO_DIRECTION,
    ZERO,
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
from ..kinematics import swing_twist
from ..kinematics.bones import Bone, Bones, Pose, hold_joint

# Beyond this exponent a segment lies along its move; far below where exp() underflows.
MOST_TURN = 300.0
# A joint at its limit swings all that is behind it. No joint may run so much farther than the led
# end: aimed at, and after joints on the way to it have been brought back into their limits.
AIMED_AHEAD = 1.015
MOST_AHEAD = 1.05


class Led(NamedTuple):
    """The end that leads: the tip or the root, and whether the joint of the root holds it."""

    is_tip: bool
    is_held: bool = False


class Walk(NamedTuple):
    """A pose after its bones have turned one after the other, from the led end on.

    Attributes:
        pose: Where they are.
        ways: From the far end of each bone to the end that is nearer to the led one, root first.
        moves: How far each joint behind the led end has moved, from the led end on.
    """

    pose: Pose
    ways: tuple[Vector, ...]
    moves: tuple[Vector, ...]


Turn = Callable[[int, Vector, Vector], Vector]
"""From a bone, its way to the joint ahead and how that joint moves, to the way after that."""


def step(m: Arithmetic, chain: Bones, pose: Pose, move: Vector, led: Led) -> Pose:
    """Return the pose after the led end has moved a short way and has dragged the rest.

    A joint at the end of its range is carried by the bone that leads it. The first joint of a chain
    that moves freely has no neighbour, and no range.

    Args:
        m: Arithmetic of the numbers.
        chain: Bones.
        pose: Without rotations for chains of free joints, of which the points tell all.
        move: Of the led end.
        led: Which end that is.

    Source: the tractrix, d' = (I - d d^T) v / l; solved by separation of variables.
    """

    def drag(bone: int, way: Vector, by: Vector) -> Vector:
        return drag_segment(m, way, by, chain.bones[bone].length)

    walk = _walk(m, chain, pose, move, led, drag)
    # What an anchor draws back has to come along.
    if led.is_held or not is_limited(chain):
        return walk.pose
    return _hold_back(m, chain, pose, walk, move, led)


def hold(m: Arithmetic, chain: Bones, pose: Pose, led: Led) -> Pose:
    """Return a pose with joints brought into their ranges, from the led end on."""
    return _walk(m, chain, pose, ZERO, led, lambda _, way, __: way).pose


def is_limited(chain: Bones) -> bool:
    """Tell whether any joint has a range."""
    return any(bone.joint is not None or bone.most_bend is not None for bone in chain.bones)


def _walk(m: Arithmetic, chain: Bones, pose: Pose, move: Vector, led: Led, turn: Turn) -> Walk:
    """Turn bones one after the other, from the led end on, each held by the one before it."""
    bones, by = chain.bones, move
    count, is_tip = len(bones), led.is_tip
    ahead: Quaternion | None = quaternions.IDENTITY if led.is_held else None
    ways: dict[int, Vector] = {}
    orientations, moves = {}, []
    points = [add(pose.points[-1 if is_tip else 0], move)]
    for i in reversed(range(count)) if is_tip else range(count):
        far, near = (i, i + 1) if is_tip else (i + 1, i)
        old = subtract(pose.points[near], pose.points[far])
        new = turn(i, old, by)
        if pose.rotations:
            turned = _turn_bone(m, bones[i], pose.orientations[i], old, new)
            if ahead is not None:
                turned = _hold_bone(m, bones, i, turned, ahead, is_tip=is_tip)
            swing = quaternions.multiply(turned, quaternions.conjugate(pose.orientations[i]))
            new = quaternions.rotate(quaternions.normalize(m, swing), old)
            ahead = orientations[i] = quaternions.normalize(m, turned)
        elif ways and (bend := bones[max(i, i + 1 if is_tip else i)].most_bend) is not None:
            new = _hold_in_cone(m, new, ways[i + 1 if is_tip else i - 1], bend, bones[i].length)
        by = add(by, subtract(old, new))
        ways[i] = new
        moves.append(by)
        points.append(subtract(points[-1], new))
    ordered = tuple(orientations[i] for i in range(count)) if pose.rotations else ()
    placed = Pose(
        tuple(points[::-1] if is_tip else points), _find_rotations(m, chain, ordered), ordered
    )
    return Walk(placed, tuple(ways[i] for i in range(count)), tuple(moves))


def drag_segment(m: Arithmetic, way: Vector, by: Vector, length: Number) -> Vector:
    """Return the way to the joint ahead after that joint has moved."""
    distance = norm(m, by)
    direction, along = scale(way, 1.0 / length), scale(by, m.divide(1.0, distance))
    cosine = m.minimum(m.maximum(dot(direction, along), -1.0), 1.0)
    share = m.exp(-m.minimum(distance / length, MOST_TURN))
    ahead, behind = 1.0 + cosine, (1.0 - cosine) * share * share
    # cos and sin of the new angle, by the tangent of its half.
    inverse = m.divide(1.0, ahead + behind)
    side = 2.0 * share * inverse
    turned = add(scale(along, (ahead - behind) * inverse - side * cosine), scale(direction, side))
    size = norm(m, turned)
    moved = scale(turned, m.divide(length, size))
    keeps = (distance <= 0.0) | (size <= NO_DIRECTION)
    return choose_vector(m, keeps, way, moved) if m.any(keeps) else moved


def _turn_bone(
    m: Arithmetic, bone: Bone, orientation: Quaternion, old: Vector, new: Vector
) -> Quaternion:
    """Return the orientation of a bone that swings from one way to another."""
    share = 1.0 / bone.length
    swing = quaternions.between(m, unit(m, scale(old, share), AHEAD), scale(new, share))
    return quaternions.multiply(swing, orientation)


def _hold_bone(
    m: Arithmetic,
    bones: tuple[Bone, ...],
    i: int,
    turned: Quaternion,
    ahead: Quaternion,
    *,
    is_tip: bool,
) -> Quaternion:
    """Return how a bone may stand whose neighbour toward the led end stands already."""
    if is_tip:
        return hold_joint(m, bones[i + 1], turned, ahead)
    joint = bones[i].joint
    if joint is None:
        return turned
    zero = quaternions.multiply(ahead, bones[i].offset_rotation)
    local = quaternions.multiply(quaternions.conjugate(zero), turned)
    held = swing_twist.clamp(m, joint, quaternions.normalize(m, local))
    return quaternions.multiply(zero, held)


def _hold_in_cone(
    m: Arithmetic, way: Vector, axis: Vector, most_bend: Number, length: Number
) -> Vector:
    """Return a way, as long as its segment, within an angle of the one ahead."""
    axis = scale(axis, m.divide(1.0, norm(m, axis)))
    cosine, sine = m.cos(most_bend), m.sin(most_bend)
    is_beyond = dot(way, axis) < cosine * length
    if not m.any(is_beyond):
        return way
    aside = reject(way, axis)
    if m.any(norm(m, aside) <= NO_DIRECTION * length):
        aside = unit(m, aside, perpendicular(m, axis))
    aside = scale(aside, m.divide(1.0, norm(m, aside)))
    edge = add(scale(axis, cosine), scale(aside, sine))
    # What is left across the axis of a segment that is folded back is rounding, in part along it.
    return choose_vector(m, is_beyond, scale(edge, m.divide(length, norm(m, edge))), way)


def _find_rotations(
    m: Arithmetic, chain: Bones, orientations: tuple[Quaternion, ...]
) -> tuple[Quaternion, ...]:
    """Return the local rotations of posed bones."""
    found, before = [], quaternions.IDENTITY
    for bone, orientation in zip(chain.bones, orientations, strict=False):
        zero = quaternions.multiply(before, bone.offset_rotation)
        local = quaternions.multiply(quaternions.conjugate(zero), orientation)
        found.append(quaternions.normalize(m, local))
        before = orientation
    return tuple(found)


def _hold_back(m: Arithmetic, chain: Bones, pose: Pose, walk: Walk, move: Vector, led: Led) -> Pose:
    """Return the pose after a step, or one on the way to it if a joint would run ahead too far.

    Where nothing turns every joint moves just as the led end does, so there is always such a way.
    """
    square, least = dot(move, move), 1.0
    for moved in walk.moves:
        by_turns = subtract(move, moved)
        size, along = dot(by_turns, by_turns), dot(by_turns, move)
        root = m.sqrt(along * along + size * (AIMED_AHEAD**2 - 1.0) * square)
        least = m.where(size > 0.0, m.minimum(least, m.divide(along + root, size)), least)
    if m.all(least >= 1.0):
        return walk.pose

    def turn_partly(bone: int, way: Vector, _: Vector) -> Vector:
        mixed = add(way, scale(subtract(walk.ways[bone], way), least))
        length = chain.bones[bone].length
        size = norm(m, mixed)
        turned = scale(mixed, m.divide(length, size))
        return choose_vector(m, size > NO_DIRECTION * length, turned, way)

    partly = _walk(m, chain, pose, move, led, turn_partly)
    is_ahead = square < 0.0
    for moved in partly.moves:
        is_ahead = is_ahead | (dot(moved, moved) > MOST_AHEAD**2 * square)
    shifted = pose._replace(points=tuple(add(point, move) for point in pose.points))
    held_back = Pose(*choose(is_ahead, shifted, partly.pose))
    return Pose(*choose(least >= 1.0, walk.pose, held_back))
