"""Chains follow bones that are renamed: their tips, joints, stored poses, targets and poles."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

import blender_ik_addon
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.renders import render_frames
from tests.blender.setups.selecting import select_objects

NEAR, FAR = (0.6, 0.5, 1.2), (-0.5, 0.4, 1.0)


def by_bone(ob: bpy.types.Object, name: str, other: str) -> None:
    ob.data.bones[name].name = other


def by_pose_bone(ob: bpy.types.Object, name: str, other: str) -> None:
    ob.pose.bones[name].name = other


def in_edit_mode(ob: bpy.types.Object, name: str, other: str) -> None:
    rigs.enter(ob, "EDIT")
    ob.data.edit_bones[name].name = other
    # More than a name changes while it is open.
    added = ob.data.edit_bones.new("Added")
    added.head, added.tail = (3, 0, 0), (3, 0, 1)
    rigs.enter(ob, "OBJECT")


def while_live_is_off(ob: bpy.types.Object, name: str, other: str) -> None:
    bpy.context.scene.chain_ik.use_live = False
    for each in (f"{other} at first", other):
        by_bone(ob, name, each)
        bpy.context.view_layer.update()
        name = each
    bpy.context.scene.chain_ik.use_live = True


WAYS = (by_bone, by_pose_bone, in_edit_mode, while_live_is_off)
Rename = Callable[[bpy.types.Object, str, str], None]


def make_rig() -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.PropertyGroup]:
    """Return an arm, another armature with the bones that it follows, and its chain."""
    ob, controls = rigs.make_rig(name="Arm"), rigs.make_armature("Controls")
    rigs.add_bones(controls, [NEAR, np.add(NEAR, (0, 0, 0.2))], prefix="Hand")
    rigs.add_bones(controls, [(0.5, 2, 0.5), (0.5, 2, 0.7)], prefix="Elbow")
    chain = rigs.add_chain(ob, "Bone.1", controls, subtarget="Hand.0")
    chain.pole_target, chain.pole_subtarget = controls, "Elbow.0"
    rigs.updated()
    assert chain.status.startswith("Reached")
    return ob, controls, chain


def assert_follows(ob: bpy.types.Object, chain: bpy.types.PropertyGroup, hand: str) -> None:
    bpy.data.objects["Controls"].pose.bones[hand].location.x += 0.15
    depsgraph = rigs.updated()
    assert chain.status.startswith("Reached"), chain.status
    goal = rigs.head(bpy.data.objects["Controls"], hand, depsgraph)
    np.testing.assert_allclose(rigs.tail(ob, chain.bone, depsgraph), goal, atol=1e-5)


@pytest.mark.parametrize("rename", WAYS)
def test_a_chain_follows_its_tip_and_keeps_its_stored_pose(rename):
    ob, _, chain = make_rig()
    stored = chain.stored_pose
    rename(ob, "Bone.1", "Fore")
    rigs.updated()
    stored = stored.replace("Bone.1", "Fore")
    assert (chain.bone, chain.name, chain.stored_pose) == ("Fore", "Chain", stored)
    assert_follows(ob, chain, "Hand.0")
    chain.mute = True
    rigs.updated()
    for bone in ob.pose.bones:
        np.testing.assert_array_equal(bone.rotation_quaternion, (1, 0, 0, 0))


@pytest.mark.parametrize("rename", WAYS)
def test_a_chain_follows_the_bones_that_are_its_target_and_its_pole(rename):
    ob, controls, chain = make_rig()
    rename(controls, "Hand.0", "Goal")
    rename(controls, "Elbow.0", "Bend")
    rigs.updated()
    assert (chain.subtarget, chain.pole_subtarget) == ("Goal", "Bend")
    assert_follows(ob, chain, "Goal")


def test_a_chain_follows_one_name_after_another_and_many_bones_at_once():
    ob, controls, chain = make_rig()
    for number in range(3):
        for bone in (*ob.data.bones, *controls.data.bones):
            bone.name = f"{bone.name}_{number}"
        rigs.updated()
    assert (chain.bone, chain.subtarget) == ("Bone.1_0_1_2", "Hand.0_0_1_2")
    assert_follows(ob, chain, "Hand.0_0_1_2")


def test_bones_in_one_place_are_told_apart_by_their_order():
    ob, _, chain = make_rig()
    rigs.add_bones(ob, rigs.ARM, prefix="Twin")
    twin = rigs.add_chain(ob, "Twin.1", chain.target, subtarget="Hand.0")
    rigs.updated()
    by_bone(ob, "Twin.1", "New Twin.1")
    rigs.updated()
    assert (chain.bone, twin.bone) == ("Bone.1", "New Twin.1")
    for name in ("Bone.1", "New Twin.1"):
        by_bone(ob, name, f"New {name}")
    rigs.updated()
    assert (chain.bone, twin.bone) == ("New Bone.1", "New New Twin.1")


def test_each_step_of_undo_and_redo_leaves_a_chain_that_works():
    ob, controls, _ = make_rig()
    select_objects(active=ob)
    bpy.ops.ed.undo_push(message="Before")
    bpy.context.scene.chain_ik.use_live = False
    by_bone(ob, "Bone.1", "Fore")
    # Nothing has followed yet in this step.
    bpy.ops.ed.undo_push(message="Rename")
    bpy.context.scene.chain_ik.use_live = True
    rigs.updated()
    controls.location.x += 0.1
    bpy.ops.ed.undo_push(message="Move")
    rigs.updated()
    for step, tip in (("undo", "Fore"), ("undo", "Bone.1"), ("redo", "Fore"), ("redo", "Fore")):
        getattr(bpy.ops.ed, step)()
        bpy.context.scene.chain_ik.use_live = True
        rigs.updated()
        ob = bpy.data.objects["Arm"]
        chain = ob.chain_ik.chains[0]
        assert chain.bone == tip, step
        assert chain.status.startswith("Reached"), (step, chain.status)


def test_a_bone_that_is_deleted_is_not_taken_for_another():
    ob, _, chain = make_rig()
    by_bone(ob, "Bone.1", "Fore")
    rigs.updated()
    rigs.enter(ob, "EDIT")
    ob.data.edit_bones.remove(ob.data.edit_bones["Fore"])
    added = ob.data.edit_bones.new("Other")
    added.head, added.tail, added.parent = (0, 0, 1), (0, 0.5, 1.5), ob.data.edit_bones["Bone.0"]
    rigs.enter(ob, "OBJECT")
    rigs.updated()
    assert chain.bone == "Fore"
    assert chain.status == "Bone 'Fore' no longer exists: choose another tip."


def test_a_name_that_is_given_anew_leads_nowhere_else():
    ob, _, chain = make_rig()
    by_bone(ob, "Bone.1", "Fore")
    rigs.updated()
    by_bone(ob, "Bone.0", "Bone.1")
    rigs.updated()
    assert chain.bone == "Fore"
    rigs.enter(ob, "EDIT")
    ob.data.edit_bones.remove(ob.data.edit_bones["Bone.1"])
    rigs.enter(ob, "OBJECT")
    rigs.updated()
    assert chain.bone == "Fore"


def test_a_chain_that_is_dragged_goes_on_from_where_it_is():
    ob, controls, chain = make_rig()
    chain.solver = "FOLLOW"
    for step in (0.2, -0.3, 0.1):
        controls.location.y += step
        rigs.updated()
    before = rigs.rotations(ob)
    by_bone(ob, "Bone.1", "Fore")
    rigs.updated()
    assert chain.bone == "Fore"
    np.testing.assert_allclose([*rigs.rotations(ob).values()], [*before.values()], atol=1e-6)


def test_a_chain_follows_what_was_renamed_while_the_extension_was_off():
    ob, controls, chain = make_rig()
    blender_ik_addon.unregister()
    by_bone(ob, "Bone.1", "Fore")
    by_bone(controls, "Hand.0", "Goal")
    blender_ik_addon.register()
    ob.update_tag()
    rigs.updated()
    chain = ob.chain_ik.chains[0]
    assert (chain.bone, chain.subtarget) == ("Fore", "Goal")
    assert_follows(ob, chain, "Goal")


def test_a_chain_follows_what_was_renamed_just_before_the_file_was_saved(tmp_path):
    ob, _, _ = make_rig()
    by_bone(ob, "Bone.1", "Fore")
    path = str(tmp_path / "renamed.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    ob = bpy.data.objects["Arm"]
    assert_follows(ob, ob.chain_ik.chains[0], "Hand.0")
    assert ob.chain_ik.chains[0].bone == "Fore"


def test_a_chain_made_after_others_were_removed_means_the_bones_of_its_time():
    ob, controls, _ = make_rig()
    ob.chain_ik.chains.clear()
    rigs.updated()
    by_bone(ob, "Bone.1", "Fore")
    by_bone(ob, "Bone.0", "Bone.1")
    chain = rigs.add_chain(ob, "Bone.1", controls, subtarget="Hand.0")
    rigs.updated()
    assert chain.bone == "Bone.1"


def test_a_render_right_after_a_rename_shows_the_chain_as_it_stands(tmp_path):
    ob, _, chain = make_rig()
    give(chain, "Bone.1", "HINGE_X", x=(10, 90))
    rigs.updated()
    before = rigs.tail(ob, "Bone.1", rigs.updated())
    by_bone(ob, "Bone.1", "Fore")
    seen = render_frames(tmp_path, lambda graph: rigs.tail(ob, "Fore", graph), (1, 2))
    assert (chain.bone, chain.joints[0].bone) == ("Fore", "Fore")
    np.testing.assert_allclose([*seen.values()], [before, before], atol=1e-6)


def test_a_name_that_a_script_sets_right_after_a_rename_means_the_present_bone():
    ob, controls, chain = make_rig()
    give(chain, "Bone.0", "BALL")
    by_bone(ob, "Bone.1", "Fore")
    by_bone(ob, "Bone.0", "Bone.1")
    by_bone(controls, "Hand.0", "Goal")
    by_bone(controls, "Elbow.0", "Hand.0")
    chain.bone, chain.subtarget = "Bone.1", "Hand.0"
    rigs.updated()
    assert (chain.bone, chain.subtarget) == ("Bone.1", "Hand.0")
    # The others have followed.
    assert (chain.joints[0].bone, chain.pole_subtarget) == ("Bone.1", "Hand.0")
