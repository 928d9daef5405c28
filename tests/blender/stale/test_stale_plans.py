"""Names changed, armatures exchanged, objects made and deleted: no old plan is ever used."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import OTHER, RIG, assert_right, chain, follow, named

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow


def let_go_by_mute(free: dict[str, tuple[float, ...]]) -> None:
    chain().mute = True
    bpy.context.view_layer.update()
    assert list(rigs.rotations(named("Rig")).values()) == list(free.values())


@pytest.mark.parametrize("bone", ["Early.0", "Above.0", "Bone.0", "Bone.1", "Leaf.0"])
def test_a_renamed_bone_beside_the_tip_changes_nothing(bone):
    free = warm_rigs.make_pair()
    before = warm_rigs.shown()
    named("Rig").data.bones[bone].name = "Zed"
    warm_rigs.assert_shown(warm_rigs.shown(), before)
    assert_right()
    let_go_by_mute(free)


def test_a_renamed_tip_is_driven_on_under_its_new_name():
    free = warm_rigs.make_pair()
    named("Rig").data.bones["Bone.2"].name = "Hand"
    assert_right([("Rig", "Hand", "Rig Target"), OTHER])
    assert chain().bone == "Hand"
    let_go_by_mute(free)


def test_bones_that_exchange_their_names_are_driven_as_before():
    warm_rigs.make_pair(start_from="REST")
    bones = named("Rig").data.bones
    tip, leaf = bones["Bone.2"], bones["Leaf.0"]
    tip.name, leaf.name, tip.name = "Between", "Bone.2", "Leaf.0"
    assert [bone.name for bone in bones["Bone.2"].parent_recursive[:2]] == ["Leaf.0", "Bone.1"]
    assert_right((("Rig", "Leaf.0", "Rig Target"), OTHER))


def rename_armature_object():
    named("Rig").name = "A"
    return ("A", "Bone.2", "Rig Target"), OTHER


def rename_target():
    named("Rig Target").name = "A"
    return ("Rig", "Bone.2", "A"), OTHER


def rename_data_chain_scene_and_layer():
    named("Rig").data.name, chain().name = "A", "Limb"
    bpy.context.scene.name, bpy.context.view_layer.name = "S", "L"
    return RIG, OTHER


def exchange_names(first: str, second: str) -> None:
    exchanged = named(first), named(second)
    exchanged[0].name = "Between"
    exchanged[1].name, exchanged[0].name = first, second
    assert named(first) == exchanged[1]


def exchange_names_of_targets():
    exchange_names(*warm_rigs.TARGETS)
    return ("Rig", "Bone.2", "Other Target"), ("Other", "Bone.2", "Rig Target")


def exchange_names_of_rigs():
    exchange_names("Rig", "Other")
    return ("Rig", "Bone.2", "Other Target"), ("Other", "Bone.2", "Rig Target")


RENAMES = (
    rename_armature_object,
    rename_target,
    rename_data_chain_scene_and_layer,
    exchange_names_of_targets,
    exchange_names_of_rigs,
)


@pytest.mark.parametrize("rename", RENAMES)
def test_renamed_objects_keep_their_chains(rename):
    warm_rigs.make_pair()
    before = [(ob, rigs.pose(ob, rigs.updated())) for ob in warm_rigs.armatures()]
    limbs = rename()
    bpy.context.view_layer.update()
    for ob, pose in before:
        rigs.assert_same_pose(ob, pose)
    assert_right(limbs, [target for _, _, target in limbs])


def make_other_armature() -> bpy.types.Armature:
    """Return bones of the same names in another order and of other lengths."""
    ob = rigs.make_armature("Donor")
    rigs.add_bones(ob, ((0.2, 0, 0), (0.2, 0.3, 0.7), (0, 0, 1.2), (0, 0.1, 2.0)))
    rigs.add_bones(ob, ((0, 0, 0), (0, 1, 0)), prefix="Early")
    data = ob.data
    bpy.data.objects.remove(ob)
    return data


def edit_one_bone_of_other():
    def lengthen(bones):
        bones["Bone.2"].tail.z += 0.3

    warm_rigs.edit_bones(lengthen, "Other")


def exchange_the_data():
    named("Rig").data = make_other_armature()


def exchange_the_data_there_and_back():
    own = named("Rig").data
    for data in (make_other_armature(), own):
        named("Rig").data = data
        bpy.context.view_layer.update()


def exchange_the_data_of_two_live_rigs():
    edit_one_bone_of_other()
    first, second = named("Rig"), named("Other")
    first.data, second.data = second.data, first.data


def share_the_data_of_the_other_rig():
    edit_one_bone_of_other()
    named("Rig").data = named("Other").data


def remap_the_data():
    named("Rig").data.user_remap(make_other_armature())


EXCHANGES = (
    exchange_the_data,
    exchange_the_data_there_and_back,
    exchange_the_data_of_two_live_rigs,
    share_the_data_of_the_other_rig,
    remap_the_data,
)


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_an_object_given_another_armature_is_solved_with_its_bones(exchange):
    warm_rigs.make_pair()
    exchange()
    assert_right()


def test_bones_edited_in_a_shared_armature_are_new_to_both_objects():
    warm_rigs.make_pair()
    named("Rig").data = named("Other").data
    assert_right()
    edit_one_bone_of_other()
    assert_right()
    named("Rig").data = named("Rig").data.copy()
    edit_one_bone_of_other()
    assert_right()


def test_other_objects_that_come_and_go_and_sort_first_disturb_nothing():
    warm_rigs.make_pair()
    rigs.make_empty("Bystander")
    assert_right()
    bpy.data.objects.remove(named("Bystander"))
    assert_right()
    rigs.make_empty("A")
    warm_rigs.make_limb("B", (0.5, -2.0, 0.0), seed=5)
    assert_right()
    follow(("B", "Bone.2", "B Target"))
    assert_right([RIG, OTHER, ("B", "Bone.2", "B Target")], (*warm_rigs.TARGETS, "B Target"))
    bpy.data.objects.remove(named("B"))
    bpy.data.objects.remove(named("A"))
    assert_right()


def test_a_rig_deleted_and_made_again_under_its_name_is_a_new_rig():
    warm_rigs.make_pair()
    bpy.data.objects.remove(named("Rig"))
    bpy.data.objects.remove(named("Rig Target"))
    assert_right([OTHER], ("Other Target",))
    warm_rigs.make_limb("Rig", (0.1, 0.1, 0.0), seed=8)
    follow(RIG, solver="FABRIK")
    assert_right()
