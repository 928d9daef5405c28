"""FK to IK: targets and poles move to match the pose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import bpy
from bpy.props import BoolProperty

from ...properties.chains import ChainGroup, chain_key, is_idle, owner_of
from ...properties.choices import LABEL_CONTEXT
from ...properties.records import chain_spec
from ...rig.keying.curve_points import clear
from ...rig.keying.keys import Channel, check_keyable, curves_of
from ...rig.keying.played_keys import key_played_frames
from ...rig.keying.playing import MAX_FRAME, check_shown, preserve_frame
from ...rig.keying.renumbering import path_of_setting
from ...rig.keying.unplayed_keys import check_curves, check_undriven, check_unstretched
from ...rig.reading.spec import Anchor
from ...rig.reading.world import channels_of
from ...rig.tools.fk_ik import (
    ControlGoals,
    anchor_channels,
    channel_names,
    controls_off_goals,
    match_controls,
)
from .. import selection
from ..base import SKIP_SAVE
from ..drags.auto_keying import key_moved, key_setting
from .forbidden_poses import ForbiddenPose, find_forbidden, turned_when_solved, worst_by_chain
from .matched_chains import (
    Bends,
    OptionalFrameRange,
    PlacesControls,
    SpecsByRig,
    find_all_goals,
    find_bends,
    find_goals,
    settings_of,
)

Matches = dict[int, tuple[ControlGoals, Bends, list[ForbiddenPose]]]
"""Goals, bends and forbidden poses of chains by frame."""


class POSE_OT_chain_ik_snap_target(OptionalFrameRange, PlacesControls):
    """Move targets and poles so that they match the present pose (FK to IK)."""

    bl_label = "Snap Target"
    bl_description = (
        "Move targets and poles to match the present pose, so that nothing moves when a chain"
        " takes over (FK to IK). Works on the chains of the selected bones, targets and poles,"
        " otherwise on the active chain. Switches Flip Bend off"
    )

    use_keys: BoolProperty(
        name="Key",
        description="Key target and pole",
        translation_context=LABEL_CONTEXT,
        options=SKIP_SAVE,
    )

    def act(self, context: bpy.types.Context) -> set[str]:
        scene, view_layer = selection.scene_of(context), selection.view_layer_of(context)
        chains = selection.chosen_chains(context)
        is_keying = self.use_range or self.use_keys
        chosen = self.choose(chains, partial(_check, scene=scene, is_keying=is_keying))
        if is_keying:
            # Before the first change, which is that of Flip Bend.
            check_unstretched(scene)
            for owner in _channels_of(find_all_goals(chosen, scene), find_bends(chosen)):
                check_keyable(owner)
        frames = self.frames(scene) if self.use_range else [scene.frame_current]
        if self.use_range:
            for owner in chosen:
                check_shown(scene, owner, frames)
        for settings in settings_of(chosen):
            settings.use_flip_bend = False
        # Before the first key, because a new key makes Blender evaluate the keyed channels.
        goals, bends = find_all_goals(chosen, scene), find_bends(chosen)
        forbidden = find_forbidden(chosen, scene.frame_current)
        matches = _find_matches(chosen, frames, scene) if self.use_range else {}
        if is_keying:
            new = frames if self.use_range else range(scene.frame_current, MAX_FRAME + 1)
            keyed = _channels_of(goals, bends)
            key_played_frames(keyed, [new], scene)
            for owner in keyed:
                self.warn_of_sharing(owner)
            if self.use_range:
                _clear_keys(keyed, frames)
        held_controls: list[str] = []
        if not self.use_range:
            key_frame = scene.frame_current if self.use_keys else None
            held_controls += _match(goals, bends, view_layer, key_frame)
            if not self.use_keys:
                # Auto Keying, as after Blender's transforms.
                for anchor in goals:
                    key_moved(context, anchor, channel_names(channels_of(anchor)))
                for owner, index, _, _ in bends:
                    key_setting(context, owner.chain_ik.chains[index], "pole_angle")
        else:
            held_controls += _match_frames(matches, scene, view_layer)
            forbidden = worst_by_chain(pose for *_, poses in matches.values() for pose in poses)
        self.warn_of_held(held_controls)
        # The others start from the same pose as before.
        self.warn_of_weight(chain for chain in settings_of(chosen) if is_idle(chain))
        self.warn_of_limits(turned_when_solved(forbidden, context))
        return {"FINISHED"} if chosen else {"CANCELLED"}


def _check(settings: ChainGroup, scene: bpy.types.Scene, *, is_keying: bool) -> None:
    """Raise an ``IKError`` if a chain cannot be matched, or keys could not move its controls."""
    goals, spec, (_, index) = find_goals(settings, scene), chain_spec(settings), chain_key(settings)
    if not is_keying:
        return
    check_curves(_channels_of(goals, find_bends({owner_of(settings): {index: spec}})))
    # Keys need not turn these.
    free = {spec.target, spec.pole} - ({spec.target} if spec.use_rotation else set())
    for owner, channels in anchor_channels(goals).items():
        used = [c for c in channels if c.prop == "location" or Anchor(owner, c.bone) not in free]
        check_undriven({owner: used})


def _channels_of(goals: ControlGoals, bends: Bends) -> dict[bpy.types.Object, list[Channel]]:
    """Return the keyed channels of controls, and of chains that bend with their bodies."""
    channels = anchor_channels(goals)
    for owner, index, _, _ in bends:
        path = path_of_setting(owner, index, "pole_angle")
        channels.setdefault(owner, []).append(Channel("", path))
    return channels


def _find_matches(chosen: SpecsByRig, frames: Sequence[int], scene: bpy.types.Scene) -> Matches:
    """Return goals and bends that match chains to their pose at each frame, and forbidden poses.

    A key changes the pose of live chains at later frames: read all frames before the first.
    """
    matches = {}
    with preserve_frame(scene):
        for frame in frames:
            scene.frame_set(frame)
            goals, bends = find_all_goals(chosen, scene), find_bends(chosen)
            matches[frame] = goals, bends, find_forbidden(chosen, frame)
    return matches


def _clear_keys(
    channels: Mapping[bpy.types.Object, Sequence[Channel]], frames: Sequence[int]
) -> None:
    """Remove the keys of channels in a range, also between its frames."""
    for owner, chosen in channels.items():
        for curve in curves_of(owner, chosen).values():
            _, ends = clear(curve, frames[0], frames[-1])
            for point in curve.keyframe_points if len(frames) > 1 else ():
                # The handles of the removed segments are too long for a single frame.
                if point.co.x in ends:
                    side = "right" if point.co.x == frames[0] else "left"
                    setattr(point, f"handle_{side}_type", "VECTOR")
            curve.update()


def _match_frames(
    matches: Matches, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer
) -> list[str]:
    """Match chains to their pose at each frame, with keys; return the names of held controls."""
    held_controls: list[str] = []
    with preserve_frame(scene):
        for frame, (goals, bends, _) in matches.items():
            scene.frame_set(frame)
            held_controls += _match(goals, bends, view_layer, frame)
    return held_controls


def _match(
    goals: ControlGoals, bends: Bends, view_layer: bpy.types.ViewLayer, frame: int | None
) -> list[str]:
    """Match chains to a pose; with a frame, key their controls and bends.

    Return the names of controls that something else keeps from their goals.
    """
    match_controls(goals, view_layer, frame)
    for owner, index, _, angle in bends:
        settings = owner.chain_ik.chains[index]
        # Nearest to the key before: a whole turn more would show between the frames.
        settings.pole_angle += math.remainder(angle - settings.pole_angle, math.tau)
        if frame is not None:
            owner.keyframe_insert(path_of_setting(owner, index, "pole_angle"), frame=frame)
    view_layer.update()
    return controls_off_goals(goals)
