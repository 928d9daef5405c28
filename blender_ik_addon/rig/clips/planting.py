"""Plant Feet: play an input clip, and key its controls so that feet do not slide."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

import bpy
import numpy as np

from ...core.algebra.arithmetic import Counts
from ..controls.control_spaces import is_keyed
from ..controls.foot_roll import control_above
from ..keying.baking import unmute_permanently
from ..keying.keys import Channel, ChannelKeys, check_keyable
from ..keying.playing import check_live, check_shown, play_unchanged, preserve_frame
from ..keying.renumbering import path_of_setting
from ..keying.unplayed_keys import check_unstretched
from ..planning.known_skeletons import skeleton_of
from ..reading.animation import animated_bones, curves, driven_axes, strips
from ..reading.chain_plan import plan_chain
from ..reading.refusals import RigError
from ..reading.spec import Anchor, ChainSpec
from ..reading.world import channels_of
from ..tools.fk_ik import anchor_channels, channel_names
from ..tools.move_by_location import check_movable
from . import keyed_settings
from .input_clip import SettingValues, check_timing, play_input_clips
from .keyed_settings import RangeEnds
from .planted_clip import PlantedClip, PlantingOptions
from .played_clip import PlayedClip

CHANGED = "The armature changed during the run, so no foot was planted: press Plant Feet again."
# Settings that a run changes for good, besides places.
CHANGED_SETTINGS = ("influence", "pole_angle", "use_flip_bend", "use_pin")


def check_plantable(
    armature_object: bpy.types.Object, spec: ChainSpec, scene: bpy.types.Scene
) -> None:
    """Raise a ``RigError`` if a chain has no controls that can be keyed."""
    if spec.is_dragged:
        raise RigError("A chain with the solver Follow cannot be planted: choose another solver.")
    if spec.target is None:
        raise RigError("This chain has no target: choose one first.")
    for anchor, word in _find_controls(spec):
        check_movable(anchor, word, scene)
        moved: Any = channels_of(anchor)
        locks = [*moved.lock_location, *(moved.lock_rotation if word == "target" else ())]
        props = channel_names(moved) if word == "target" else ("location",)
        driven = [driven_axes(anchor.object, moved.path_from_id(prop)) for prop in props]
        if any(locks) or any(driven):
            raise RigError(
                "Channels of the {word} '{name}' are locked or have drivers: unlock them, or remove"
                " the drivers first.",
                word=word,
                name=moved.name,
            )
    for owner in {armature_object, *(anchor.object for anchor, _ in _find_controls(spec))}:
        check_keyable(owner)
        if any(strips(owner)):
            raise RigError(
                "The NLA of '{name}' plays strips: bake them into one action first, with Bake"
                " Action.",
                name=owner.name,
            )


def free_root(armature_object: bpy.types.Object, root: str) -> str:
    """Return the name of the hip bone if its location may be written, otherwise an empty one."""
    bone = armature_object.pose.bones.get(root)
    if bone is None or bone.bone.use_connect or any(bone.lock_location):
        return ""
    return "" if driven_axes(armature_object, bone.path_from_id("location")) else root


def plant(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    planting: PlantingOptions,
) -> Generator[int, None, PlantedClip]:
    """Key controls of chains so that feet and hands do not slide in their contacts.

    The contacts are those of the clip of the first run, also in later runs. The chains have passed
    ``check_plantable``. Each frame is yielded once it is played. Nothing is keyed before all frames
    have been played; ``close`` the generator to cancel.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    check_live(scene)
    check_unstretched(scene)
    if len(planting.frames) < 2:
        raise RigError("Plant Feet needs two frames or more: choose a longer range.")
    check_shown(scene, armature_object, planting.frames)
    check_timing(armature_object, _find_planted_bones(armature_object, chains, planting))
    keyed_contacts = _read_keyed_contacts(armature_object, chains, planting.frames)
    clip = PlayedClip(armature_object, planting.anchors(armature_object, chains.values()))
    values = _make_keys(armature_object, chains, planting)
    settings = _read_settings(armature_object, chains)
    is_muted = {index: bool(settings[spec.name]["mute"]) for index, spec in chains.items()}
    ends = RangeEnds.of(armature_object, values, planting.frames, is_muted)
    with (
        preserve_frame(scene, is_reading=True),
        play_input_clips(values, armature_object, settings) as inputs,
    ):
        pins = keyed_settings.pins_of(armature_object, chains)
        for frame in play_unchanged(scene, [armature_object], planting.frames, CHANGED):
            clip.read(frame)
            yield frame
        rate = scene.render.fps / scene.render.fps_base
        planted = PlantedClip(armature_object, chains, planting, clip, keyed_contacts, rate, ends)
        # Keys of the hips from an earlier run are overwritten, even where the hips stay.
        is_repeated = any(item.stored for item in inputs if armature_object in item.owners)
        for item in inputs:
            item.store()
    keyed_settings.restore_pins(armature_object, pins)
    planted.write(with_hips=is_repeated)
    for index in chains:
        unmute_permanently(armature_object, index)
        armature_object.chain_ik.chains[index].use_flip_bend = False
    ends.key_in_range(armature_object, {"influence": 1.0, "use_flip_bend": 0.0})
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    return planted


