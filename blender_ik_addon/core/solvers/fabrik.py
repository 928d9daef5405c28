"""FABRIK: one iteration is a sweep inward from the target and one outward from the root."""

from __future__ import annotations

from collections.abc import Sequence

from ..algebra import quaternions
from ..algebra.arithmetic import Arithmetic, Number
from ..algebra.vectors import BONE_DIRECTION, MIN_LENGTH, ZERO, Vector, add, scale, subtract, unit
from ..kinematics.bones import (
    Bones,
    SweepPose,
    Targets,
    clamp_orientation,
    find_distance,
    pose_bones,
)


def step(
    m: Arithmetic, chain: Bones, pose: SweepPose, targets: Targets
) -> tuple[SweepPose, Number]:
    """Return the pose after one iteration, and the distance left to the targets.

    Poses of chains of free joints have points only, no rotations.

    Source: Aristidou and Lasenby, "FABRIK: A fast, iterative solver for the Inverse Kinematics
    problem", Graphical Models 73 (2011), algorithm 1 and sections 4 and 5. With joints, whole bones
    are carried along, so that any joint can be held in both sweeps. Where branches meet, the joint
    goes to the mean of the places that they give it, by the weights of the effectors beyond. Bones
    with several ends are turned as rigid bodies.
    """
    if pose.rotations:
        placed = _place_bones_inward(m, chain, pose, targets)
        pose = pose_bones(m, chain, pose.rotations, placed, targets.weights)
    else:
        lengths = [bone.length for bone in chain.bones]
        inward = lay_segments(m, targets.places[0], pose.points[::-1], lengths[::-1])
        pose = SweepPose(lay_segments(m, pose.points[0], inward[::-1], lengths))
    return pose, find_distance(m, pose.points, targets)


def lay_segments(
    m: Arithmetic, start: Vector, points: tuple[Vector, ...], lengths: list[Number]
) -> tuple[Vector, ...]:
    """Return points at the distances of the segments, each in the direction of another point.

    If two points coincide, the segment keeps its direction.
    """
    # The innermost loop of all: single numbers take half the time of vectors.
    placed, (x, y, z) = [start], start
    for i, length in enumerate(lengths):
        a, b, c = points[i + 1]
        a, b, c = a - x, b - y, c - z
        size = m.length(a, b, c)
        if m.any(size <= MIN_LENGTH):
            before = unit(m, subtract(points[i + 1], points[i]), BONE_DIRECTION)
            (a, b, c), size = unit(m, (a, b, c), before), 1.0
        share = length / size
        x, y, z = x + a * share, y + b * share, z + c * share
        placed.append((x, y, z))
    return tuple(placed)


def _place_bones_inward(
    m: Arithmetic, chain: Bones, pose: SweepPose, targets: Targets
) -> list[Vector]:
    """Return points of bones after the sweep inward, as joints allow, tips first; roots stay."""
    bones, count = chain.bones, len(chain.bones)
    points = [*pose.points[:count], *targets.places]
    orientations = list(pose.orientations)
    for i in reversed(range(count)):
        bone, head, orientation = bones[i], pose.points[i], pose.orientations[i]
        if bone.parent < 0:
            continue
        ends, end = bone.ends, bone.ends[0]
        present_end, goal_end = pose.points[end], points[end]
        if len(ends) > 1:
            present_end = _mean(pose.points, ends, targets.weights)
            goal_end = _mean(points, ends, targets.weights)
        # In the posed axes of the bone; only the pose has the segments of bones that shear.
        segment = bone.segments[0]
        if len(ends) > 1 or not chain.is_rigid:
            segment = quaternions.unrotate(orientation, subtract(present_end, head))
        goal_segment = quaternions.unrotate(orientation, subtract(goal_end, head))
        swing = quaternions.swing(m, segment, goal_segment)
        turned = quaternions.normalize(m, quaternions.multiply(orientation, swing))
        if end < count and len(ends) == 1:
            turned = clamp_orientation(m, bones[end], turned, orientations[end])
        orientations[i] = turned
        points[i] = subtract(goal_end, quaternions.rotate(turned, segment))
    return points


def _mean(points: Sequence[Vector], ends: tuple[int, ...], weights: tuple[Number, ...]) -> Vector:
    """Return the mean of some points by their weights."""
    total, whole = ZERO, 0.0
    for end in ends:
        total, whole = add(total, scale(points[end], weights[end])), whole + weights[end]
    return scale(total, 1.0 / whole)
