"""Undo, files, appended and linked rigs, copies: no plan outlives the data that it was made of."""

from __future__ import annotations

from math import radians

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.selecting import select_objects
from tests.blender.setups.warm_rigs import OTHER, RIG, assert_followed, assert_right, chain, named

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow


def set_influence_and_length():
    chain().influence, chain().chain_count = 0.4, 2


def set_solver_and_bend():
    chain().solver, chain().use_flip_bend = "FABRIK", True


def mute():
    chain().mute = True


def pose_bones():
    warm_rigs.pose_bone("Above.0").rotation_quaternion = (0.9, 0.2, -0.2, 0.1)
    warm_rigs.pose_bone("Bone.0").location = (0.1, 0.1, 0.0)


def move_both_targets():
    for name in warm_rigs.TARGETS:
        named(name).location += warm_rigs.SHIFT


def add_a_chain():
    warm_rigs.follow(("Rig", "Early.0", "Other Target"), chain_count=1)


def remove_a_chain():
    named("Rig").chain_ik.chains.remove(0)
    named("Rig").update_tag()


def exchange_targets():
    chain().target, chain("Other").target = chain("Other").target, chain().target


def add_a_joint():
    give(chain(), "Bone.1", "CONE", cone=12, y=(20, 40), relative_to="PARENT", stiffness_z=0.5)


def edit_bones():
    def edit(bones):
        bones["Bone.0"].tail.z += 0.2
        bones.remove(bones["Early.0"])
        bones["Bone.2"].name = "Hand"

    warm_rigs.edit_bones(edit)


def exchange_the_data():
    first, second = named("Rig"), named("Other")
    first.data, second.data = second.data, first.data


def delete_the_target():
    bpy.data.objects.remove(named("Rig Target"))


STEPS = (
    *(set_influence_and_length, set_solver_and_bend, mute, pose_bones, move_both_targets),
    *(add_a_chain, exchange_targets, add_a_joint, edit_bones, exchange_the_data),
    *(delete_the_target, remove_a_chain),
)


def shown_now() -> warm_rigs.Shown:
    """Return what is shown without another update: undo and loading have to solve themselves."""
    return warm_rigs.shown(bpy.context.view_layer.depsgraph)


def test_undo_and_redo_of_anything_show_what_was_and_go_on_from_there():
    warm_rigs.make_pair()
    bpy.ops.ed.undo_push(message="made")
    seen = [warm_rigs.shown()]
    for step in STEPS:
        step()
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message=step.__name__)
        seen.append(warm_rigs.shown())
    back = [("undo", number) for number in reversed(range(len(STEPS)))]
    there = [("redo", number) for number in range(1, len(STEPS) + 1)]
    for way, number in (*back, *there, *back):
        getattr(bpy.ops.ed, way)()
        with warm_rigs.told(f"{way} to {number} of {[step.__name__ for step in STEPS]}"):
            warm_rigs.assert_shown(shown_now(), seen[number])
            if number == len(STEPS):
                assert_followed([], ["Other Target"])
    assert_right()


def save(path: str) -> str:
    bpy.ops.wm.save_as_mainfile(filepath=path)
    return path


def empty_file() -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def longer(bones):
    for bone in bones:
        bone.length *= 1.3


def test_files_opened_in_turn_show_their_own_rigs_of_the_same_names(tmp_path):
    warm_rigs.make_pair()
    first, before = save(str(tmp_path / "first.blend")), warm_rigs.shown()
    warm_rigs.edit_bones(longer)
    set_solver_and_bend()
    exchange_targets()
    add_a_joint()
    bpy.context.view_layer.update()
    bpy.ops.wm.revert_mainfile()
    warm_rigs.assert_shown(shown_now(), before)
    warm_rigs.edit_bones(longer)
    set_solver_and_bend()
    exchange_targets()
    crossed = [("Rig", "Bone.2", "Other Target"), ("Other", "Bone.2", "Rig Target")]
    files = {first: ((RIG, OTHER), before)}
    files[str(tmp_path / "second.blend")] = crossed, warm_rigs.shown()
    save(str(tmp_path / "second.blend"))
    for path in [*files, *files]:
        bpy.ops.wm.open_mainfile(filepath=path)
        limbs, expected = files[path]
        warm_rigs.assert_shown(shown_now(), expected)
        assert_followed(limbs)
    empty_file()
    warm_rigs.make_pair()
    assert_right()


