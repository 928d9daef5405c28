"""Pins that Plant Feet has keyed: a later run starts from those of the clip as it came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..keying.keys import ChannelKeys, write_keys
from ..reading.animation import bags_of_action, curves
from ..reading.channels import read_floats

# Custom property of a planted action: the names of the chains whose pins it keys.
PINS = "chain_ik_pins"


class Pin(NamedTuple):
    """The pin of a chain.

    Attributes:
        value: Whether it is on where nothing keys it.
        keys: None without any.
    """

    value: bool
    keys: ChannelKeys | None


def pins_of(armature_object: bpy.types.Object, indices: Iterable[int]) -> dict[str, Pin]:
    """Return the pins of chains in what an object plays, by the chains' names."""
    known, found = {each.data_path: each for each in curves(armature_object)}, {}
    for index in indices:
        settings = armature_object.chain_ik.chains[index]
        path = settings.path_from_id("use_pin")
        keys = None
        if path in known:
            co = read_floats(known[path].keyframe_points, "co", 2).astype(np.float64)
            keys = ChannelKeys("", path, 0, co[::2], co[1::2])
        found[settings.name] = Pin(settings.use_pin, keys)
    return found


def give_back(armature_object: bpy.types.Object, came: dict[str, Pin]) -> None:
    """Give pins that an earlier run has keyed the keys and values that they came with.

    Args:
        armature_object: The original object, which plays the planted clip.
        came: As from ``pins_of``; pins of other chains, and those keyed by hand, stay.
    """
    data: Any = armature_object.animation_data
    noted = _noted(armature_object)
    for name in noted & came.keys():
        pin, settings = came[name], armature_object.chain_ik.chains[name]
        for bag in bags_of_action(data.action, getattr(data, "action_slot", None)):
            curve = bag.fcurves.find(settings.path_from_id("use_pin"))
            if curve is not None:
                bag.fcurves.remove(curve)
        settings.use_pin = pin.value
        if pin.keys is not None:
            write_keys(armature_object, [pin.keys], "CONSTANT")
    if noted:
        data.action[PINS] = dict.fromkeys(noted - came.keys(), True)


def note(armature_object: bpy.types.Object, indices: Iterable[int]) -> None:
    """Note that the action that an object plays has keys of the pins of chains."""
    names = {armature_object.chain_ik.chains[index].name for index in indices}
    data: Any = armature_object.animation_data
    data.action[PINS] = dict.fromkeys(_noted(armature_object) | names, True)


def _noted(armature_object: bpy.types.Object) -> set[str]:
    data: Any = armature_object.animation_data
    return set(data.action.get(PINS, {}).keys())
