"""The bones of sweeps, posed one after the other.

Points are the heads of all n bones, and then the effectors. A chain is a tree with one effector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np

from ..algebra import matrices, quaternions
from ..algebra.arithmetic import Arithmetic, Array, Number
from ..algebra.matrices import Matrix
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, add, choose, dot, norm, subtract
from . import swing_twist
from .swing_twist import SwingTwistRange
from .transport import PRODUCTS

# A direction across a hinge that is shorter than this share of its vector is rounding.
MIN_HINGE_SHARE = 1e-9
# Weight of the present rotation of a bone with many ends, as a share of the weight of its ends: it
# decides only what the ends leave open.
REST_WEIGHT = 1e-3
FRAME_AXES: tuple[Vector, Vector, Vector] = matrices.IDENTITY


class Bone(NamedTuple):
    """A bone and the joint at its head.

    The parent comes before the bone; it is -1 for a root. Ends are the points on the bone, in a
    chain the next one. Segments lead there from its head, in its posed axes; the length is that of
    the first. The offset leads from its axes at zero to the posed axes of the parent, None if these
    are the same; the offset rotation is without scale and shear. The scale converts lengths in its
    axes to the space of the chain. The joint is None if it turns freely. The hinge is the index of
    its only axis, None for other joints. ``mobility`` is the mobility about each posed axis
    relative to the greatest one, None if all are equal. The greatest bend, in radians to the
    segment before, is for chains without orientations; None for no limit.
    """

    parent: int
    ends: tuple[int, ...]
    segments: tuple[Vector, ...]
    length: Number
    offset: Matrix | None = None
    inverse: Matrix | None = None
    offset_rotation: Quaternion = quaternions.IDENTITY
    scale: Number = 1.0
    joint: SwingTwistRange | None = None
    hinge: int | None = None
    mobility: Vector | None = None
    max_bend: Number | None = None


class Bones(NamedTuple):
    """The bones of a chain or a tree, roots first; every bone moves an effector.

    Roots are the indices and heads of bones without parents. The reach is the longest way from a
    root to an effector. Bones are rigid if all offsets are rotations; lengths are then in the space
    of the chain.
    """

    bones: tuple[Bone, ...]
    roots: tuple[tuple[int, Vector], ...]
    reach: Number
    is_rigid: bool = True
    effectors: int = 1


class SweepPose(NamedTuple):
    """The pose of bones: heads and then effectors, local rotations, orientations."""

    points: tuple[Vector, ...]
    rotations: tuple[Quaternion, ...] = ()
    orientations: tuple[Quaternion, ...] = ()


def lay_bones(
    points: tuple[Vector, ...],
    lengths: Iterable[Number],
    bends: Iterable[Number | None] | None = None,
) -> Bones:
    """Return the segments between points as bones with free joints.

    ``bends`` are the greatest angles to the segments before, None for no limit.
    """
    bones = tuple(
        Bone(i - 1, (i + 1,), (subtract(end, head),), length, max_bend=bend)
        for i, ((head, end), length, bend) in enumerate(
            zip(pairwise(points), lengths, bends or repeat(None), strict=False)
        )
    )
    return Bones(bones, ((0, points[0]),), sum(bone.length for bone in bones))


class Targets(NamedTuple):
    """The target positions of effectors, and the weights of points.

    A point weighs as much as the effectors beyond it. Weights are empty for one effector.
    """

    places: tuple[Vector, ...]
    weights: tuple[Number, ...] = ()


def find_distance(m: Arithmetic, points: tuple[Vector, ...], targets: Targets) -> Number:
    """Return the weighted distance of all effectors from their targets."""
    places, weights = targets
    if not weights:
        return norm(m, subtract(places[0], points[-1]))
    square, count = 0.0, len(places)
    for weight, place, point in zip(weights[-count:], places, points[-count:], strict=True):
        off = subtract(place, point)
        square = square + weight * dot(off, off)
    return m.sqrt(square)


def aim_bone(
    m: Arithmetic,
    bone: Bone,
    rotation: Quaternion,
    lever: Vector,
    direction: Vector,
    share: Number | None = None,
) -> Quaternion:
    """Return the local rotation that turns a lever toward a direction, as far as the joint allows.

    Both are in the posed axes of the bone. It turns by a share of the way; None means all of it.
    """
    axis = None
    if bone.hinge is not None:
        # A hinge turns in its plane only: it cannot change the part along its axis.
        axis = FRAME_AXES[bone.hinge]
        lever, direction = _flatten(m, lever, bone.hinge), _flatten(m, direction, bone.hinge)
    swing = quaternions.swing(m, lever, direction, axis)
    if share is not None:
        is_part = share < 1.0
        if m.any(is_part):
            part = quaternions.power(m, swing, share)
            swing = choose(m, is_part, part, swing)
    if bone.mobility is not None:
        # Stiff axes turn less.
        x, y, z = quaternions.to_vector(m, swing)
        reduced = x * bone.mobility[0], y * bone.mobility[1], z * bone.mobility[2]
        swing = quaternions.from_vector(m, reduced)
    turned = quaternions.normalize(m, quaternions.multiply(rotation, swing))
    return turned if bone.joint is None else swing_twist.clamp(m, bone.joint, turned)


def _flatten(m: Arithmetic, vector: Vector, axis: int) -> Vector:
    """Return the part of a vector across a frame axis; zero if that is rounding."""
    x, y, z = (0.0 if i == axis else vector[i] for i in range(3))
    counts = m.length(x, y, z) > MIN_HINGE_SHARE * norm(m, vector)
    return m.where(counts, x, 0.0), m.where(counts, y, 0.0), m.where(counts, z, 0.0)


def clamp_orientation(
    m: Arithmetic, bone: Bone, orientation: Quaternion, other: Quaternion, *, is_child: bool = False
) -> Quaternion:
    """Return the orientation of one of two bones, brought into the range of their joint.

    The other one is fixed. The joint is at the head of the child; ``is_child`` turns the child,
    otherwise its parent turns.
    """
    if bone.joint is None:
        return orientation
    parent, child = (other, orientation) if is_child else (orientation, other)
    local = swing_twist.clamp(m, bone.joint, _find_rotation(bone, parent, child))
    if is_child:
        return quaternions.multiply(find_zero(bone, parent), local)
    zero = quaternions.multiply(child, quaternions.conjugate(local))
    if bone.offset is None:
        return zero
    return quaternions.multiply(zero, quaternions.conjugate(bone.offset_rotation))


def find_zero(bone: Bone, parent: Quaternion) -> Quaternion:
    """Return the orientation of a bone whose joint is at zero."""
    return parent if bone.offset is None else quaternions.multiply(parent, bone.offset_rotation)


def _find_rotation(bone: Bone, parent: Quaternion, child: Quaternion) -> Quaternion:
    """Return the local rotation of a posed bone."""
    return quaternions.multiply(quaternions.conjugate(find_zero(bone, parent)), child)


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
    aims: Sequence[Vector] | None = None,
    weights: tuple[Number, ...] = (),
) -> SweepPose:
    """Return the pose of bones, posed one after the other from the roots.

    Aims are the goals of all points. Each bone turns toward them as far as its joint allows, after
    the bones before it. Without aims the bones keep their rotations. Weights are empty for one
    effector.
    """
    bones, is_rigid = chain.bones, chain.is_rigid
    points: list[Any] = [None] * (len(bones) + chain.effectors)
    for i, head in chain.roots:
        points[i] = head
    posed = list(rotations)
    # The last one, of index -1, is the parent of roots.
    orientations = [quaternions.IDENTITY] * (len(bones) + 1)
    frames = [matrices.IDENTITY] * (len(bones) + 1)
    for i, bone in enumerate(bones):
        head, rotation, frame = points[i], posed[i], None
        zero = find_zero(bone, orientations[bone.parent])
        if not is_rigid:
            frame = frames[bone.parent]
            frame = frame if bone.offset is None else matrices.multiply(frame, bone.offset)
        if aims is not None:
            goals = [subtract(aims[end], head) for end in bone.ends]
            if frame is None:
                goals = [quaternions.unrotate(zero, goal) for goal in goals]
            else:
                inverse = matrices.inverse(m, frame)
                goals = [matrices.transform(inverse, goal) for goal in goals]
            posed[i] = rotation = _turn_bone(m, bone, rotation, goals, weights)
        orientations[i] = orientation = quaternions.multiply(zero, rotation)
        if frame is not None:
            frames[i] = frame = matrices.multiply(frame, quaternions.to_matrix(rotation))
        for end, segment in zip(bone.ends, bone.segments, strict=True):
            if frame is None:
                along = quaternions.rotate(orientation, segment)
            else:
                along = matrices.transform(frame, segment)
            points[end] = add(head, along)
    return SweepPose(tuple(points), tuple(posed), tuple(orientations[:-1]))


def _turn_bone(
    m: Arithmetic,
    bone: Bone,
    rotation: Quaternion,
    goals: list[Vector],
    weights: tuple[Number, ...],
) -> Quaternion:
    """Return the local rotation that brings the ends of a bone nearest to their goals.

    Goals are relative to its head, in its axes at zero.
    """
    if len(goals) == 1:
        goal = quaternions.unrotate(rotation, goals[0])
        return aim_bone(m, bone, rotation, bone.segments[0], goal)
    levers = [quaternions.rotate(rotation, segment) for segment in bone.segments]
    swing = _fit_rotation(levers, goals, [weights[end] for end in bone.ends])
    turned = quaternions.normalize(m, quaternions.multiply(swing, rotation))
    return turned if bone.joint is None else swing_twist.clamp(m, bone.joint, turned)


def _fit_rotation(levers: list[Vector], goals: list[Vector], weights: list[Number]) -> Quaternion:
    """Return the rotation that brings levers nearest to goals.

    Source: Davenport's q-method (Markley and Mortari, "Quaternion attitude estimation using vector
    observations", Journal of the Astronautical Sciences 48, 2000).
    """
    source: Array = np.array(levers)
    profile = np.einsum("mi...,mj...,m...->...ij", np.array(goals), source, np.array(weights))
    size = np.einsum("mi...,mi...,m...->...", source, source, np.array(weights))
    profile = profile + REST_WEIGHT * size[..., None, None] * np.eye(3)
    matrix = np.einsum("...ij,ijk->...k", profile, PRODUCTS).reshape(*size.shape, 4, 4)
    best = np.linalg.eigh(matrix)[1][..., -1]
    w, x, y, z = (best * np.where(best[..., :1] < 0.0, -1.0, 1.0)).T
    return (w, x, y, z) if size.ndim else (float(w), float(x), float(y), float(z))
