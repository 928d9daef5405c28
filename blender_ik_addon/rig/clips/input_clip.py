"""The clip that a first run started from: kept, so that every later run starts from it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..keying.keys import ChannelKeys, path_of, write_keys
from ..reading.animation import curves

# Custom properties of actions: the one that an action was made from, and in that one the settings
# of chains, by the chains' names.
KEPT, SETTINGS = "chain_ik_clip", "chain_ik_settings"

BEFORE, AFTER = "(unplanted)", "Planted"
"""How the names end of clips that are kept, and of new actions with planted feet."""

Value = tuple[str, str, int, float]
"""Bone, property and component of a channel, as ``ChannelKeys``, and what it holds."""
Settings = dict[str, dict[str, float]]
"""Settings of chains, by the chains' names and by their own."""


@dataclass
class InputClip:
    """The action that an object plays, and the one that holds the clip as it came.

    Attributes:
        owner: The original object.
        shown: What it plays; None without an action.
        kept: The clip as it came.
        is_new: Whether that was made just now, and is to be removed when it is shown no more.
    """

    owner: bpy.types.Object
    shown: bpy.types.Action | None
    kept: bpy.types.Action
    is_new: bool

    def keep(self) -> None:
        """Have what the object plays remember the clip; it gets an action if it has none."""
        self.shown = self.shown or bpy.data.actions.new(f"{self.owner.name} {AFTER}")
        self.shown[KEPT] = self.kept
        self.is_new = False


@contextmanager
def shown_as_it_came(
    values: Mapping[bpy.types.Object, Sequence[Value]],
    chains: bpy.types.Object,
    settings: Settings,
    frame: int,
) -> Iterator[list[InputClip]]:
    """Have objects play the clip as it came; afterwards they play what they did.

    A clip that is kept for the first time is gone again if it was not kept at the end.

    Args:
        values: By object, what the clip needs and may hold no keys of: these are given one.
        chains: The one that has chains.
        settings: Of these, with which the clip came if it has not been kept yet.
        frame: Where to key.

    Yields:
        The clips.
    """
    clips: list[InputClip] = []
    before = {name: _set(chains, name, {}) for name in settings}
    try:
        for owner, held in values.items():
            clips.append(_input_clip(owner))
            _play(owner, clips[-1].kept)
            _key_missing(owner, held, frame)
        kept = next(clip.kept for clip in clips if clip.owner == chains)
        kept[SETTINGS] = settings | {
            name: dict(known) for name, known in kept.get(SETTINGS, {}).items()
        }
        for name in settings:
            before[name] = _set(chains, name, dict(kept[SETTINGS][name]))
        yield clips
    finally:
        for name, held_before in before.items():
            _set(chains, name, held_before)
        for clip in clips:
            _play(clip.owner, clip.shown)
            if clip.is_new:
                bpy.data.actions.remove(clip.kept)


def _set(owner: bpy.types.Object, chain: str, values: Mapping[str, float]) -> dict[str, float]:
    """Give a chain settings, and return what they were."""
    settings = owner.chain_ik.chains.get(chain)
    if settings is None:
        return {}
    before = {name: getattr(settings, name) for name in values}
    for name, value in values.items():
        setattr(settings, name, value)
    return before


def _input_clip(owner: bpy.types.Object) -> InputClip:
    data = owner.animation_data or owner.animation_data_create()
    shown = data.action
    kept: Any = None if shown is None else shown.get(KEPT)
    if isinstance(kept, bpy.types.Action):
        return InputClip(owner, shown, kept, is_new=False)
    name = f"{owner.name if shown is None else shown.name} {BEFORE}"
    kept = bpy.data.actions.new(name) if shown is None else shown.copy()
    kept.name = name
    return InputClip(owner, shown, kept, is_new=True)


def _play(owner: bpy.types.Object, action: bpy.types.Action | None) -> None:
    """Have an object play an action, in the slot that it has of the same name."""
    data: Any = owner.animation_data
    known = getattr(data, "action_slot", None)
    name = None if known is None else known.identifier
    data.action = action
    slots = list(getattr(action, "slots", ()))
    fitting = [slot for slot in slots if slot.identifier == name] or slots
    if fitting:
        data.action_slot = fitting[0]


def _key_missing(owner: bpy.types.Object, values: Sequence[Value], frame: int) -> None:
    """Give what has no keys in the clip that an object plays one key each."""
    known = {(curve.data_path, curve.array_index) for curve in curves(owner)}
    frames = np.array([float(frame)])
    missing = [
        ChannelKeys(bone, prop, component, frames, np.array([value]))
        for bone, prop, component, value in values
        if (path_of(bone, prop), component) not in known
    ]
    write_keys(owner, missing, "CONSTANT")
