"""FK and IK matched: controls are moved to fit a pose, and both sides are keyed at a frame."""

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
from ..keying.curve_points import interpolate, split
from ..keying.keys import ChannelKeys, check_keyable, path_of, write_keys
from ..keying.written import Channel, reader, written_channels
from ..reading.animation import curves
from ..reading.channels import CHANNEL_SIZES, MODE_NUMBERS, property_of_mode
from ..reading.spec import Anchor, ChainSpec, PoleMode, StoredBone
from ..reading.world import array_of, channels_of, matrix_of
from .placing import check_movable

# Between two passes that place the same controls: shares of their numbers, and scene units.
SAME_SHARE, SAME_PLACE = 1e-5, 1e-6
# How far a tip is from a target that it has reached: in tolerances of its chain, and in radians.
# With ten times more, what is left would be seen to pull.
AT_TARGET, TURNED_TO = 2.0, 1e-4
# How far a control is from where it was put while nothing holds it: a share of its coordinates, and
# scene units. With a tenth, what Blender rounds would be taken for a constraint.
PUT_SHARE, PUT_PLACE = 1e-4, 2e-5

Goals = dict[Anchor, Array]
"""World matrices of targets and poles, shape (4, 4) each."""


def find_match(
    armature_object: bpy.types.Object, spec: ChainSpec, limb: ChainSpec, scene: bpy.types.Scene
) -> Goals:
    """Return where target and pole of a chain belong in its present pose; nothing is changed.

    The pole belongs on the side to which the limb bends, turned by the pole angle. A chain that
    starts from this pose must not flip its bend: that would turn its bones round.

    Args:
        armature_object: The original object.
        spec: The chain.
        limb: The chain with those of its bones alone that its pole turns.
        scene: What the controls are to be moved in.

    Raises:
        RigError: If the chain has no bones, its pose is not sound, or a person may not move the
            target or the pole.
    """
    for anchor, word in ((spec.target, "target"), (spec.pole, "pole")):
        if anchor is not None:
            check_movable(control_above(anchor), word, scene)
    # Where they are now does not matter.
    placed = placement(armature_object, replace(spec, target=None, pole=None))
    goals = {}
    if spec.target is not None:
        control, goal = control_above(spec.target), placed.target
        if control != spec.target:
            ends = (array_of(channels_of(each).matrix) for each in (spec.target, control))
            goal = control_goal(array_of(control.object.matrix_world), goal, *ends)
        goals[control] = goal
    if spec.pole is not None:
        matrix = matrix_of(spec.pole)
        alone = replace(limb, target=None, pole=None)
        matrix[:3, 3] = placement(armature_object, alone).pole
        goals[spec.pole] = matrix
    return goals


def is_met(goals: Goals, spec: ChainSpec) -> bool:
    """Tell whether a chain stands at its target.

    Args:
        goals: As from ``find_match``.
        spec: The chain's settings.
    """
    if spec.target is None or spec.pole is not None:
        # Which way a pole turns a chain is not looked at: it is placed anew.
        return spec.target is None
    control = control_above(spec.target)
    goal, there = goals[control], matrix_of(control)
    if np.linalg.norm(goal[:3, 3] - there[:3, 3]) > AT_TARGET * float(spec.options.tolerance):
        return False
    turn, wanted = (rotation.orientation(each[:3, :3]) for each in (goal, there))
    return not spec.use_rotation or np.allclose(turn, wanted, rtol=0.0, atol=TURNED_TO)


def find_bend(armature_object: bpy.types.Object, spec: ChainSpec) -> float | None:
    """Return the pole angle with which a chain that bends with its body keeps its present pose.

    None for chains that bend toward a pole, or as the pose that they start from.

    Raises:
        RigError: As from ``find_match``.
    """
    if spec.pole_mode is not PoleMode.FOLLOW:
        return None
    angle = float(placement(armature_object, replace(spec, target=None)).pole_angle)
    return spec.pole_angle + math.remainder(angle - spec.pole_angle, math.tau)


def match_controls(
    goals: Goals,
    view_layer: bpy.types.ViewLayer,
    frame: float | None = None,
    interpolation: str = "",
) -> None:
    """Put targets and poles where they belong, also where they hang on each other.

    Args:
        goals: As from ``find_match``, of one chain or of several.
        view_layer: What evaluates them.
        frame: Where to key them; None for no keys. A curve without the key would move them back.
        interpolation: As for ``key_anchors``.
    """
    before = None
    for _ in range(len(goals) + 1):
        for anchor, matrix in goals.items():
            move_to(anchor, matrix)
        if frame is not None:
            key_anchors(goals, frame, interpolation)
        after = np.array([channels_of(anchor).matrix_basis for anchor in goals])
        if before is not None and np.allclose(after, before, SAME_SHARE, SAME_PLACE):
            return
        before = after
        view_layer.update()


def held_elsewhere(goals: Goals) -> list[str]:
    """Return the names of controls that are not where they were put, once that is evaluated."""
    return [
        label(anchor)
        for anchor, goal in goals.items()
        if not np.allclose(matrix_of(anchor)[:3, 3], goal[:3, 3], PUT_SHARE, PUT_PLACE)
    ]


