"""What animates an armature object: F-curves, drivers and NLA, under the APIs of 4.2 to 5.2."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from .anchors import SPACE
from .channels import CHANNEL_SIZES, PROPERTY_SIZES, Integers, property_of_mode, read_floats

# Blender sets no second key nearer than this to another one, in frames.
SAME_FRAME = 0.01
# Names inside the brackets have quotes and backslashes escaped by a backslash.
_BONE_PATH = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]\.(\w+)')

_SPACE_PATH = re.compile(
    rf'(pose\.bones\["(?:[^"\\]|\\.)*"\])\.constraints\["{SPACE}(?:[^"\\]|\\.)*"\]\.influence'
)


@lru_cache(maxsize=16384)
def bone_of_path(path: str) -> tuple[str, str] | None:
    """Return bone name and property name of a pose channel's data path, None for other paths."""
    match = _BONE_PATH.fullmatch(path)
    if match is None:
        return None
    return bpy.utils.unescape_identifier(match[1]), match[2]


def curves(owner: bpy.types.ID) -> Iterable[bpy.types.FCurve]:
    """Return the F-curves of an ID's active action."""
    data = owner.animation_data
    if data is None or data.action is None:
        return ()
    return curves_of_action(data.action, getattr(data, "action_slot", None))


def curves_of_action(
    action: bpy.types.Action, slot: bpy.types.ActionSlot | None
) -> Iterable[bpy.types.FCurve]:
    """Return the F-curves of an action, for one slot where actions have slots (4.4 on)."""
    return [curve for bag in bags_of_action(action, slot) for curve in bag.fcurves]


def bags_of_action(action: bpy.types.Action, slot: bpy.types.ActionSlot | None) -> list[Any]:
    """Return what holds the F-curves of an action, for one slot where actions have slots."""
    if not hasattr(action, "layers"):
        return [action]
    if slot is None:
        return []
    bags = (strip.channelbag(slot) for layer in action.layers for strip in layer.strips)
    return [bag for bag in bags if bag is not None]


def held_actions(
    owner: bpy.types.ID,
) -> Iterator[tuple[bpy.types.Action, bpy.types.ActionSlot | None]]:
    """Yield every action that an ID holds, with its slot where actions have slots (4.4 on).

    That is the active one, the one that waits while the NLA is in tweak mode, and those of all NLA
    strips, muted or not.
    """
    data = getattr(owner, "animation_data", None)
    if data is None:
        return
    holders: list[Any] = [data, *_all_strips(data)]
    for holder in holders:
        if holder.action is not None:
            yield holder.action, getattr(holder, "action_slot", None)
    waiting = data.action_tweak_storage
    if waiting is not None:
        handle = getattr(data, "action_slot_handle_tweak_storage", 0)
        slots = getattr(waiting, "slots", ())
        yield waiting, next((slot for slot in slots if slot.handle == handle), None)


def _all_strips(data: bpy.types.AnimData) -> list[bpy.types.NlaStrip]:
    """Return all NLA strips, muted or not, also those inside of others."""
    found = [strip for track in data.nla_tracks for strip in track.strips]
    for strip in found:
        found.extend(strip.strips)  # the loop comes to these as well
    return found


def strips(owner: bpy.types.ID) -> Iterator[bpy.types.NlaStrip]:
    """Yield the NLA strips of an ID that are not muted."""
    data = owner.animation_data
    for track in data.nla_tracks if data is not None and data.use_nla else ():
        if not track.mute:
            yield from (strip for strip in track.strips if not strip.mute)


def strip_curves(owner: bpy.types.ID) -> Iterator[bpy.types.FCurve]:
    """Yield the F-curves that NLA strips of an ID play, and those of the strips themselves."""
    for strip in strips(owner):
        if strip.action is not None:
            yield from curves_of_action(strip.action, getattr(strip, "action_slot", None))
        yield from strip.fcurves


def driven_paths(owner: bpy.types.ID) -> set[tuple[str, str]]:
    """Return bone and property of every driver on a pose channel."""
    data = owner.animation_data
    found = (bone_of_path(curve.data_path) for curve in (data.drivers if data else ()))
    return {path for path in found if path is not None}


def may_read_poses(owner: bpy.types.Object) -> bool:
    """Tell whether a driver of an object or its data may read more than their custom properties.

    No pose changes those: Foot Roll, and most switches of rigs, are such drivers.
    """
    own = owner, owner.data
    drivers = [
        curve.driver
        for each in own
        if each.animation_data is not None
        for curve in each.animation_data.drivers
    ]
    is_python = any(each.type == "SCRIPTED" and not each.is_simple_expression for each in drivers)
    return is_python or any(
        variable.type != "SINGLE_PROP" or source.id not in own or source.data_path[-2:] != '"]'
        for driver in drivers
        for variable in driver.variables
        for source in variable.targets
    )


def driven_axes(owner: bpy.types.ID, path: str) -> set[int]:
    """Return which axes of a setting have drivers, by its data path; 0 for one that has no axes."""
    data = owner.animation_data
    drivers = data.drivers if data is not None else ()
    return {curve.array_index for curve in drivers if curve.data_path == path}


def animated_paths(owner: bpy.types.ID) -> set[tuple[str, int]]:
    """Return data path and array index of everything that action, NLA and drivers animate."""
    # Not every kind of data can be animated.
    data = getattr(owner, "animation_data", None)
    if data is None:
        return set()
    found = [*curves(owner), *data.drivers, *strip_curves(owner)]
    return {(curve.data_path, curve.array_index) for curve in found}


