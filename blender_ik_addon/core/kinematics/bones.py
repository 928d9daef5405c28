"""Bones of chains as the sweeps take them: what poses put one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise, repeat
from typing import NamedTuple

from ..algebra import matrices, quaternions
from ..algebra.arithmetic import Arithmetic, Number
from ..algebra.matrices import Matrix
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, add, choose, norm, subtract
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
        offset: From its axes at zero to the posed axes of the bone before; None where these are
            the same.
        inverse: The inverse of that.
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
    offset: Matrix | None = None
    inverse: Matrix | None = None
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
        is_rigid: Whether all offsets are rotations; bones are measured in the space of the chain
            then.
    """

    bones: tuple[Bone, ...]
    root: Vector
    reach: Number
    is_rigid: bool = True


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


def lay_bones(
    points: tuple[Vector, ...],
    lengths: Iterable[Number],
    bends: Iterable[Number | None] | None = None,
) -> Bones:
    """Return the segments between points as bones whose joints turn freely.

    Args:
        points: Heads, and the effector last.
        lengths: Of the segments.
        bends: Greatest angles to the segments before, None for any.
    """
    bones = tuple(
        Bone(length, subtract(end, head), most_bend=bend)
        for (head, end), length, bend in zip(
            pairwise(points), lengths, bends or repeat(None), strict=False
        )
    )
    return Bones(bones, points[0], sum(bone.length for bone in bones))


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
        lever: What shall point there, in the posed axes of the bone.
        wanted: Where it shall point, in the same axes.
        share: Of the way to turn; None for all of it.
    """
    axis = None
    if bone.hinge is not None:
        # A hinge turns in its plane only: what lies along its axis is not its to change.
        axis = AXES[bone.hinge]
        lever, wanted = _flatten(m, lever, bone.hinge), _flatten(m, wanted, bone.hinge)
    swing = quaternions.swing(m, lever, wanted, axis)
    if share is not None:
        is_part = share < 1.0
        if m.any(is_part):
            part = quaternions.power(m, swing, share)
            swing = choose(m, is_part, part, swing)
    if bone.readiness is not None:
        # Stiff axes take their shares only.
        x, y, z = quaternions.to_vector(m, swing)
        taken = x * bone.readiness[0], y * bone.readiness[1], z * bone.readiness[2]
        swing = quaternions.from_vector(m, taken)
    turned = quaternions.normalize(m, quaternions.multiply(rotation, swing))
    return turned if bone.joint is None else swing_twist.clamp(m, bone.joint, turned)


def _flatten(m: Arithmetic, vector: Vector, axis: int) -> Vector:
    """Return the part of a vector across a frame axis; zero where that is rounding."""
    x, y, z = (0.0 if i == axis else vector[i] for i in range(3))
    counts = m.length(x, y, z) > NO_ANGLE * norm(m, vector)
    return m.where(counts, x, 0.0), m.where(counts, y, 0.0), m.where(counts, z, 0.0)


def hold_joint(
    m: Arithmetic, bone: Bone, orientation: Quaternion, held: Quaternion, *, is_child: bool = False
) -> Quaternion:
    """Return how one of two bones may stand whose other one stands already.

    Args:
        m: Arithmetic of the numbers.
        bone: The child, at whose head their joint is.
        orientation: Of the bone that gives way.
        held: Of the one that stands.
        is_child: Whether the child gives way; else its parent.
    """
    if bone.joint is None:
        return orientation
    parent, child = (held, orientation) if is_child else (orientation, held)
    local = swing_twist.clamp(m, bone.joint, _find_rotation(bone, parent, child))
    if is_child:
        return quaternions.multiply(_find_zero(bone, parent), local)
    zero = quaternions.multiply(child, quaternions.conjugate(local))
    if bone.offset is None:
        return zero
    return quaternions.multiply(zero, quaternions.conjugate(bone.offset_rotation))


def _find_zero(bone: Bone, parent: Quaternion) -> Quaternion:
    """Return the axes of a bone at zero."""
    return parent if bone.offset is None else quaternions.multiply(parent, bone.offset_rotation)


def _find_rotation(bone: Bone, parent: Quaternion, child: Quaternion) -> Quaternion:
    """Return the local rotation of a posed bone."""
    return quaternions.multiply(quaternions.conjugate(_find_zero(bone, parent)), child)


def find_rotations(
    m: Arithmetic, chain: Bones, orientations: tuple[Quaternion, ...]
) -> tuple[Quaternion, ...]:
    """Return the local rotations of posed bones."""
    parents = (quaternions.IDENTITY, *orientations)
    return tuple(
        quaternions.normalize(m, _find_rotation(bone, parent, child))
        for bone, parent, child in zip(chain.bones, parents, orientations, strict=False)
    )


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
    head, is_rigid = chain.root, chain.is_rigid
    points, posed, orientations = [head], [], []
    orientation, frame = quaternions.IDENTITY, matrices.IDENTITY
    for i, bone in enumerate(chain.bones):
        rotation = rotations[i]
        zero = _find_zero(bone, orientation)
        if bone.offset is not None and not is_rigid:
            frame = matrices.multiply(frame, bone.offset)
        if aims is not None:
            wanted = subtract(aims[i], head)
            if is_rigid:
                wanted = quaternions.unrotate(zero, wanted)
            else:
                wanted = matrices.transform(matrices.inverse(m, frame), wanted)
            wanted = quaternions.unrotate(rotation, wanted)
            rotation = aim_bone(m, bone, rotation, bone.segment, wanted)
        orientation = quaternions.multiply(zero, rotation)
        if is_rigid:
            along = quaternions.rotate(orientation, bone.segment)
        else:
            frame = matrices.multiply(frame, quaternions.to_matrix(rotation))
            along = matrices.transform(frame, bone.segment)
        head = add(head, along)
        points.append(head)
        posed.append(rotation)
        orientations.append(orientation)
    return Pose(tuple(points), tuple(posed), tuple(orientations))
