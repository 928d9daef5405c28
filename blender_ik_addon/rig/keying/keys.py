"""Keyframes of pose channels in the action of an armature object, for Blender 4.2 to 5.2."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.animation import (
    Address,
    bags_of_action,
    bone_of_path,
    by_address,
    curves,
    drivers,
    held_actions,
)
from ..reading.channels import Integers
from ..reading.refusals import RigError
from .curve_points import clear, move_point


class Channel(NamedTuple):
    """One channel of a pose bone or of an object.

    Attributes:
        bone: Name of the bone; empty for the object itself.
        prop: Property of the bone, for example ``rotation_quaternion``; any path of an object.
        component: Index within the property.
    """

    bone: str
    prop: str
    component: int = 0

    @property
    def path(self) -> str:
        """The data path from the object."""
        prefix = f'pose.bones["{bpy.utils.escape_identifier(self.bone)}"].' if self.bone else ""
        return prefix + self.prop

    @property
    def address(self) -> Address:
        """The path with the component, as of F-curves."""
        return self.path, self.component

    def value(self, owner: bpy.types.Object) -> float:
        """Return the present value of the channel of an object."""
        value: Any = owner.path_resolve(self.path)
        return float(value[self.component] if hasattr(value, "__len__") else value)


class ChannelKeys(NamedTuple):
    """Keys of one channel: frames in rising order and the values at them, shape (f,) each."""

    channel: Channel
    frames: Array
    values: Array


def curves_of(
    owner: bpy.types.Object, channels: Iterable[Channel]
) -> dict[Channel, bpy.types.FCurve]:
    """Return the F-curves of channels that have one."""
    known = by_address(curves(owner))
    return {channel: known[channel.address] for channel in channels if channel.address in known}


def check_keyable(owner: bpy.types.Object, *, in_new_action: bool = False) -> None:
    """Raise a ``RigError`` if keyframes of an object could not be written, or would not show.

    ``in_new_action`` tells that a new action will take the keys.
    """
    data = owner.animation_data
    if data is None:
        return
    if data.use_tweak_mode:
        raise RigError(
            "The NLA of '{name}' is in tweak mode: leave tweak mode first.", name=owner.name
        )
    if data.use_nla and any(track.is_solo for track in data.nla_tracks):
        raise RigError(
            "The NLA of '{name}' plays one track alone, so new keys would not show: switch Solo off"
            " first.",
            name=owner.name,
        )
    action = data.action
    if action is not None and not action.is_editable and not in_new_action:
        raise RigError(
            "The action '{name}' of '{name2}' is linked, so no keys can be added: make it local, or"
            " give the object another action.",
            name=action.name,
            name2=owner.name,
        )
    if data.action_influence < 1.0 or data.action_blend_type != "REPLACE":
        raise RigError(
            "The NLA of '{name}' blends its action with the strips below it, so new keys would play"
            " differently: set the action to Replace with an influence of 1.",
            name=owner.name,
        )


def write_keys(
    armature_object: bpy.types.Object,
    channels: Iterable[ChannelKeys],
    interpolation: str | Sequence[str] = "LINEAR",
) -> None:
    """Key channels; replace all their keys from the first to the last frame.

    Other keys and channels stay. Muted curves are unmuted, and modifiers of the curves are muted,
    so that the keys play; loops around the keys stay. Segments to keys beside the range keep their
    shape. The object gets an action if it has none. Interpolations are as Blender names them: one
    for all keys, or one for each frame.
    """
    # Setting keys in bulk takes interpolations by their numbers.
    types = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items
    names = [interpolation] if isinstance(interpolation, str) else interpolation
    numbers = np.array([types[name].value for name in names], dtype=np.int32)
    bag = _bag(armature_object)
    for channel, frames, values in channels:
        path, index = channel.address
        curve = bag.fcurves.find(path, index=index)
        if curve is None:
            curve = bag.fcurves.new(path, index=index)
            if channel.bone:
                curve.group = bag.groups.get(channel.bone) or bag.groups.new(channel.bone)
        if not is_inside_loop(curve, frames[0], frames[-1]):
            for modifier in curve.modifiers:
                modifier.mute = True
        curve.mute = False
        _replace_points(curve, frames, values, numbers)


def is_inside_loop(curve: bpy.types.FCurve, first: float, last: float) -> bool:
    """Return whether a curve has keys up to both frames, and its modifiers only repeat its keys."""
    points, kinds = curve.keyframe_points, {one.type for one in curve.modifiers if not one.mute}
    if curve.mute or not points or kinds - {"CYCLES"}:
        return False
    return bool(points[0].co.x <= first and last <= points[-1].co.x)


def remove_animation(owner: bpy.types.Object, paths: Collection[str]) -> None:
    """Remove F-curves and drivers at paths of items to be deleted, also from the NLA.

    Actions from a library, and those that also animate something else, do not change.
    """
    actions, starts = list(held_actions(owner)), tuple(paths)
    for action, slot in actions:
        if slot is not None:
            is_exclusive = all(user == owner for user in slot.users())
        else:
            count = [used for used, _ in actions].count(action)
            is_exclusive = action.users - action.use_fake_user <= count
        for bag in bags_of_action(action, slot) if is_exclusive and action.is_editable else ():
            for curve in list(bag.fcurves):
                if curve.data_path.startswith(starts):
                    bag.fcurves.remove(curve)
    for driver in list(drivers(owner)):
        if driver.data_path.startswith(starts):
            owner.animation_data.drivers.remove(driver)


def sharing_objects(owner: bpy.types.Object) -> list[str]:
    """Return the names of the other objects that play the keys of an object's action."""
    data = owner.animation_data
    if data is None or data.action is None:
        return []
    held = data.action, getattr(data, "action_slot", None)
    return [
        other.name for other in bpy.data.objects if other != owner and held in held_actions(other)
    ]


