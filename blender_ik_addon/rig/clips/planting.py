"""Plant Feet: a clip is played as it came, and its controls are keyed so that feet stand."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

import bpy
import numpy as np

from ...core.algebra.arithmetic import Counts
from ..controls.control_spaces import is_keyed
from ..controls.foot_roll import control_above
from ..keying.baking import live_for_good
from ..keying.keys import ChannelKeys, check_keyable
from ..keying.playing import check_live, frame_kept, played_unchanged
from ..keying.renumbering import path_of_setting
from ..planning.known_skeletons import skeleton_of
from ..reading.animation import animated_bones, curves, driven_axes, strips
from ..reading.chain_plan import planned
from ..reading.refusals import RigError
from ..reading.spec import Anchor, ChainSpec
from ..reading.world import channels_of
from ..tools.fk_ik import channel_names
from ..tools.placing import check_movable
from . import keyed_pins
from .input_clip import Settings, shown_as_it_came
from .planted_clip import PlantedClip, Planting
from .played_clip import PlayedClip

CHANGED = "The armature has changed meanwhile, so no foot is planted: do it again."
# What a run changes for good besides places.
SETTINGS = ("influence", "pole_angle", "use_flip_bend", "use_pin")


def check_plantable(
    armature_object: bpy.types.Object, spec: ChainSpec, scene: bpy.types.Scene
) -> None:
    """Raise if a chain follows nothing that could be keyed.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    if spec.is_dragged:
        raise RigError("A chain with the solver Follow stands nowhere: choose another solver.")
    if spec.target is None:
        raise RigError("This chain has no target: choose one first.")
    for anchor, word in _followed(spec):
        check_movable(anchor, word, scene)
        moved: Any = channels_of(anchor)
        locks = [*moved.lock_location, *(moved.lock_rotation if word == "target" else ())]
        props = channel_names(moved) if word == "target" else ("location",)
        driven = [driven_axes(anchor.object, moved.path_from_id(prop)) for prop in props]
        if any(locks) or any(driven):
            raise RigError(
                f"Channels of the {word} '{moved.name}' are locked or have drivers:"
                " unlock them, or remove the drivers first."
            )
    for owner in {armature_object, *(anchor.object for anchor, _ in _followed(spec))}:
        check_keyable(owner)
        if any(strips(owner)):
            raise RigError(
                f"The NLA of '{owner.name}' plays strips: bake them into one action first, with"
                " Bake Action."
            )


def free_root(armature_object: bpy.types.Object, root: str) -> str:
    """Return the name of the bone of the hips if its location may be written, otherwise none."""
    bone = armature_object.pose.bones.get(root)
    if bone is None or bone.bone.use_connect or any(bone.lock_location):
        return ""
    return "" if driven_axes(armature_object, bone.path_from_id("location")) else root


def plant(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    planting: Planting,
) -> Generator[int, None, PlantedClip]:
    """Key controls of chains so that feet and hands stand where they stand in a clip.

    The clip is that of the first run, whatever has been planted since. Nothing is keyed before all
    frames have been played; ``close`` it to give up.

    Args:
        scene: To play; its chains are live.
        armature_object: The original object.
        chains: Settings by index, those of which ``check_plantable`` says nothing.
        planting: What is asked.

    Yields:
        Each frame once it is played.

    Returns:
        What has been keyed.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    check_live(scene)
    if len(planting.frames) < 2:
        raise RigError("Feet are planted in a clip of two frames or more: choose a longer range.")
    known = _known_kinds(armature_object, chains, planting.frames)
    clip = PlayedClip(armature_object, planting.anchors(armature_object, chains.values()))
    values = _values(armature_object, chains, planting)
    settings = _settings(armature_object, chains)
    with (
        frame_kept(scene, is_reading=True),
        shown_as_it_came(values, armature_object, settings) as inputs,
    ):
        pins = keyed_pins.pins_of(armature_object, chains)
        for frame in played_unchanged(scene, [armature_object], planting.frames, CHANGED):
            clip.read(frame)
            yield frame
        rate = scene.render.fps / scene.render.fps_base
        planted = PlantedClip(armature_object, chains, planting, clip, known, rate)
        # What an earlier run has keyed of the hips is keyed anew where they stay as well.
        is_again = any(each.kept for each in inputs if armature_object in each.owners)
        for each in inputs:
            each.keep()
    keyed_pins.give_back(armature_object, pins)
    planted.write(with_hips=is_again)
    for index in chains:
        live_for_good(armature_object, index)
        armature_object.chain_ik.chains[index].use_flip_bend = False
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    return planted


def _followed(spec: ChainSpec) -> Iterator[tuple[Anchor, str]]:
    """Yield what people move of a chain, and what it is."""
    if spec.target is not None:
        yield control_above(spec.target), "target"
    if spec.pole is not None:
        yield spec.pole, "pole"


def _known_kinds(
    armature_object: bpy.types.Object, chains: Mapping[int, ChainSpec], frames: range
) -> dict[int, Counts]:
    """Return what keys say of what stands, of chains that have keys in the range."""
    paths = {path_of_setting(armature_object, index, "planted"): index for index in chains}
    known = {}
    for curve in curves(armature_object):
        keyed = any(frames[0] <= point.co.x <= frames[-1] for point in curve.keyframe_points)
        if keyed and curve.data_path in paths and not curve.mute:
            values = [round(curve.evaluate(frame)) for frame in frames]
            known[paths[curve.data_path]] = np.clip(values, 0, 3)
    return known


def _settings(armature_object: bpy.types.Object, chains: Mapping[int, ChainSpec]) -> Settings:
    """Return what of chains decides how a clip plays.

    Chains are muted whose bones have keys while their controls have none: what these make of the
    clip is not it.
    """
    found = {}
    skeleton, keyed = skeleton_of(armature_object), animated_bones(armature_object)
    for index, spec in chains.items():
        settings = armature_object.chain_ik.chains[index]
        bones = set(planned(skeleton, spec).names)
        has_keys = any(is_keyed(control) for control, _ in _followed(spec))
        is_muted = settings.mute or (bool(bones & keyed) and not has_keys)
        found[spec.name] = {name: getattr(settings, name) for name in SETTINGS}
        found[spec.name]["mute"] = is_muted
    return found


def _values(
    armature_object: bpy.types.Object, chains: Mapping[int, ChainSpec], planting: Planting
) -> dict[bpy.types.Object, list[ChannelKeys]]:
    """Return a key each of the channels that will be overwritten, by object."""
    found: dict[bpy.types.Object, list[ChannelKeys]] = {armature_object: []}
    frames = np.array([float(planting.frames[0])])

    def add(anchor: Anchor, *props: str) -> None:
        moved = channels_of(anchor)
        found.setdefault(anchor.object, []).extend(
            ChannelKeys(anchor.bone, prop, component, frames, np.array([value]))
            for prop in props
            for component, value in enumerate(getattr(moved, prop))
        )

    for control in [control for spec in chains.values() for control, _ in _followed(spec)]:
        add(control, *channel_names(channels_of(control)))
    if planting.root:
        add(Anchor(armature_object, planting.root), "location")
    return found
