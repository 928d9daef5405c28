"""Animation of an armature object: F-curves, drivers and NLA, under the APIs of 4.2 to 5.2."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import bpy
import numpy as np

from .anchors import SPACE
from .channels import CHANNEL_SIZES, PROPERTY_SIZES, read_floats

Address = tuple[str, int]
"""What an F-curve or a driver animates: the data path from its ID, and the array index."""

# Blender merges keys nearer to each other than this, in frames.
SAME_FRAME = 0.01
# Names inside the brackets have quotes and backslashes escaped by a backslash.
_BONE = r'pose\.bones\["((?:[^"\\]|\\.)*)"\]'
_BONE_PATH = re.compile(rf"{_BONE}\.(\w+)")
_PATH_IN_BONE = re.compile(rf"{_BONE}\.?(\w*)")

_SPACE_PATH = re.compile(
    rf'(pose\.bones\["(?:[^"\\]|\\.)*"\])\.constraints\["{SPACE}(?:[^"\\]|\\.)*"\]\.influence'
)


@lru_cache(maxsize=16384)
def bone_of_path(path: str) -> tuple[str, str] | None:
    """Return bone and property name of a pose channel's data path; None for other paths."""
    match = _BONE_PATH.fullmatch(path)
    if match is None:
        return None
    return bpy.utils.unescape_identifier(match[1]), match[2]


@lru_cache(maxsize=16384)
def split_bone_path(path: str) -> tuple[str, str]:
    """Return the bone of any data path and the name of its property there.

    Paths to settings of constraints have the name ``constraints``, those to custom properties an
    empty name. Paths outside of bones have no bone: two empty names.
    """
    match = _PATH_IN_BONE.match(path)
    return ("", "") if match is None else (bpy.utils.unescape_identifier(match[1]), match[2])


def curves(owner: bpy.types.ID) -> list[bpy.types.FCurve]:
    """Return the F-curves of an ID's active action; none for data that cannot have any."""
    return _played_curves(getattr(owner, "animation_data", None))


def continue_beyond(
    owners: Iterable[bpy.types.ID], is_chosen: Callable[[str], bool], first: float, last: float
) -> tuple[bool, bool]:
    """Return whether IDs are animated before a frame, and after another one.

    Keys and modifiers of actions count, and frames of NLA strips. ``is_chosen`` tells for data
    paths whether their F-curves count; muted ones never do.
    """
    ranges = [(first, last)]
    for owner in owners:
        for holder in (owner.animation_data, *strips(owner)):
            for curve in _played_curves(holder):
                if curve.mute or curve.is_empty or not is_chosen(curve.data_path):
                    continue
                points = curve.keyframe_points
                if isinstance(holder, bpy.types.NlaStrip):
                    # Its keys are not in scene frames.
                    ranges.append((holder.frame_start, holder.frame_end))
                elif not points or any(not modifier.mute for modifier in curve.modifiers):
                    # Curves of samples or of modifiers alone have no keys.
                    ranges.append((-np.inf, np.inf))
                else:
                    ranges.append((points[0].co.x, points[-1].co.x))
    firsts, lasts = zip(*ranges, strict=True)
    return min(firsts) < first, max(lasts) > last


def drivers(owner: bpy.types.ID | None) -> Sequence[bpy.types.FCurve]:
    """Return the drivers of an ID, muted or not; none for data that cannot have any."""
    data = getattr(owner, "animation_data", None)
    return () if data is None else data.drivers


def by_address(animating: Iterable[bpy.types.FCurve]) -> dict[Address, bpy.types.FCurve]:
    """Return F-curves or drivers by what they animate."""
    return {(curve.data_path, curve.array_index): curve for curve in animating}


def _played_curves(holder: Any) -> list[bpy.types.FCurve]:
    """Return the F-curves of the action that animation data or an NLA strip holds, if any."""
    if holder is None or holder.action is None:
        return []
    bags = bags_of_action(holder.action, getattr(holder, "action_slot", None))
    return [curve for bag in bags for curve in bag.fcurves]


