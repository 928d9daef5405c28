"""Edits of an animator's day: control bones, limbs, matching, converting, modes; all by buttons."""

from __future__ import annotations

import bpy
from hypothesis import strategies as st

from tests.blender.edits import random_checks as checks
from tests.blender.edits.kinds.random_chain_edits import MOST_CHAINS
from tests.blender.edits.random_scene import (
    FLAG,
    THING,
    angles,
    armature,
    bone_of,
    chain_of,
    edit,
    enter,
    names_of,
    picked,
    press,
)
from tests.blender.setups.selecting import select_bones

CONTROLS = st.sampled_from(("BONE", "EMPTY"))
CONTROLS_OF_CHAINS = st.sampled_from(("TARGET", "POLE"))
WHICH = st.sampled_from(("ACTIVE", "SELECTED", "ALL"))
MATCHINGS = st.sampled_from(("chain_ik_snap_target", "chain_ik_apply"))
DIRECTIONS = st.sampled_from(("TO_CHAINS", "TO_CONSTRAINTS"))
WAYS = st.sampled_from(("TOGGLE", "FK", "IK"))
TOLERANCES = st.sampled_from((0.0, 0.01))
# So that files stay small enough to be edited a thousand times.
MOST_BONES, MOST_OBJECTS = 28, 14


def has_room(ob: bpy.types.Object | None, chains: int = 1) -> bool:
    """Tell whether a rig and the scene may get more chains, control bones or empties."""
    return (
        ob is not None
        and ob.pose is not None
        and len(ob.chain_ik.chains) + chains <= MOST_CHAINS
        and len(ob.pose.bones) <= MOST_BONES
        and len(names_of(bool)) <= MOST_OBJECTS
    )


