"""Keyframes of pose channels, written into the action of an armature object; 4.2 to 5.2."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.animation import bags_of_action, bone_of_path, curves_of_action, held_actions
from ..reading.channels import Integers
from ..reading.refusals import RigError


class ChannelKeys(NamedTuple):
    """Keys of one channel.

    Attributes:
        bone: Name of the pose bone; empty for the object itself.
        prop: Property of it, such as ``rotation_quaternion``; of an object, any path from it.
        component: Index within the property.
        frames: In rising order, shape (f,).
        values: Shape (f,).
    """

    bone: str
    prop: str
    component: int
    frames: Array
    values: Array


def path_of(bone: str, prop: str) -> str:
    """Return the path to a property of a pose bone, or without a name of the object itself."""
    return f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{prop}' if bone else prop


def check_keyable(armature_object: bpy.types.Object, *, in_new_action: bool = False) -> None:
    """Raise if keyframes in the object's action could not be written, or would not show.

    Args:
        armature_object: The original object.
        in_new_action: Whether it gets a new one for them.

    Raises:
        RigError: The message says what to do next.
    """
    data = armature_object.animation_data
    if data is None:
        return
    if data.use_tweak_mode:
        raise RigError("The NLA is in tweak mode: leave tweak mode first.")
    action = data.action
    if action is not None and not action.is_editable and not in_new_action:
        raise RigError(
            f"The action '{action.name}' is linked, so it takes no keys: make it local, or give the"
            " armature another action."
        )
    if data.action_influence < 1.0 or data.action_blend_type != "REPLACE":
        raise RigError(
            "The NLA blends the action with what is below it, so new keys would not play as"
            " they are: set the action to Replace with an influence of 1."
        )


def write_keys(
    armature_object: bpy.types.Object,
    channels: Iterable[ChannelKeys],
    interpolation: str | Sequence[str] = "LINEAR",
) -> None:
    """Key channels, in place of all keys of theirs from the first to the last frame.

    Other keys and other channels stay. Curves are made to play: neither they nor what modifies
    them stays in the way.

    Args:
        armature_object: The original object; it gets an action if it has none.
        channels: What to key.
        interpolation: Of the keys, as Blender names it; of all, or one for each frame.
    """
    # Many keys at once are given it by its number.
    kinds = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items
    names = [interpolation] if isinstance(interpolation, str) else interpolation
    numbers = np.array([kinds[name].value for name in names], dtype=np.int32)
    bag = _bag(armature_object)
    for channel in channels:
        path = path_of(channel.bone, channel.prop)
        curve = bag.fcurves.find(path, index=channel.component)
        if curve is None:
            curve = bag.fcurves.new(path, index=channel.component)
            if channel.bone:
                curve.group = bag.groups.get(channel.bone) or bag.groups.new(channel.bone)
        curve.mute = False
        for modifier in curve.modifiers:
            modifier.mute = True
        _replace_points(curve, channel.frames, channel.values, numbers)


def remove_animation(owner: bpy.types.Object, paths: Collection[str]) -> None:
    """Remove F-curves and drivers of what is to be deleted, also from the NLA.

    Actions from a library, and those that animate something else as well, stay as they are.

    Args:
        owner: The original object.
        paths: From it to what is to be deleted.
    """
    held, starts, data = list(held_actions(owner)), tuple(paths), owner.animation_data
    for action, slot in held:
        if slot is not None:
            is_own = all(user == owner for user in slot.users())
        else:
            own = [each for each, _ in held].count(action)
            is_own = action.users - action.use_fake_user <= own
        for bag in bags_of_action(action, slot) if is_own and action.is_editable else ():
            for curve in list(bag.fcurves):
                if curve.data_path.startswith(starts):
                    bag.fcurves.remove(curve)
    for driver in list(data.drivers) if data is not None else ():
        if driver.data_path.startswith(starts):
            data.drivers.remove(driver)


def unplayed_actions(owner: bpy.types.Object, bones: Collection[str]) -> list[str]:
    """Return the names of actions that animate some bones, and that nothing plays now.

    Args:
        owner: The original armature object; what it holds is played.
        bones: Their names.
    """
    held = [action for action, _ in held_actions(owner)]
    found = []
    for action in bpy.data.actions:
        if action in held or action.users > action.use_fake_user:
            continue
        curves = (
            curve
            for slot in getattr(action, "slots", (None,))
            for curve in curves_of_action(action, slot)
        )
        if any((bone_of_path(each.data_path) or ("",))[0] in bones for each in curves):
            found.append(action.name)
    return found


def give_new_action(armature_object: bpy.types.Object) -> None:
    """Have an object play a copy of its action, without what other objects play of it.

    The old action stays as it is, also in the file when nothing else uses it.
    """
    data = armature_object.animation_data or armature_object.animation_data_create()
    old, name = data.action, _name_of_new(armature_object)
    if old is None:
        data.action = bpy.data.actions.new(name)
        return
    slot = getattr(data, "action_slot", None)
    handle = None if slot is None else slot.handle
    action: Any = old.copy()
    action.name = name
    # The copy has its own user below, and no fake one that nobody asked for.
    action.use_fake_user = False
    for each in [each for each in getattr(action, "slots", ()) if each.handle != handle]:
        action.slots.remove(each)
    data.action = action
    if handle is not None:
        data.action_slot = action.slots[0]
    if old.is_editable:
        old.use_fake_user = True


def _name_of_new(armature_object: bpy.types.Object) -> str:
    return f"{armature_object.name} Baked"


def _replace_points(
    curve: bpy.types.FCurve, frames: Array, values: Array, numbers: Integers
) -> None:
    points = curve.keyframe_points
    for index in reversed(range(len(points))):
        if frames[0] <= points[index].co.x <= frames[-1]:
            points.remove(points[index], fast=True)
    # Inserted one by one, each would have all of them copied.
    others = len(points)
    points.add(len(frames))
    places = np.empty((len(points), 2), dtype=np.float32)
    kinds = np.empty(len(points), dtype=np.int32)
    points.foreach_get("co", places.ravel())
    points.foreach_get("interpolation", kinds)
    places[others:, 0], places[others:, 1], kinds[others:] = frames, values, numbers
    points.foreach_set("co", places.ravel())
    points.foreach_set("interpolation", kinds)
    # The order and the handles are put right at the end.
    points.sort()
    curve.update()


def _bag(armature_object: bpy.types.Object) -> Any:
    """Return what holds the F-curves and groups of an object's action; made if there is none."""
    data = armature_object.animation_data or armature_object.animation_data_create()
    action: Any = data.action
    if action is None:
        action = data.action = bpy.data.actions.new(_name_of_new(armature_object))
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
