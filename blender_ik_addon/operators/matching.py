"""The operators that match FK and IK: snap the controls, keep the pose, switch with keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..core import IKError
from ..properties import (
    OWN_WORDS,
    ChainGroup,
    active_chain,
    chain_key,
    chain_spec,
    chains_of,
    check_space_name,
    is_idle,
    moved_by_hand,
    owner_of,
    space_name,
    space_names,
    toes_of,
)
from ..rig.controls.control_spaces import label
from ..rig.keying.baking import Keying, bake, is_animated, mute_for_good
from ..rig.keying.written import written_channels
from ..rig.reading.refusals import RigError
from ..rig.reading.spec import Anchor, ChainSpec
from ..rig.tools.matching import (
    Goals,
    find_bend,
    find_match,
    key_step,
    key_switch,
    match_controls,
    switch_controls,
)
from ..rig.tools.placing import check_movable
from ..rig.tools.space_keys import key_space
from ..translations import said
from . import selection
from .bake import Ranged
from .base import ANEW, ChainOperator

SIDES = (
    ("TOGGLE", "Other", "To IK if the active chain is muted or its influence is zero, else to FK"),
    ("IK", "IK", "The chain takes over, from the pose that the bones have at this frame"),
    ("FK", "FK", "The bones keep the pose that the chain gives them at this frame"),
)
CONTROLS = (
    ("TARGET", "Target", "What the tip of the chain follows"),
    ("POLE", "Pole", "What the chain bends toward"),
)


def spaces(operator: bpy.types.Operator, context: bpy.types.Context | None, text: str) -> list[str]:
    """Return what the control of an operator can go along with and whose names match a text."""
    settings = None if context is None else active_chain(context)
    which = cast(POSE_OT_chain_ik_switch_space, operator).which
    return [] if settings is None else space_names(settings, which, text)


# Pole angles that differ by less, in radians, show the same bend.
SAME_BEND = 1e-4

Chosen = dict[bpy.types.Object, dict[int, ChainSpec]]
"""Chains by armature object and index: evaluating makes references to their settings invalid."""


class Matching(ChainOperator):
    """The base of the operators that match FK and IK, for all chains of what is selected."""

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = selection.problem_of_chain(context)
        if problem:
            return problem
        # The active one first: this is asked at every redraw, and mostly nothing is in its way.
        obstacle = cls.obstacle(selection.chain(context))
        others = selection.chosen_chains(context) if obstacle else []
        return obstacle if all(map(cls.obstacle, others)) else ""

    @classmethod
    def obstacle(cls, settings: ChainGroup) -> str:
        """Return what keeps a chain from being matched, in words; empty if nothing does."""
        if settings.solver == "FOLLOW":
            return "A chain with the solver Follow goes on from its last pose: bake it instead."
        return "" if settings.target is not None else "This chain has no target: choose one first."

    def choose(
        self,
        chains: list[ChainGroup],
        check: Callable[[ChainGroup], object],
        takes: Callable[[ChainGroup], bool] = lambda _: True,
    ) -> Chosen:
        """Return the chains of which nothing is in the way, with toes; report the others by name.

        Args:
            chains: To choose from.
            check: Raises an ``IKError`` if something is.
            takes: Tells whether toes go along with the foot that carries their control.

        Raises:
            IKError: If there is one chain only, and something is in its way.
        """
        chosen: Chosen = {}
        problems = []
        waiting = list(chains)
        for settings in waiting:
            try:
                if obstacle := self.obstacle(settings):
                    raise RigError(obstacle)
                check(settings)
            except IKError as error:
                if chains == [settings]:
                    raise
                problems.append(f"{settings.name}: {error}")
            else:
                _, index = chain_key(settings)
                chosen.setdefault(owner_of(settings), {})[index] = chain_spec(settings)
                waiting += [
                    each for each in toes_of(settings) if each not in waiting and takes(each)
                ]
        for problem in problems:
            self.report({"WARNING"} if chosen else {"ERROR"}, said(problem))
        return chosen


class AnyFrames(Ranged):
    """The frames of an operator on one frame or on a range."""

    use_range: BoolProperty(
        name="Range",
        description="Do it at each frame of a range, and set keys",
        options=ANEW,
    )


class POSE_OT_chain_ik_snap_target(AnyFrames, Matching):
    """Move targets and poles so that they match the present pose (FK to IK)."""

    bl_idname = "pose.chain_ik_snap_target"
    bl_label = "Snap Target"
    bl_description = (
        "Move targets and poles to match the present pose, so that nothing moves when a chain takes"
        " over (FK to IK): of the chains of the selected bones, targets and poles, else of the"
        " active chain. Switches Flip Bend off"
    )
    bl_options = {"REGISTER", "UNDO"}

    use_keys: BoolProperty(
        name="Key",
        description="Key target and pole",
        translation_context=OWN_WORDS,
        options=ANEW,
    )

    def act(self, context: bpy.types.Context) -> set[str]:
        scene, view_layer = selection.scene_of(context), selection.view_layer_of(context)
        frame, subframe = scene.frame_current, scene.frame_subframe
        chains = selection.chosen_chains(context)
        chosen = self.choose(chains, lambda settings: _goals_of(settings, scene))
        for settings in _settings_of(chosen):
            settings.use_flip_bend = False
        if not self.use_range:
            _match(chosen, scene, view_layer, frame if self.use_keys else None)
            return {"FINISHED"} if chosen else {"CANCELLED"}
        try:
            for each in self.frames(scene):
                scene.frame_set(each)
                _match(chosen, scene, view_layer, each)
        finally:
            scene.frame_set(frame, subframe=subframe)
        return {"FINISHED"} if chosen else {"CANCELLED"}


class POSE_OT_chain_ik_apply(AnyFrames, Matching):
    """Keep the pose that chains give their bones, and mute them (IK to FK)."""

    bl_idname = "pose.chain_ik_apply"
    bl_label = "Apply to Bones"
    bl_description = (
        "Keep the pose that chains give their bones, as their own, and mute them (IK to FK): the"
        " chains of the selected bones, targets and poles, else the active chain"
    )
    bl_options = {"REGISTER", "UNDO"}

    use_keys: BoolProperty(
        name="Key",
        description="Key the bones at this frame",
        translation_context=OWN_WORDS,
        options=ANEW,
    )

    @classmethod
    def obstacle(cls, settings: ChainGroup) -> str:
        idle = "The chain leaves its bones alone: unmute it, or raise its influence."
        return super().obstacle(settings) or (idle if is_idle(settings) else "")

    def act(self, context: bpy.types.Context) -> set[str]:
        scene = selection.scene_of(context)
        frames, keying = range(scene.frame_current, scene.frame_current + 1), Keying()
        if self.use_range:
            frames = self.frames(scene)
        else:
            # What is keyed afterwards is interpolated as the last key is.
            keying = Keying(interpolation=_new_interpolation(context))
        chosen = self.choose(
            selection.chosen_chains(context), lambda _: None, lambda toes: not is_idle(toes)
        )
        for owner, specs in chosen.items():
            if self.use_range or self.use_keys:
                for _ in bake(scene, owner, specs, frames, keying):
                    pass
            for index in specs:
                owner.chain_ik.chains[index].stored_pose = ""
                mute_for_good(owner, index)
        return {"FINISHED"} if chosen else {"CANCELLED"}


class POSE_OT_chain_ik_switch(Matching):
    """Switch chains between FK and IK at this frame, with keys, without a pop."""

    bl_idname = "pose.chain_ik_switch"
    bl_label = "Switch FK/IK"
    bl_description = (
        "Switch between FK and IK at this frame, the chains of the selected bones, targets and"
        " poles, else the active chain: match the pose, and set the keys that keep it from popping"
    )
    bl_options = {"REGISTER", "UNDO"}

    to: EnumProperty(
        name="To",
        description="What poses the bones from this frame on",
        translation_context=OWN_WORDS,
        items=SIDES,
        options=ANEW,
    )

    def act(self, context: bpy.types.Context) -> set[str]:
        scene, interpolation = selection.scene_of(context), _new_interpolation(context)
        frame, chains = scene.frame_current, selection.chosen_chains(context)
        to_ik = is_idle(_leading(context, chains)) if self.to == "TOGGLE" else self.to == "IK"
        # The others are on that side already.
        chains = [each for each in chains if is_idle(each) == to_ik] or chains
        check = (lambda settings: _goals_of(settings, scene)) if to_ik else _check_bones
        chosen = self.choose(chains, check, lambda toes: is_idle(toes) == to_ik)
        if not chosen:
            return {"CANCELLED"}
        # All before the first key: that has Blender evaluate what is keyed.
        goals, bends = (_goals(chosen, scene), _bends(chosen)) if to_ik else ({}, [])
        for owner, specs in chosen.items():
            key_switch(owner, list(specs.values()), frame, interpolation)
        view_layer = selection.view_layer_of(context)
        switch_controls(goals, _live_controls(chosen), view_layer, frame, interpolation)
        for settings in _settings_of(chosen):
            _key_side(settings, frame, to_ik=to_ik)
        for owner, index, before, angle in bends:
            if abs(angle - before) > SAME_BEND or is_animated(owner, index, "pole_angle"):
                key_step(owner, _path_of_angle(owner, index), frame, before, angle)
        scene.frame_set(frame)
        name = ", ".join(each.name for each in _settings_of(chosen))
        side = "IK" if to_ik else "FK"
        self.report({"INFO"}, said(f"{name}: {side} from frame {frame} on"))
        return {"FINISHED"}


def _leading(context: bpy.types.Context, chains: list[ChainGroup]) -> ChainGroup:
    """Return the chain that decides to which side all go: the active one if it is among them."""
    active = selection.chain(context)
    return active if active in chains else chains[0]


def _key_side(settings: ChainGroup, frame: int, *, to_ik: bool) -> None:
    """Key whether a chain poses its bones from a frame on."""
    owner, before = owner_of(settings), 0.0 if is_idle(settings) else settings.influence
    if to_ik and settings.use_flip_bend:
        flip = settings.path_from_id("use_flip_bend")
        key_step(owner, flip, frame, before=True, after=False)
    settings.mute = False
    key_step(owner, settings.path_from_id("influence"), frame, before, after=float(to_ik))


def _check_bones(settings: ChainGroup) -> None:
    """Raise an ``IKError`` if a chain has no bones."""
    written_channels(owner_of(settings), [chain_spec(settings)])


def _goals_of(settings: ChainGroup, scene: bpy.types.Scene) -> Goals:
    return find_match(owner_of(settings), chain_spec(settings), scene)


def _goals(chosen: Chosen, scene: bpy.types.Scene) -> Goals:
    """Return where the targets and poles of chains belong; what several follow, once."""
    goals: Goals = {}
    for settings in _settings_of(chosen):
        goals |= _goals_of(settings, scene)
    return goals


def _match(
    chosen: Chosen, scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer, frame: int | None
) -> None:
    """Match chains to the present pose; with a frame, key what they follow and their bends."""
    goals, bends = _goals(chosen, scene), _bends(chosen)
    match_controls(goals, view_layer, frame)
    for owner, index, _, angle in bends:
        owner.chain_ik.chains[index].pole_angle = angle
        if frame is not None:
            owner.keyframe_insert(_path_of_angle(owner, index), frame=frame)


def _bends(chosen: Chosen) -> list[tuple[bpy.types.Object, int, float, float]]:
    """Return chains that bend with their bodies, their pole angles, and those that match."""
    found = []
    for settings in _settings_of(chosen):
        owner, (_, index) = owner_of(settings), chain_key(settings)
        angle = find_bend(owner, chain_spec(settings))
        if angle is not None:
            found.append((owner, index, settings.pole_angle, angle))
    return found


def _path_of_angle(owner: bpy.types.Object, index: int) -> str:
    path: str = owner.chain_ik.chains[index].path_from_id("pole_angle")
    return path


def _live_controls(chosen: Chosen) -> list[Anchor]:
    """Return the targets and poles of all live chains of the armatures that chosen ones belong to.

    Those from a library, which take no keys, and those that are gone are left out.
    """
    live = [each for owner in chosen for each in chains_of(owner) if not is_idle(each)]
    anchors = [
        anchor for each in live for anchor in moved_by_hand(each) if anchor.object.is_editable
    ]
    return [each for each in anchors if not each.bone or each.bone in each.object.pose.bones]


def _settings_of(chosen: Chosen) -> list[ChainGroup]:
    return [owner.chain_ik.chains[index] for owner, specs in chosen.items() for index in specs]


def _new_interpolation(context: bpy.types.Context) -> str:
    return context.preferences.edit.keyframe_new_interpolation_type


class POSE_OT_chain_ik_switch_space(AnyFrames, ChainOperator):
    """Have target or pole of the active chain go along with something else, with keys."""

    bl_idname = "pose.chain_ik_switch_space"
    bl_label = "Switch Space"
    bl_description = (
        "Have the target or pole of the active chain go along with something else from this frame"
        " on: it stays where it is, and the keys are set that keep it from popping. Its later keys"
        " count in the new space"
    )
    bl_options = {"REGISTER", "UNDO"}

    which: EnumProperty(
        name="Control",
        description="Which control of the chain is switched",
        items=CONTROLS,
        options=ANEW,
    )
    space: StringProperty(
        name="Space",
        description="A bone of the armature, or an object. Empty: the world",
        search=spaces,
        search_options=set(),
        options=ANEW,
    )

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if not self.properties.is_property_set("space"):
            self.space = space_name(selection.chain(context), self.which)
        return set(context.window_manager.invoke_props_dialog(self))

    def act(self, context: bpy.types.Context) -> set[str]:
        settings, scene = selection.chain(context), selection.scene_of(context)
        control, space = check_space_name(settings, self.which, self.space)
        check_movable(control, self.which.lower(), scene)
        frame, subframe = scene.frame_current, scene.frame_subframe
        frames = self.frames(scene) if self.use_range else range(frame, frame + 1)
        interpolation = context.preferences.edit.keyframe_new_interpolation_type
        try:
            key_space(control, space, frames, scene, interpolation)
        finally:
            scene.frame_set(frame, subframe=subframe)
        name = self.space or "World"
        self.report({"INFO"}, said(f"{label(control)}: {name} from frame {frames[0]} on"))
        return {"FINISHED"}


classes = (
    POSE_OT_chain_ik_snap_target,
    POSE_OT_chain_ik_apply,
    POSE_OT_chain_ik_switch,
    POSE_OT_chain_ik_switch_space,
)
register, unregister = bpy.utils.register_classes_factory(classes)