def rotation_keys(owner: bpy.types.ID, frame: float) -> dict[tuple[str, str], int]:
    """Return which rotation channels of bones have a key of the action at a frame.

    Returns:
        By name of bone and property: how many keys its curves have, of that with most of them.
    """
    found: dict[tuple[str, str], int] = {}
    for curve in curves(owner):
        channel = bone_of_path(curve.data_path)
        if channel is not None and channel[1] in PROPERTY_SIZES:
            frames = read_floats(curve.keyframe_points, "co", 2)[::2]
            if (np.abs(frames - frame) < SAME_FRAME).any():
                found[channel] = max(found.get(channel, 0), len(frames))
    return found


def keyed_frames(owner: bpy.types.ID, bones: Collection[str]) -> set[float]:
    """Return the frames at which the active action or NLA strips have keys.

    Args:
        owner: An object, or what it shows.
        bones: Names of the bones whose channels count; whatever else has keys counts, too.
    """
    found = _frames_of(curves(owner), bones)
    for strip in strips(owner):
        found |= {strip.frame_start, strip.frame_end} | _frames_of(strip.fcurves, ())
        if strip.action is not None:
            keyed = curves_of_action(strip.action, getattr(strip, "action_slot", None))
            for frame in _frames_of(keyed, bones):
                there = strip.frame_start + (frame - strip.action_frame_start) * strip.scale
                if strip.frame_start < there < strip.frame_end:
                    found.add(there)
    return found


def _frames_of(animated: Iterable[bpy.types.FCurve], bones: Collection[str]) -> set[float]:
    found: set[float] = set()
    for curve in animated:
        match = _BONE_PATH.match(curve.data_path)
        if curve.mute or (match and bpy.utils.unescape_identifier(match[1]) not in bones):
            continue
        found.update(read_floats(curve.keyframe_points, "co", 2)[::2].tolist())
    return found


def animated_bones(owner: bpy.types.Object) -> frozenset[str]:
    """Return the names of all bones with a channel that action or NLA animate."""
    return animated_poses(owner)[0]


def animated_poses(owner: bpy.types.Object) -> tuple[frozenset[str], bool]:
    """Return the names of the same bones, and whether nothing but transforms of bones is animated.

    Settings, locks, limits and whatever else can be keyed is more.
    """
    if owner.animation_data is None:
        return frozenset(), True
    found = [_posed_by(path) for path in {path for path, _ in animated_paths(owner)}]
    bones = [bone for bone in found if bone is not None]
    has_more = len(bones) < len(found) or any([bone[1] not in CHANNEL_SIZES for bone in bones])
    return frozenset([bone[0] for bone in bones]), not has_more


@lru_cache(maxsize=4096)
def _posed_by(path: str) -> tuple[str, str] | None:
    """Return bone and channel as ``bone_of_path``; a space that acts moves a bone as these do."""
    match = _SPACE_PATH.fullmatch(path)
    return bone_of_path(path) if match is None else bone_of_path(f"{match[1]}.location")


def rotation_paths(names: Iterable[str], modes: Integers) -> list[tuple[str, str]]:
    """Return name and rotation property of bones in these modes, shape (m,)."""
    pairs = zip(names, modes.tolist(), strict=True)
    return [(name, property_of_mode(mode)) for name, mode in pairs]


class BoneKeys:
    """The keys of bones of an armature object, found once; good until anything is edited."""

    def __init__(self, armature_object: bpy.types.Object) -> None:
        """Take the original object."""
        self.object = armature_object

    @cached_property
    def curves(self) -> dict[tuple[str, str], list[bpy.types.FCurve]]:
        """The F-curves of the action that are not muted, by bone and property."""
        found: dict[tuple[str, str], list[bpy.types.FCurve]] = {}
        for curve in curves(self.object):
            path = bone_of_path(curve.data_path)
            if path is not None and not curve.mute:
                found.setdefault(path, []).append(curve)
        return found


def with_keys(
    keys: BoneKeys,
    paths: Sequence[tuple[str, str]],
    channels: Array,
    frame: float,
    animated: Array | None,
) -> Array:
    """Return channels of bones with what animation gives them at a frame, where it does.

    The F-curves of the action are evaluated. Under NLA they are not the whole story; then the
    values that Blender's own evaluation of this frame left in the channels are taken.

    Args:
        keys: Of the bones.
        paths: Names of bones and properties, m of them.
        channels: What they hold without animation, shape (m, size).
        frame: With subframe.
        animated: Channels as Blender's evaluation of this frame left them, shape (m, size), or
            None where the frame has not been evaluated anew.
    """
    if keys.object.animation_data is None:
        return channels
    is_keyed, values = np.zeros(channels.shape, dtype=np.bool_), np.zeros(channels.shape)
    row = {path: i for i, path in enumerate(paths)}
    for path, i in row.items():
        for curve in keys.curves.get(path, ()):
            if curve.array_index < channels.shape[1]:
                is_keyed[i, curve.array_index] = True
                values[i, curve.array_index] = curve.evaluate(frame)
    if animated is not None and any(strips(keys.object)):
        for data_path, component in animated_paths(keys.object):
            found = row.get(bone_of_path(data_path) or ("", ""))
            if found is not None:
                is_keyed[found, component] = True
        values = animated
    # What a key tells that is not finite tells nothing.
    return np.where(is_keyed & np.isfinite(values), values, channels)
