"""Undo, files, appended and linked rigs, copies: no plan outlives the data that it was made of."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import OTHER, RIG, assert_right, chain, follow, named, pose_bone

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow


def push(step: str) -> None:
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message=step)


def set_influence():
    chain().influence = 0.4


def set_solver_and_bend():
    chain().solver, chain().use_flip_bend = "FABRIK", True


def set_chain_length():
    chain().chain_count = 2


def mute():
    chain().mute = True


def move_the_bone_above():
    pose_bone("Above.0").rotation_quaternion = (0.9, 0.2, -0.2, 0.1)


def move_a_chain_bone():
    pose_bone("Bone.0").location = (0.1, 0.1, 0.0)


def move_both_targets():
    for name in warm_rigs.TARGETS:
        named(name).location += warm_rigs.SHIFT


def add_a_chain():
    follow(("Rig", "Early.0", "Other Target"), chain_count=1)


def remove_a_chain():
    named("Rig").chain_ik.chains.remove(0)
    named("Rig").update_tag()


def exchange_targets():
    chain().target, chain("Other").target = chain("Other").target, chain().target


def rename_the_tip():
    named("Rig").data.bones["Bone.2"].name = chain().bone = "Hand"


def edit_a_bone():
    def edit(bones):
        bones["Bone.0"].tail.z += 0.2
        bones.remove(bones["Early.0"])

    warm_rigs.edit_bones(edit)


def exchange_the_data():
    first, second = named("Rig"), named("Other")
    first.data, second.data = second.data, first.data


def delete_the_target():
    bpy.data.objects.remove(named("Rig Target"))


STEPS = (
    set_influence,
    set_solver_and_bend,
    set_chain_length,
    mute,
    move_the_bone_above,
    move_a_chain_bone,
    move_both_targets,
    add_a_chain,
    remove_a_chain,
    exchange_targets,
    rename_the_tip,
    edit_a_bone,
    exchange_the_data,
    delete_the_target,
)


@pytest.mark.parametrize("step", STEPS)
def test_undo_and_redo_of_anything_show_what_was_and_go_on_from_there(step):
    warm_rigs.make_pair()
    push("made")
    before = warm_rigs.shown()
    step()
    push("changed")
    after = warm_rigs.shown()
    for _ in range(2):
        bpy.ops.ed.undo()
        warm_rigs.assert_shown(warm_rigs.shown(bpy.context.view_layer.depsgraph), before)
        bpy.ops.ed.redo()
        warm_rigs.assert_shown(warm_rigs.shown(bpy.context.view_layer.depsgraph), after)
    assert_right([], [name for name in warm_rigs.TARGETS if name in bpy.data.objects])
    bpy.ops.ed.undo()
    assert_right()


def test_undo_of_a_walk_in_steps_is_followed_all_the_way():
    warm_rigs.make_pair()
    push("made")
    seen = [warm_rigs.shown()]
    for step in (move_both_targets, set_influence, move_the_bone_above, edit_a_bone):
        step()
        push(step.__name__)
        seen.append(warm_rigs.shown())
    for expected in reversed(seen[:-1]):
        bpy.ops.ed.undo()
        warm_rigs.assert_shown(warm_rigs.shown(bpy.context.view_layer.depsgraph), expected)
    assert_right()


def save(path: str, *, copy: bool = False) -> str:
    bpy.ops.wm.save_as_mainfile(filepath=path, copy=copy)
    return path


def empty_file() -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def longer(bones):
    for bone in bones:
        bone.length *= 1.3


def test_files_opened_in_turn_show_their_own_rigs_of_the_same_names(tmp_path):
    warm_rigs.make_pair()
    files = {save(str(tmp_path / "first.blend")): warm_rigs.shown()}
    warm_rigs.edit_bones(longer)
    set_solver_and_bend()
    exchange_targets()
    files[save(str(tmp_path / "second.blend"))] = warm_rigs.shown()
    empty_file()
    for path in [*files, *files]:
        bpy.ops.wm.open_mainfile(filepath=path)
        warm_rigs.assert_shown(warm_rigs.shown(bpy.context.view_layer.depsgraph), files[path])
        is_first = path.endswith("first.blend")
        crossed = [("Rig", "Bone.2", "Other Target"), ("Other", "Bone.2", "Rig Target")]
        assert_right([RIG, OTHER] if is_first else crossed)
        empty_file()
        warm_rigs.make_pair()
        assert_right()


def test_a_file_reverted_forgets_what_was_changed_since_it_was_saved(tmp_path):
    warm_rigs.make_pair()
    save(str(tmp_path / "saved.blend"))
    before = warm_rigs.shown()
    warm_rigs.edit_bones(longer)
    set_influence()
    assert_right([OTHER])
    bpy.ops.wm.revert_mainfile()
    warm_rigs.assert_shown(warm_rigs.shown(bpy.context.view_layer.depsgraph), before)
    assert_right()


def load(path: str, *, link: bool) -> list[bpy.types.Object]:
    """Bring the rig ``Rig`` of a file and its target into the scene; return them."""
    with bpy.data.libraries.load(path, link=link) as (_found, wanted):
        wanted.objects = ["Rig", "Rig Target"]
    for ob in wanted.objects:
        bpy.context.scene.collection.objects.link(ob)
    return list(wanted.objects)


@pytest.fixture
def library(tmp_path) -> str:
    """Path of a file with rigs of the same names and other bones."""
    warm_rigs.make_pair(solver="CCD")
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


def test_a_rig_linked_beside_warm_ones_is_left_alone_and_its_override_is_solved(library):
    warm_rigs.make_pair()
    linked, _target = load(library, link=True)
    before = rigs.rotations(linked)
    # The names of linked objects are those of the local ones: check those alone.
    for name in warm_rigs.TARGETS:
        bpy.data.objects[name, None].location += warm_rigs.SHIFT
        depsgraph = rigs.updated()
        for rig, bone, target in (RIG, OTHER):
            ob, goal = bpy.data.objects[rig, None], bpy.data.objects[target, None]
            rigs.assert_reaches(ob, bone, goal, depsgraph)
    assert rigs.rotations(linked) == before
    bpy.context.scene.collection.objects.unlink(_target)
    override = linked.override_create(remap_local_usages=True)
    override.name = "Override"
    override.chain_ik.chains[0].target = rigs.make_empty("Override Target", (0.5, 0.4, 1.0))
    bpy.context.view_layer.update()
    limb = ("Override", "Bone.2", "Override Target")
    assert_right([RIG, OTHER, limb], (*warm_rigs.TARGETS, "Override Target"))


def share_the_armature(ob):
    return rigs.link(ob.copy())


def copy_the_armature(ob):
    copy = share_the_armature(ob)
    copy.data = ob.data.copy()
    return copy


def duplicate_by_operator(ob):
    bpy.ops.object.select_all(action="DESELECT")
    ob.select_set(True)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.duplicate(linked=False)
    return bpy.context.active_object


def duplicate_linked_by_operator(ob):
    bpy.ops.object.select_all(action="DESELECT")
    ob.select_set(True)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.duplicate(linked=True)
    return bpy.context.active_object


COPYINGS = (
    share_the_armature,
    copy_the_armature,
    duplicate_by_operator,
    duplicate_linked_by_operator,
)


@pytest.mark.parametrize("copy", COPYINGS)
def test_a_copy_of_a_warm_rig_has_plans_of_its_own_and_outlives_the_first(copy):
    warm_rigs.make_pair()
    copied = copy(named("Rig"))
    copied.name = "Copy"
    copied.location = (0.2, -0.3, 0.1)
    assert_right([RIG, OTHER, ("Copy", "Bone.2", "Rig Target")])
    rigs.make_empty("Copy Target", (0.5, 0.3, 1.1))
    named("Copy").chain_ik.chains[0].target = named("Copy Target")
    limb = ("Copy", "Bone.2", "Copy Target")
    assert_right([RIG, OTHER, limb], (*warm_rigs.TARGETS, "Copy Target"))
    warm_rigs.edit_bones(longer, "Copy")
    assert_right([RIG, OTHER, limb], (*warm_rigs.TARGETS, "Copy Target"))
    bpy.data.objects.remove(named("Rig"))
    assert_right([OTHER, limb], (*warm_rigs.TARGETS, "Copy Target"))
