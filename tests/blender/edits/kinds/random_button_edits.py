"""Edits by the buttons that make, remove and bake chains."""

from __future__ import annotations

import bpy
from hypothesis import strategies as st

from tests.blender.edits.kinds.random_chain_edits import MOST_CHAINS
from tests.blender.edits.random_scene import (
    FLAG,
    SEED,
    THING,
    armature,
    bone_of,
    edit,
    enter,
    names_of,
    other_object,
    place,
    press,
)
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_bones

BUTTONS = st.sampled_from(
    (
        "chain_ik_remove",
        "chain_ik_restore",
        "chain_ik_store",
        "chain_ik_joints_copy",
        "chain_ik_joint_add",
        "chain_ik_joint_to_selected",
        "chain_ik_joint_preset",
        "chain_ik_joint_remove",
    )
)
CREATURES = st.sampled_from(("SNAKE", "DINOSAUR_NECK", "HANGING_ARM"))


class ButtonEdits:
    """What a person does with the buttons."""

    def choose(self, i: int, chain: int, bone: int, other: int | None = None) -> bool:
        """Select a bone and make a chain the active one; tell whether there is such a bone."""
        ob = armature(i)
        pose_bone = bone_of(ob, bone)
        if pose_bone is None:
            return False
        name = pose_bone.name
        if not enter(ob, "POSE"):
            return False
        bpy.ops.object.mode_set(mode="OBJECT")
        view_layer, target = bpy.context.view_layer, other_object(other or 0)
        targets = [] if other is None or target is None else [target]
        if any(each.name not in view_layer.objects for each in targets):
            return False
        select_bones(ob, [name], *targets)
        if ob.chain_ik.chains:
            ob.chain_ik.active_index = chain % len(ob.chain_ik.chains)
        return True

    @edit(i=THING, chain=THING, bone=THING, button=BUTTONS)
    def press_button(self, i, chain, bone, button):
        if self.choose(i, chain, bone):
            press(getattr(bpy.ops.pose, button))

    @edit(i=THING, bone=THING, j=st.none() | THING, use_pole=FLAG, use_rotation=FLAG)
    def add_by_button(self, i, bone, j, use_pole, use_rotation):
        ob = armature(i)
        if ob is None or len(ob.chain_ik.chains) >= MOST_CHAINS or len(names_of(bool)) > 14:
            return
        if self.choose(i, 0, bone, j):
            press(bpy.ops.pose.chain_ik_add, use_pole=use_pole, use_rotation=use_rotation)

    @edit(i=THING, bone=THING, j=THING)
    def solve_once(self, i, bone, j):
        if self.choose(i, 0, bone, j):
            press(bpy.ops.pose.chain_ik_solve)

    @edit(i=THING, chain=THING, use_all=FLAG, mute=FLAG, seed=SEED)
    def bake(self, i, chain, use_all, mute, seed):
        target = other_object(seed)
        if target is None or not self.choose(i, chain, 0):
            return
        rigs.key(target, "location", {1: place(seed), 4: place(seed + 1)})
        which = "ALL" if use_all else "ACTIVE"
        press(bpy.ops.pose.chain_ik_bake, frame_start=1, frame_end=4, which=which, mute=mute)

    @edit(i=THING, chain=THING, creature=CREATURES)
    def load_creature(self, i, chain, creature):
        if self.choose(i, chain, 0):
            press(bpy.ops.pose.chain_ik_creature_load, creature=creature)
