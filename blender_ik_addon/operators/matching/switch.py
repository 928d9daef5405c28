"""The switch between FK and IK at a frame, with keys that keep the pose from popping."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
from bpy.props import EnumProperty

from ...properties.chains import ChainGroup, is_idle, live_chains, owner_of
from ...properties.choices import LABEL_CONTEXT
from ...properties.records import chain_spec, existing_controls
from ...rig.controls.control_spaces import anchor_exists
from ...rig.keying.baking import is_animated
from ...rig.keying.played_keys import key_played_frames
from ...rig.keying.renumbering import path_of_setting
from ...rig.keying.written_channels import Channel, written_channels
from ...rig.reading.animation import curves
from ...rig.reading.spec import Anchor
from ...rig.tools.fk_ik import (
    anchor_channels,
    controls_off_goals,
    key_step,
    key_switch,
    switch_controls,
)
from .. import selection
from ..base import SKIP_SAVE
from .matched_chains import (
    PlacesControls,
    SpecsByRig,
    find_all_goals,
    find_bends,
    find_dependent,
    find_goals,
    find_pulling,
    new_interpolation,
    settings_of,
    union_of,
)

SIDES = (
    (
        "TOGGLE",
        "Other",
        "To IK if the active chain is muted or its influence is zero, otherwise to FK",
    ),
    ("IK", "IK", "The chain takes over, from the pose that the bones have at this frame"),
    ("FK", "FK", "The bones keep the pose that the chain gives them at this frame"),
)
# Difference of pole angles in radians, below which the bend looks the same.
SAME_BEND = 1e-4
# Settings of chains that a switch keys, always or only if necessary.
SWITCH_KEYS = ("influence", "pole_angle", "use_flip_bend", "mute")


class POSE_OT_chain_ik_switch(PlacesControls):
    """Switch chains between FK and IK at this frame, with keys, without a pop."""

    bl_label = "Switch FK/IK"
    bl_description = (
        "Switch chains between FK and IK at this frame. The pose is matched, and keys are set so"
        " that it does not pop. Works on the chains of the selected bones, targets and poles,"
        " otherwise on the active chain"
    )

    to: EnumProperty(
        name="To",
        description="Method that poses the bones from this frame on",
        translation_context=LABEL_CONTEXT,
        items=SIDES,
        options=SKIP_SAVE,
    )

    def act(self, context: bpy.types.Context) -> set[str]:
        scene, interpolation = selection.scene_of(context), new_interpolation(context)
        frame, chains = scene.frame_current, selection.chosen_chains(context)
        # The active chain decides, if it is among them.
        active = selection.chain(context)
        leading = active if active in chains else chains[0]
        to_ik = is_idle(leading) if self.to == "TOGGLE" else self.to == "IK"
        # The other chains are on that side already.
        chains = [chain for chain in chains if is_idle(chain) == to_ik] or chains
        check = (lambda settings: find_goals(settings, scene)) if to_ik else _check_bones
        chosen = self.choose(chains, check, lambda toes: is_idle(toes) == to_ik)
        if not chosen:
            return {"CANCELLED"}
        # All before the first key, because a new key makes Blender evaluate the keyed channels.
        dependent, to_match = find_dependent(chosen), chosen if to_ik else {}
        leaving = {} if to_ik else chosen
        goals = find_all_goals(union_of(to_match, find_pulling(dependent, scene)), scene, leaving)
        bends = find_bends(union_of(to_match, dependent))
        view_layer = selection.view_layer_of(context)
        key_played_frames(_channels_of(union_of(chosen, dependent), goals), frame - 1, scene)
        view_layer.update()
        for owner, specs in union_of(chosen, dependent).items():
            key_switch(owner, list(specs.values()), frame, interpolation)
        switch_controls(goals, _live_controls(chosen), view_layer, frame, interpolation)
        for settings in settings_of(chosen):
            _key_side(settings, frame, to_ik=to_ik)
        for owner, index, before, angle in bends:
            if abs(angle - before) > SAME_BEND or is_animated(owner, index, "pole_angle"):
                key_step(owner, path_of_setting(owner, index, "pole_angle"), frame, before, angle)
        scene.frame_set(frame)
        name = ", ".join(chain.name for chain in settings_of(chosen))
        side = "IK" if to_ik else "FK"
        self.tell("{name}: {side} from frame {frame} on", name=name, side=side, frame=frame)
        self.warn_of_held(controls_off_goals(goals))
        return {"FINISHED"}


def _key_side(settings: ChainGroup, frame: int, *, to_ik: bool) -> None:
    """Key the settings that let a chain pose its bones, or leave them alone, from a frame on."""
    owner, before = owner_of(settings), settings.influence
    if to_ik and settings.use_flip_bend:
        flip = settings.path_from_id("use_flip_bend")
        key_step(owner, flip, frame, before=True, after=False)
    influence, mute = map(settings.path_from_id, ("influence", "mute"))
    is_keyed = any(curve.data_path in (influence, mute) for curve in curves(owner))
    if settings.mute and is_keyed:
        # Keys decide the setting at the frames before.
        key_step(owner, mute, frame, before=True, after=False)
    elif settings.mute:
        before = 0.0
    settings.mute = False
    key_step(owner, influence, frame, before, after=float(to_ik))


def _channels_of(
    chosen: SpecsByRig, controls: Iterable[Anchor]
) -> dict[bpy.types.Object, list[Channel]]:
    """Return the channels to key: of the bones and settings of chains, and of controls."""
    channels = anchor_channels(controls)
    for owner, specs in chosen.items():
        settings = (path_of_setting(owner, index, name) for index in specs for name in SWITCH_KEYS)
        channels.setdefault(owner, []).extend(Channel("", path, 0) for path in settings)
        channels[owner] += written_channels(owner, specs.values())
    return channels


def _check_bones(settings: ChainGroup) -> None:
    """Raise an ``IKError`` if a chain has no bones."""
    written_channels(owner_of(settings), [chain_spec(settings)])


def _live_controls(chosen: SpecsByRig) -> list[Anchor]:
    """Return the targets and poles of all live chains of the armatures of chosen chains.

    Objects from a library, which take no keys, and deleted ones are left out.
    """
    live = [chain for owner in chosen for chain in live_chains(owner)]
    anchors = [
        anchor for chain in live for anchor in existing_controls(chain) if anchor.object.is_editable
    ]
    return [anchor for anchor in anchors if anchor_exists(anchor)]
