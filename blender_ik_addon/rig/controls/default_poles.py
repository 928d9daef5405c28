"""Where target and pole of a chain belong by default, so that its pose does not move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ..frames.carried_sides import CarriedSides
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import ChainPoses
from ..frames.framing import framed_in_poses
from ..frames.side import find_sides
from ..planning.checks import check_channels, check_pose, check_scale
from ..planning.known_skeletons import skeleton_of
from ..planning.live_chain import SHORTEST_SEGMENT
from ..reading import spaces
from ..reading.chain_plan import ChainPlan, check, planned
from ..reading.channels import Pose, matrices_of, read_pose
from ..reading.refusals import no_length
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, NegativeScale
from ..reading.world import find_unmirrored, not_finite

# How far a pole is from its chain, of the chain's length: outside of the body.
POLE_DISTANCE = 1.5
# Radians; less turns no limb by what can be seen.
SAME_ANGLE = 1e-6
# The pole angle of a chain that leans is looked for between so many angles, then in halves of the
# way: to 1e-10 radians. With a tenth of the angles two that lie side by side are missed.
ANGLES_TRIED, HALVINGS = 128, 30
# Soft distances of new limbs as shares of the chain's length: what they are to be, and the least
# that is worth a setting. Ten times more, limbs would stop visibly short of their targets.
SOFT, LEAST_SOFT = 0.02, 1e-4


@dataclass(frozen=True)
class Placement:
    """Where the controls of a chain have to be for its pose not to move.

    For B poses all fields but the count of bones have one axis more.

    Attributes:
        target: World matrix of the effector with the tip bone's rotation, shape (4, 4).
        pole: A point off the bend side, world space, shape (3,).
        length: The chain's length in world space, shape ().
        bone_count: Bones that the solver bends: without a tip that takes the target's rotation.
        slack: How far these are from full reach, in the scene units of settings, shape ().
        pole_angle: Of a chain whose side goes along with root and target, radians, shape (); zero
            for others.
        joints: From the root to the effector, world space, shape (m + 1, 3).
    """

    target: Array
    pole: Array
    length: Array
    bone_count: int
    slack: Array
    pole_angle: Array
    joints: Array


def placement(
    armature_object: bpy.types.Object, spec: ChainSpec, before: ChainSpec | None = None
) -> Placement:
    """Return where the controls of a chain belong in its present pose.

    Args:
        armature_object: The original object.
        spec: The chain's settings.
        before: As ``placements``.

    Raises:
        IKError: If the chain has no bones or no finite pose, or cannot follow the target that it
            names, or if a bone has no length.
    """
    skeleton = skeleton_of(armature_object)
    plan = planned(skeleton, spec)
    if spec.target is not None:
        if not np.isfinite(np.array(spec.target.object.matrix_world)).all():
            raise not_finite(spec.target, "target")
        check(armature_object, plan, spec, {spec.target.object.session_uid})
    poses = [read_pose(armature_object)]
    rows = placements(armature_object, skeleton, spec, poses, before=before)
    only = {name: array[0] for name, array in vars(rows).items() if name != "bone_count"}
    return Placement(**only, bone_count=rows.bone_count)


def placements(
    armature_object: bpy.types.Object,
    skeleton: Skeleton,
    spec: ChainSpec,
    poses: Sequence[Pose],
    goals: Array | None = None,
    before: ChainSpec | None = None,
) -> Placement:
    """Return where the controls of a chain belong in poses of its armature object.

    Args:
        armature_object: The original object.
        skeleton: Its bones.
        spec: The chain's settings.
        poses: F of them.
        goals: World matrices, shape (F, 4, 4), of where the target is to be instead: pole angles
            are then those that bend the chain there as in the poses.
        before: Its settings until now, if others: they tell where one that is straight bends.

    Raises:
        IKError: If the chain has no bones or no finite pose, or if a bone has no length.
    """
    plan = planned(skeleton, spec)
    world, frames, posed = _read_poses(armature_object, plan, poses)
    tips = np.array([pose.matrices[plan.tip][:3, :3] for pose in poses])
    joints = spaces.transform_point(world[:, None], posed.joints)
    length = _lengths(plan, joints)
    bends = slice(-1 if plan.bends_without_tip else None)
    is_kept = np.linalg.det(world) < 0.0
    is_kept &= spec.negative_scale is NegativeScale.KEEP
    sense, chord = np.where(is_kept, -1.0, 1.0), _chords(posed.joints[:, bends])
    shown = find_unmirrored(armature_object) if is_kept.any() else None
    carrying = _Carrying(plan, frames, shown, is_kept)
    natural, own = frames.natural_sides(posed)[:, 0], before or spec
    # One that is bent at rest shows by the roll of its bones where it bends.
    if own.carries_side and (own.options.use_flip_bend or not frames.is_bent.any()):
        turned = own.pole_angle + np.pi * bool(own.options.use_flip_bend)
        angle = np.full(len(poses), own.pole_angle)
        way = carrying.find_ways(carrying.sides(own), angle, posed.joints, tips)
        natural = _turned(chord, way, sense * turned)
    side = find_sides(posed.joints[:, bends], natural)
    target = np.tile(np.eye(4), (len(poses), 1, 1))
    target[:, :3, :3] = rotation.orientation(world[:, :3, :3] @ tips)
    target[:, :3, 3] = joints[:, -1]
    asked = posed.joints
    if goals is not None:
        moved = np.linalg.inv(world) @ goals @ np.linalg.inv(target) @ world
        ends = spaces.transform_point(moved[:, None], asked[:, 1:])
        asked, tips = np.concatenate((asked[:, :1], ends), axis=1), moved[:, :3, :3] @ tips
    angle = np.zeros(len(poses))
    if spec.carries_side:
        angle = carrying.find_angles(spec, asked, tips, _chords(asked[:, bends]), side)
    # The pole angle turns the bend away from the pole.
    side = _turned(chord, side, -sense * spec.pole_angle)
    pole = _poles_beside(joints[:, bends], spaces.transform_direction(world, side), length)
    slack = _slack(world, posed.joints[:, bends])
    count = joints[:, bends].shape[1] - 1
    return Placement(target, pole, length, count, slack, angle, joints)


def _lengths(plan: ChainPlan, joints: Array) -> Array:
    """Return the lengths (F,) of a chain with joints (F, m + 1, 3).

    Raises:
        IKError: If a bone has no length.
    """
    segments = np.linalg.norm(np.diff(joints, axis=1), axis=2)
    length: Array = segments.sum(axis=1)
    short = np.flatnonzero((segments <= SHORTEST_SEGMENT * length[:, None]).any(axis=0))
    if short.size:
        raise no_length(plan.skeleton.names[plan.segments[short[0]]])
    return length


class _Carrying(NamedTuple):
    """What the side of a chain goes along with, in F poses."""

    plan: ChainPlan
    frames: ChainFrames
    unmirrored: Array | None
    is_kept: Flags

    def sides(self, spec: ChainSpec) -> CarriedSides:
        """Return F rows of a chain that carries its side; many are computed side by side."""
        carried, count = CarriedSides.of([(self.plan, spec)]), len(self.is_kept)
        assert carried is not None
        return replace(carried.take(np.zeros(count, dtype=np.int64)), compiled=count)

    def find_ways(self, sides: CarriedSides, angle: Array, joints: Array, tips: Array) -> Array:
        """Return the ways (F, 3) from the roots that it has gone along to, before pole angles (F,).

        Args:
            sides: Of the chain.
            angle: Which straight chains lean by.
            joints: Where the chain is to be, shape (F, m + 1, 3).
            tips: How its tip is to be turned, shape (F, 3, 3).
        """
        shown = np.eye(3) if self.unmirrored is None else self.unmirrored
        shown = np.tile(shown, (len(angle), 1, 1))
        rows = sides.turned(angle)
        poles = rows.poles_of(self.frames, joints[:, -1], tips, shown, self.is_kept)
        return poles - self.frames.root

    def find_angles(
        self, spec: ChainSpec, joints: Array, tips: Array, chord: Array, side: Array
    ) -> Array:
        """Return the pole angles (F,) that bend it to sides across chords, (F, 3) each.

        What is straight at rest leans to where it bends, so there several angles may do: of these
        the nearest to that of the pose before.
        """
        sense, start = np.where(self.is_kept, -1.0, 1.0), np.full(len(joints), spec.pole_angle)
        sides = self.sides(spec)

        def missing(angle: Array) -> Array:
            """Return by how much angles miss the sides, from -pi to pi."""
            way = self.find_ways(sides, angle, joints, tips)
            return _wrapped(sense * _angles_about(chord, way, side) - angle)

        angle = _wrapped(start + missing(start))
        if (np.abs(missing(angle)) > SAME_ANGLE).any():
            angle = _zeros(missing, start)
        # Noise would stand in the panel as an angle.
        return np.where(np.abs(angle) > SAME_ANGLE, angle, 0.0)


def _zeros(missing: Callable[[Array], Array], start: Array) -> Array:
    """Return angles (F,) at which nothing is missing, each the nearest to the one before.

    Args:
        missing: What is missing at angles (F,), from -pi to pi; it goes on through a full turn.
        start: Where to begin, shape (F,).
    """
    grid = start + np.linspace(-np.pi, np.pi, ANGLES_TRIED + 1)[:, None]
    values = np.array([missing(angle) for angle in grid])
    # From pi to -pi it only goes on.
    is_crossed = (values[:-1] * values[1:] <= 0.0) & (np.abs(np.diff(values, axis=0)) < np.pi)
    rows, low, before = np.arange(len(start)), np.zeros(len(start), dtype=np.int64), start[0]
    for row in rows:
        away = np.abs(_wrapped(grid[:-1, row] - before))
        low[row] = np.argmin(np.where(is_crossed[:, row], away, np.inf))
        before = grid[low[row], row]
    first, last, sign = grid[low, rows], grid[low + 1, rows], np.sign(values[low, rows])
    for _ in range(HALVINGS):
        middle = 0.5 * (first + last)
        is_before = missing(middle) * sign > 0.0
        first, last = np.where(is_before, middle, first), np.where(is_before, last, middle)
    return _wrapped(0.5 * (first + last))


def _wrapped(angle: Array) -> Array:
    """Return the same angles from -pi to pi."""
    return np.asarray((angle + np.pi) % (2.0 * np.pi) - np.pi)


def _read_poses(
    armature_object: bpy.types.Object, plan: ChainPlan, poses: Sequence[Pose]
) -> tuple[Array, ChainFrames, ChainPoses]:
    """Return the object's world matrices (F, 4, 4) in poses, and the chain in them.

    Raises:
        IKError: If a pose is not finite, or the object is scaled flat.
    """
    for pose in poses:
        check_pose(armature_object, pose, plan)
        check_channels(plan, pose.rotation[plan.written])
    world = np.array([pose.world for pose in poses])
    check_scale(armature_object, world)
    frames = framed_in_poses(plan, poses)
    local = [matrices_of(pose.rotation[plan.limb], pose.modes[plan.limb]) for pose in poses]
    posed = frames.posed(np.array(local))
    return world, frames, posed


def _poles_beside(bending: Array, side: Array, length: Array) -> Array:
    """Return where the poles of joints (B, n, 3) that bend to sides belong, world space, (B, 3).

    They are put off points on the chords, so that their angles about these are those of the sides.
    """
    chord = bending[:, -1] - bending[:, 0]
    square = np.maximum(_dot(chord, chord), 1e-12)
    # Only the part across the chord counts: a pole on its line would give no side.
    side = side - chord * (_dot(side, chord) / square)
    side = side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12)
    share = _dot(bending[:, 1:].mean(axis=1) - bending[:, 0], chord) / square
    return bending[:, 0] + share * chord + POLE_DISTANCE * length[:, None] * side


def _dot(first: Array, second: Array) -> Array:
    """Return the products of vectors (B, 3), shape (B, 1)."""
    return (first * second).sum(axis=1, keepdims=True)


def soft_distance(placed: Placement) -> float:
    """Return how softly a new limb may straighten for its present pose not to move."""
    soft = float(min(SOFT * placed.length, placed.slack))
    return soft if soft >= LEAST_SOFT * placed.length else 0.0


def _slack(world: Array, joints: Array) -> Array:
    """Return how far joints (B, n + 1, 3) in armature space are from full reach, scene units, (B,).

    As soft distances count it: armatures that are scaled unevenly are as large as they are longest.
    """
    reach = np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1)
    distance = np.linalg.norm(joints[:, -1] - joints[:, 0], axis=1)
    size = np.linalg.norm(world[:, :3, :3], 2, axis=(1, 2))
    return size * np.maximum(0.0, reach - distance)


def _chords(joints: Array) -> Array:
    """Return unit vectors (B, 3) from the first of joints (B, n, 3) to the last."""
    chord = joints[:, -1] - joints[:, 0]
    return chord / np.maximum(np.linalg.norm(chord, axis=1, keepdims=True), 1e-12)


def _turned(axis: Array, side: Array, angle: Array) -> Array:
    """Return what of directions (B, 3) lies across axes, turned about them by angles (B,)."""
    across, angle = side - axis * _dot(side, axis), angle[:, None]
    turned: Array = across * np.cos(angle) + np.cross(axis, across) * np.sin(angle)
    return np.where(angle == 0.0, side, turned)


def _angles_about(axis: Array, first: Array, second: Array) -> Array:
    """Return the radians about axes from directions to others, of what lies across them, (B,)."""
    first, second = (each - axis * _dot(each, axis) for each in (first, second))
    return np.arctan2(_dot(axis, np.cross(first, second)), _dot(first, second))[:, 0]
