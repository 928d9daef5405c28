"""The clip that a first run started from: kept, so that every later run starts from it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy

from ..keying.keys import ChannelKeys, path_of, write_keys
from ..reading.animation import curves

# Custom properties of actions: the one that an action was made from, and in that one the settings
# of chains, by the chains' names.
KEPT, SETTINGS = "chain_ik_clip", "chain_ik_settings"

BEFORE, AFTER = "(unplanted)", "Planted"
"""How the names end of clips that are kept, and of new actions with planted feet."""

Settings = dict[str, dict[str, float]]
"""Settings of chains, by the chains' names and by their own."""


@dataclass
class InputClip:
    """The action that objects play, and a copy of the one that holds the clip as it came.

    Attributes:
        owners: The original objects, those that have to be planted together.
        shown: What they play; None without an action.
        kept: The clip of earlier runs; None in the first one.
        copy: Of the clip: played, and given keys of what it has none of.
        is_done: Whether the copy stays.
    """

    owners: list[bpy.types.Object]
    shown: bpy.types.Action | None
    kept: bpy.types.Action | None
    copy: bpy.types.Action
    is_done: bool = False

    def keep(self) -> None:
        """Have the objects play an action of their own that remembers the clip."""
        if self.kept is not None:
            name = self.kept.name
            self.kept.user_remap(self.copy)
            bpy.data.actions.remove(self.kept)
            self.copy.name = name
        name = f"{self.owners[0].name} {AFTER}"
        if self.shown is None:
            self.shown = bpy.data.actions.new(name)
        elif self.shown.users - self.shown.use_fake_user > 0:
            # The objects play the copy meanwhile: somebody else plays this one, or it is a clip.
            self.shown = self.shown.copy()
            self.shown.name, self.shown.use_fake_user = name, False
        self.shown[KEPT], self.is_done = self.copy, True


@contextmanager
def shown_as_it_came(
    values: Mapping[bpy.types.Object, Sequence[ChannelKeys]],
    chains: bpy.types.Object,
    settings: Settings,
) -> Iterator[list[InputClip]]:
    """Have objects play the clip as it came; afterwards they play what they did.

    Nothing of the clips has changed at the end unless they were kept.

    Args:
        values: By object, a key each of what the clip needs, given to what has none.
        chains: The one that has chains.
        settings: Of these, with which the clip came if it has not been kept yet.

    Yields:
        The clips.
    """
    clips: list[InputClip] = []
    before = {name: _set(chains, name, {}) for name in settings}
    try:
        for owner, held in values.items():
            copy = _of_owner(owner, clips).copy
            _play(owner, copy)
            _key_missing(owner, held)
            if owner == chains:
                known = copy.get(SETTINGS, {})
                kept = settings | {name: dict(each) for name, each in known.items()}
                copy[SETTINGS] = kept
        for name in settings:
            before[name] = _set(chains, name, kept[name])
        yield clips
    finally:
        for name, held_before in before.items():
            _set(chains, name, held_before)
        for clip in clips:
            for owner in clip.owners:
                _play(owner, clip.shown)
            if not clip.is_done:
                bpy.data.actions.remove(clip.copy)


def _set(owner: bpy.types.Object, chain: str, values: Mapping[str, float]) -> dict[str, float]:
    """Give a chain settings, and return what they were."""
    settings = owner.chain_ik.chains.get(chain)
    if settings is None:
        return {}
    before = {name: getattr(settings, name) for name in values}
    for name, value in values.items():
        setattr(settings, name, value)
    return before


def _of_owner(owner: bpy.types.Object, clips: list[InputClip]) -> InputClip:
    """Return the clip of an object, added to the others unless it shares the action of one."""
    data = owner.animation_data or owner.animation_data_create()
    shown = data.action
    for clip in clips:
        if shown is not None and clip.shown == shown:
            clip.owners.append(owner)
            return clip
    kept: Any = None if shown is None else shown.get(KEPT)
    came: Any = kept if isinstance(kept, bpy.types.Action) else shown
    name = f"{owner.name if shown is None else shown.name} {BEFORE}"
    copy = bpy.data.actions.new(name) if came is None else came.copy()
    if came == shown:
        copy.name = name
    clips.append(InputClip([owner], shown, None if came == shown else came, copy))
    return clips[-1]


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


def _key_missing(owner: bpy.types.Object, keys: Sequence[ChannelKeys]) -> None:
    """Give what has no keys in the clip that an object plays these."""
    known = {(curve.data_path, curve.array_index) for curve in curves(owner)}
    missing = [each for each in keys if (path_of(*each[:2]), each.component) not in known]
    write_keys(owner, missing, "CONSTANT")
