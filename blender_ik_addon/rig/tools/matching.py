"""FK and IK matched: controls are moved to fit a pose, and both sides are keyed at a frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import bpy
import numpy as np

from ..keying.curve_points import interpolate, split
from ..keying.keys import ChannelKeys, check_keyable, path_of, write_keys
from ..keying.written import reader, written_channels
from ..reading.animation import curves
from ..reading.channels import CHANNEL_SIZES
from ..reading.spec import Anchor, ChainSpec, StoredBone
from ..reading.world import channels_of
from .controls import Placement, move_to, placement
from .placing import check_movable


def find_match(
    armature_object: bpy.types.Object, spec: ChainSpec, scene: bpy.types.Scene
) -> Placement:
    """Return where target and pole of a chain belong in its present pose; nothing is changed.

    Raises:
        RigError: If the chain has no bones, its pose is not sound, or a person may not move the
            target or the pole.
    """
    for anchor, word in ((spec.target, "target"), (spec.pole, "pole")):
        if anchor is not None:
            check_movable(anchor, word, scene)
    # Where they are now does not matter.
    return placement(armature_object, replace(spec, target=None, pole=None))


def match_controls(
    armature_object: bpy.types.Object, spec: ChainSpec, scene: bpy.types.Scene
) -> list[Anchor]:
    """Put the target and the pole of a chain where they match its present pose; return both.

    The pole is put on the side to which the chain bends, turned by the pole angle. A chain that
    starts from this pose must not flip its bend: that would turn its bones round.

    Raises:
        RigError: As from ``find_match``; nothing is moved then.
    """
    placed = find_match(armature_object, spec, scene)
    anchors = []
    if spec.target is not None:
        move_to(spec.target, placed.target)
        anchors.append(spec.target)
    if spec.pole is not None:
        matrix = np.array(spec.pole.object.matrix_world, dtype=np.float64)
        if spec.pole.bone:
            bone = spec.pole.object.pose.bones[spec.pole.bone]
            matrix = matrix @ np.array(bone.matrix, dtype=np.float64)
        matrix[:3, 3] = placed.pole
        move_to(spec.pole, matrix)
        anchors.append(spec.pole)
    return anchors


def key_anchors(anchors: Iterable[Anchor], frame: int, interpolation: str = "") -> None:
    """Key location and rotation of objects and bones at a frame, as they stand.

    Args:
        anchors: What to key.
        frame: Where.
        interpolation: From the keys on; empty for that of the keys before them.
    """
    for anchor in anchors:
        moved = channels_of(anchor)
        for prop in _channels(moved):
            moved.keyframe_insert(prop, frame=frame, group=anchor.bone or "Object Transforms")
        paths = {moved.path_from_id(prop) for prop in _channels(moved)} if interpolation else ()
        for curve in curves(anchor.object):
            if curve.data_path in paths:
                interpolate(curve, frame, interpolation)


def hold_anchors(anchors: Iterable[Anchor], frame: int) -> None:
    """Key location and rotation of objects and bones at a frame as they play there.

    What is keyed later then changes nothing up to that frame.
    """
    for anchor in anchors:
        moved = channels_of(anchor)
        known = {(each.data_path, each.array_index): each for each in curves(anchor.object)}
        for prop in _channels(moved):
            for component in range(len(getattr(moved, prop))):
                curve = known.get((moved.path_from_id(prop), component))
                if curve is None:
                    moved.keyframe_insert(prop, index=component, frame=frame)
                else:
                    split(curve, frame)


def _channels(moved: bpy.types.Object | bpy.types.PoseBone) -> tuple[str, str]:
    names = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return "location", names.get(moved.rotation_mode, "rotation_euler")


def key_switch(
    armature_object: bpy.types.Object, spec: ChainSpec, frame: int, interpolation: str
) -> None:
    """Key the channels that a chain writes: at a frame as they are, a frame before as they were.

    So the pose that the chain starts from does not change before that frame.

    Args:
        armature_object: The original object.
        spec: The chain's settings, with its stored pose.
        frame: Where to key.
        interpolation: From there on.

    Raises:
        RigError: If keys could not be written, or would not show.
    """
    check_keyable(armature_object)
    stored = {bone.name: bone for bone in spec.stored_pose}
    known = {(each.data_path, each.array_index): each for each in curves(armature_object)}
    channels = written_channels(armature_object, [spec])
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
        return bone.rotation if len(bone.rotation) == CHANNEL_SIZES[prop] else ()
    values: tuple[float, ...] = getattr(bone, prop)
    return values


def key_step(owner: bpy.types.ID, path: str, frame: int, before: float, after: float) -> None:
    """Key a property so that it jumps at a frame, from one value to another."""
    holder_path, _, name = path.rpartition(".")
    for at, value in ((frame - 1, before), (frame, after)):
        setattr(owner.path_resolve(holder_path), name, value)
        owner.keyframe_insert(path, frame=at)
    for curve in curves(owner):
        if curve.data_path == path:
            interpolate(curve, frame - 1, "CONSTANT")
            interpolate(curve, frame, "CONSTANT")
