"""The switch between FK and IK at a frame, with keys that keep the pose from popping."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import bpy
from bpy.props import EnumProperty

from ...core.clips.jumps import MIN_POP
from ...core.model.message import Message
from ...properties.chain_lists import toes_of
from ...properties.chains import ChainGroup, chain_key, is_idle, live_chains, owner_of
from ...properties.choices import LABEL_CONTEXT
from ...properties.records import chain_spec, existing_controls, target_and_pole
from ...rig.controls.control_spaces import anchor_exists
from ...rig.keying.baking import is_animated, is_driven
from ...rig.keying.keys import Channel, curves_of
from ...rig.keying.played_keys import key_played_frames
from ...rig.keying.playing import MAX_FRAME
from ...rig.keying.renumbering import path_of_setting
from ...rig.keying.unplayed_keys import check_curves, check_unstretched
from ...rig.keying.written_channels import written_channels
from ...rig.reading.refusals import RigError, listed
from ...rig.reading.spec import Anchor
from ...rig.reading.world import uids_in
from ...rig.tools.fk_ik import (
    anchor_channels,
    controls_off_goals,
    key_step,
    key_switch,
    measure_return,
    switch_controls,
)
from .. import selection
from ..base import SKIP_SAVE
from .forbidden_poses import find_forbidden, turned_when_shown
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


class KeyStep(NamedTuple):
    """A setting of a chain that is keyed, with its values before the frame of a switch and after.

    Attributes:
        owner: The armature object.
        chain: Index of the chain.
        setting: The setting.
        before: Value up to the frame before the switch, if there are no keys.
        after: Value from the frame of the switch on.
    """

    owner: bpy.types.Object
    chain: int
    setting: str
    before: float
    after: float

    @property
    def path(self) -> str:
        """The path from the armature object to the setting."""
        return path_of_setting(self.owner, self.chain, self.setting)


class POSE_OT_chain_ik_switch(PlacesControls):
    """Switch chains between FK and IK at this frame.

    The pose is matched, and keys are set so that it does not pop. Works on the chains of the
    selected bones, targets and poles, otherwise on the active chain.
    """

    bl_label = "Switch FK/IK"

    to: EnumProperty(
        name="To",
        description="Method that poses the bones from this frame on",
        translation_context=LABEL_CONTEXT,
        items=SIDES,
        options=SKIP_SAVE,
    )

    def act(self, context: bpy.types.Context) -> set[str]:
        scene, interpolation = selection.scene_of(context), new_interpolation(context)
        check_unstretched(scene)
        frame, chains = scene.frame_current, selection.chosen_chains(context)
        # The active chain decides, if it is among them.
        active = selection.chain(context)
        leading = active if active in chains else chains[0]
        to_ik = is_idle(leading) if self.to == "TOGGLE" else self.to == "IK"
        side, others = "IK" if to_ik else "FK", _find_off_side(chains, scene, to_ik=to_ik)
        if skipped := ", ".join(chain.name for chain in chains if chain not in others):
            self.tell("{skipped}: {side} already, so skipped", skipped=skipped, side=side)
        if not others:
            return {"FINISHED"}
        check = partial(_check, scene=scene, to_ik=to_ik)
        chosen = self.choose(others, check, lambda toes: is_idle(toes) == to_ik)
        if not chosen:
            return {"CANCELLED"}
        # All before the first key, because a new key makes Blender evaluate the keyed channels.
        dependent, to_match = find_dependent(chosen), chosen if to_ik else {}
        leaving = {} if to_ik else chosen
        goals = find_all_goals(union_of(to_match, find_pulling(dependent, scene)), scene, leaving)
        steps = [step for one in settings_of(chosen) for step in _find_steps(one, to_ik=to_ik)]
        steps += _find_bend_steps(dependent)
        forbidden = find_forbidden(to_match, frame)
        view_layer, changed = selection.view_layer_of(context), union_of(chosen, dependent)
        played = _channels_of(changed, goals, steps)
        key_played_frames(played, [range(frame, MAX_FRAME + 1)], scene)
        view_layer.update()
        returning = _find_returning(leaving, frame)
        for owner, specs in changed.items():
            key_switch(owner, list(specs.values()), frame, interpolation)
        live = [chain for owner in chosen for chain in live_chains(owner)]
        controls = [control for chain in live for control in existing_controls(chain)]
        # Objects from a library take no keys, and a bone may have been deleted.
        keyable = [one for one in controls if one.object.is_editable and anchor_exists(one)]
        switch_controls(goals, keyable, view_layer, frame, interpolation)
        for settings in settings_of(chosen):
            settings.mute = False
        for step in steps:
            key_step(step.owner, step.path, frame, step.before, step.after)
        scene.frame_set(frame)
        name = ", ".join(chain.name for chain in settings_of(chosen))
        self.tell("{name}: {side} from frame {frame} on", name=name, side=side, frame=frame)
        for owner in played:
            self.warn_of_sharing(owner)
        self._warn_of_returning(returning, frame)
        self.warn_of_held(controls_off_goals(goals))
        self.warn_of_weight(settings_of(to_match))
        self.warn_of_limits(turned_when_shown(forbidden))
        return {"FINISHED"}

    def _warn_of_returning(self, chains: Sequence[Message], frame: int) -> None:
        if chains:
            self.warn(
                "After frame {frame} the keys of {names} play, and the pose jumps back to them:"
                " undo this, and fade Influence from 1 to 0 with linear keys instead.",
                frame=frame,
                names=listed(chains),
            )


def _find_returning(leaving: SpecsByRig, frame: int) -> list[Message]:
    """Return the chains that jump back to later keys of their bones, and by what angles, in words.

    Such keys are those of motion capture, at each frame. Others lead smoothly from the new ones.
    """
    words = list[Message]()
    for owner, specs in leaving.items():
        for spec in specs.values():
            if (turn := measure_return(owner, spec, frame)) > MIN_POP:
                degrees = f"{math.degrees(turn):.0f}"
                words.append(Message("{name} ({degrees}°)", name=spec.name, degrees=degrees))
    return words


def _find_off_side(
    chains: Sequence[ChainGroup], scene: bpy.types.Scene, *, to_ik: bool
) -> list[ChainGroup]:
    """Return the chains on the other side; if there are none, their toes, or chains in between.

    Live chains without their target or pole are not in IK: the refusal says what is missing.
    """
    toes, present = [toe for chain in chains for toe in toes_of(chain)], uids_in(scene)
    for candidates in (chains, toes):
        if others := [
            chain
            for chain in candidates
            if is_idle(chain) == to_ik or (to_ik and _lacks_control(chain, present))
        ]:
            return others
    return [chain for chain in chains if to_ik and chain.influence < 1.0]


def _lacks_control(settings: ChainGroup, present: Container[int]) -> bool:
    """Return whether a chain has no target, or its target or pole is not among session uids."""
    target, pole = target_and_pole(settings)
    followed = [target, pole if settings.pole_mode == "TARGET" else None]
    return target is None or any(one and one.object.session_uid not in present for one in followed)


def _check(settings: ChainGroup, scene: bpy.types.Scene, *, to_ik: bool) -> None:
    """Raise an ``IKError`` if a chain cannot be matched, or keys could not switch it."""
    if to_ik:
        check_curves(anchor_channels(find_goals(settings, scene)))
    else:
        owner = owner_of(settings)
        bones = written_channels(owner, [chain_spec(settings)])
        check_curves({owner: bones}, may_be_locked=True)
    for step in _find_steps(settings, to_ik=to_ik):
        check_curves({step.owner: [Channel("", step.path)]})
        if is_driven(step.owner, step.chain, step.setting):
            raise RigError(
                "The setting '{label}' has a driver, which always wins: remove the driver, or key"
                " what it reads instead.",
                label=Message(settings.bl_rna.properties[step.setting].name),
            )


def _find_steps(settings: ChainGroup, *, to_ik: bool) -> list[KeyStep]:
    """Return the steps that let a chain pose its bones, or leave them alone, from a frame on."""
    owner, (_, index) = owner_of(settings), chain_key(settings)
    before, steps = settings.influence, []
    if to_ik:
        steps += _find_bend_steps({owner: {index: chain_spec(settings)}})
        if settings.use_flip_bend:
            steps.append(KeyStep(owner, index, "use_flip_bend", before=True, after=False))
    if settings.mute and not any(is_animated(owner, index, one) for one in ("influence", "mute")):
        before = 0.0
    elif settings.mute and (to_ik or not is_driven(owner, index, "mute")):
        # Animation decides the settings at the frames before.
        steps.append(KeyStep(owner, index, "mute", before=True, after=False))
    return [*steps, KeyStep(owner, index, "influence", before, float(to_ik))]


def _find_bend_steps(chains: SpecsByRig) -> list[KeyStep]:
    """Return the steps of the pole angles with which chains keep the sides of their bends."""
    return [
        KeyStep(owner, index, "pole_angle", before, angle)
        for owner, index, before, angle in find_bends(chains)
        if abs(angle - before) > SAME_BEND
        or (is_animated(owner, index, "pole_angle") and not is_driven(owner, index, "pole_angle"))
    ]


def _channels_of(
    chosen: SpecsByRig, controls: Iterable[Anchor], steps: Iterable[KeyStep]
) -> dict[bpy.types.Object, list[Channel]]:
    """Return the channels to key: of the bones of chains, of controls, and of settings."""
    channels = anchor_channels(controls)
    for owner, specs in chosen.items():
        written = written_channels(owner, specs.values())
        # Toward IK muted curves of bones stay muted.
        muted = {one for one, curve in curves_of(owner, written).items() if curve.mute}
        channels.setdefault(owner, []).extend(one for one in written if one not in muted)
    for step in steps:
        channels[step.owner].append(Channel("", step.path))
    return channels