def switch_controls(
    goals: Goals,
    others: Iterable[Anchor],
    view_layer: bpy.types.ViewLayer,
    frame: int,
    interpolation: str,
) -> None:
    """Match controls from a frame on, with keys; what they carry of other chains stays in place.

    Args:
        goals: As for ``match_controls``.
        others: Targets and poles of chains that go on as they are.
        view_layer: What evaluates them.
        frame: Where to key them; on the frame before they are keyed as they were.
        interpolation: As for ``key_anchors``.
    """
    places = {anchor: matrix_of(anchor) for anchor in others if anchor not in goals}
    hold_anchors(goals, frame - 1, interpolation)
    match_controls(goals, view_layer, frame, interpolation)
    carried = {
        anchor: place
        for anchor, place in places.items()
        if not np.allclose(matrix_of(anchor), place, SAME_SHARE, SAME_PLACE)
    }
    hold_anchors(carried, frame - 1, interpolation)
    if carried:
        # Put back, they carry others.
        match_controls(goals | carried, view_layer, frame, interpolation)


def key_anchors(anchors: Iterable[Anchor], frame: float, interpolation: str = "") -> None:
    """Key location and rotation of objects and bones at a frame, as they stand.

    Args:
        anchors: What to key.
        frame: Where.
        interpolation: From the keys on; empty for that of the keys before them.
    """
    for anchor in anchors:
        for prop in channel_names(channels_of(anchor)):
            _insert(anchor, prop, -1, frame, interpolation)


def hold_anchors(anchors: Iterable[Anchor], frame: int, interpolation: str) -> None:
    """Key location and rotation of objects and bones at a frame as they play there.

    What is keyed later then changes nothing up to that frame.

    Args:
        anchors: What to key.
        frame: Where.
        interpolation: Of keys on channels that had none.
    """
    for anchor in anchors:
        moved = channels_of(anchor)
        known = {(each.data_path, each.array_index): each for each in curves(anchor.object)}
        for prop in channel_names(moved):
            for component in range(len(getattr(moved, prop))):
                curve = known.get((moved.path_from_id(prop), component))
                if curve is None:
                    _insert(anchor, prop, component, frame, interpolation)
                else:
                    split(curve, frame)


def _insert(anchor: Anchor, prop: str, component: int, frame: float, interpolation: str) -> None:
    """Key a property as it stands, one component of it or with -1 all."""
    moved = channels_of(anchor)
    path, group = moved.path_from_id(prop), anchor.bone or "Object Transforms"
    moved.keyframe_insert(prop, index=component, frame=frame, group=group)
    for curve in curves(anchor.object) if interpolation else ():
        if curve.data_path == path and component in (-1, curve.array_index):
            interpolate(curve, frame, interpolation)


def anchor_channels(anchors: Iterable[Anchor]) -> dict[bpy.types.Object, list[Channel]]:
    """Return the channels that hold location and rotation of objects and bones, by object."""
    found: dict[bpy.types.Object, list[Channel]] = {}
    for anchor in anchors:
        moved = channels_of(anchor)
        found.setdefault(anchor.object, []).extend(
            Channel(anchor.bone, prop, component)
            for prop in channel_names(moved)
            for component in range(len(getattr(moved, prop)))
        )
    return found


def channel_names(moved: bpy.types.Object | bpy.types.PoseBone) -> tuple[str, str]:
    """Return the properties of an object or a bone that hold its location and rotation."""
    return "location", rotation_property(moved)


def key_switch(
    armature_object: bpy.types.Object, specs: Sequence[ChainSpec], frame: int, interpolation: str
) -> None:
    """Key the channels that chains write: at a frame as they are, a frame before as they were.

    So the pose that the chains start from does not change before that frame.

    Args:
        armature_object: The original object.
        specs: The chains' settings, with their stored poses.
        frame: Where to key.
        interpolation: From there on.

    Raises:
        RigError: If keys could not be written, or would not show.
    """
    check_keyable(armature_object)
    stored = {bone.name: bone for spec in specs for bone in spec.stored_pose}
    known = {(each.data_path, each.array_index): each for each in curves(armature_object)}
    channels = written_channels(armature_object, specs)
    added, frames = [], np.array([frame - 1.0, frame])
    for channel, value in zip(channels, reader(armature_object, channels)().tolist(), strict=True):
        name, prop, component = channel
        curve = known.get((path_of(name, prop), component))
        if curve is not None:
            split(curve, frame - 1)
            curve.keyframe_points.insert(frame, value, options={"FAST"})
            interpolate(curve, frame, interpolation)
            continue
        held = _held(stored.get(name), prop)
        before = held[component] if component < len(held) else value
        values = np.array([before, value])
        added.append(ChannelKeys(name, prop, component, frames, values))
    write_keys(armature_object, added, interpolation)


def _held(bone: StoredBone | None, prop: str) -> tuple[float, ...]:
    """Return what a property held before the chain first wrote, empty if that is unknown."""
    if bone is None:
        return ()
    if prop not in ("location", "scale"):
        is_same = property_of_mode(MODE_NUMBERS[bone.rotation_mode]) == prop
        return bone.rotation[: CHANNEL_SIZES[prop]] if is_same else ()
    values: tuple[float, ...] = getattr(bone, prop)
    return values


def key_step(owner: bpy.types.ID, path: str, frame: int, before: float, after: float) -> None:
    """Key a property so that it jumps at a frame.

    Args:
        owner: Whose property it is.
        path: From there to the property.
        frame: Where to key it, and one frame before.
        before: What it is up to there if it has no keys; what keys play before stays.
        after: What it is from there on.
    """
    holder_path, _, name = path.rpartition(".")
    known = next((each for each in curves(owner) if each.data_path == path), None)
    if known is None:
        setattr(owner.path_resolve(holder_path), name, before)
        owner.keyframe_insert(path, frame=frame - 1)
    else:
        split(known, frame - 1)
    setattr(owner.path_resolve(holder_path), name, after)
    owner.keyframe_insert(path, frame=frame)
    for curve in curves(owner):
        if curve.data_path == path:
            interpolate(curve, frame - 1, "CONSTANT")
            interpolate(curve, frame, "CONSTANT")
