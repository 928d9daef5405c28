"""Operators on joints of chains: adding copies limits, removing restores them, and copying."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

copy = bpy.ops.pose.chain_ik_joints_copy
add = bpy.ops.pose.chain_ik_joint_add
remove = bpy.ops.pose.chain_ik_joint_remove
to_selected = bpy.ops.pose.chain_ik_joint_to_selected


def make_limited(seed: int, count: int = 4, **settings: object):
    """Return an object with random IK limits, locks and stiffness, its chain, and the target."""
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
    return ob, chain, target


@pytest.mark.parametrize(("seed", "solver"), [*enumerate(["NEWTON", "FABRIK", "CCD", "NEWTON"])])
def test_copying_the_bones_limits_does_not_move_the_pose(seed, solver):
    ob, chain, target = make_limited(seed, solver=solver)
    poses = []
    for has_joints in (False, True):
        if has_joints:
            press(copy)
            # From here on, only the copies may have an effect.
            for bone in ob.pose.bones:
                limit(bone, lock_x=True)
        for location in ((0.6, 0.5, 1.2), (-0.9, 0.4, 2.0), (0.1, -1.2, 1.0)):
            rigs.change(target, location=location)
            poses.append(rigs.pose(ob))
    np.testing.assert_array_equal(poses[:3], poses[3:])
    assert len(chain.joints) == 4


def limit(bone: bpy.types.PoseBone, *, lock_x: bool) -> None:
    """Remove the limits, stiffness and locks of a bone; with ``lock_x``, lock its X axis."""
    for axis in "xyz":
        setattr(bone, f"lock_ik_{axis}", lock_x and axis == "x")
        setattr(bone, f"use_ik_limit_{axis}", False)
        setattr(bone, f"ik_stiffness_{axis}", 0.0)


def test_copying_replaces_all_joints_and_sets_no_defaults():
    ob, chain, _ = make_limited(0)
    for bone in ob.pose.bones[1:]:
        limit(bone, lock_x=False)
    add_joint(chain, "Bone.3", "FIXED")
    ob.pose.bones["Bone.2"].lock_ik_y = True
    press(copy)
    assert [joint.bone for joint in chain.joints] == ["Bone.0", "Bone.2"]
    joint = chain.joints[1]
    assert joint.kind == "SWING"
    is_set = {name for name in joint.bl_rna.properties.keys() if joint.is_property_set(name)}
    assert is_set <= {"name", "rna_type", "bone", "kind"}
    for bone in ob.pose.bones:
        limit(bone, lock_x=False)
    assert refusal(copy) == "No bone of this chain has IK limits, locks or stiffness to copy."
    assert len(chain.joints) == 2


def test_adding_gives_selected_bones_of_the_chain_their_settings_and_counts_the_others(capfd):
    ob, chain, _ = make_limited(5)
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Apart")
    before = rigs.pose(ob)
    select_bones(ob, ["Bone.3", "Bone.1", "Apart.0"])
    press(add)
    output = capfd.readouterr().out
    assert "Joints added: 2" in output
    assert "Selected bones that are not in this chain: 1" in output
    assert [joint.bone for joint in chain.joints] == ["Bone.1", "Bone.3"]
    assert chain.active_joint_index == 1
    np.testing.assert_array_equal(rigs.pose(ob), before)
    select_bones(ob, ["Bone.0", "Bone.1", "Bone.2", "Bone.3"])
    press(add)
    assert [joint.bone for joint in chain.joints] == ["Bone.1", "Bone.3", "Bone.0", "Bone.2"]
    np.testing.assert_array_equal(rigs.pose(ob), before)
    assert refusal(add).endswith("already has a joint: change this joint in the list.")


def make_two_sides(*, is_mirrored: bool = True):
    """Return a rig with an arm of two bones and its chain on both sides, and the left chain.

    If the sides are not mirrored, the bones of the right arm have other rolls.
    """
    ob = rigs.make_armature()
    for side, x in (("L", 1.0), ("R", -1.0)):
        joints = np.array([(0.2, 0, 1.5), (0.6, 0.1, 1.4), (0.9, 0, 1.1)]) * (x, 1, 1)
        rolls = np.array([0.4, -0.3]) * x + (0.0 if is_mirrored or side == "L" else 0.5)
        rigs.add_bones(ob, joints, names=(f"upper.{side}", f"lower.{side}"), rolls=rolls)
        rigs.add_chain(ob, f"lower.{side}", rigs.make_empty(side, joints[-1]), name=side)
    bpy.context.view_layer.update()
    return ob, ob.chain_ik.chains[0]


JOINT = {"x": (-10, 70), "y": (-20, 30), "z": (-5, 50), "stiffness_z": 0.25}


def ranges(joint: bpy.types.PropertyGroup) -> list[float]:
    names = [f"{end}_{axis}" for axis in "xyz" for end in ("min", "max")]
    return np.degrees([getattr(joint, name) for name in names]).round(3).tolist()


@pytest.mark.parametrize("has_joints", [False, True])
def test_a_joint_is_copied_to_selected_bones_in_all_chains_and_mirrored_across(has_joints):
    ob, chain = make_two_sides()
    add_joint(chain, "lower.L", "BALL", **JOINT)
    if has_joints:
        add_joint(chain, "upper.L", "CONE", cone=20, use_slide=True)
        add_joint(ob.chain_ik.chains[1], "lower.R", "ELBOW_Z", z=(-1, 1), stiffness_x=0.5)
    select_bones(ob, ["upper.L", "lower.R", "lower.L"])
    press(to_selected)
    left, right = ob.chain_ik.chains
    assert [joint.bone for joint in left.joints] == ["lower.L", "upper.L"]
    assert [joint.bone for joint in right.joints] == ["lower.R"]
    assert ranges(left.joints[1]) == [-10, 70, -20, 30, -5, 50]
    assert ranges(right.joints[0]) == [-10, 70, -30, 20, -50, 5]
    for joint in (left.joints[1], right.joints[0]):
        assert (joint.kind, joint.stiffness_x, joint.stiffness_z) == ("BALL", 0.0, 0.25)
        assert not joint.use_slide
        assert all(getattr(joint, f"use_limit_{axis}") for axis in "xyz")


def test_copies_across_are_left_out_and_named_where_axes_differ():
    ob, chain = make_two_sides(is_mirrored=False)
    add_joint(chain, "lower.L", "BALL", **JOINT)
    select_bones(ob, ["lower.R", "lower.L"])
    assert refusal(to_selected) == (
        "Joints left out because axes differ on the other side: lower.R."
    )
    assert not ob.chain_ik.chains[1].joints


def test_a_joint_of_the_next_bone_is_copied_as_one_and_never_twice():
    ob, chain, _ = make_limited(5)
    add_joint(chain, "Bone.0", "HINGE_X", x=(-90, 0), relative_to="CHILD")
    add_joint(chain, "Bone.2", "CONE")
    select_bones(ob, ["Bone.1", "Bone.3", "Bone.0"])
    press(to_selected)
    assert [(joint.bone, joint.kind, joint.relative_to) for joint in chain.joints] == [
        ("Bone.0", "HINGE_X", "CHILD"),
        ("Bone.1", "HINGE_X", "CHILD"),
    ]
    assert "no longer" not in chain.status
    assert "Two joints" not in chain.status
    select_bones(ob, ["Bone.3", "Bone.0"])
    assert "no next bone" in refusal(to_selected)


def test_without_an_active_bone_the_joint_that_the_list_shows_is_copied():
    ob, chain = make_two_sides()
    add_joint(chain, "lower.L", "CONE")
    select_bones(ob, ["upper.L"])
    ob.data.bones.active = None
    press(to_selected)
    assert [joint.kind for joint in chain.joints] == ["CONE", "CONE"]


def test_messages_ask_for_missing_bones():
    ob, _, _ = make_limited(5)
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Apart")
    select_bones(ob, ["Apart.0"])
    assert "'Apart.0' is not in this chain" in refusal(add)
    ob.data.bones.active = None
    assert "Click the bone" in refusal(add)
    select_bones(ob, ["Bone.1"])
    assert "Click a bone that has a joint" in refusal(to_selected)
    press(add)
    assert "select other bones" in refusal(to_selected)
    select_bones(ob, ["Apart.0"])
    assert refusal(to_selected) == "Left out because no chain drives these bones: Apart.0."
    select_bones(ob, [])
    assert "select the bones that should get the joint" in refusal(to_selected)


def test_remove_deletes_the_joint_in_the_list_and_the_limits_of_the_bone_hold_again():
    ob, chain, _ = make_limited(5)
    before = rigs.pose(ob)
    for bone in ("Bone.1", "Bone.2", "Bone.3"):
        add_joint(chain, bone, "FIXED")
    bpy.context.view_layer.update()
    assert np.abs(rigs.pose(ob) - before).max() > 1e-3
    chain.active_joint_index = 1
    press(remove)
    assert [joint.bone for joint in chain.joints] == ["Bone.1", "Bone.3"]
    press(remove)
    press(remove)
    np.testing.assert_array_equal(rigs.pose(ob), before)
    assert "Choose a joint" in refusal(remove)
