"""Whoever poses a bone of a live chain by hand is told why it does not stay."""

import bpy
import pytest

from tests.blender.setups import rigs, tree_rigs

BENT = ((0, 0, 0), (0, -0.3, 1), (0, 0, 2))
TOLD = "This chain poses {}, so it went back: move the target, or switch to FK to pose by hand."
TURNED = (0.8, 0.6, 0.0, 0.0)


def make_limb(**settings: object) -> tuple[bpy.types.Object, bpy.types.Object]:
    ob = rigs.make_rig(BENT)
    target, _ = rigs.follow(ob, "Bone.1", (0.4, 0.5, 1.2), **settings)
    rigs.updated()
    return ob, target


def status(ob: bpy.types.Object) -> str:
    return ob.chain_ik.chains[0].status


@pytest.mark.parametrize("solver", ["TWO_BONE", "NEWTON", "FORCE"])
def test_a_bone_that_is_turned_by_hand_is_told_of_until_the_target_moves(solver):
    ob, target = make_limb(solver=solver)
    solved = rigs.pose(ob)
    before = status(ob)
    assert before.startswith("Reached")
    for turned in (TURNED, (1.0, 0.0, 0.0, 0.0)):
        rigs.change(ob.pose.bones["Bone.1"], rotation_quaternion=turned)
        assert status(ob).startswith(TOLD.format("Bone.1"))
        assert status(ob).endswith(f" {before}")
    rigs.updated()
    assert (rigs.pose(ob) == solved).all()
    assert status(ob).startswith(TOLD.format("Bone.1"))
    target.location.x += 0.1
    rigs.updated()
    assert status(ob).startswith("Reached")
    rigs.change(ob.pose.bones["Bone.1"], rotation_quaternion=TURNED)
    assert "by hand" in status(ob)
    ob.chain_ik.chains[0].iterations += 1
    rigs.updated()
    assert status(ob).startswith("Reached")


@pytest.mark.parametrize("settings", [{"start_from": "CURRENT"}, {"solver": "FOLLOW"}])
def test_chains_that_go_on_from_what_stands_there_take_it(settings):
    ob, _ = make_limb(**settings)
    rigs.change(ob.pose.bones["Bone.1"], rotation_quaternion=TURNED)
    assert "by hand" not in status(ob)


def test_keys_that_play_are_nobody_s_hand():
    ob, _ = make_limb()
    bone = ob.pose.bones["Bone.1"]
    rigs.key(bone, "rotation_quaternion", {1: (1.0, 0.0, 0.0, 0.0), 10: TURNED})
    for frame in (3, 7):
        bpy.context.scene.frame_set(frame)
        rigs.updated()
        assert "by hand" not in status(ob)
        # What plays is evaluated again, without another frame.
        ob.update_tag(refresh={"TIME"})
        rigs.updated()
        assert "by hand" not in status(ob)


KEYED = "Auto Keying has keyed it: delete that key"


def test_a_key_that_auto_keying_has_set_is_told_of_where_it_is():
    ob, target = make_limb()
    scene = bpy.context.scene
    scene.tool_settings.use_keyframe_insert_auto = True
    scene.frame_set(4)
    rigs.updated()
    bone = ob.pose.bones["Bone.1"]
    # Another bone, another channel and the object have keys.
    ob.pose.bones["Bone.0"].keyframe_insert("rotation_quaternion")
    ob.keyframe_insert("location")
    rigs.updated()
    for path in ("location", "rotation_quaternion"):
        assert KEYED not in status(ob)
        # As Auto Keying does once the mouse lets go.
        rigs.change(bone, rotation_quaternion=TURNED)
        bone.keyframe_insert(path)
        rigs.updated()
        assert status(ob).startswith(TOLD.format("Bone.1"))
    assert status(ob).endswith(KEYED)
    scene.tool_settings.use_keyframe_insert_auto = False
    assert KEYED not in status(ob)
    scene.tool_settings.use_keyframe_insert_auto = True
    target.location.x += 0.1
    rigs.updated()
    assert status(ob).startswith("Reached")
    # It was there before what is posed now.
    rigs.change(bone, rotation_quaternion=TURNED)
    assert status(ob).startswith(TOLD.format("Bone.1"))
    assert KEYED not in status(ob)


@pytest.mark.parametrize("change", ["use_tail", "bone", "mute another"])
def test_a_pose_that_chains_give_back_is_nobody_s_hand(change):
    rig = tree_rigs.make_y().follow()
    rigs.change(rig.target("Left"), location=(-0.6, 0.3, 1.0))
    left, right = rig.chain("Left"), rig.chain("Right")
    if change == "mute another":
        right.mute = True
    else:
        # What is set again gives the bones their stored pose, and takes it anew.
        setattr(left, change, getattr(left, change))
    for _ in range(2):
        rigs.updated()
        assert "by hand" not in left.status
        assert "by hand" not in right.status
    # Of a tree only the chains tell that pose the bone.
    rigs.change(rig.ob.pose.bones["Left.1"], rotation_quaternion=TURNED)
    assert left.status.startswith(TOLD.format("Left.1"))
    assert "by hand" not in right.status
