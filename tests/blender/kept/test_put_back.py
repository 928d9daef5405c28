"""Status of a live chain whose bone is posed by hand: it says why the pose does not stay."""

import bpy
import pytest

from tests.blender.body.human_bodies import make_character
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.selecting import press, select_bones

BENT = ((0, 0, 0), (0, -0.3, 1), (0, 0, 2))
WARNING = (
    "This chain poses {}, so your change was reverted: move the target, or switch to FK to pose by"
    " hand."
)
TURNED = (0.8, 0.6, 0.0, 0.0)


def make_limb(**settings: object) -> tuple[bpy.types.Object, bpy.types.Object]:
    ob = rigs.make_rig(BENT)
    target, _ = rigs.follow(ob, "Bone.1", (0.4, 0.5, 1.2), **settings)
    rigs.updated()
    return ob, target


def first_status(ob: bpy.types.Object) -> str:
    return ob.chain_ik.chains[0].status


@pytest.mark.parametrize("solver", ["TWO_BONE", "NEWTON", "FORCE"])
def test_a_bone_that_is_turned_by_hand_is_reported_until_the_target_moves(solver):
    ob, target = make_limb(solver=solver)
    solved = rigs.pose(ob)
    before = first_status(ob)
    assert before.startswith("Reached")
    for turned in (TURNED, (1.0, 0.0, 0.0, 0.0)):
        rigs.change(ob.pose.bones["Bone.1"], rotation_quaternion=turned)
        assert first_status(ob).startswith(WARNING.format("Bone.1"))
        assert first_status(ob).endswith(f" {before}")
    rigs.updated()
    assert (rigs.pose(ob) == solved).all()
    assert first_status(ob).startswith(WARNING.format("Bone.1"))
    rigs.shift(target, x=0.1)
    assert first_status(ob).startswith("Reached")
    rigs.change(ob.pose.bones["Bone.1"], rotation_quaternion=TURNED)
    assert "by hand" in first_status(ob)
    ob.chain_ik.chains[0].iterations += 1
    rigs.updated()
    assert first_status(ob).startswith("Reached")


@pytest.mark.parametrize("settings", [{"start_from": "CURRENT"}, {"solver": "FOLLOW"}])
def test_chains_that_start_from_the_present_pose_accept_it(settings):
    ob, _ = make_limb(**settings)
    rigs.change(ob.pose.bones["Bone.1"], rotation_quaternion=TURNED)
    assert "by hand" not in first_status(ob)


def test_keys_that_play_are_not_taken_for_a_pose_by_hand():
    ob, _ = make_limb()
    bone = ob.pose.bones["Bone.1"]
    rigs.key(bone, "rotation_quaternion", {1: (1.0, 0.0, 0.0, 0.0), 10: TURNED})
    for _ in rigs.each_frame((3, 7)):
        rigs.updated()
        assert "by hand" not in first_status(ob)
        # The animation is evaluated again at the same frame.
        ob.update_tag(refresh={"TIME"})
        rigs.updated()
        assert "by hand" not in first_status(ob)


KEY_WARNING = "Auto Keying has keyed it: delete that key"


def test_a_key_of_auto_keying_is_reported_if_it_is_on_the_posed_channel():
    ob, target = make_limb()
    scene = bpy.context.scene
    scene.tool_settings.use_keyframe_insert_auto = True
    scene.frame_set(4)
    rigs.updated()
    bone = ob.pose.bones["Bone.1"]
    # These keys are on another bone, and on the object.
    ob.pose.bones["Bone.0"].keyframe_insert("rotation_quaternion")
    ob.keyframe_insert("location")
    rigs.updated()
    for path in ("location", "rotation_quaternion"):
        assert KEY_WARNING not in first_status(ob)
        # Auto Keying inserts the key when the mouse button is released.
        rigs.change(bone, rotation_quaternion=TURNED)
        bone.keyframe_insert(path)
        rigs.updated()
        assert first_status(ob).startswith(WARNING.format("Bone.1"))
    assert first_status(ob).endswith(KEY_WARNING)
    scene.tool_settings.use_keyframe_insert_auto = False
    assert KEY_WARNING not in first_status(ob)
    scene.tool_settings.use_keyframe_insert_auto = True
    rigs.shift(target, x=0.1)
    assert first_status(ob).startswith("Reached")
    # The key is older than the present pose by hand.
    rigs.change(bone, rotation_quaternion=TURNED)
    assert first_status(ob).startswith(WARNING.format("Bone.1"))
    assert KEY_WARNING not in first_status(ob)


def test_a_pose_pasted_flipped_is_not_reported_where_it_is_the_pose_of_the_chains(rigify):
    ob = make_character("human")
    rigs.change(ob.pose.bones["Arm Target.L"], location=(0.1, 0.2, 0.05))
    select_bones(ob, ob.data.bones.keys())
    press(bpy.ops.pose.copy)
    press(bpy.ops.pose.paste, flipped=True)
    rigs.updated()
    assert ob.pose.bones["Arm Target.R"].location.length > 0.2
    assert not [chain.name for chain in ob.chain_ik.chains if "by hand" in chain.status]
    # Also where no control moves.
    press(bpy.ops.pose.paste, flipped=True)
    rigs.updated()
    assert not [chain.name for chain in ob.chain_ik.chains if "by hand" in chain.status]


@pytest.mark.parametrize("change", ["use_tail", "bone", "mute another"])
def test_a_pose_that_chains_restore_is_not_taken_for_a_pose_by_hand(change):
    rig = tree_rigs.make_y().follow()
    rigs.change(rig.target("Left"), location=(-0.6, 0.3, 1.0))
    left, right = rig.chain("Left"), rig.chain("Right")
    if change == "mute another":
        right.mute = True
    else:
        # Setting it again restores the stored pose of the bones, and stores it once more.
        setattr(left, change, getattr(left, change))
    for _ in range(2):
        rigs.updated()
        assert "by hand" not in left.status
        assert "by hand" not in right.status
    # In a tree only the chains that pose the bone report it.
    rigs.change(rig.ob.pose.bones["Left.1"], rotation_quaternion=TURNED)
    assert left.status.startswith(WARNING.format("Left.1"))
    assert "by hand" not in right.status
