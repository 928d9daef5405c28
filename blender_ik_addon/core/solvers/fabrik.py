"""FABRIK: one iteration is a sweep inward from the target and one outward from the root."""

from __future__ import annotations

from ..algebra import quaternions
from ..algebra.arithmetic import Arithmetic, Number
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import AHEAD, NO_DIRECTION, Vector, add, norm, scale, subtract, unit
from ..kinematics.bones import Bones, Pose, hold_joint, pose_bones


def step(m: Arithmetic, chain: Bones, pose: Pose, target: Vector) -> tuple[Pose, Number]:
    """Return the pose after one iteration, and the distance left to the target.

    Args:
        m: Arithmetic of the numbers.
        chain: Bones.
        pose: Without rotations for chains of free joints, of which the points tell all.
        target: Where the effector shall be.

    Source: Aristidou and Lasenby, "FABRIK: A fast, iterative solver for the Inverse Kinematics
    problem", Graphical Models 73 (2011), algorithm 1 and section 4; with joints whole bones are
    carried along, so that any joint can be held in both sweeps.
    """
    if pose.rotations:
        hung = _hang_bones(m, chain, pose, target)
        pose = pose_bones(m, chain, pose.rotations, hung[1:])
    else:
        lengths = [bone.length for bone in chain.bones]
        inward = lay_segments(m, target, pose.points[::-1], lengths[::-1])
        pose = Pose(lay_segments(m, chain.root, inward[::-1], lengths))
    return pose, norm(m, subtract(target, pose.points[-1]))


def lay_segments(
    m: Arithmetic, start: Vector, points: tuple[Vector, ...], lengths: list[Number]
) -> tuple[Vector, ...]:
    """Return points laid one after the other from a start, each as far as its segment is long.

    Args:
        m: Arithmetic of the numbers.
        start: Where the first one is put.
        points: Which way to lay the others; where two meet, a segment keeps its direction.
        lengths: Of the segments.
    """
    laid, here = [start], start
    for i, length in enumerate(lengths):
        way = subtract(points[i + 1], here)
        size = norm(m, way)
        if m.any(size <= NO_DIRECTION):
            before = subtract(points[i + 1], points[i])
            way = unit(m, way, unit(m, before, AHEAD))
            size = 1.0
        here = add(here, scale(way, length / size))
        laid.append(here)
    return tuple(laid)


def _hang_bones(m: Arithmetic, chain: Bones, pose: Pose, target: Vector) -> tuple[Vector, ...]:
    """Return the joints of a chain hung on its target, tip first, as its joints allow."""
    points = [target]
    hung: Quaternion | None = None
    for i in reversed(range(len(chain.bones))):
        head, orientation = pose.points[i], pose.orientations[i]
        # In the posed axes of the bone; of bones that shear only the pose tells the segment.
        segment = chain.bones[i].segment
        if not chain.is_rigid:
            segment = quaternions.unrotate(orientation, subtract(pose.points[i + 1], head))
        wanted = quaternions.unrotate(orientation, subtract(points[-1], head))
        swing = quaternions.swing(m, segment, wanted)
        turned = quaternions.normalize(m, quaternions.multiply(orientation, swing))
        if hung is not None:
            turned = hold_joint(m, chain.bones[i + 1], turned, hung)
        points.append(subtract(points[-1], quaternions.rotate(turned, segment)))
        hung = turned
    return tuple(points[::-1])
