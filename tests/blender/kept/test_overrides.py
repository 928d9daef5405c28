"""Library overrides: what the library has given cannot be removed, what was added here can."""

from functools import partial
from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.keyed_limbs import activate
from tests.blender.setups.saved_rigs import link_saved, reopen
from tests.blender.setups.selecting import press, refusal, select_bones
from tests.blender.setups.spoiling import settings_of

remove = bpy.ops.pose.chain_ik_remove
add = partial(bpy.ops.pose.chain_ik_add, control="EMPTY")
joint_remove = bpy.ops.pose.chain_ik_joint_remove
joint_add = bpy.ops.pose.chain_ik_joint_add
joints_copy = bpy.ops.pose.chain_ik_joints_copy

LIMBS = ("Left", "Right", "Tail")


def write_library(path: Path, *chains: str, joints: int = 1) -> None:
    """Write a file with a rig of three limbs: chains on some, joints on these, limits on bones."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    ob = rigs.make_armature()
    for i, limb in enumerate(LIMBS):
        rigs.add_bones(ob, np.add(rigs.zigzag(3, seed=i), (2.0 * i, 0.0, 0.0)), prefix=limb)
    for limb in chains:
        target = rigs.make_empty(f"{limb} Target", (2.0 * LIMBS.index(limb) + 0.6, 0.5, 1.2))
        chain = rigs.add_chain(ob, f"{limb}.2", target, name=limb)
        for number in range(joints):
            give(chain, f"{limb}.{number}", "CONE", cone=80)
    ob.pose.bones["Left.1"].lock_ik_x = True
    bpy.ops.wm.save_as_mainfile(filepath=str(path))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "library.blend"


def make_override(library: Path) -> bpy.types.Object:
    """Return an active override of the rig in a library, in a new file."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(library), link=True) as (_found, wanted):
        wanted.objects = ["Rig"]
    rigs.link(wanted.objects[0])
    activate(wanted.objects[0].override_create(remap_local_usages=True), 0)
    return overridden()


def overridden() -> bpy.types.Object:
    return next(ob for ob in bpy.data.objects if ob.override_library and ob.type == "ARMATURE")


def add_limb(ob: bpy.types.Object, limb: str) -> None:
    """Add a chain to the override, with a target and two joints."""
    select_bones(ob, [f"{limb}.0", f"{limb}.1", f"{limb}.2"])
    press(add)
    for bone in (f"{limb}.0", f"{limb}.2"):
        select_bones(ob, [bone])
        press(joint_add)


def chains(ob: bpy.types.Object) -> list[tuple[str, list[str]]]:
    return [(each.name, [joint.bone for joint in each.joints]) for each in ob.chain_ik.chains]


def everything(ob: bpy.types.Object) -> list[object]:
    """Return all settings of the chains with their joints, and the bones' channels."""
    settings = [
        (each.path, each.name, repr(each.get())) for each in settings_of(ob.name, "chain_ik")
    ]
    return [settings, rigs.rotations(ob)]


def test_joints_of_the_library_are_not_removed_or_replaced_and_nothing_changes(library, tmp_path):
    write_library(library, "Right", "Left", joints=2)
    ob = make_override(library)
    activate(ob, 1)
    for is_another_added in (False, True):
        if is_another_added:
            select_bones(ob, ["Left.2"])
            press(joint_add)
        for index in range(2):
            ob.chain_ik.chains[1].active_joint_index = index
            before = everything(ob)
            assert refusal(joint_remove) == (
                f"The joint of bone 'Left.{index}' comes from a library and cannot be removed here:"
                " change it instead."
            )
            assert refusal(joints_copy) == (
                "Joints of this chain come from a library and cannot be replaced here: change them"
                " one by one instead."
            )
            assert everything(ob) == before
    # Refused buttons have left nothing that is saved.
    reopen(tmp_path / "user.blend")
    assert everything(overridden()) == before