class DayEdits:
    """What an animator does with buttons in pose mode."""

    def pose(self, i: int, bone: int, chain: int = 0) -> bool:
        """Go to pose mode with a bone selected and a chain active; tell whether that went."""
        ob = armature(i)
        found = bone_of(ob, bone)
        if ob is None or found is None:
            return False
        name = found.name
        if not enter(ob, "POSE"):
            return False
        select_bones(ob, [name])
        if ob.chain_ik.chains:
            ob.chain_ik.active_index = chain % len(ob.chain_ik.chains)
        return True

    @edit(i=THING, bone=THING, control=CONTROLS, use_pole=FLAG, parent=THING)
    def add_with_controls(self, i, bone, control, use_pole, parent):
        ob = armature(i)
        if not has_room(ob) or not self.pose(i, bone):
            return
        hung_on = "" if parent % 2 else bone_of(armature(i), parent).name
        press(bpy.ops.pose.chain_ik_add, control=control, use_pole=use_pole, parent=hung_on)

    @edit(i=THING, bone=THING, chain=THING, control=CONTROLS)
    def add_pole(self, i, bone, chain, control):
        if has_room(armature(i), 0) and self.pose(i, bone, chain):
            press(bpy.ops.pose.chain_ik_pole_add, control=control)

    @edit(i=THING, bone=THING, chain=THING, keep_pose=FLAG)
    def remove_with_controls(self, i, bone, chain, keep_pose):
        if self.pose(i, bone, chain):
            press(bpy.ops.pose.chain_ik_remove, keep_pose=keep_pose, delete_controls=True)

    @edit(i=THING, bone=THING, turn=st.integers(0, 9))
    def move_bone_by_hand(self, i, bone, turn):
        """Move what may be a control bone or a bone of a chain, as G and R do."""
        if self.pose(i, bone):
            found = bone_of(armature(i), bone)
            found.location = 0.3 * angles(turn)
            found.id_data.update_tag()

    @edit(i=THING, bone=THING, chain=THING, how=MATCHINGS, use_keys=FLAG)
    def match(self, i, bone, chain, how, use_keys):
        if self.pose(i, bone, chain):
            press(getattr(bpy.ops.pose, how), use_keys=use_keys)

    @edit(i=THING, bone=THING, chain=THING, to=WAYS)
    def switch(self, i, bone, chain, to):
        if self.pose(i, bone, chain):
            press(bpy.ops.pose.chain_ik_switch, to=to)

    @edit(i=THING, bone=THING, chain=THING, other=THING, which=CONTROLS_OF_CHAINS, by_button=FLAG)
    def switch_space(self, i, bone, chain, other, which, by_button):
        """Have a control go along with the world, a bone or an object."""
        if not self.pose(i, bone, chain):
            return
        ob = armature(i)
        names = ["", *ob.pose.bones.keys(), *[each.name for each in bpy.context.scene.objects]]
        space, settings = names[other % len(names)], chain_of(ob, chain)
        if by_button:
            press(bpy.ops.pose.chain_ik_switch_space, which=which, space=space)
        elif settings is not None and ob.is_editable:
            setattr(settings, "space" if which == "TARGET" else "pole_space", space)

    @edit(i=THING, bone=THING, direction=DIRECTIONS, use_all=FLAG)
    def convert(self, i, bone, direction, use_all):
        if self.pose(i, bone):
            press(bpy.ops.pose.chain_ik_convert, direction=direction, use_all=use_all)

    @edit(i=THING, bone=THING, control=CONTROLS)
    def set_up_limbs(self, i, bone, control):
        if has_room(armature(i), 2) and self.pose(i, bone):
            press(bpy.ops.pose.chain_ik_setup, control=control)

    @edit(i=THING, bone=THING, chain=THING)
    def mirror(self, i, bone, chain):
        if has_room(armature(i)) and self.pose(i, bone, chain):
            press(bpy.ops.pose.chain_ik_mirror)

    @edit(i=THING, bone=THING, step=st.integers(1, 3), tolerance=TOLERANCES, which=WHICH)
    def bake_by_steps(self, i, bone, step, tolerance, which):
        if self.pose(i, bone):
            options = {"step": step, "which": which, "tolerance": tolerance}
            press(bpy.ops.pose.chain_ik_bake, frame_start=1, frame_end=4, **options)

    @edit(i=THING, bone=THING, chain=THING)
    def compare(self, i, bone, chain):
        """Compare the solvers: whatever becomes of that, nothing in the file is moved by it."""
        if not self.pose(i, bone, chain):
            return
        poses, places = checks.poses(), checks.placings()
        press(bpy.ops.pose.chain_ik_compare)
        for before, after in ((poses, checks.poses()), (places, checks.placings())):
            assert before.keys() == after.keys()
        moved = checks.not_stable(
            poses, checks.poses(), checks.with_history()
        ) + checks.moved_objects(places, checks.placings())
        assert not moved, f"moved by comparing: {moved}"

    @edit(i=THING, mode=st.sampled_from(("OBJECT", "POSE", "EDIT")), chain=THING)
    def switch_modes_and_undo(self, i, mode, chain):
        """Change a setting, switch the mode, and take both back."""
        ob = armature(i)
        settings = chain_of(ob, chain)
        if settings is None or not ob.is_editable:
            return
        press(bpy.ops.ed.undo_push, message="before")
        settings.use_flip_bend = not settings.use_flip_bend
        press(bpy.ops.ed.undo_push, message="flip")
        name = ob.name
        if enter(armature(i), mode) and mode == "EDIT":
            bones = bpy.context.scene.objects[name].data.edit_bones
            if (found := picked(bones, chain)) is not None:
                found.roll += 0.3
            bpy.ops.object.mode_set(mode="POSE")
        press(bpy.ops.ed.undo_push, message="mode")
        press(bpy.ops.ed.undo)
        press(bpy.ops.ed.undo)

    @edit(i=THING)
    def mute_and_unmute_all(self, i):
        """Give all bones of a rig back, and take them again."""
        ob = armature(i)
        if ob is None or not ob.is_editable:
            return
        live = [chain.name for chain in ob.chain_ik.chains if not chain.mute]
        for value in (True, False):
            for chain in ob.chain_ik.chains:
                if chain.name in live:
                    chain.mute = value
            bpy.context.view_layer.update()
