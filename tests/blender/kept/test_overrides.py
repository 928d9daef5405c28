"""Chains after undo, save, load, link and copy; overrides keep the chains of their library."""

import re
from functools import partial
from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.keyed_limbs import activate
from tests.blender.setups.saved_rigs import link_saved, linked, reopen
from tests.blender.setups.selecting import press, refusal, select_bones
from tests.blender.setups.spoiling import settings_of
from tests.blender.setups.warm_rigs import chain, named
from tests.helpers import assert_positions_close

remove = bpy.ops.pose.chain_ik_remove
add = partial(bpy.ops.pose.chain_ik_add, control="EMPTY")
joint_remove = bpy.ops.pose.chain_ik_joint_remove
joint_add = bpy.ops.pose.chain_ik_joint_add

LIMBS = ("Left", "Right", "Tail")


def write_library(path: Path, *chains: str, joints: int = 1) -> None:
    """Write a file with a rig of three limbs: chains with joints on some, and one locked bone."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    ob = rigs.make_armature()
    for i, limb in enumerate(LIMBS):
        rigs.add_bones(ob, np.add(rigs.zigzag(3, seed=i), (2.0 * i, 0.0, 0.0)), prefix=limb)
    for limb in chains:
        target = rigs.make_empty(f"{limb} Target", (2.0 * LIMBS.index(limb) + 0.6, 0.5, 1.2))
        chain = rigs.add_chain(ob, f"{limb}.2", target, name=limb)
        for number in range(joints):
            add_joint(chain, f"{limb}.{number}", "CONE", cone=80)
    ob.pose.bones["Left.1"].lock_ik_x = True
    bpy.ops.wm.save_as_mainfile(filepath=str(path))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "library.blend"


def make_override(library: Path) -> bpy.types.Object:
    """Return an active override of the rig in a library, in a new file."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(library), link=True) as (_available, requested):
        requested.objects = ["Rig"]
    rigs.link(requested.objects[0])
    activate(requested.objects[0].override_create(remap_local_usages=True), 0)
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
    return [(chain.name, [joint.bone for joint in chain.joints]) for chain in ob.chain_ik.chains]


def read_settings_and_pose(ob: bpy.types.Object) -> list[object]:
    """Return all settings of the chains with their joints, and the bones' rotation channels."""
    settings = [
        (item.path, item.name, repr(item.get())) for item in settings_of(ob.name, "chain_ik")
    ]
    return [settings, rigs.rotations(ob)]


def test_joints_of_the_library_are_not_removed_or_replaced_and_nothing_changes(library, tmp_path):
    write_library(library, "Right", "Left", joints=2)
    make_override(library)
    # Saving records the chains.
    reopen(tmp_path / "user.blend")
    ob = overridden()
    activate(ob, 1)
    for is_another_added in (False, True):
        if is_another_added:
            select_bones(ob, ["Left.2"])
            press(joint_add)
        for index in range(2):
            ob.chain_ik.chains[1].active_joint_index = index
            before = read_settings_and_pose(ob)
            assert refusal(joint_remove) == (
                f"The joint of bone 'Left.{index}' comes from a library and cannot be removed here:"
                " change it instead."
            )
            assert refusal(bpy.ops.pose.chain_ik_joints_copy) == (
                "Joints of this chain come from a library and cannot be replaced here: change them"
                " one by one instead."
            )
            assert read_settings_and_pose(ob) == before
    # The refused operators have changed nothing in the saved file.
    reopen(tmp_path / "user.blend")
    assert read_settings_and_pose(overridden()) == before


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
    add_joint(rig.chain_ik.chains[0], "Left.1", "CONE")
    bpy.ops.wm.save_as_mainfile(filepath=str(library))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "user.blend"))
    ob = overridden()
    names = [name for name, _ in chains(ob)]
    assert sorted(names) == ["Left", "Right", "Tail.2"]
    for name in ("Left", "Right"):
        activate(ob, names.index(name))
        before = read_settings_and_pose(ob)
        for keep_pose in (False, True):
            assert refusal(remove, keep_pose=keep_pose) == (
                f"Chain '{name}' comes from a library and cannot be removed here: mute it instead."
            )
        assert read_settings_and_pose(ob) == before
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
    """Blender edits no bones of an override, not even those of a local armature."""
    write_library(library)
    ob = make_override(library)
    rigs.change(ob, data=ob.data.copy())
    bones = ob.data.bones.keys()
    select_bones(ob, ["Left.0", "Left.1", "Left.2"])
    press(bpy.ops.pose.chain_ik_add, control="BONE")
    assert ob.data.bones.keys() == bones
    assert ob.chain_ik.chains[0].target.type == "EMPTY"


