"""Own joints that cannot be used say so in one sentence; other chains go on."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest

from tests.blender.setups import jointed_rigs, rigs
from tests.blender.setups.jointed_rigs import give

FAR = (0.3, 0.2, 0.9)


def make_pair():
    """Return an object with two chains, one of three bones that shall have joints, and targets."""
    ob = rigs.make_rig(rigs.zigzag(3))
    rigs.add_bones(ob, ((2, 0, 0), (2, 0.1, 1), (2, 0, 2)), prefix="Other")
    targets = rigs.make_empty("Target", (0.9, 0.4, 1.8)), rigs.make_empty("Other", (2.5, 0.4, 1.3))
    chain = rigs.add_chain(ob, "Bone.2", targets[0], chain_count=3)
    rigs.add_chain(ob, "Other.1", targets[1], chain_count=2)
    bpy.context.view_layer.update()
    return ob, chain, targets


def assert_refused(ob, chain, targets, *words):
    """Check that a chain stands still and says why, and that the other one follows."""
    before = rigs.rotations(ob)
    targets[0].location.x += 0.2
    targets[1].location.x -= 0.2
    bpy.context.view_layer.update()
    after = rigs.rotations(ob)
    assert all(after[f"Bone.{i}"] == before[f"Bone.{i}"] for i in range(3))
    rigs.assert_reaches(ob, "Other.1", targets[1])
    for word in words:
        assert word in chain.status, chain.status
    assert re.fullmatch(r"[A-Z][^\n]*: [^\n]*[^.]\.", chain.status), "says what to do next"
    assert ". " not in re.sub(r"'[^']*'", "", chain.status).replace("0.99", ""), "one sentence"


def assert_follows(ob, target):
    target.location.y += 0.1
    bpy.context.view_layer.update()
    rigs.assert_reaches(ob, "Bone.2", target)


@pytest.mark.parametrize(
    ("kind", "settings", "word"),
    [
        ("HINGE_Z", {"z": (40, 30)}, "Z range"),
        ("BALL", {"y": (np.nan, 30)}, "'Min Y'"),
        ("SWING", {"use_slide": True, "slide_min": 1.0, "slide_max": 0.5}, "slide range"),
        ("BALL", {"use_slide": True, "slide_max": np.nan}, "'Max Slide'"),
        ("BALL", {"stiffness_x": np.nan}, "'Stiffness X'"),
    ],
)
def test_values_that_no_joint_can_have_name_the_bone(kind, settings, word):
    ob, chain, targets = make_pair()
    joint = give(chain, "Bone.1", kind, **settings)
    assert_refused(ob, chain, targets, "'Bone.1'", word)
    joint.kind, joint.stiffness_x, joint.use_slide = "FIXED", 0.0, False
    assert_follows(ob, targets[0])


def test_a_range_that_does_not_count_for_the_kind_is_not_looked_at():
    ob, chain, targets = make_pair()
    give(chain, "Bone.1", "HINGE_X", y=(40, 30), z=(5, 2))
    assert_follows(ob, targets[0])


def test_two_joints_of_one_bone_are_refused_also_if_one_comes_from_the_parent():
    ob, chain, targets = make_pair()
    give(chain, "Bone.1", "BALL")
    second = give(chain, "Bone.1", "CONE")
    assert_refused(ob, chain, targets, "'Bone.1'", "two joints")
    second.bone = "Bone.0"
    assert_follows(ob, targets[0])
    second.relative_to = "CHILD"
    assert_refused(ob, chain, targets, "'Bone.1'", "two joints")


def test_a_bone_may_have_a_joint_and_hold_its_child_with_another():
    ob, chain, targets = make_pair()
    give(chain, "Bone.0", "BALL", y=(-90, 90))
    give(chain, "Bone.0", "CONE", cone=80, relative_to="CHILD")
    assert_follows(ob, targets[0])


def test_the_last_bone_has_no_child_to_hold():
    ob, chain, targets = make_pair()
    joint = give(chain, "Bone.2", "CONE", relative_to="CHILD")
    assert_refused(ob, chain, targets, "'Bone.2'", "no child")
    joint.relative_to = "PARENT"
    joint.cone_angle = 3.0
    assert_follows(ob, targets[0])


def test_a_bone_without_a_parent_or_its_rotation_cannot_count_from_it():
    ob, chain, targets = make_pair()
    joint = give(chain, "Bone.0", "BALL", relative_to="PARENT")
    assert_refused(ob, chain, targets, "'Bone.0'", "no parent")
    joint.bone = "Bone.1"
    assert_follows(ob, targets[0])
    ob.data.bones["Bone.1"].use_inherit_rotation = False
    assert_refused(ob, chain, targets, "'Bone.1'", "inherit")


def test_a_joint_without_a_bone_is_refused():
    ob, chain, targets = make_pair()
    give(chain, "", "BALL")
    assert_refused(ob, chain, targets, "no bone")


def test_a_joint_of_a_bone_outside_the_chain_waits_and_the_status_tells():
    ob, chain, targets = make_pair()
    give(chain, "Bone.0", "FIXED")
    give(chain, "Other.0", "FIXED")
    chain.chain_count = 2
    bpy.context.view_layer.update()
    assert "have no effect: Bone.0, Other.0" in chain.status
    assert np.isfinite(rigs.pose(ob)).all()
    chain.joints.remove(1)
    chain.chain_count = 3
    targets[0].location = (0.5, 0.3, 1.4)
    bpy.context.view_layer.update()
    assert "no effect" not in chain.status
    assert jointed_rigs.swing(jointed_rigs.local(ob, "Bone.0")) < 1e-6, "it counts again"


def test_a_joint_of_a_bone_that_is_gone_is_refused():
    ob, chain, targets = make_pair()
    give(chain, "Bone.7", "FIXED")
    assert_refused(ob, chain, targets, "'Bone.7'", "no longer exists")


def assert_still_fixed(ob, chain, targets, bone):
    targets[0].location = (0.6, 0.7, 0.9)
    bpy.context.view_layer.update()
    assert np.abs(rigs.pose(ob)).max() < 10.0
    np.testing.assert_allclose(jointed_rigs.local(ob, bone), np.eye(3), atol=1e-6)
    assert not re.search("no longer exists|have no effect", chain.status), chain.status


def test_a_joint_follows_the_renaming_of_its_bone():
    ob, chain, targets = make_pair()
    give(chain, "Bone.1", "FIXED")
    bpy.context.view_layer.update()
    before = rigs.pose(ob)
    ob.data.bones["Bone.1"].name = "Knee"
    bpy.context.view_layer.update()
    rigs.assert_same_pose(ob, before)
    assert_still_fixed(ob, chain, targets, "Knee")


@pytest.mark.parametrize("takes_anew", ["mute", "store", "chain_count"])
def test_a_renamed_joint_is_kept_when_the_stored_pose_is_taken_anew(takes_anew):
    ob, chain, targets = make_pair()
    give(chain, "Bone.1", "FIXED")
    bpy.context.view_layer.update()
    ob.data.bones["Bone.1"].name = "Knee"
    bpy.context.view_layer.update()
    if takes_anew == "mute":
        chain.mute = True
        bpy.context.view_layer.update()
        chain.mute = False
    elif takes_anew == "store":
        bpy.context.view_layer.objects.active = ob
        bpy.ops.pose.chain_ik_store()
    else:
        chain.chain_count = 2
    bpy.context.view_layer.update()
    assert chain.joints[0].bone == "Knee"
    assert_still_fixed(ob, chain, targets, "Knee")


def test_a_renamed_tip_keeps_its_joint():
    ob, chain, targets = make_pair()
    give(chain, "Bone.2", "FIXED")
    bpy.context.view_layer.update()
    ob.data.bones["Bone.2"].name = "Hand"
    bpy.context.view_layer.update()
    assert (chain.bone, chain.joints[0].bone) == ("Hand", "Hand")
    assert_still_fixed(ob, chain, targets, "Hand")