def load(path: str, *, link: bool) -> list[bpy.types.Object]:
    """Bring the rig ``Rig`` of a file and its target into the scene; return them."""
    with bpy.data.libraries.load(path, link=link) as (_found, wanted):
        wanted.objects = ["Rig", "Rig Target"]
    return [rigs.link(ob) for ob in wanted.objects]


@pytest.fixture
def library(tmp_path) -> str:
    """Path of a file with rigs of the same names and other bones."""
    warm_rigs.make_pair()
    give(chain(), "Bone.1", "CONE", cone=60)
    warm_rigs.edit_bones(longer)
    path = save(str(tmp_path / "library.blend"))
    empty_file()
    return path


def test_a_rig_appended_beside_warm_ones_of_its_name_is_solved_at_once(library):
    warm_rigs.make_pair()
    for _ in range(2):
        rig, target = load(library, link=False)
        appended = (rig.name, "Bone.2", target.name)
        assert_right([RIG, OTHER, appended], (*warm_rigs.TARGETS, target.name))


def test_a_linked_rig_beside_warm_ones_is_left_alone_and_its_override_is_solved(library, tmp_path):
    warm_rigs.make_pair()
    linked, target = load(library, link=True)
    before = rigs.rotations(linked)
    # The names of linked objects are those of the local ones: check those alone.
    for name in warm_rigs.TARGETS:
        bpy.data.objects[name, None].location += warm_rigs.SHIFT
        depsgraph = rigs.updated()
        for rig, bone, goal in (RIG, OTHER):
            local = bpy.data.objects[rig, None], bone, bpy.data.objects[goal, None]
            rigs.assert_reaches(*local, depsgraph)
    assert rigs.rotations(linked) == before
    bpy.context.scene.collection.objects.unlink(target)
    override = linked.override_create(remap_local_usages=True)
    override.name = "Override"
    settings = override.chain_ik.chains[0]
    settings.target = rigs.make_empty("Override Target", (0.5, 0.4, 1.0))
    settings.joints[0].cone_angle = radians(80.0)
    give(settings, "Bone.2", "HINGE_X", x=(-150, 150))
    bpy.context.view_layer.update()
    movers = (*warm_rigs.TARGETS, "Override Target")
    assert_right([RIG, OTHER], movers)
    pose = rigs.pose(override)
    save(str(tmp_path / "user.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "user.blend"))
    override = named("Override")
    joints = override.chain_ik.chains[0].joints
    assert [each.bone for each in joints] == ["Bone.1", "Bone.2"]
    assert joints[0].cone_angle == pytest.approx(radians(80.0))
    rigs.assert_same_pose(override, pose)


def copy_the_armature(ob):
    copy = rigs.link(ob.copy())
    copy.data = ob.data.copy()
    return copy


def share_the_armature_by_operator(ob):
    select_objects(active=ob)
    bpy.ops.object.duplicate(linked=True)
    return bpy.context.active_object


@pytest.mark.parametrize("copy", [copy_the_armature, share_the_armature_by_operator])
def test_a_copy_of_a_warm_rig_has_plans_of_its_own_and_outlives_the_first(copy):
    warm_rigs.make_pair()
    add_a_joint()
    copied = copy(named("Rig"))
    copied.name = "Copy"
    for name, is_same in (("", True), ("Copy", False), ("Rig", True)):
        if name:
            chain(name).joints.clear()
            named(name).update_tag()
        shown = warm_rigs.shown()
        assert np.allclose(shown["Copy"], shown["Rig"], atol=warm_rigs.NOISE) is is_same, name
    named("Copy").location = (0.2, -0.3, 0.1)
    assert_followed([RIG, OTHER, ("Copy", "Bone.2", "Rig Target")])
    rigs.make_empty("Copy Target", (0.5, 0.3, 1.1))
    chain("Copy").target = named("Copy Target")
    limb, movers = ("Copy", "Bone.2", "Copy Target"), (*warm_rigs.TARGETS, "Copy Target")
    assert_followed([RIG, OTHER, limb], movers)
    warm_rigs.edit_bones(longer, "Copy")
    assert_followed([RIG, OTHER, limb], movers)
    bpy.data.objects.remove(named("Rig"))
    assert_followed([OTHER, limb], movers)