def test_settings_of_bodies_and_forces_that_the_library_has_never_set_are_kept(library, tmp_path):
    write_library(library, "Left", "Right")
    ob = make_override(library)
    ob.chain_ik.body.root, ob.chain_ik.body.influence = "Left.0", 0.5
    ob.chain_ik.chains[0].force.mass = 2.0
    before = read_settings_and_pose(ob)
    for message in ("Set", "Set again"):
        bpy.ops.ed.undo_push(message=message)
    bpy.ops.ed.undo()
    assert read_settings_and_pose(overridden()) == before
    for _ in range(2):
        reopen(tmp_path / "user.blend")
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "user.blend"))
        ob = overridden()
        # If a whole group were overridden, Blender would report an error when it opens the file.
        paths = [item.rna_path for item in ob.override_library.properties]
        assert not [path for path in paths if path.endswith((".force", ".body"))]
        assert (ob.chain_ik.body.root, ob.chain_ik.body.influence) == ("Left.0", 0.5)
        assert ob.chain_ik.chains[0].force.mass == 2.0


def test_a_copy_of_a_character_is_told_to_make_its_whole_body_in_the_library(library):
    write_library(library, "Left")
    ob = make_override(library)
    copy = rigs.link(ob.override_library.reference.override_create())
    for owner in (ob, copy):
        activate(owner, 0)
        owner.chain_ik.body.root = "Left.0"
        expected = f"Object '{owner.name}' is a library override of a character with chains"
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
    for item in bpy.data.objects:
        character.objects.link(item)
    (character,) = link_saved(library, "collections", "Character")
    # File > Link makes such an instance.
    instance = rigs.make_empty("Instance")
    rigs.change(instance, instance_type="COLLECTION", instance_collection=character)
    (linked,) = [ob for ob in bpy.data.objects if ob.type == "ARMATURE"]
    message = "Not solved: the armature itself is not in this scene, for example because it is"
    assert linked.chain_ik.chains["Left"].status.startswith(message)
    bpy.context.view_layer.objects.active = instance
    instance.select_set(True)
    press(bpy.ops.object.make_override_library)
    rigs.updated()
    ob, target = overridden(), overridden().chain_ik.chains["Left"].target
    assert ob.chain_ik.chains["Left"].status.startswith("Reached")
    np.testing.assert_allclose(rigs.tail(ob, "Left.2"), rigs.position(target), atol=1e-4)


BUTTONS = """
    add apply bake body compare convert joint_add mirror plant pole_add remove restore setup
    snap_target solve store switch
""".split()


def move_control(ob: bpy.types.Object, location: tuple[float, float, float]) -> str:
    """Move the bone that the chain follows; return the status, and check what it says."""
    before = rigs.rotations(ob)["Bone.0"]
    ob.pose.bones["Control.0"].location = location
    rigs.updated()
    gap = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.head(ob, "Control.0"))
    status, has_moved = ob.chain_ik.chains[0].status, rigs.rotations(ob)["Bone.0"] != before
    assert status.startswith("Reached") == has_moved == (gap < rigs.TARGET_GAP)
    return status


@pytest.mark.parametrize("is_editable", [True, False])
def test_an_override_that_blender_protects_is_refused_until_it_is_made_editable(
    tmp_path, is_editable
):
    rig = rigs.make_rig()
    rigs.add_bones(rig, (NEAR_PLACE, np.add(NEAR_PLACE, (0, 0, 0.3))), prefix="Control")
    rigs.add_chain(rig, "Bone.1", rig, subtarget="Control.0", name="Arm")
    (rig,) = link_saved(tmp_path / "library.blend", "objects", "Rig")
    scene, layer = bpy.context.scene, bpy.context.view_layer
    rig.override_hierarchy_create(scene, layer, do_fully_editable=is_editable)
    activate(overridden(), 0)
    ob = overridden()
    assert ob.override_library.is_system_override != is_editable
    status = move_control(ob, (-0.3, 0.2, -0.4))
    if not is_editable:
        expected = (
            "The library override of this armature cannot be edited: make it editable in the"
            " Outliner first."
        )
        assert status == expected
        for name in BUTTONS:
            assert refusal(getattr(bpy.ops.pose, f"chain_ik_{name}")) == expected
        press(bpy.ops.object.make_override_library)
    ob = overridden()
    assert move_control(ob, (0.2, -0.3, -0.2)).startswith("Reached")
    press(bpy.ops.pose.chain_ik_bake, which="ALL", frame_start=1, frame_end=2)
    assert ob.animation_data.action is not None


NEAR_PLACE, FAR_PLACE = (0.6, 0.5, 1.2), (-0.7, 0.4, 0.8)


def push(step: str) -> None:
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message=step)


