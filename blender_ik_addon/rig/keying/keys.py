"""Keyframes of pose channels, written into the action of an armature object; 4.2 to 5.2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from ..reading.refusals import RigError

Array = npt.NDArray[np.float64]


class ChannelKeys(NamedTuple):
    """Values of one channel, frame by frame.

    Attributes:
        bone: Name of the pose bone.
        prop: Property of it, such as ``rotation_quaternion``.
        component: Index within the property.
        values: Shape (f,).
    """

    bone: str
    prop: str
    component: int
    values: Array


def check_keyable(armature_object: bpy.types.Object) -> None:
    """Raise if keyframes in the object's action could not be written, or would not show.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    data = armature_object.animation_data
    if data is None:
        return
    if data.use_tweak_mode:
        raise RigError("The NLA is in tweak mode: leave it before baking.")
    action = data.action
    if action is not None and not action.is_editable:
        raise RigError(
            f"The action '{action.name}' is linked: make it local, or give the armature"
            " another action to bake into."
        )
    if data.action_influence < 1.0 or data.action_blend_type != "REPLACE":
        raise RigError(
            "The NLA blends the action with what is below it, so keys would not show as baked:"
            " set the action to Replace with an influence of 1."
        )


def write_keys(
    armature_object: bpy.types.Object, frames: Sequence[int], channels: Sequence[ChannelKeys]
) -> None:
    """Key channels at frames, in place of all keys from the first to the last of them.

    Other keys and other channels stay. Curves are made to play: neither they nor what modifies
    them stays in the way.

    Args:
        armature_object: The original object; it gets an action if it has none.
        frames: In rising order, f of them.
        channels: What to key.
    """
    bag = _bag(armature_object)
    for channel in channels:
        name = bpy.utils.escape_identifier(channel.bone)
        path = f'pose.bones["{name}"].{channel.prop}'
        curve = bag.fcurves.find(path, index=channel.component)
        if curve is None:
            curve = bag.fcurves.new(path, index=channel.component)
            curve.group = bag.groups.get(channel.bone) or bag.groups.new(channel.bone)
        curve.mute = False
        for modifier in curve.modifiers:
            modifier.mute = True
        _replace_points(curve, frames, channel.values)


def _replace_points(curve: bpy.types.FCurve, frames: Sequence[int], values: Array) -> None:
    points = curve.keyframe_points
    first, last = frames[0], frames[-1]
    for index in reversed(range(len(points))):
        if first <= points[index].co.x <= last:
            points.remove(points[index], fast=True)
    for frame, value in zip(frames, values.tolist(), strict=True):
        # The order and the handles are put right once, at the end.
        point = points.insert(frame, value, options={"FAST"})
        point.interpolation = "LINEAR"
    points.sort()
    curve.update()


def _bag(armature_object: bpy.types.Object) -> Any:
    """Return what holds the F-curves and groups of an object's action; made if there is none."""
    data = armature_object.animation_data or armature_object.animation_data_create()
    action: Any = data.action
    if action is None:
        action = data.action = bpy.data.actions.new(f"{armature_object.name} Bake")
    if not hasattr(action, "layers"):
        return action
    # From 4.4 on actions have slots, and being given an action picks none.
    slot = data.action_slot
    if slot is None:
        # A slot that animates something else would have that play these keys as well.
        unused = (each for each in data.action_suitable_slots if not each.users())
        slot = next(unused, None) or action.slots.new(id_type="OBJECT", name=armature_object.name)
        data.action_slot = slot
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)
