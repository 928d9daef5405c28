"""Append, link, override, duplicate, rename, delete: chains go on, or say why they cannot."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import reopen

NEAR, FAR = (0.6, 0.5, 1.2), (-0.7, 0.4, 0.8)


@pytest.fixture
def library(tmp_path) -> str:
    """Path of a file with a rig ``Rig``, its chain and its target, in a collection ``Kit``."""
    ob, target = rigs.make_arm(NEAR)
    kit = bpy.data.collections.new("Kit")
    bpy.context.scene.collection.children.link(kit)
    for member in (ob, target):
        kit.objects.link(member)
        bpy.context.scene.collection.objects.unlink(member)
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    return path


def load(path: str, *, link: bool) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Bring rig and target of the library into the scene."""
    with bpy.data.libraries.load(path, link=link) as (_found, wanted):
        wanted.objects = ["Rig", "Rig Target"]
    for ob in wanted.objects:
        bpy.context.scene.collection.objects.link(ob)
    bpy.context.view_layer.update()
    return tuple(wanted.objects)


def assert_follows(ob, target) -> None:
    for location in (FAR, NEAR):
        target.location = location
        rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())


def test_an_appended_rig_follows_its_target(library):
    ob, target = load(library, link=False)
    assert ob.chain_ik.chains[0].target == target
    assert_follows(ob, target)


def test_a_linked_rig_is_refused_in_words_and_left_alone(library):
    ob, target = load(library, link=True)
    before = rigs.rotations(ob)
    mover = rigs.make_empty("Mover")
    for location in (NEAR, FAR):
        mover.location = location
        ob.update_tag()
        bpy.context.view_layer.update()
        bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
    assert rigs.rotations(ob) == before
    assert target.library is not None
    status = ob.chain_ik.chains[0].status
    assert "linked" in status
    assert "override" in status


def reopened(tmp_path) -> bpy.types.Object:
    """Save, open again, and return the override."""
    reopen(tmp_path / "user.blend")
    return next(o for o in bpy.data.objects if o.type == "ARMATURE" and o.override_library)


@pytest.mark.parametrize("is_added", [False, True])
def test_a_chain_of_an_override_also_an_added_one_follows_a_local_target(
    library, tmp_path, is_added
):
    linked, _target = load(library, link=True)
    ob = linked.override_create(remap_local_usages=True)
    target = rigs.make_empty("Local Target", NEAR)
    if is_added:
        ob.chain_ik.chains[0].mute = True
        rigs.add_chain(ob, "Bone.1", target, name="Mine")
    else:
        ob.chain_ik.chains[0].target = target
    assert_follows(ob, target)
    ob, target = reopened(tmp_path), bpy.data.objects["Local Target"]
    assert ob.chain_ik.chains[-1].target == target
    assert_follows(ob, target)


@pytest.mark.parametrize("is_operator", [False, True])
def test_a_copied_rig_has_a_chain_of_its_own(is_operator):
    ob, target = rigs.make_arm(NEAR)
    other = rigs.make_empty("Other", (0.9, 0.3, 1.1))
    if is_operator:
        for member in (ob, target):
            member.select_set(True)
        bpy.context.view_layer.objects.active = ob
        bpy.ops.object.duplicate()
        copy, other = bpy.data.objects["Rig.001"], bpy.data.objects["Rig Target.001"]
        other.location = FAR
    else:
        copy = rigs.link(ob.copy())
        copy.location.x = 0.4
        for location in (FAR, NEAR):
            target.location = location
            rigs.assert_reaches(copy, "Bone.1", target, rigs.updated())
        copy.chain_ik.chains[0].target = other
    depsgraph = rigs.updated()
    rigs.assert_reaches(ob, "Bone.1", target, depsgraph)
    rigs.assert_reaches(copy, "Bone.1", other, depsgraph)


def test_muting_a_copy_gives_the_copy_its_pose_back_and_leaves_the_first_alone():
    ob = rigs.make_rig()
    rigs.turn_bones(ob)
    free = rigs.rotations(ob)
    target = rigs.make_empty()
    rigs.add_chain(ob, "Bone.1", target)
    bpy.context.view_layer.update()
    copy = rigs.link(ob.copy())
    copy.chain_ik.chains[0].mute = True
    bpy.context.view_layer.update()
    assert rigs.rotations(copy) == free
    rigs.assert_reaches(ob, "Bone.1", target)


def test_renaming_rig_target_and_chain_changes_nothing():
    ob, target = rigs.make_arm(NEAR)
    before = rigs.pose(ob)
    ob.name, target.name, ob.data.name = "Renamed", "Goal", "Bones"
    ob.chain_ik.chains[0].name = "Limb"
    rigs.assert_same_pose(ob, before)
    assert_follows(ob, target)


def make_turned_arm() -> tuple[bpy.types.Object, bpy.types.Object, list[tuple[float, ...]]]:
    ob = rigs.make_rig(modes=("QUATERNION", "ZXY"))
    rigs.turn_bones(ob)
    free = list(rigs.rotations(ob).values())
    target = rigs.make_empty(location=NEAR)
    rigs.add_chain(ob, "Bone.1", target)
    bpy.context.view_layer.update()
    return ob, target, free


def test_renamed_bones_are_found_and_the_stored_pose_is_kept():
    ob, target, free = make_turned_arm()
    chain = ob.chain_ik.chains[0]
    ob.data.bones["Bone.0"].name = 'Upper "left" \\ arm'
    ob.data.bones["Bone.1"].name = "Hand"
    target.location = FAR
    rigs.assert_reaches(ob, "Hand", target, rigs.updated())
    assert chain.bone == "Hand"
    chain.mute = True
    bpy.context.view_layer.update()
    assert list(rigs.rotations(ob).values()) == free


def delete_by_script(target):
    bpy.data.objects.remove(target)


def delete_by_operator(target):
    bpy.ops.object.select_all(action="DESELECT")
    target.select_set(True)
    bpy.context.view_layer.objects.active = target
    bpy.ops.object.delete()


@pytest.mark.parametrize("delete", [delete_by_script, delete_by_operator])
def test_a_deleted_target_is_said_and_nothing_is_lost(delete):
    ob, target, free = make_turned_arm()
    rigs.add_bones(ob, np.add(rigs.ARM, (1, 0, 0)), prefix="Other")
    other = rigs.make_empty("Other Target", (1.4, 0.5, 1.2))
    rigs.add_chain(ob, "Other.1", other)
    bpy.context.view_layer.update()
    delete(target)
    other.location.x += 0.2
    rigs.assert_reaches(ob, "Other.1", other, rigs.updated())
    chain = ob.chain_ik.chains[0]
    assert "target" in chain.status
    assert "choose" in chain.status
    chain.mute = True
    bpy.context.view_layer.update()
    assert list(rigs.rotations(ob).values())[:2] == free
    chain.mute, chain.target = False, rigs.make_empty("New Target", FAR)
    rigs.assert_reaches(ob, "Bone.1", bpy.data.objects["New Target"], rigs.updated())