def test_chains_and_joints_are_told_apart_also_when_the_library_has_got_more_of_them(
    library, tmp_path
):
    write_library(library, "Left")
    ob = make_override(library)
    select_bones(ob, ["Left.2"])
    press(joint_add)
    add_limb(ob, "Tail")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "user.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(library))
    rig = bpy.data.objects["Rig"]
    rigs.add_chain(rig, "Right.2", bpy.data.objects["Left Target"], name="Right")
    give(rig.chain_ik.chains[0], "Left.1", "CONE")
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "user.blend"))
    ob = overridden()
    names = [name for name, _ in chains(ob)]
    assert sorted(names) == ["Left", "Right", "Tail.2"]
    for name in ("Left", "Right"):
        activate(ob, names.index(name))
        before = everything(ob)
        for keep_pose in (False, True):
            assert refusal(remove, keep_pose=keep_pose) == (
                f"Chain '{name}' comes from a library and cannot be removed here: mute it instead."
            )
        assert everything(ob) == before
    activate(ob, names.index("Tail.2"))
    press(remove)
    assert [name for name, _ in chains(ob)] == ["Left", "Right"]
    activate(ob, 0)
    chain = ob.chain_ik.chains[0]
    bones = [joint.bone for joint in chain.joints]
    assert sorted(bones) == ["Left.0", "Left.1", "Left.2"]
    for bone in ("Left.0", "Left.1"):
        chain.active_joint_index = bones.index(bone)
        assert "comes from a library" in refusal(joint_remove)
    chain.active_joint_index = bones.index("Left.2")
    press(joint_remove)
    assert chains(ob)[0] == ("Left", ["Left.0", "Left.1"])


def test_controls_of_an_override_are_empties_even_where_its_armature_was_made_local(library):
    """Blender edits no bones of an override, whatever armature it has."""
    write_library(library)
    ob = make_override(library)
    rigs.change(ob, data=ob.data.copy())
    bones = ob.data.bones.keys()
    select_bones(ob, ["Left.0", "Left.1", "Left.2"])
    press(bpy.ops.pose.chain_ik_add, control="BONE")
    assert ob.data.bones.keys() == bones
    assert ob.chain_ik.chains[0].target.type == "EMPTY"


def test_settings_of_bodies_and_forces_are_kept_that_the_library_has_never_set(library, tmp_path):
    write_library(library, "Left", "Right")
    ob = make_override(library)
    ob.chain_ik.body.root, ob.chain_ik.body.influence = "Left.0", 0.5
    ob.chain_ik.chains[0].force.mass = 2.0
    before = everything(ob)
    for message in ("Set", "Set again"):
        bpy.ops.ed.undo_push(message=message)
    bpy.ops.ed.undo()
    assert everything(overridden()) == before
    for _ in range(2):
        reopen(tmp_path / "user.blend")
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "user.blend"))
        ob = overridden()
        # Of a group as a whole Blender reports an error when it opens the file.
        paths = [each.rna_path for each in ob.override_library.properties]
        assert not [path for path in paths if path.endswith((".force", ".body"))]
        assert (ob.chain_ik.body.root, ob.chain_ik.body.influence) == ("Left.0", 0.5)
        assert ob.chain_ik.chains[0].force.mass == 2.0


def test_a_copy_of_a_character_is_told_to_make_its_whole_body_in_the_library(library):
    write_library(library, "Left")
    ob = make_override(library)
    copy = rigs.link(ob.override_library.reference.override_create())
    for each in (ob, copy):
        activate(each, 0)
        each.chain_ik.body.root = "Left.0"
        expected = f"Object '{each.name}' is a library override of a character with chains"
        assert refusal(bpy.ops.pose.chain_ik_body).startswith(expected)


@pytest.mark.parametrize("operator", [remove, joint_remove])
def test_one_undo_brings_back_what_was_removed_from_an_override(library, operator):
    write_library(library, "Left")
    ob = make_override(library)
    add_limb(ob, "Tail")
    bpy.ops.ed.undo_push(message="Added")
    before = chains(ob)
    press(operator)
    after = chains(overridden())
    assert len(str(after)) < len(str(before))
    for step, expected in ((bpy.ops.ed.undo, before), (bpy.ops.ed.redo, after)) * 2:
        step()
        assert chains(overridden()) == expected
    bpy.ops.ed.undo()
    press(operator)
    assert chains(overridden()) == after


def test_an_instance_of_a_linked_character_is_not_solved_until_it_is_made_an_override(library):
    write_library(library, "Left")
    character = rigs.make_collection("Character")
    for each in bpy.data.objects:
        character.objects.link(each)
    (character,) = link_saved(library, "collections", "Character")
    # As File > Link makes it.
    instance = rigs.make_empty("Instance")
    rigs.change(instance, instance_type="COLLECTION", instance_collection=character)
    (linked,) = [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
    told = "Not solved: the armature itself is not in this scene, as in a collection instance"
    assert linked.chain_ik.chains["Left"].status.startswith(told)
    bpy.context.view_layer.objects.active = instance
    instance.select_set(True)
    press(bpy.ops.object.make_override_library)
    rigs.updated()
    ob, target = overridden(), overridden().chain_ik.chains["Left"].target
    assert ob.chain_ik.chains["Left"].status.startswith("Reached")
    np.testing.assert_allclose(rigs.tail(ob, "Left.2"), rigs.position(target), atol=1e-4)
