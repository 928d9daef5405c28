"""Undo, files, appended and linked rigs, copies: no plan outlives the data that it was made of."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.selecting import select_objects
from tests.blender.setups.warm_rigs import OTHER, RIG, assert_followed, assert_right, chain, named

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow


def use(**settings):
    for name, value in settings.items():
        setattr(chain(), name, value)


def exchange(one, other, name):
    first, second = getattr(one, name), getattr(other, name)
    setattr(one, name, second)
    setattr(other, name, first)


def pose_bones():
    warm_rigs.pose_bone("Above.0").rotation_quaternion = (0.9, 0.2, -0.2, 0.1)
    warm_rigs.pose_bone("Bone.0").location = (0.1, 0.1, 0.0)


def move_both_targets():
    for name in warm_rigs.TARGETS:
        named(name).location += warm_rigs.SHIFT


def remove_a_chain():
    named("Rig").chain_ik.chains.remove(0)
    named("Rig").update_tag()


def exchange_targets():
    exchange(chain(), chain("Other"), "target")


def add_a_joint():
    give(chain(), "Bone.1", "CONE", cone=12, y=(20, 40), relative_to="PARENT", stiffness_z=0.5)


def change_bones(bones):
    bones["Bone.0"].tail.z += 0.2
    bones.remove(bones["Early.0"])
    bones["Bone.2"].name = "Hand"


STEPS = {
    "influence": lambda: use(influence=0.4, chain_count=2),
    "solver": lambda: use(solver="FABRIK", use_flip_bend=True),
    "mute": lambda: use(mute=True),
    "pose": pose_bones,
    "move": move_both_targets,
    "chain": lambda: warm_rigs.follow(("Rig", "Early.0", "Other Target"), chain_count=1),
    "targets": exchange_targets,
    "joint": add_a_joint,
    "bones": lambda: warm_rigs.edit_bones(change_bones),
    "data": lambda: exchange(named("Rig"), named("Other"), "data"),
    "delete": lambda: bpy.data.objects.remove(named("Rig Target")),
    "remove": remove_a_chain,
}


def shown_now() -> warm_rigs.Shown:
    """Return what is shown without another update: undo and loading have to solve themselves."""
    return warm_rigs.shown(bpy.context.view_layer.depsgraph)


def test_undo_and_redo_of_anything_show_what_was_and_go_on_from_there():
    warm_rigs.make_pair()
    bpy.ops.ed.undo_push(message="made")
    seen = [warm_rigs.shown()]
    for name, step in STEPS.items():
        step()
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message=name)
        seen.append(warm_rigs.shown())
    back = [("undo", number) for number in reversed(range(len(STEPS)))]
    there = [("redo", number) for number in range(1, len(STEPS) + 1)]
    for way, number in (*back, *there, *back):
        getattr(bpy.ops.ed, way)()
        with warm_rigs.told(f"{way} to {number} of {[*STEPS]}"):
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
    use(solver="FABRIK", use_flip_bend=True)
    exchange_targets()
    add_a_joint()
    bpy.context.view_layer.update()
    bpy.ops.wm.revert_mainfile()
    warm_rigs.assert_shown(shown_now(), before)
    warm_rigs.edit_bones(longer)
    use(solver="FABRIK", use_flip_bend=True)
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


def test_a_linked_duplicate_of_a_warm_rig_has_plans_of_its_own_and_outlives_the_first():
    warm_rigs.make_pair()
    add_a_joint()
    select_objects(active=named("Rig"))
    bpy.ops.object.duplicate(linked=True)
    bpy.context.active_object.name = "Copy"
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