@pytest.mark.parametrize("is_added", [False, True])
def test_a_linked_rig_is_left_alone_and_a_chain_of_its_override_follows_a_local_target(
    tmp_path, is_added
):
    rigs.make_arm(NEAR_PLACE)
    ob = linked(tmp_path / "library.blend", "Rig", "Rig Target")[0]
    before = rigs.rotations(ob)
    for frame in (2, 3):
        rigs.tagged(ob)
        rigs.go_to(frame)
    assert rigs.rotations(ob) == before
    assert re.search("linked.*override", ob.chain_ik.chains[0].status)
    ob, target = ob.override_create(remap_local_usages=True), rigs.make_empty("Local", FAR_PLACE)
    if is_added:
        ob.chain_ik.chains[0].mute = True
        rigs.add_chain(ob, "Bone.1", target)
    else:
        ob.chain_ik.chains[0].target = target
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())
    reopen(tmp_path / "user.blend")
    ob = next(item for item in bpy.data.objects if item.override_library and item.pose)
    target = bpy.data.objects["Local"]
    assert ob.chain_ik.chains[-1].target == target
    target.location = NEAR_PLACE
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())


@pytest.mark.parametrize("was_live", [True, False])
def test_a_file_in_which_the_target_was_moved_without_a_solve_is_solved_on_load(was_live, tmp_path):
    _ob, target = rigs.make_arm()
    rigs.change(target, hide_render=True)
    bpy.context.scene.chain_ik.use_live = was_live
    target.location = FAR_PLACE
    for _ in range(2):
        reopen(tmp_path / "saved.blend")
    if not was_live:
        assert not bpy.context.scene.chain_ik.use_live
        bpy.context.scene.chain_ik.use_live = True
    assert_positions_close(rigs.tail(named("Rig"), "Bone.1"), FAR_PLACE, rigs.TARGET_GAP)
    # Its anchor is made only once.
    assert len(named("Rig").pose.bones["Bone.0"].constraints) == 1


@pytest.mark.parametrize("is_own_target", [False, True])
def test_nothing_is_evaluated_inside_undo_and_redo(is_own_target):
    rigs.make_arm(NEAR_PLACE)
    push("made")
    if is_own_target:
        ob = named("Rig")
        rigs.add_bones(ob, ((0.6, 0.5, 1.2), (0.6, 0.5, 1.5)), prefix="Control")
        chain().target, chain().subtarget = ob, "Control.0"
        push("own target")
    named("Rig").location = (0.1, 0.2, 0.3)
    push("moved")
    for step, event in ((bpy.ops.ed.undo, "undo_post"), (bpy.ops.ed.redo, "redo_post")):
        # Names of events. Two updates come: the second one is for changes by handlers.
        events, handlers = [], {}
        for name in (event, "depsgraph_update_post"):
            handlers[name] = lambda *_arguments, name=name, events=events: events.append(name)
            getattr(bpy.app.handlers, name).append(handlers[name])
        step()
        for name, handler in handlers.items():
            getattr(bpy.app.handlers, name).remove(handler)
        assert [*dict.fromkeys(events)] == [*handlers]
        assert chain().status == "Reached"


OLD_FILE = Path(__file__).parents[2] / "data" / "caps_before_finish.blend"
OLD_FINISHES = {"FABRIK 10": False, "CCD 20": False, "FABRIK 21": True, "NEWTON 10": True}


def read_finishes(name: str = "Rig") -> dict[str, bool]:
    return {chain.name: chain.use_finish for chain in bpy.data.objects[name].chain_ik.chains}


def test_caps_of_an_older_file_leave_the_finish_out_and_what_is_set_or_new_is_kept(tmp_path):
    bpy.ops.wm.open_mainfile(filepath=str(OLD_FILE))
    assert read_finishes() == OLD_FINISHES
    bpy.data.objects["Rig"].chain_ik.chains["FABRIK 10"].use_finish = True
    chain = rigs.make_rig(name="New").chain_ik.chains.add()
    chain.name, chain.solver, chain.iterations = "Low", "FABRIK", 10
    reopen(tmp_path / "new.blend")
    assert read_finishes() == {**OLD_FINISHES, "FABRIK 10": True}
    assert read_finishes("New") == {"Low": True}


@pytest.mark.skipif(
    not hasattr(bpy.app.handlers, "blend_import_post"),
    reason="this Blender calls no handler when data is linked or appended",
)
@pytest.mark.parametrize("link", [False, True])
def test_what_comes_from_an_older_file_leaves_the_finish_out(link):
    with bpy.data.libraries.load(str(OLD_FILE), link=link) as (_, requested):
        requested.objects = ["Rig"]
    assert read_finishes() == OLD_FINISHES