def _find_controls(spec: ChainSpec) -> Iterator[tuple[Anchor, str]]:
    """Yield the controls that users move for a chain, with a word for each."""
    if spec.target is not None:
        yield control_above(spec.target), "target"
    if spec.pole is not None:
        yield spec.pole, "pole"


def _find_planted_bones(
    armature_object: bpy.types.Object, chains: Mapping[int, ChainSpec], planting: PlantingOptions
) -> set[str]:
    """Return the bones that runs and bakes key: those of chains, their controls, the hips."""
    skeleton, bones = skeleton_of(armature_object), {planting.root}
    for spec in chains.values():
        bones.update(plan_chain(skeleton, spec).names)
        bones.update(control.bone for control, _ in _find_controls(spec))
    return bones - {""}


def _read_keyed_contacts(
    armature_object: bpy.types.Object, chains: Mapping[int, ChainSpec], frames: range
) -> dict[int, Counts]:
    """Return the keyed contacts of chains, of those with keys in the range."""
    paths = {path_of_setting(armature_object, index, "planted"): index for index in chains}
    contacts = {}
    for curve in curves(armature_object):
        keyed = any(frames[0] <= point.co.x <= frames[-1] for point in curve.keyframe_points)
        if keyed and curve.data_path in paths and not curve.mute:
            values = [round(curve.evaluate(frame)) for frame in frames]
            contacts[paths[curve.data_path]] = np.clip(values, 0, 3)
    return contacts


def _read_settings(
    armature_object: bpy.types.Object, chains: Mapping[int, ChainSpec]
) -> SettingValues:
    """Return the settings of chains that decide how a clip plays.

    Chains whose bones have keys while their controls have none are muted: they would change the
    clip.
    """
    settings_by_chain = {}
    skeleton, keyed = skeleton_of(armature_object), animated_bones(armature_object)
    for index, spec in chains.items():
        settings = armature_object.chain_ik.chains[index]
        bones = set(plan_chain(skeleton, spec).names)
        has_keys = any(is_keyed(control) for control, _ in _find_controls(spec))
        is_muted = settings.mute or (bool(bones & keyed) and not has_keys)
        settings_by_chain[spec.name] = {name: getattr(settings, name) for name in CHANGED_SETTINGS}
        settings_by_chain[spec.name]["mute"] = is_muted
    return settings_by_chain


def _make_keys(
    armature_object: bpy.types.Object, chains: Mapping[int, ChainSpec], planting: PlantingOptions
) -> dict[bpy.types.Object, list[ChannelKeys]]:
    """Return one key for each channel that will be overwritten, by object."""
    controls = [control for spec in chains.values() for control, _ in _find_controls(spec)]
    channels = {armature_object: list[Channel]()} | anchor_channels(controls)
    if planting.root:
        channels[armature_object] += [Channel(planting.root, "location", i) for i in range(3)]
    frames = np.array([float(planting.frames[0])])
    return {
        owner: [ChannelKeys(one, frames, np.array([one.value(owner)])) for one in chosen]
        for owner, chosen in channels.items()
    }