def bags_of_action(action: bpy.types.Action, slot: bpy.types.ActionSlot | None) -> list[Any]:
    """Return the owners of an action's F-curves, for one slot if actions have slots."""
    if not hasattr(action, "layers"):
        return [action]
    if slot is None:
        return []
    bags = (strip.channelbag(slot) for layer in action.layers for strip in layer.strips)
    return [bag for bag in bags if bag is not None]


def held_actions(
    owner: bpy.types.ID,
) -> Iterator[tuple[bpy.types.Action, bpy.types.ActionSlot | None]]:
    """Yield every action of an ID, with its slot if actions have slots (4.4 on).

    These are the active action, the one that waits while the NLA is in tweak mode, and those of all
    NLA strips, muted or not.
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
    """Return all NLA strips, muted or not, also strips inside of others."""
    all_strips = [strip for track in data.nla_tracks for strip in track.strips]
    for strip in all_strips:
        all_strips.extend(strip.strips)  # the loop reaches these as well
    return all_strips


def strips(owner: bpy.types.ID) -> Iterator[bpy.types.NlaStrip]:
    """Yield the NLA strips of an ID that are not muted."""
    data = getattr(owner, "animation_data", None)
    for track in data.nla_tracks if data is not None and data.use_nla else ():
        if not track.mute:
            yield from (strip for strip in track.strips if not strip.mute)


class NlaSettings(NamedTuple):
    """What decides, with the keys of actions, which pose the NLA gives at a frame.

    Attributes:
        actions: Session uids of the active action and those of all strips.
        values: Settings of tracks and strips, only to compare.
    """

    actions: frozenset[int] = frozenset()
    values: tuple[object, ...] = ()


# Blender evaluates the animation again when one of these changes. It does not for the influence of
# a strip, which counts from the next frame on.
_STRIP_SETTINGS = (
    *("action_frame_start", "action_frame_end", "frame_start", "frame_end", "scale", "repeat"),
    *("blend_in", "blend_out", "blend_type", "extrapolation", "mute", "use_auto_blend"),
    *("use_animated_influence", "use_animated_time", "use_animated_time_cyclic", "use_reverse"),
)
_NLA_SETTINGS = (
    *("use_nla", "use_tweak_mode"),
    *("action_blend_type", "action_influence", "action_extrapolation"),
)


def nla_settings(owner: bpy.types.ID) -> NlaSettings:
    """Return the settings of an ID's NLA; empty without tracks."""
    data = owner.animation_data
    if data is None or not data.nla_tracks:
        return NlaSettings()
    all_strips = _all_strips(data)
    holders: list[Any] = [data, *all_strips]
    actions = [holder.action and holder.action.session_uid for holder in holders]
    values: list[object] = [getattr(data, name) for name in _NLA_SETTINGS]
    values += [(track.mute, track.is_solo, len(track.strips)) for track in data.nla_tracks]
    values += [*actions, *(getattr(holder, "action_slot_handle", 0) for holder in holders)]
    for strip in all_strips:
        values += [getattr(strip, name) for name in _STRIP_SETTINGS]
        for curve in strip.fcurves:
            names = ("co", "handle_left", "handle_right")
            values += [read_floats(curve.keyframe_points, name, 2).tobytes() for name in names]
    return NlaSettings(frozenset([uid for uid in actions if uid is not None]), tuple(values))


def strip_curves(owner: bpy.types.ID) -> Iterator[bpy.types.FCurve]:
    """Yield the F-curves that NLA strips of an ID play, and those of the strips themselves."""
    for strip in strips(owner):
        yield from (*_played_curves(strip), *strip.fcurves)


def driven_bones(owner: bpy.types.ID, channels: str) -> set[str]:
    """Return the names of bones with drivers on channels: "rotation", "location" or "scale"."""
    paths = [bone_of_path(curve.data_path) for curve in drivers(owner)]
    return {path[0] for path in paths if path is not None and path[1].startswith(channels)}


