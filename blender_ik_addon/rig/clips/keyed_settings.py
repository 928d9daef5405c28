"""Settings of chains that Plant Feet keys.

They stay beside the range, and a later run starts from the pins of the input clip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..keying.curve_points import remove_points
from ..keying.keys import Channel, ChannelKeys, write_keys
from ..keying.renumbering import path_of_setting
from ..reading.animation import bags_of_action, continue_beyond, curves
from ..reading.channels import read_floats

# Settings with keys in a range, which may change what plays beside it.
KEYED_SETTINGS = ("influence", "pole_angle", "use_flip_bend", "use_pin", "planted")

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


@dataclass(frozen=True)
class RangeEnds:
    """The frames beside a range.

    Attributes:
        frames: All frames of the range.
        continues: Whether a clip has keys before the range, and after it.
        settings: Values of settings in the frames before and after it, by chain and name.
    """

    frames: range
    continues: tuple[bool, bool]
    settings: Mapping[tuple[int, str], tuple[float, float]]

    @classmethod
    def of(
        cls,
        armature_object: bpy.types.Object,
        owners: Iterable[bpy.types.Object],
        frames: range,
        is_muted: Mapping[int, bool],
    ) -> RangeEnds:
        """Read the clip that objects play, and settings of chains.

        ``is_muted`` tells for each chain, by index, whether it has no influence in the clip.
        """
        continues = continue_beyond(
            owners, lambda path: not path.startswith("chain_ik"), frames[0], frames[-1]
        )
        settings = {}
        for index, has_no_influence in is_muted.items():
            for name in KEYED_SETTINGS:
                settings[index, name] = _read_beside(armature_object, index, name, frames)
            if has_no_influence:
                settings[index, "influence"] = 0.0, 0.0
        return cls(frames, continues, settings)

    def keep(self, index: int, name: str, keys: ChannelKeys) -> ChannelKeys:
        """Return keys of a setting in the range, and those that keep its values beside it."""
        channel, frames, values = keys
        before, after = self.settings[index, name]
        if self.continues[0]:
            frames, values = np.append(self.frames[0] - 1, frames), np.append(before, values)
        if self.continues[1]:
            frames, values = np.append(frames, self.frames[-1] + 1), np.append(values, after)
        return ChannelKeys(channel, frames, values)

    def key_in_range(self, armature_object: bpy.types.Object, values: Mapping[str, float]) -> None:
        """Key settings of all chains that have values in the range, by name, and others beside."""
        ends, keys = np.array([self.frames[0], self.frames[-1]], dtype=np.float64), []
        known = {curve.data_path: curve for curve in curves(armature_object)}
        for (index, name), beside in self.settings.items() if any(self.continues) else ():
            channel = Channel("", path_of_setting(armature_object, index, name))
            curve, value = known.get(channel.path), values.get(name)
            if value is None or (curve is None and beside == (value, value)):
                continue
            if curve is not None and name == "influence" and beside == (0.0, 0.0):
                # Keys of a chain that was muted had no effect.
                remove_points(curve, -np.inf, np.inf)
            keys.append(self.keep(index, name, ChannelKeys(channel, ends, np.full(2, value))))
        write_keys(armature_object, keys, "CONSTANT")


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


def _read_beside(
    armature_object: bpy.types.Object, index: int, name: str, frames: range
) -> tuple[float, float]:
    """Return the values of a setting in the frames before and after a range."""
    path = path_of_setting(armature_object, index, name)
    for curve in curves(armature_object):
        if curve.data_path == path and not curve.mute:
            return curve.evaluate(frames[0] - 1), curve.evaluate(frames[-1] + 1)
    settings = armature_object.chain_ik.chains[index]
    value = getattr(settings, name)
    if isinstance(value, str):
        value = settings.bl_rna.properties[name].enum_items[value].value
    return float(value), float(value)
