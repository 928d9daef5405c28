"""The operators that match FK and IK: snap the controls, keep the pose, switch with keys."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty

from ..properties import OWN_WORDS, anchors_of, chain_key, chain_spec, is_idle, owner_of
from ..rig.keying.baking import Keying, bake, mute_for_good
from ..rig.tools.matching import (
    find_match,
    hold_anchors,
    key_anchors,
    key_step,
    key_switch,
    match_controls,
)
from ..translations import said
from . import selection
from .bake import Ranged
from .base import ANEW, ChainOperator

SIDES = (
    ("TOGGLE", "Other", "To IK if the chain is muted or its influence is zero, else to FK"),
    ("IK", "IK", "The chain takes over, from the pose that the bones have at this frame"),
    ("FK", "FK", "The bones keep the pose that the chain gives them at this frame"),
)


class Matching(ChainOperator):
    """The base of the operators that match FK and IK."""

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = selection.problem_of_chain(context)
        if problem:
            return problem
        settings = selection.chain(context)
        if settings.solver == "FOLLOW":
            return "A chain with the solver Follow goes on from its last pose: bake it instead."
        return "" if settings.target is not None else "This chain has no target: choose one first."


class AnyFrames(Ranged):
    """The frames of an operator on one frame or on a range."""

    use_range: BoolProperty(
        name="Range",
        description="Do it at each frame of a range, and set keys; default off",
        options=ANEW,
    )


class POSE_OT_chain_ik_snap_target(AnyFrames, Matching):
    """Move target and pole of the active chain so that they match the present pose (FK to IK)."""

    bl_idname = "pose.chain_ik_snap_target"
    bl_label = "Snap Target"
    bl_description = (
        "Move the target and pole of the active chain to match the present pose,"
        " so that nothing moves when the chain takes over (FK to IK). Switches Flip Bend off"
    )
    bl_options = {"REGISTER", "UNDO"}

    use_keys: BoolProperty(
        name="Key",
        description="Key target and pole; default off",
        translation_context=OWN_WORDS,
        options=ANEW,
    )

    def act(self, context: bpy.types.Context) -> set[str]:
        settings, scene = selection.chain(context), selection.scene_of(context)
        frame, subframe = scene.frame_current, scene.frame_subframe
        find_match(owner_of(settings), chain_spec(settings), scene)
        settings.use_flip_bend = False
        if not self.use_range:
            anchors = match_controls(owner_of(settings), chain_spec(settings), scene)
            if self.use_keys:
                key_anchors(anchors, frame)
            return {"FINISHED"}
        try:
            for each in self.frames(scene):
                scene.frame_set(each)
                settings = selection.chain(context)
                key_anchors(match_controls(owner_of(settings), chain_spec(settings), scene), each)
        finally:
            scene.frame_set(frame, subframe=subframe)
        return {"FINISHED"}


class POSE_OT_chain_ik_apply(AnyFrames, Matching):
    """Keep the pose that the active chain gives its bones, and mute it (IK to FK)."""

    bl_idname = "pose.chain_ik_apply"
    bl_label = "Apply to Bones"
    bl_description = (
        "Keep the pose that the active chain gives its bones, as their own, and mute the chain"
        " (IK to FK)"
    )
    bl_options = {"REGISTER", "UNDO"}

    use_keys: BoolProperty(
        name="Key",
        description="Key the bones at this frame; default off",
        translation_context=OWN_WORDS,
        options=ANEW,
    )

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = super().problem(context)
        if not problem and is_idle(selection.chain(context)):
            problem = "The chain leaves its bones alone: unmute it, or raise its influence."
        return problem

    def act(self, context: bpy.types.Context) -> set[str]:
        settings, scene = selection.chain(context), selection.scene_of(context)
        owner, (_, index) = owner_of(settings), chain_key(settings)
        frames = (
            self.frames(scene)
            if self.use_range
            else range(scene.frame_current, scene.frame_current + 1)
        )
        if self.use_range or self.use_keys:
            for _ in bake(scene, owner, {index: chain_spec(settings)}, frames, Keying()):
                pass
        owner.chain_ik.chains[index].stored_pose = ""
        mute_for_good(owner, index)
        return {"FINISHED"}


class POSE_OT_chain_ik_switch(Matching):
    """Switch the active chain between FK and IK at this frame, with keys, without a pop."""

    bl_idname = "pose.chain_ik_switch"
    bl_label = "Switch FK/IK"
    bl_description = (
        "Switch the active chain between FK and IK at this frame: match the pose, and set the keys"
        " that keep it from popping"
    )
    bl_options = {"REGISTER", "UNDO"}

    to: EnumProperty(
        name="To",
        description="What poses the bones from this frame on; default Other",
        translation_context=OWN_WORDS,
        items=SIDES,
        options=ANEW,
    )

    def act(self, context: bpy.types.Context) -> set[str]:
        settings, scene = selection.chain(context), selection.scene_of(context)
        owner, frame = owner_of(settings), scene.frame_current
        to_ik = is_idle(settings) if self.to == "TOGGLE" else self.to == "IK"
        path = settings.path_from_id("influence")
        interpolation = context.preferences.edit.keyframe_new_interpolation_type
        if to_ik:
            find_match(owner, chain_spec(settings), scene)
        key_switch(owner, chain_spec(settings), frame, interpolation)
        if to_ik:
            hold_anchors(anchors_of(settings), frame - 1)
            anchors = match_controls(owner, chain_spec(settings), scene)
            key_anchors(anchors, frame, interpolation)
            if settings.use_flip_bend:
                flip = settings.path_from_id("use_flip_bend")
                key_step(owner, flip, frame, before=True, after=False)
        settings.mute = False
        key_step(owner, path, frame, before=float(not to_ik), after=float(to_ik))
        scene.frame_set(frame)
        side = "IK" if to_ik else "FK"
        self.report({"INFO"}, said(f"{settings.name}: {side} from frame {frame} on"))
        return {"FINISHED"}


classes = (POSE_OT_chain_ik_snap_target, POSE_OT_chain_ik_apply, POSE_OT_chain_ik_switch)
register, unregister = bpy.utils.register_classes_factory(classes)
