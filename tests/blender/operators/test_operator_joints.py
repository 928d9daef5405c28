"""The operators on own joints: copying moves nothing, adding takes over, removing gives back."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

copy = bpy.ops.pose.chain_ik_joints_copy
add = bpy.ops.pose.chain_ik_joint_add
remove = bpy.ops.pose.chain_ik_joint_remove


def make_limited(seed: int, count: int = 4, **settings: object):
    """Return an object whose bones have IK limits, locks and stiffness at random, and a chain."""
    rng = make_rng(seed)
    ob = rigs.make_rig(rigs.zigzag(count, seed), rolls=rng.uniform(-1, 1, count))
    for bone in ob.pose.bones:
        for axis in "xyz":
            setattr(bone, f"lock_ik_{axis}", rng.uniform() < 0.25)
            setattr(bone, f"use_ik_limit_{axis}", rng.uniform() < 0.6)
            setattr(bone, f"ik_min_{axis}", rng.uniform(-2.0, 0.0))
            setattr(bone, f"ik_max_{axis}", rng.uniform(0.0, 2.0))
            setattr(bone, f"ik_stiffness_{axis}", rng.choice((0.0, 0.4, 0.999)))
    target = rigs.make_empty("Target", np.add((0.0, 0.0, 1.5), rng.uniform(-1.0, 1.0, 3)))
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", target, **settings)
    select_objects(active=ob)
    bpy.context.view_layer.update()
    return ob, chain, target


@pytest.mark.parametrize("solver", ["NEWTON", "FABRIK", "CCD"])
@pytest.mark.parametrize("seed", range(8))
def test_copying_the_bones_limits_does_not_move_the_pose(seed, solver):
    ob, chain, target = make_limited(seed, solver=solver)
    poses = []
    for has_own in (False, True):
        if has_own:
            press(copy)
            # Nothing but the copies may count from here on.
            for bone in ob.pose.bones:
                for axis in "xyz":
                    setattr(bone, f"lock_ik_{axis}", axis == "x")
                    setattr(bone, f"use_ik_limit_{axis}", False)
                    setattr(bone, f"ik_stiffness_{axis}", 0.0)
        for location in ((0.6, 0.5, 1.2), (-0.9, 0.4, 2.0), (0.1, -1.2, 1.0)):
            target.location = location
            bpy.context.view_layer.update()
            poses.append(rigs.pose(ob))
    np.testing.assert_array_equal(poses[:3], poses[3:])
    assert len(chain.joints) == 4


def test_copying_replaces_the_joints_that_there_are_and_sets_no_defaults():
    ob, chain, _ = make_limited(0)
    for bone in ob.pose.bones[1:]:
        for axis in "xyz":
            setattr(bone, f"lock_ik_{axis}", False)
            setattr(bone, f"use_ik_limit_{axis}", False)
            setattr(bone, f"ik_stiffness_{axis}", 0.0)
    give(chain, "Bone.3", "FIXED")
    ob.pose.bones["Bone.2"].lock_ik_y = True
    press(copy)
    assert [joint.bone for joint in chain.joints] == ["Bone.0", "Bone.2"]
    joint = chain.joints[1]
    assert joint.kind == "SWING"
    is_set = {name for name in joint.bl_rna.properties.keys() if joint.is_property_set(name)}
    assert is_set <= {"name", "rna_type", "bone", "kind"}


def test_without_anything_to_copy_the_joints_stay():
    ob, _ = rigs.make_arm()
    select_objects(active=ob)
    chain = ob.chain_ik.chains[0]
    give(chain, "Bone.1", "CONE")
    assert "to copy" in refusal(copy)
    assert [joint.kind for joint in chain.joints] == ["CONE"]


def test_adding_takes_over_the_active_bone_s_settings_and_does_not_move_the_pose():
    ob, chain, _ = make_limited(5)
    before = rigs.pose(ob)
    for number in (2, 0):
        select_bones(ob, [f"Bone.{number}"])
        press(add)
        np.testing.assert_array_equal(rigs.pose(ob), before)
    assert [joint.bone for joint in chain.joints] == ["Bone.2", "Bone.0"]
    assert chain.active_joint_index == 1
    assert "already" in refusal(add)


def test_adding_asks_for_a_bone_of_the_chain():
    ob, _ = rigs.make_arm()
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Apart")
    select_bones(ob, ["Apart.0"])
    assert "'Apart.0' is not in this chain" in refusal(add)
    ob.data.bones.active = None
    assert "Click the bone" in refusal(add)


def test_removing_takes_the_one_in_the_list_and_the_bone_s_own_limits_hold_again():
    ob, chain, _ = make_limited(5)
    before = rigs.pose(ob)
    for bone in ("Bone.1", "Bone.2", "Bone.3"):
        give(chain, bone, "FIXED")
    bpy.context.view_layer.update()
    assert np.abs(rigs.pose(ob) - before).max() > 1e-3
    chain.active_joint_index = 1
    press(remove)
    assert [joint.bone for joint in chain.joints] == ["Bone.1", "Bone.3"]
    press(remove)
    press(remove)
    np.testing.assert_array_equal(rigs.pose(ob), before)
    assert "Choose a joint" in refusal(remove)


@pytest.mark.parametrize("operator", [copy, add, remove])
def test_without_a_chain_they_say_what_to_select(operator):
    select_objects(active=rigs.make_rig())
    assert "has a chain" in refusal(operator)


@pytest.mark.parametrize("operator", [copy, add, remove])
def test_each_is_undone_and_redone_in_one_step(operator):
    ob, chain, _ = make_limited(5)
    give(chain, "Bone.1", "CONE", x=(1, 2))
    select_bones(ob, ["Bone.2"])
    states = []

    def note():
        chain = bpy.data.objects["Rig"].chain_ik.chains[0]
        bones = [(joint.bone, joint.kind) for joint in chain.joints]
        states.append((bones, rigs.pose(bpy.data.objects["Rig"]).tolist()))

    bpy.ops.ed.undo_push(message="made")
    note()
    press(operator)
    note()
    bpy.ops.ed.undo()
    note()
    bpy.ops.ed.redo()
    note()
    assert states[0] == states[2]
    assert states[1] == states[3]
    assert states[0][0] != states[1][0]
