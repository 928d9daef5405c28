"""FK and IK matching: move controls to fit a pose, and key both sides at a frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..controls.control_spaces import label, move_to, rotation_property
from ..controls.default_poles import placement
from ..controls.foot_roll import control_above, control_goal
from ..frames.chain_poses import angles_between
from ..keying.curve_points import set_interpolation, split
from ..keying.keys import Channel, ChannelKeys, curves_of, write_keys
from ..keying.written_channels import reader, written_channels
from ..planning.joints_of_chain import chain_joints
from ..planning.known_skeletons import skeleton_of
from ..reading.animation import SAME_FRAME, curves
from ..reading.bone_joints import read_joints
from ..reading.chain_plan import plan_chain
from ..reading.channels import MODE_NUMBERS, converted, matrices_of, read_floats, read_pose
from ..reading.spec import Anchor, ChainSpec, PoleMode, StoredBone
from ..reading.world import array_of, channels_of, matrix_of
from .move_by_location import check_movable

# Relative and absolute tolerances (scene units) of the channels of controls between two passes.
SETTLED_RTOL, SETTLED_ATOL = 1e-5, 1e-6
# How far a tip may be from a target that it has reached: in tolerances of its chain, and in
# radians. If ten times larger, the remaining gap would be seen to pull.
MAX_GAP, MAX_TURN = 2.0, 1e-4
# How far a control may be from its goal if no constraint holds it: a share of its coordinates, and
# scene units. If ten times smaller, Blender's rounding would be taken for a constraint.
PLACED_RTOL, PLACED_ATOL = 1e-4, 2e-5

ControlGoals = dict[Anchor, Array]
"""World matrices of targets and poles, shape (4, 4) each."""


def find_control_goals(
    armature_object: bpy.types.Object, spec: ChainSpec, limb: ChainSpec, scene: bpy.types.Scene
) -> ControlGoals:
    """Return the goals of a chain's target and pole that keep its present pose; change nothing.

    The pole is placed on the side to which the limb bends, turned by the pole angle. A chain that
    starts from this pose must not flip its bend: that would turn its bones round. ``limb`` is the
    chain, reduced to the bones that its pole turns.

    Raises:
        RigError: If the chain has no bones, its pose is not finite, or the target or the pole
            cannot be moved in the scene.
    """
    for anchor, word in ((spec.target, "target"), (spec.pole, "pole")):
        if anchor is not None:
            check_movable(control_above(anchor), word, scene)
    # Ignore the present places of target and pole.
    default = placement(armature_object, replace(spec, target=None, pole=None))
    goals = {}
    if spec.target is not None:
        control, goal = control_above(spec.target), default.target
        if control != spec.target:
            ends = (array_of(channels_of(anchor).matrix) for anchor in (spec.target, control))
            goal = control_goal(array_of(control.object.matrix_world), goal, *ends)
        goals[control] = goal
    if spec.pole is not None:
        matrix = matrix_of(spec.pole)
        limb_only = replace(limb, target=None, pole=None)
        matrix[:3, 3] = placement(armature_object, limb_only).pole
        goals[spec.pole] = matrix
    return goals


def is_at_goals(goals: ControlGoals, spec: ChainSpec) -> bool:
    """Return whether a chain is at its target, by goals from ``find_control_goals``."""
    if spec.target is None or spec.pole is not None:
        # The side to which a pole turns the chain is not compared: always place the pole again.
        return spec.target is None
    control = control_above(spec.target)
    goal, present = goals[control], matrix_of(control)
    if np.linalg.norm(goal[:3, 3] - present[:3, 3]) > MAX_GAP * float(spec.options.tolerance):
        return False
    goal_axes, axes = (rotation.orientation(matrix[:3, :3]) for matrix in (goal, present))
    return not spec.use_rotation or np.allclose(goal_axes, axes, rtol=0.0, atol=MAX_TURN)


def find_matching_pole_angle(armature_object: bpy.types.Object, spec: ChainSpec) -> float | None:
    """Return the pole angle with which a chain that carries its side keeps its present pose.

    None for chains that bend toward a pole or as their start pose.

    Raises:
        RigError: As for ``find_control_goals``.
    """
    if spec.pole_mode is not PoleMode.FOLLOW:
        return None
    angle = float(placement(armature_object, replace(spec, target=None)).pole_angle)
    return spec.pole_angle + math.remainder(angle - spec.pole_angle, math.tau)


def measure_excess(armature_object: bpy.types.Object, spec: ChainSpec) -> float:
    """Return by what angle a bone of a chain is outside of its joint's range, radians, at most.

    Zero if all joints allow the present pose, so that the chain can keep it.

    Raises:
        IKError: If the chain has no bones, or a joint cannot be used.
    """
    plan = plan_chain(skeleton_of(armature_object), spec)
    joints = chain_joints(read_joints(armature_object), plan, spec)
    if joints is None:
        return 0.0
    pose, bones = read_pose(armature_object), plan.written
    turns = matrices_of(pose.rotation[bones], pose.modes[bones])
    local = rotation.quaternion_from_matrix(turns)
    angle = float(np.max(angles_between(local, joints.clamped(local))))
    return angle if angle > MAX_TURN else 0.0


def measure_return(armature_object: bpy.types.Object, spec: ChainSpec, frame: int) -> float:
    """Return the largest turn of a bone, radians a frame, from its pose to its next key.

    The bones get keys of their present pose at the frame. Zero if they have no later keys.
    """
    channels = written_channels(armature_object, [spec])
    rotations = [channel for channel in channels if channel.prop.startswith("rotation")]
    index, pose = skeleton_of(armature_object).index, read_pose(armature_object)
    keyed, gaps = pose.rotation, dict[int, float]()
    for (bone, _, component), curve in curves_of(armature_object, rotations).items():
        row = index[bone]
        keyed[row, component] = curve.evaluate(frame)
        frames = read_floats(curve.keyframe_points, "co", 2)[::2]
        if later := frames[frames > frame + SAME_FRAME].tolist():
            gaps[row] = min(gaps.get(row, math.inf), later[0] - frame)
    if not gaps:
        return 0.0
    rows = list(gaps)
    turns = [
        rotation.quaternion_from_matrix(matrices_of(values[rows], pose.modes[rows]))
        for values in (keyed, pose.rotation)
    ]
    return float(np.max(angles_between(*turns) / np.maximum([*gaps.values()], 1.0)))


def match_controls(
    goals: ControlGoals,
    view_layer: bpy.types.ViewLayer,
    frame: float | None = None,
    interpolation: str = "",
) -> None:
    """Move targets and poles of chains to their goals, also where some are parents of others.

    With a frame they are keyed there, or a curve would move them back. The interpolation is as for
    ``key_anchors``.
    """
    before = None
    for _ in range(len(goals) + 1):
        for anchor, matrix in goals.items():
            move_to(anchor, matrix)
        if frame is not None:
            key_anchors(goals, frame, interpolation)
        after = np.array([channels_of(anchor).matrix_basis for anchor in goals])
        if before is not None and np.allclose(after, before, SETTLED_RTOL, SETTLED_ATOL):
            return
        before = after
        view_layer.update()


def controls_off_goals(goals: ControlGoals) -> list[str]:
    """Return the names of evaluated controls that are not at their goals."""
    return [
        label(anchor)
        for anchor, goal in goals.items()
        if not np.allclose(matrix_of(anchor)[:3, 3], goal[:3, 3], PLACED_RTOL, PLACED_ATOL)
    ]


def find_moved(matrices: ControlGoals) -> ControlGoals:
    """Return the former matrices of the evaluated controls that have moved since."""
    return {
        anchor: matrix
        for anchor, matrix in matrices.items()
        if not np.allclose(matrix_of(anchor), matrix, SETTLED_RTOL, SETTLED_ATOL)
    }


def switch_controls(
    goals: ControlGoals,
    others: Iterable[Anchor],
    view_layer: bpy.types.ViewLayer,
    frame: int,
    interpolation: str,
) -> None:
    """Match controls from a frame on, with keys; keep those of the other chains in place.

    At the frame before, their former places are keyed. The interpolation is as for ``key_anchors``.
    """
    matrices = {anchor: matrix_of(anchor) for anchor in others if anchor not in goals}
    key_as_played(goals, frame - 1, interpolation)
    match_controls(goals, view_layer, frame, interpolation)
    carried = find_moved(matrices)
    key_as_played(carried, frame - 1, interpolation)
    if carried:
        # When these are back in place, their children have moved.
        match_controls(goals | carried, view_layer, frame, interpolation)


def key_anchors(anchors: Iterable[Anchor], frame: float, interpolation: str = "") -> None:
    """Key the present location and rotation of objects and bones at a frame.

    An empty interpolation is that of the preceding keys.
    """
    for owner, channels in anchor_channels(anchors).items():
        _insert(owner, channels, frame, interpolation)


def key_as_played(anchors: Iterable[Anchor], frame: int, interpolation: str) -> None:
    """Key location and rotation of objects and bones as they play at a frame.

    Later keys then change nothing up to that frame. The interpolation is for channels without keys.
    """
    for owner, channels in anchor_channels(anchors).items():
        known = curves_of(owner, channels)
        for curve in known.values():
            split(curve, frame)
        missing = [channel for channel in channels if channel not in known]
        _insert(owner, missing, frame, interpolation)


def _insert(
    owner: bpy.types.Object, channels: Sequence[Channel], frame: float, interpolation: str
) -> None:
    """Key the present values of channels."""
    for channel in channels:
        group = channel.bone or "Object Transforms"
        owner.keyframe_insert(channel.path, index=channel.component, frame=frame, group=group)
    for curve in curves_of(owner, channels).values() if interpolation else ():
        set_interpolation(curve, {frame: interpolation})


def anchor_channels(anchors: Iterable[Anchor]) -> dict[bpy.types.Object, list[Channel]]:
    """Return the location and rotation channels of objects and bones, by object."""
    channels: dict[bpy.types.Object, list[Channel]] = {}
    for anchor in anchors:
        owner = channels_of(anchor)
        channels.setdefault(anchor.object, []).extend(
            Channel(anchor.bone, prop, component)
            for prop in channel_names(owner)
            for component in range(len(getattr(owner, prop)))
        )
    return channels


def channel_names(owner: bpy.types.Object | bpy.types.PoseBone) -> tuple[str, str]:
    """Return the names of the location and rotation properties of an object or a bone."""
    return "location", rotation_property(owner)


def key_switch(
    armature_object: bpy.types.Object, specs: Sequence[ChainSpec], frame: int, interpolation: str
) -> None:
    """Key the channels that chains write: new values at a frame, former ones a frame before.

    So the pose that the chains start from does not change before that frame. Call
    ``key_played_frames`` first: it refuses actions that cannot be keyed. The settings of
    the chains have their stored poses. The interpolation is that from the frame on.
    """
    stored = {bone.name: bone for spec in specs for bone in spec.stored_pose}
    bones = armature_object.pose.bones
    channels = written_channels(armature_object, specs)
    known = curves_of(armature_object, channels)
    added, frames = [], np.array([frame - 1.0, frame])
    for channel, value in zip(channels, reader(armature_object, channels)().tolist(), strict=True):
        name, prop, component = channel
        curve = known.get(channel)
        if curve is not None:
            split(curve, frame - 1)
            curve.keyframe_points.insert(frame, value, options={"FAST"})
            set_interpolation(curve, {frame: interpolation})
            continue
        stored_values = _stored_values(stored.get(name), prop, bones[name].rotation_mode)
        before = stored_values[component] if component < len(stored_values) else value
        values = np.array([before, value])
        added.append(ChannelKeys(channel, frames, values))
    write_keys(armature_object, added, interpolation)


def _stored_values(bone: StoredBone | None, prop: str, mode: str) -> tuple[float, ...]:
    """Return a property before the chain first wrote it, in a rotation mode; empty if unknown."""
    if bone is None:
        return ()
    if prop not in ("location", "scale"):
        modes = (np.array([MODE_NUMBERS[name]]) for name in (bone.rotation_mode, mode))
        return tuple(converted(np.array([bone.rotation]), *modes)[0])
    values: tuple[float, ...] = getattr(bone, prop)
    return values


def key_step(owner: bpy.types.ID, path: str, frame: int, before: float, after: float) -> None:
    """Key a property with a step at a frame; the frame before is keyed as well.

    ``path`` leads from the owner to the property. ``before`` is the value before the step if there
    are no keys; otherwise that of the curve stays. ``after`` is the value from the step on.
    """
    holder_path, _, name = path.rpartition(".")
    existing = next((curve for curve in curves(owner) if curve.data_path == path), None)
    if existing is None:
        setattr(owner.path_resolve(holder_path), name, before)
        owner.keyframe_insert(path, frame=frame - 1)
    else:
        split(existing, frame - 1)
    setattr(owner.path_resolve(holder_path), name, after)
    owner.keyframe_insert(path, frame=frame)
    for curve in curves(owner):
        if curve.data_path == path:
            set_interpolation(curve, dict.fromkeys((frame - 1, frame), "CONSTANT"))
