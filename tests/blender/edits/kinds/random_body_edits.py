"""Edits of whole bodies: made, switched off and on, their roots, pins and priorities changed."""

from __future__ import annotations

import bpy
from hypothesis import strategies as st

from tests.blender.edits.kinds.random_round_trips import round_trip
from tests.blender.edits.random_feet import bones_of_feet
from tests.blender.edits.random_scene import (
    FLAG,
    THING,
    armature,
    bone_of,
    chain_of,
    edit,
    press,
)

SHARES = st.sampled_from((0.0, 0.5, 1.0))
GOALS = st.sampled_from(
    (
        ("priority", 1),
        ("priority", 2),
        ("priority", 3),
        ("priority", 9),
        ("use_pin", True),
        ("use_pin", False),
        ("pull", 0.0),
        ("pull", 0.4),
        ("pull", 1.0),
    )
)


def topmost(pose_bone: bpy.types.PoseBone) -> str:
    """Return the name of the bone that carries all above a bone."""
    return [pose_bone, *pose_bone.parent_recursive][-1].name


def muting(ob: bpy.types.Object) -> list[bpy.types.PropertyGroup | bpy.types.Constraint]:
    """Return what a body mutes or unmutes when it is switched."""
    ties = [tie for bone in ob.pose.bones for tie in bone.constraints]
    return [*ob.chain_ik.chains, *ties]


class BodyEdits:
    """What is done to whole bodies, by scripts and by the button."""

    @edit(i=THING, bone=THING, is_top=FLAG)
    def make_body(self, i, bone, is_top):
        """Make a body as a script does; half of them of all bones that hang together."""
        ob, pose_bone = armature(i), bone_of(armature(i), bone)
        if pose_bone is not None and ob.is_editable:
            ob.chain_ik.body.root = topmost(pose_bone) if is_top else pose_bone.name
            ob.chain_ik.body.use_body = True

    @edit(i=THING, bone=THING, chain=THING, use_pins=FLAG, is_chosen=FLAG)
    def make_body_by_button(self, i, bone, chain, use_pins, is_chosen):
        if not self.choose(i, chain, bone):
            return
        ob = armature(i)
        if is_chosen:
            ob.chain_ik.body.root = topmost(bone_of(ob, bone))
        if ob.chain_ik.body.root in bones_of_feet(ob):
            # Somebody has chosen a bone of a mechanism, so the body moves that.
            return
        press(bpy.ops.pose.chain_ik_body, control="BONE", use_pins=use_pins)

    @edit(i=THING, value=FLAG)
    def switch_body(self, i, value):
        ob = armature(i)
        if ob is not None and ob.is_editable:
            ob.chain_ik.body.use_body = value

    @edit(i=THING, bone=st.none() | THING)
    def set_root_of_body(self, i, bone):
        ob = armature(i)
        if ob is not None and ob.is_editable:
            pose_bone = None if bone is None else bone_of(ob, bone)
            ob.chain_ik.body.root = "" if pose_bone is None else pose_bone.name

    @edit(i=THING, value=SHARES)
    def set_share_of_body(self, i, value):
        ob = armature(i)
        if ob is not None and ob.is_editable:
            ob.chain_ik.body.influence = value

    @edit(i=THING, chain=THING, value=GOALS)
    def set_goal_of_body(self, i, chain, value):
        ob = armature(i)
        if (settings := chain_of(ob, chain)) is not None and ob.is_editable:
            setattr(settings, *value)

    @edit(i=THING, chain=THING, is_later=FLAG)
    def key_pin_of_body(self, i, chain, is_later):
        """Pin a chain at one frame, and let it go at another."""
        ob = armature(i)
        if ob is None or not ob.is_editable or not ob.chain_ik.chains:
            return
        index = chain % len(ob.chain_ik.chains)
        for frame, value in ((2, not is_later), (4, is_later)):
            ob.chain_ik.chains[index].use_pin = value
            ob.keyframe_insert(f"chain_ik.chains[{index}].use_pin", frame=frame)

    @edit(i=THING, update=FLAG)
    def body_off_and_on(self, i, update):
        ob = armature(i)
        if ob is None or not ob.is_editable or not ob.chain_ik.body.use_body:
            return
        with round_trip("body off and on", is_given_back=True):
            muted = [each.mute for each in muting(ob)]
            for value in (False, True):
                ob.chain_ik.body.use_body = value
                if update:
                    bpy.context.view_layer.update()
            for each, value in zip(muting(ob), muted, strict=True):
                each.mute = value
