"""The clip that the first run started from, stored so that every later run starts from it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..keying.keys import ChannelKeys, curves_of, write_keys
from ..reading.animation import (
    SAME_FRAME,
    bags_of_action,
    by_address,
    curves,
    split_bone_path,
)
from ..reading.channels import read_floats
from ..reading.refusals import RigError

# Custom properties of actions: on a planted action its input clip, and on that clip the settings of
# chains, by the names of the chains.
CLIP_KEY, SETTINGS_KEY = "chain_ik_clip", "chain_ik_settings"

# Tolerance of the values of keys, which are float32, in the units of their channels. If it is ten
# times larger, a slow curve that was retimed passes as cut.
SAME_VALUE = 1e-4

INPUT_SUFFIX, PLANTED_SUFFIX = "(unplanted)", "Planted"
"""Name suffixes of stored input clips, and of new actions with planted feet."""

SettingValues = dict[str, dict[str, float]]
"""Values of settings, by the name of the chain and the name of the setting."""


@dataclass
class InputClip:
    """The action that objects play, and a copy of their input clip.

    Attributes:
        owners: The original objects that play one action, so that they are planted together.
        played: Action that they play; None without one.
        stored: Input clip of earlier runs; None in the first run.
        copy: Copy of the input clip, which is played, with keys for channels that have none.
        is_stored: Whether the copy stays in the file.
    """

    owners: list[bpy.types.Object]
    played: bpy.types.Action | None
    stored: bpy.types.Action | None
    copy: bpy.types.Action
    is_stored: bool = False

    def store(self) -> None:
        """Store the copy as the input clip, on an action that only these objects play."""
        if self.stored is not None:
            name = self.stored.name
            self.stored.user_remap(self.copy)
            bpy.data.actions.remove(self.stored)
            self.copy.name = name
        name = f"{self.owners[0].name} {PLANTED_SUFFIX}"
        if self.played is None:
            self.played = bpy.data.actions.new(name)
        elif self.played.users - self.played.use_fake_user > 0:
            # The objects play the copy now, so others play this action, or it is a stored clip.
            self.played = self.played.copy()
            self.played.name, self.played.use_fake_user = name, False
        self.played[CLIP_KEY], self.is_stored = self.copy, True


@contextmanager
def play_input_clips(
    values: Mapping[bpy.types.Object, Sequence[ChannelKeys]],
    chains: bpy.types.Object,
    settings: SettingValues,
) -> Iterator[list[InputClip]]:
    """Make objects play their input clips, and yield these; then they play their actions again.

    The clips are unchanged at the end, unless they were stored. There is a key for each channel
    that a clip needs and may not have. The settings are those of the object ``chains`` in a clip
    that is not stored yet.
    """
    clips: list[InputClip] = []
    before: SettingValues = {name: {} for name in settings}
    try:
        for owner, keys in values.items():
            copy = _find_clip(owner, clips).copy
            _play(owner, copy)
            keyed = curves_of(owner, [key.channel for key in keys])
            write_keys(owner, [key for key in keys if key.channel not in keyed], "CONSTANT")
            if owner == chains:
                known = copy.get(SETTINGS_KEY, {})
                stored = settings | {name: dict(old) for name, old in known.items()}
                copy[SETTINGS_KEY] = stored
        for name in settings:
            before[name] = _replace(chains, name, stored[name])
        yield clips
    finally:
        for name, held_before in before.items():
            _replace(chains, name, held_before)
        for clip in clips:
            for owner in clip.owners:
                _play(owner, clip.played)
            if not clip.is_stored:
                bpy.data.actions.remove(clip.copy)


def check_timing(owner: bpy.types.Object, planted: Container[str]) -> None:
    """Raise a ``RigError`` if the keys of an object have other frames than its stored clip.

    The stored clip would play at its former times. Keys of ``planted`` bones and of chains do not
    count: runs and bakes write them. Edits of single curves and cuts do not count either.
    """
    action: Any = owner.animation_data and owner.animation_data.action
    stored = None if action is None else action.get(CLIP_KEY)
    if not isinstance(stored, bpy.types.Action):
        return
    known, are_moved = by_address(curves(owner)), list[bool]()
    bags = bags_of_action(stored, _slot_in(stored, owner.animation_data))
    for address, former in by_address(one for bag in bags for one in bag.fcurves).items():
        path, curve = address[0], known.get(address)
        is_written = split_bone_path(path)[0] in planted or path.startswith("chain_ik")
        if curve is None or is_written:
            continue
        # Curves with samples or modifiers alone have no keys.
        if len(curve.keyframe_points) > 0 and len(former.keyframe_points) > 1:
            are_moved.append(_is_retimed(curve, former))
    if are_moved and all(are_moved):
        raise RigError(
            "The keys of '{name}' have other frames than when its feet were planted: to plant the"
            " present motion, first delete the custom property {property} of the action"
            " '{name2}'.",
            name=owner.name,
            property=CLIP_KEY,
            name2=action.name,
        )


def _is_retimed(curve: bpy.types.FCurve, former: bpy.types.FCurve) -> bool:
    """Return whether a curve has lost its former first or last key, other than by a cut."""
    frames, values = read_floats(curve.keyframe_points, "co", 2).reshape(-1, 2).T
    first, last = (former.keyframe_points[index].co.x for index in (0, -1))
    if all(np.abs(frames - end).min() < SAME_FRAME for end in (first, last)):
        return False
    if frames[0] < first - SAME_FRAME or frames[-1] > last + SAME_FRAME:
        return True
    # Keys that a cut leaves have the values of the former curve. Where a curve keeps one value, so
    # have keys that are scaled.
    known = np.array([former.evaluate(frame) for frame in frames])
    return bool(np.ptp(values) <= SAME_VALUE or np.abs(values - known).max() > SAME_VALUE)


def _replace(owner: bpy.types.Object, chain: str, values: Mapping[str, float]) -> dict[str, float]:
    """Set settings of a chain, and return their values before."""
    settings = owner.chain_ik.chains.get(chain)
    if settings is None:
        return {}
    before = {name: getattr(settings, name) for name in values}
    for name, value in values.items():
        setattr(settings, name, value)
    return before


def _find_clip(owner: bpy.types.Object, clips: list[InputClip]) -> InputClip:
    """Return the clip of an object, added to the others unless it shares an action with one."""
    data = owner.animation_data or owner.animation_data_create()
    played = data.action
    for clip in clips:
        if played is not None and clip.played == played:
            clip.owners.append(owner)
            return clip
    stored: Any = None if played is None else played.get(CLIP_KEY)
    source: Any = stored if isinstance(stored, bpy.types.Action) else played
    name = f"{owner.name if played is None else played.name} {INPUT_SUFFIX}"
    copy = bpy.data.actions.new(name) if source is None else source.copy()
    if source == played:
        copy.name = name
    clips.append(InputClip([owner], played, None if source == played else source, copy))
    return clips[-1]


def _play(owner: bpy.types.Object, action: bpy.types.Action | None) -> None:
    """Make an object play an action, in the slot with the name of its present slot."""
    data: Any = owner.animation_data
    slot = _slot_in(action, data)
    data.action = action
    if slot is not None:
        data.action_slot = slot


def _slot_in(action: bpy.types.Action | None, data: Any) -> bpy.types.ActionSlot | None:
    """Return the slot of an action with the name of a present slot, or the first; None without."""
    known = getattr(data, "action_slot", None)
    slots = list(getattr(action, "slots", ()))
    matching = [slot for slot in slots if known and slot.identifier == known.identifier] or slots
    return matching[0] if matching else None