def unplayed_actions(owner: bpy.types.Object, bones: Collection[str]) -> list[str]:
    """Return the names of actions that animate some bones and that nothing uses now."""
    played = [action for action, _ in held_actions(owner)]
    names = []
    for action in bpy.data.actions:
        if action in played or action.users > action.use_fake_user:
            continue
        slots = getattr(action, "slots", (None,))
        bags = [bag for slot in slots for bag in bags_of_action(action, slot)]
        paths = [bone_of_path(curve.data_path) for bag in bags for curve in bag.fcurves]
        if any(path is not None and path[0] in bones for path in paths):
            names.append(action.name)
    return names


def give_new_action(armature_object: bpy.types.Object) -> None:
    """Give an object a copy of its action, without the slots of other objects.

    The old action does not change, and is saved in the file even if nothing else uses it.
    """
    data = armature_object.animation_data or armature_object.animation_data_create()
    old, name = data.action, _new_action_name(armature_object)
    if old is None:
        data.action = bpy.data.actions.new(name)
        return
    slot = getattr(data, "action_slot", None)
    handle = None if slot is None else slot.handle
    action: Any = old.copy()
    action.name = name
    # The object below is the user of the copy: it needs no fake user.
    action.use_fake_user = False
    for other in [other for other in getattr(action, "slots", ()) if other.handle != handle]:
        action.slots.remove(other)
    data.action = action
    if handle is not None:
        data.action_slot = action.slots[0]
    if old.is_editable:
        old.use_fake_user = True


def _new_action_name(armature_object: bpy.types.Object) -> str:
    return f"{armature_object.name} Baked"


def _replace_points(
    curve: bpy.types.FCurve, frames: Array, values: Array, numbers: Integers
) -> None:
    """Replace the points in a range of frames; the segments beside it keep their shape."""
    points, first, last = curve.keyframe_points, frames[0], frames[-1]
    row, ends = clear(curve, first, last)
    # Inserting keys one by one would copy all of them each time.
    start, is_added = len(points), ~np.isin(frames, ends)
    points.add(int(is_added.sum()))
    pairs = np.empty((len(points), 2), dtype=np.float32)
    kinds = np.empty(len(points), dtype=np.int32)
    points.foreach_get("co", pairs.ravel())
    pairs[start:, 0], pairs[start:, 1] = frames[is_added], values[is_added]
    points.foreach_set("co", pairs.ravel())
    points.sort()
    points.foreach_get("interpolation", kinds)
    # The last of several keys keeps the interpolation of the segment after the range.
    count = len(frames) - (last in ends and len(frames) > 1)
    kinds[row : row + count] = numbers[:count]
    points.foreach_set("interpolation", kinds)
    for frame in ends:
        end = 0 if frame == first else len(frames) - 1
        move_point(points[row + end], frame, values[end])
    # This restores the handles.
    curve.update()


def _bag(armature_object: bpy.types.Object) -> Any:
    """Return the container of F-curves and groups of an object's action; create it if missing."""
    data = armature_object.animation_data or armature_object.animation_data_create()
    action: Any = data.action
    if action is None:
        action = data.action = bpy.data.actions.new(_new_action_name(armature_object))
    if not hasattr(action, "layers"):
        return action
    # From 4.4 on actions have slots, and assigning an action selects none.
    slot = data.action_slot
    if slot is None:
        # A slot that animates something else would play these keys there as well.
        suitable = (unused for unused in data.action_suitable_slots if not unused.users())
        slot = next(suitable, None) or action.slots.new(id_type="OBJECT", name=armature_object.name)
        data.action_slot = slot
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True)
