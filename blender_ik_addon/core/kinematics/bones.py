"""Bones of chains as the sweeps take them: what poses put one after the other."""

from __future__ import annotations

from typing import NamedTuple

from ..algebra import maps, matrices, quaternions
from ..algebra.arithmetic import Arithmetic, Number
from ..algebra.maps import Map
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, add, norm, scale, subtract
from . import swing_twist
from .swing_twist import SwingTwistRange

# A direction across a hinge shorter than this share of its vector gives no angle.
NO_ANGLE = 1e-9
AXES: tuple[Vector, Vector, Vector] = matrices.IDENTITY


class Bone(NamedTuple):
    """A bone and the joint at its head.

    Attributes:
        length: Of its segment.
        segment: From its head to the next one, in its posed axes.
        offset: From its axes at zero to the posed axes of the bone before: a rotation where all
            bones of the chain are rigid; they are measured in the space of the chain then.
        offset_rotation: What of the offset is a rotation.
        scale: By how much lengths in its axes grow in the space of the chain.
        joint: Its range; None for a joint that turns freely.
        hinge: The number of the one axis that it turns about; None for more than one.
        readiness: How readily it turns about its posed axes; None for alike.
        most_bend: Greatest angle to the segment before it in chains without orientations, radians;
            None for any.
    """

    length: Number
    segment: Vector
    offset: Map = quaternions.IDENTITY
    offset_rotation: Quaternion = quaternions.IDENTITY
    scale: Number = 1.0
    joint: SwingTwistRange | None = None
    hinge: int | None = None
    readiness: Vector | None = None
    most_bend: Number | None = None


class Bones(NamedTuple):
    """The bones of a chain, root first.

    Attributes:
        bones: One a segment.
        root: Head of the first one.
        reach: Sum of the lengths.
    """

    bones: tuple[Bone, ...]
    root: Vector
    reach: Number


class Pose(NamedTuple):
    """Where bones are.

    Attributes:
        points: Heads, and the effector last.
        rotations: Local rotations R of the joints.
        orientations: Rotations of the posed bones in the space of the chain.
    """

    points: tuple[Vector, ...]
    rotations: tuple[Quaternion, ...] = ()
    orientations: tuple[Quaternion, ...] = ()


def aim_bone(
    m: Arithmetic,
    bone: Bone,
    rotation: Quaternion,
    lever: Vector,
    wanted: Vector,
    share: Number | None = None,
) -> Quaternion:
    """Return the local rotation that turns a lever toward a direction, as far as the joint allows.

    Args:
        m: Arithmetic of the numbers.
        bone: Whose joint turns.
        rotation: Its present local rotation.
        lever: What shall point there, in the axes of the bone at zero.
        wanted: Where it shall point, in the same axes.
        share: Of the way to turn; None for all of it.
    """
    axis = None
    if bone.hinge is not None:
        # A hinge turns in its plane only: what lies along its axis is not its to change.
        axis = AXES[bone.hinge]
        lever, wanted = _flatten(m, lever, bone.hinge), _flatten(m, wanted, bone.hinge)
    source = scale(lever, m.divide(1.0, norm(m, lever)))
    target = scale(wanted, m.divide(1.0, norm(m, wanted)))
    swing = quaternions.between(m, source, target, axis)
    if share is not None and not m.all(share >= 1.0):
        swing = quaternions.power(m, swing, share)
    if bone.readiness is not None:
        swing = _stiffen(m, swing, rotation, bone.readiness)
    turned = quaternions.normalize(m, quaternions.multiply(swing, rotation))
    return turned if bone.joint is None else swing_twist.clamp(m, bone.joint, turned)


def _flatten(m: Arithmetic, vector: Vector, axis: int) -> Vector:
    """Return the part of a vector across a frame axis; zero where that is rounding."""
    x, y, z = (0.0 if i == axis else vector[i] for i in range(3))
    counts = m.length(x, y, z) > NO_ANGLE * norm(m, vector)
    return m.where(counts, x, 0.0), m.where(counts, y, 0.0), m.where(counts, z, 0.0)


def _stiffen(
    m: Arithmetic, swing: Quaternion, rotation: Quaternion, readiness: Vector
) -> Quaternion:
    """Return a swing of which stiff axes of the posed bone take their shares only."""
    x, y, z = quaternions.unrotate(rotation, quaternions.to_vector(m, swing))
    taken = x * readiness[0], y * readiness[1], z * readiness[2]
    return quaternions.from_vector(m, quaternions.rotate(rotation, taken))


def hold_joint(m: Arithmetic, bone: Bone, before: Quaternion, hung: Quaternion) -> Quaternion:
    """Return how the bone before one that stands already may stand: their joint has to allow it."""
    if bone.joint is None:
        return before
    zero = quaternions.multiply(before, bone.offset_rotation)
    joint = quaternions.multiply(quaternions.conjugate(zero), hung)
    held = swing_twist.clamp(m, bone.joint, quaternions.normalize(m, joint))
    zero = quaternions.multiply(hung, quaternions.conjugate(held))
    return quaternions.multiply(zero, quaternions.conjugate(bone.offset_rotation))


def pose_bones(
    m: Arithmetic,
    chain: Bones,
    rotations: tuple[Quaternion, ...],
    aims: tuple[Vector, ...] | None = None,
) -> Pose:
    """Return where bones are, one laid after the other from the root.

    Args:
        m: Arithmetic of the numbers.
        chain: The bones.
        rotations: Local rotations of the joints.
        aims: The points that segments shall end at, as far as their joints allow: of joints that
            cannot be met the next bones make the best. None to pose the bones as they are.
    """
    head = chain.root
    points, posed, orientations = [head], [], []
    frame: Map = quaternions.IDENTITY
    orientation = quaternions.IDENTITY
    for i, bone in enumerate(chain.bones):
        rotation = rotations[i]
        frame = maps.compose(frame, bone.offset) if i else bone.offset
        if aims is not None:
            wanted = maps.unapply(m, frame, subtract(aims[i], head))
            lever = quaternions.rotate(rotation, bone.segment)
            rotation = aim_bone(m, bone, rotation, lever, wanted)
        frame = maps.compose(frame, rotation)
        orientation = _orient(orientation, bone, rotation)
        head = add(head, maps.apply(frame, bone.segment))
        points.append(head)
        posed.append(rotation)
        orientations.append(orientation)
    return Pose(tuple(points), tuple(posed), tuple(orientations))


def _orient(before: Quaternion, bone: Bone, rotation: Quaternion) -> Quaternion:
    """Return the rotation of a posed bone; the frame is the same where bones are rigid."""
    return quaternions.multiply(quaternions.multiply(before, bone.offset_rotation), rotation)