def may_read_poses(owner: bpy.types.Object) -> bool:
    """Return whether a driver of an object or its data may read more than their custom properties.

    No pose changes these; Foot Roll and most switches of rigs are such drivers.
    """
    ids = owner, owner.data
    found = [curve.driver for owned in ids for curve in drivers(owned)]
    is_python = any(one.type == "SCRIPTED" and not one.is_simple_expression for one in found)
    return is_python or any(
        variable.type != "SINGLE_PROP" or source.id not in ids or source.data_path[-2:] != '"]'
        for driver in found
        for variable in driver.variables
        for source in variable.targets
    )


def driven_axes(owner: bpy.types.ID, path: str) -> set[int]:
    """Return the axes of a setting with drivers, by its data path; 0 for a setting without axes."""
    return {curve.array_index for curve in drivers(owner) if curve.data_path == path}


def animated_paths(owner: bpy.types.ID) -> set[Address]:
    """Return data path and array index of every channel that action, NLA and drivers animate."""
    # Some kinds of data cannot be animated.
    if getattr(owner, "animation_data", None) is None:
        return set()
    return set(by_address([*curves(owner), *drivers(owner), *strip_curves(owner)]))


def rotation_keys(owner: bpy.types.ID, frame: float) -> dict[tuple[str, str], int]:
    """Return the rotation channels of bones with a key of the action at a frame.

    By name of bone and property: the number of keys of its longest curve with such a key.
    """
    key_counts: dict[tuple[str, str], int] = {}
    for curve in curves(owner):
        channel = bone_of_path(curve.data_path)
        if channel is not None and channel[1] in PROPERTY_SIZES:
            frames = read_floats(curve.keyframe_points, "co", 2)[::2]
            if (np.abs(frames - frame) < SAME_FRAME).any():
                key_counts[channel] = max(key_counts.get(channel, 0), len(frames))
    return key_counts


def keyed_frames(owner: bpy.types.ID, bones: Collection[str]) -> set[float]:
    """Return the frames at which action or NLA strips of an object or its data have keys.

    Of bones only those with the given names count; keys of other things than bones count, too.
    """
    frames = _frames_of(curves(owner), bones)
    for strip in strips(owner):
        frames |= {strip.frame_start, strip.frame_end} | _frames_of(strip.fcurves, ())
        for frame in _frames_of(_played_curves(strip), bones):
            scene_frame = strip.frame_start + (frame - strip.action_frame_start) * strip.scale
            if strip.frame_start < scene_frame < strip.frame_end:
                frames.add(scene_frame)
    return frames


def _frames_of(animated: Iterable[bpy.types.FCurve], bones: Collection[str]) -> set[float]:
    frames: set[float] = set()
    for curve in animated:
        match = _BONE_PATH.match(curve.data_path)
        if curve.mute or (match and bpy.utils.unescape_identifier(match[1]) not in bones):
            continue
        frames.update(read_floats(curve.keyframe_points, "co", 2)[::2].tolist())
    return frames


def animated_bones(owner: bpy.types.Object) -> frozenset[str]:
    """Return the names of all bones with a channel that action or NLA animate."""
    return animated_poses(owner)[0]


def animated_poses(owner: bpy.types.Object) -> tuple[frozenset[str], bool]:
    """Return the names of animated bones, and whether only transforms of bones are animated.

    Animated settings, locks, limits and other properties make the second value False.
    """
    if owner.animation_data is None:
        return frozenset(), True
    channels = [_posed_by(path) for path in {path for path, _ in animated_paths(owner)}]
    bones = [bone for bone in channels if bone is not None]
    has_more = len(bones) < len(channels) or any([bone[1] not in CHANNEL_SIZES for bone in bones])
    return frozenset([bone[0] for bone in bones]), not has_more


@lru_cache(maxsize=4096)
def _posed_by(path: str) -> tuple[str, str] | None:
    """Return bone and channel as ``bone_of_path``; for a space's influence the bone's location."""
    match = _SPACE_PATH.fullmatch(path)
    return bone_of_path(path) if match is None else bone_of_path(f"{match[1]}.location")
