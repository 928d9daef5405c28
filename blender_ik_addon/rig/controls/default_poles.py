"""Default places of a chain's target and pole, with which its pose does not change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import bpy
import numpy as np

from ...core import IKError
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.algebra.chains_first import chains_last
from ...core.kinematics.start_pose import faces_by_bone, find_carried_side
from ...core.model.joints import JointKind
from ..frames.bend_sides import find_facing_sides, find_sides
from ..frames.carried_sides import CarriedSides
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import ChainPoses
from ..frames.framing import build_frames_in_poses
from ..planning.checks import check_channels, check_pose, check_scale, check_segments
from ..planning.joints_of_chain import chain_joints
from ..planning.known_skeletons import skeleton_of
from ..reading import spaces
from ..reading.bone_joints import read_joints
from ..reading.chain_plan import ChainPlan, check, plan_chain
from ..reading.channels import Pose, matrices_of, read_pose
from ..reading.spec import ChainSpec, NegativeScale, StartFrom
from ..reading.world import find_unmirrored, not_finite

# Distance of a pole from its chain, as a factor on the chain's length: outside of the body.
POLE_DISTANCE = 1.5
# Minimum pole angle in radians; a smaller one turns no limb visibly.
MIN_ANGLE = 1e-6
# Number of angles between which the pole angle of a leaning chain is searched, and bisections of
# the interval: to 1e-10 radians. With a tenth of the angles, two close solutions are missed.
GRID_ANGLES, BISECTIONS = 128, 30
# Soft distances of new limbs as shares of the chain's length: the default, and the minimum that is
# worth a setting. If ten times larger, limbs would stop visibly short of their targets.
SOFT, MIN_SOFT = 0.02, 1e-4


@dataclass(frozen=True)
class Placement:
    """The places of a chain's controls with which its pose does not change.

    For B poses, all fields but ``bone_count`` have one more axis.

    Attributes:
        target: World matrix of the effector with the tip bone's rotation, shape (4, 4).
        pole: A point beside the chain on its bend side, world space, shape (3,).
        length: The chain's length in world space, shape ().
        bone_count: Number of bones that bend: without a tip that takes the target's rotation.
        soft: Soft distance of a new limb that keeps its pose, in the scene units of settings,
            shape ().
        pole_angle: Pole angle of a chain that carries its side, radians, shape (); zero for others.
        joints: Joints from the root to the effector, world space, shape (m + 1, 3).
    """

    target: Array
    pole: Array
    length: Array
    bone_count: int
    soft: Array
    pole_angle: Array
    joints: Array


def placement(
    armature_object: bpy.types.Object, spec: ChainSpec, before: ChainSpec | None = None
) -> Placement:
    """Return the places of a chain's controls in its present pose, as ``placements``.

    Raises:
        IKError: If the chain has no bones, no finite pose or a bone without length, or cannot
            follow its target.
    """
    if spec.target is not None:
        plan = plan_chain(skeleton_of(armature_object), spec)
        if not np.isfinite(np.array(spec.target.object.matrix_world)).all():
            raise not_finite(spec.target, "target")
        check(armature_object, plan, spec, {spec.target.object.session_uid})
    rows = placements(armature_object, spec, [read_pose(armature_object)], before=before)
    fields = {name: array[0] for name, array in vars(rows).items() if name != "bone_count"}
    return Placement(**fields, bone_count=rows.bone_count)


def placements(
    armature_object: bpy.types.Object,
    spec: ChainSpec,
    poses: Sequence[Pose],
    goals: Array | None = None,
    before: ChainSpec | None = None,
) -> Placement:
    """Return the places of a chain's controls in F poses of its armature object.

    Args:
        armature_object: The original object.
        spec: The chain's settings.
        poses: The F poses.
        goals: World matrices of the target, shape (F, 4, 4), if it is to be elsewhere: then the
            pole angles are those that bend the chain there as in the poses.
        before: Its former settings, if they differ: they define the side of a straight chain.

    Raises:
        IKError: If the chain has no bones or no finite pose, or if a bone has no length.
    """
    plan = plan_chain(skeleton_of(armature_object), spec)
    world, frames, posed = _read_poses(armature_object, plan, poses)
    tips = np.array([pose.matrices[plan.tip][:3, :3] for pose in poses])
    joints = spaces.transform_point(world[:, None], posed.joints)
    check_segments(lambda _: plan, joints)
    length = np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1)
    bends = slice(-1 if plan.bends_without_tip else None)
    is_kept = np.linalg.det(world) < 0.0
    is_kept &= spec.negative_scale is NegativeScale.KEEP
    sense, chord = np.where(is_kept, -1.0, 1.0), _chords(posed.joints[:, bends])
    unmirrored = find_unmirrored(armature_object) if is_kept.any() else None
    carrier = _SideCarrier(plan, frames, unmirrored, is_kept)
    natural_side, bent_spec = frames.natural_sides(posed)[:, 0], before or spec
    # A chain that is bent at rest has its side from the roll of its bones.
    if bent_spec.carries_side and (bent_spec.options.use_flip_bend or not frames.is_bent.any()):
        turned = bent_spec.pole_angle + np.pi * bool(bent_spec.options.use_flip_bend)
        angle = np.full(len(poses), bent_spec.pole_angle)
        poles = carrier.find_poles(carrier.sides(bent_spec), angle, posed.joints, tips)
        natural_side = _rotated_across(chord, poles, sense * turned)
    side = find_sides(posed.joints[:, bends], natural_side)
    if (kind := _find_knee(armature_object, plan, spec)) is not None:
        side = find_facing_sides(posed.joints[:, bends], side, _carried_sides(frames, posed, kind))
    target = np.tile(np.eye(4), (len(poses), 1, 1))
    target[:, :3, :3] = rotation.orientation(world[:, :3, :3] @ tips)
    target[:, :3, 3] = joints[:, -1]
    at_goal = posed.joints
    if goals is not None:
        to_goal = np.linalg.inv(world) @ goals @ np.linalg.inv(target) @ world
        ends = spaces.transform_point(to_goal[:, None], at_goal[:, 1:])
        at_goal, tips = np.concatenate((at_goal[:, :1], ends), axis=1), to_goal[:, :3, :3] @ tips
    angle = np.zeros(len(poses))
    if spec.carries_side:
        angle = carrier.find_angles(spec, at_goal, tips, _chords(at_goal[:, bends]), side)
    # The pole angle turns the bend away from the pole.
    side = _rotated_across(chord, side, -sense * spec.pole_angle)
    pole = _poles_beside(joints[:, bends], spaces.transform_direction(world, side), length)
    soft = _soft_distances(world, posed.joints[:, bends], length)
    count = joints[:, bends].shape[1] - 1
    return Placement(target, pole, length, count, soft, angle, joints)


def _find_knee(
    armature_object: bpy.types.Object, plan: ChainPlan, spec: ChainSpec
) -> JointKind | None:
    """Return the joint of the second bone; None for chains that never face poles with the first."""
    joints, keeps_start = None, spec.start_from is StartFrom.CURRENT
    # Whoever places controls need not know that a joint cannot be used.
    with suppress(IKError):
        joints = chain_joints(read_joints(armature_object), plan, spec)
    count = len(plan.segments) - plan.bends_without_tip
    is_faced = count > 1 and faces_by_bone(count, keeps_start=keeps_start)
    if joints is None or spec.options.use_flip_bend or not is_faced:
        return None
    return joints.kinds[1]


def _carried_sides(frames: ChainFrames, posed: ChainPoses, kind: JointKind) -> Array:
    """Return the sides that first bones carry, as solves find them, unit or zero, (F, 3)."""
    rest = frames.posed(np.broadcast_to(np.eye(3), posed.rotations.shape))
    first, second = posed.matrices[:, 0], rest.matrices[:, 1]
    unturned = first @ np.linalg.inv(rest.matrices[:, 0]) @ second
    side, axes = frames.natural_sides(posed)[:, 0].T, chains_last(first)
    carried = find_carried_side(kind, axes, chains_last(unturned), side, side)
    sides: Array = np.einsum("fij,jf->fi", first, carried)
    return sides


class _SideCarrier(NamedTuple):
    """The frames in which the side of a chain is carried, in F poses."""

    plan: ChainPlan
    frames: ChainFrames
    unmirrored: Array | None
    is_kept: Flags

    def sides(self, spec: ChainSpec) -> CarriedSides:
        """Return F rows of one chain that carries its side, to be computed together."""
        carried, count = CarriedSides.of([(self.plan, spec)]), len(self.is_kept)
        assert carried is not None
        return replace(carried.take(np.zeros(count, dtype=np.int64)), compiled=count)

    def find_poles(self, sides: CarriedSides, angle: Array, joints: Array, tips: Array) -> Array:
        """Return the vectors (F, 3) from the roots to the carried poles, before pole angles.

        ``angle`` are the pole angles by which straight chains lean, (F,). The required joints (F, m
        + 1, 3) and rotations of the tip (F, 3, 3) are in armature space.
        """
        unmirrored = np.eye(3) if self.unmirrored is None else self.unmirrored
        unmirrored = np.tile(unmirrored, (len(angle), 1, 1))
        rows = sides.turned(angle)
        poles = rows.poles_of(self.frames, joints[:, -1], tips, unmirrored, self.is_kept)
        return poles - self.frames.root

    def find_angles(
        self, spec: ChainSpec, joints: Array, tips: Array, chord: Array, side: Array
    ) -> Array:
        """Return the pole angles (F,) that bend the chain to sides across chords, (F, 3) each.

        A chain that is straight at rest leans to its side, so there may be more than one solution:
        return the nearest to that of the pose before.
        """
        sense, start = np.where(self.is_kept, -1.0, 1.0), np.full(len(joints), spec.pole_angle)
        sides = self.sides(spec)

        def miss(angle: Array) -> Array:
            """Return by how much angles miss the sides, from -pi to pi."""
            pole = self.find_poles(sides, angle, joints, tips)
            return _wrapped(sense * _angles_about(chord, pole, side) - angle)

        angle = _wrapped(start + miss(start))
        if (np.abs(miss(angle)) > MIN_ANGLE).any():
            angle = _find_zeros(miss, start)
        # Otherwise the panel would show noise as an angle.
        return np.where(np.abs(angle) > MIN_ANGLE, angle, 0.0)


def _find_zeros(miss: Callable[[Array], Array], start: Array) -> Array:
    """Return zeros (F,) of a function of angles, each the nearest to the one before.

    The angles start at ``start`` (F,). The function is from -pi to pi, and continuous modulo a full
    turn.
    """
    grid = start + np.linspace(-np.pi, np.pi, GRID_ANGLES + 1)[:, None]
    values = np.array([miss(angle) for angle in grid])
    # A step from pi to -pi is no zero.
    is_crossed = (values[:-1] * values[1:] <= 0.0) & (np.abs(np.diff(values, axis=0)) < np.pi)
    rows, low, previous = np.arange(len(start)), np.zeros(len(start), dtype=np.int64), start[0]
    for row in rows:
        distance = np.abs(_wrapped(grid[:-1, row] - previous))
        low[row] = np.argmin(np.where(is_crossed[:, row], distance, np.inf))
        previous = grid[low[row], row]
    first, last, sign = grid[low, rows], grid[low + 1, rows], np.sign(values[low, rows])
    for _ in range(BISECTIONS):
        middle = 0.5 * (first + last)
        is_before = miss(middle) * sign > 0.0
        first, last = np.where(is_before, middle, first), np.where(is_before, last, middle)
    return _wrapped(0.5 * (first + last))


def _wrapped(angle: Array) -> Array:
    """Return angles wrapped to the range from -pi to pi."""
    return np.asarray((angle + np.pi) % (2.0 * np.pi) - np.pi)


def _read_poses(
    armature_object: bpy.types.Object, plan: ChainPlan, poses: Sequence[Pose]
) -> tuple[Array, ChainFrames, ChainPoses]:
    """Return the object's world matrices (F, 4, 4) in poses, and the frames and poses of a chain.

    Raises:
        IKError: If a pose is not finite, or the object is scaled flat.
    """
    for pose in poses:
        check_pose(armature_object, pose, plan)
        check_channels(plan, pose.rotation[plan.written])
    world = np.array([pose.world for pose in poses])
    check_scale(armature_object, world)
    frames = build_frames_in_poses(plan, poses)
    local = [matrices_of(pose.rotation[plan.limb], pose.modes[plan.limb]) for pose in poses]
    posed = frames.posed(np.array(local))
    return world, frames, posed


def _poles_beside(bending: Array, side: Array, length: Array) -> Array:
    """Return the poles (B, 3), world space, of joints (B, n, 3) that bend to sides (B, 3).

    They are beside points on the chords, so that their angles about the chords are those of sides.
    """
    chord = bending[:, -1] - bending[:, 0]
    square = np.maximum(_dot(chord, chord), 1e-12)
    # Use only the part across the chord: a pole on its line would define no side.
    side = side - chord * (_dot(side, chord) / square)
    side = side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12)
    share = _dot(bending[:, 1:].mean(axis=1) - bending[:, 0], chord) / square
    return bending[:, 0] + share * chord + POLE_DISTANCE * length[:, None] * side


def _dot(first: Array, second: Array) -> Array:
    """Return the dot products of vectors (B, 3), shape (B, 1)."""
    return (first * second).sum(axis=1, keepdims=True)


def _soft_distances(world: Array, joints: Array, length: Array) -> Array:
    """Return soft distances (B,) that keep joints (B, n + 1, 3) in armature space in place.

    Scene units: an unevenly scaled armature counts by its largest scale.
    """
    reach = np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1)
    distance = np.linalg.norm(joints[:, -1] - joints[:, 0], axis=1)
    size = np.linalg.norm(world[:, :3, :3], 2, axis=(1, 2))
    soft = np.minimum(SOFT * length, size * np.maximum(0.0, reach - distance))
    return np.where(soft >= MIN_SOFT * length, soft, 0.0)


def _chords(joints: Array) -> Array:
    """Return unit vectors (B, 3) from the first of joints (B, n, 3) to the last."""
    chord = joints[:, -1] - joints[:, 0]
    return chord / np.maximum(np.linalg.norm(chord, axis=1, keepdims=True), 1e-12)


def _rotated_across(axis: Array, side: Array, angle: Array) -> Array:
    """Return the parts of directions (B, 3) across axes, rotated about these by angles (B,)."""
    part, angle = spaces.across(side, axis), angle[:, None]
    rotated: Array = part * np.cos(angle) + np.cross(axis, part) * np.sin(angle)
    return np.where(angle == 0.0, side, rotated)


def _angles_about(axis: Array, first: Array, second: Array) -> Array:
    """Return the angles (B,) in radians about axes between the parts of directions across them."""
    first, second = spaces.across(first, axis), spaces.across(second, axis)
    return np.arctan2(_dot(axis, np.cross(first, second)), _dot(first, second))[:, 0]
