"""Pins that Plant Feet has keyed: a later run starts from the pins of the input clip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..keying.keys import Channel, ChannelKeys, write_keys
from ..reading.animation import bags_of_action, curves
from ..reading.channels import read_floats

# Custom property of a planted action: the names of the chains with keyed pins.
PINS_KEY = "chain_ik_pins"


class KeyedPin(NamedTuple):
    """The pin of a chain.

    Attributes:
        value: Whether it is on without keys.
        keys: Its keys; None without keys.
    """

    value: bool
    keys: ChannelKeys | None


def pins_of(armature_object: bpy.types.Object, indices: Iterable[int]) -> dict[str, KeyedPin]:
    """Return the pins of chains in the clip that an object plays, by the names of the chains."""
    curve_of, pins = {curve.data_path: curve for curve in curves(armature_object)}, {}
    for index in indices:
        settings = armature_object.chain_ik.chains[index]
        path = settings.path_from_id("use_pin")
        keys = None
        if path in curve_of:
            co = read_floats(curve_of[path].keyframe_points, "co", 2).astype(np.float64)
            keys = ChannelKeys(Channel("", path), co[::2], co[1::2])
        pins[settings.name] = KeyedPin(settings.use_pin, keys)
    return pins


def restore_pins(armature_object: bpy.types.Object, pins: dict[str, KeyedPin]) -> None:
    """Restore the keys and values of pins that an earlier run has keyed, on a planted clip.

    The pins are those of the input clip, from ``pins_of``; other pins, and those keyed by hand,
    stay.
    """
    data: Any = armature_object.animation_data
    noted = _find_noted(armature_object)
    for name in noted & pins.keys():
        pin, settings = pins[name], armature_object.chain_ik.chains[name]
        for bag in bags_of_action(data.action, getattr(data, "action_slot", None)):
            curve = bag.fcurves.find(settings.path_from_id("use_pin"))
            if curve is not None:
                bag.fcurves.remove(curve)
        settings.use_pin = pin.value
        if pin.keys is not None:
            write_keys(armature_object, [pin.keys], "CONSTANT")
    if noted:
        data.action[PINS_KEY] = dict.fromkeys(noted - pins.keys(), True)


def note(armature_object: bpy.types.Object, indices: Iterable[int]) -> None:
    """Record on the action of an object that it has keys for the pins of chains."""
    names = {armature_object.chain_ik.chains[index].name for index in indices}
    data: Any = armature_object.animation_data
    data.action[PINS_KEY] = dict.fromkeys(_find_noted(armature_object) | names, True)


def _find_noted(armature_object: bpy.types.Object) -> set[str]:
    data: Any = armature_object.animation_data
    return set(data.action.get(PINS_KEY, {}).keys())
