"""Buttons beside the list of chains: remove, restore, store; and one undo step for every action."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.selecting import (
    anchors,
    press,
    refusal,
    select_bones,
    select_objects,
    state,
    without_rotations,
)

add = partial(bpy.ops.pose.chain_ik_add, control="EMPTY")
remove = bpy.ops.pose.chain_ik_remove
restore = bpy.ops.pose.chain_ik_restore
store = bpy.ops.pose.chain_ik_store
solve = bpy.ops.pose.chain_ik_solve
compare = bpy.ops.pose.chain_ik_compare

TIPS = {"Arm": "Arm.1", "Leg": "Leg.2", "Tail": "Tail.3"}


def make_limbs(**bones: object) -> bpy.types.Object:
    """Return a posed rig with limbs of two, three and four bones beside each other."""
    ob = rigs.make_armature()
    for count, limb in enumerate(TIPS, start=2):
        beside = np.array([count, 0, 0])
        rigs.add_bones(ob, rigs.zigzag(count, seed=count) + beside, prefix=limb, **bones)
    rigs.turn_bones(ob, seed=4)
    return ob


def make_driven_limbs(**bones: object) -> tuple[bpy.types.Object, dict[str, tuple[float, ...]]]:
    """Return the limbs with a chain each, its target dragged off, and the rotations before."""
    ob = make_limbs(**bones)
    before = rigs.rotations(ob)
    for tip in TIPS.values():
        select_bones(ob, [tip])
        press(add, use_pole=True)
    for chain in ob.chain_ik.chains:
        chain.target.location += chain.target.matrix_world.to_3x3().col[0] * 0.7
        chain.target.location.z -= 0.4
    bpy.context.view_layer.update()
    for tip in TIPS.values():
        assert not is_restored(ob, before, tip)
    return ob, before


def rotation_of(ob: bpy.types.Object, bone: str) -> np.ndarray:
    return np.array(rigs.rotations(ob)[bone])


def is_restored(ob: bpy.types.Object, before: dict[str, tuple[float, ...]], tip: str) -> bool:
    """Tell whether all bones of a limb hold exactly what they held before."""
    limb = tip.partition(".")[0]
    now = rigs.rotations(ob)
    return all(now[bone] == before[bone] for bone in now if bone.startswith(limb))


def activate(ob: bpy.types.Object, index: int) -> None:
    ob.chain_ik.active_index = index


@pytest.mark.parametrize("mode", rigs.ROTATION_MODES)
def test_removing_a_chain_gives_its_bones_their_exact_pose_back(mode):
    ob, before = make_driven_limbs(modes=mode)
    activate(ob, 1)
    others = {tip: rotation_of(ob, tip) for tip in ("Arm.1", "Tail.3")}
    press(remove)
    assert [chain.bone for chain in ob.chain_ik.chains] == ["Arm.1", "Tail.3"]
    assert is_restored(ob, before, "Leg.2")
    for tip, rotation in others.items():
        np.testing.assert_array_equal(rotation_of(ob, tip), rotation)


def test_removing_a_chain_with_keep_pose_leaves_its_bones_where_they_are():
    ob, _ = make_driven_limbs()
    before = rigs.rotations(ob)
    press(remove, keep_pose=True)
    assert len(ob.chain_ik.chains) == 2
    assert rigs.rotations(ob) == before
    bpy.data.objects["Tail.3 Target"].location.z += 0.5
    bpy.context.view_layer.update()
    assert rigs.rotations(ob) == before


@pytest.mark.parametrize("keep_pose", [False, True])
def test_removed_chains_leave_no_anchors_and_their_controls_stay(keep_pose):
    ob, _ = make_driven_limbs()
    for chain in ob.chain_ik.chains:
        for followed in (chain.target, chain.pole_target):
            if followed is not None:
                followed.hide_render = True
    bpy.context.view_layer.update()
    objects = set(bpy.data.objects.keys())
    for left in (4, 2, 0):
        press(remove, keep_pose=keep_pose)
        assert len(anchors(ob)) == left
    assert not ob.chain_ik.chains
    assert set(bpy.data.objects.keys()) == objects


@pytest.mark.parametrize(("index", "then"), [(0, 0), (1, 1), (2, 1)])
def test_after_a_removal_the_next_chain_is_active_or_else_the_last(index, then):
    ob, _ = make_driven_limbs()
    activate(ob, index)
    press(remove)
    assert ob.chain_ik.active_index == then


@pytest.mark.parametrize("index", range(3))
def test_with_a_target_active_it_is_the_chain_that_follows_it_that_goes(index):
    ob, before = make_driven_limbs()
    activate(ob, 0)
    tips = list(TIPS.values())
    rigs.enter(ob, "OBJECT")
    select_objects(active=ob.chain_ik.chains[index].target)
    press(remove)
    left = tips[:index] + tips[index + 1 :]
    assert [chain.bone for chain in ob.chain_ik.chains] == left
    assert all(chain.target is not None for chain in ob.chain_ik.chains)
    assert [is_restored(ob, before, tip) for tip in tips] == [i == index for i in range(3)]


def test_restoring_mutes_the_active_chain_and_gives_its_exact_pose_back():
    ob, before = make_driven_limbs()
    activate(ob, 1)
    press(restore)
    assert [chain.mute for chain in ob.chain_ik.chains] == [False, True, False]
    assert [is_restored(ob, before, tip) for tip in TIPS.values()] == [False, True, False]
    ob.chain_ik.chains[1].target.location.z += 0.3
    bpy.context.view_layer.update()
    assert is_restored(ob, before, "Leg.2")


def test_restoring_all_chains_gives_the_whole_pose_back():
    ob, before = make_driven_limbs()
    press(restore, use_all=True)
    assert all(chain.mute for chain in ob.chain_ik.chains)
    assert rigs.rotations(ob) == before


def test_a_restored_chain_follows_again_when_it_is_unmuted():
    ob, _ = make_driven_limbs()
    solved = rigs.pose(ob)
    press(restore, use_all=True)
    for chain in ob.chain_ik.chains:
        chain.mute = False
    np.testing.assert_allclose(rigs.pose(ob, rigs.updated()), solved, atol=5e-6)


def test_restoring_does_not_bring_back_a_bone_that_was_posed_outside_the_chain():
    ob, _ = make_driven_limbs()
    activate(ob, 0)
    ob.pose.bones["Leg.0"].location = (0.1, 0.2, 0.3)
    press(restore)
    np.testing.assert_allclose(ob.pose.bones["Leg.0"].location, (0.1, 0.2, 0.3), atol=1e-6)


def test_storing_makes_the_present_pose_the_one_that_is_restored_and_moves_nothing():
    ob, _ = make_driven_limbs()
    for index in range(3):
        activate(ob, index)
        before = rigs.pose(ob)
        press(store)
        np.testing.assert_allclose(rigs.pose(ob), before, atol=5e-6)
    stored = rigs.rotations(ob)
    for chain in ob.chain_ik.chains:
        chain.target.location.z += 0.6
    bpy.context.view_layer.update()
    press(restore, use_all=True)
    for bone, rotation in rigs.rotations(ob).items():
        np.testing.assert_allclose(rotation, stored[bone], atol=1e-6)


ON_CHAINS = [remove, restore, store]


@pytest.mark.parametrize("operator", [compare, *ON_CHAINS])
def test_without_a_chain_the_buttons_ask_for_one(operator):
    expected = "Select an armature that has a chain, and the chain in its list."
    assert refusal(operator) == expected
    select_objects(active=make_limbs())
    assert refusal(operator) == expected


@pytest.mark.parametrize("operator", [add, solve, compare, *ON_CHAINS])
def test_buttons_refuse_a_linked_armature_and_say_what_to_do(operator, tmp_path):
    make_driven_limbs()
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    select_objects(active=rigs.link(bpy.data.objects["Rig"]))
    before = state()
    expected = "This armature is linked: make a library override of it first."
    assert refusal(operator) == expected
    assert state() == before


def drag(ob: bpy.types.Object) -> None:
    ob.chain_ik.chains[1].target.location.z += 0.3
    bpy.ops.ed.undo_push(message="Drag")


ACTIONS: dict[str, Callable[[bpy.types.Object], None]] = {
    "add": lambda ob: press(add),
    "add with a pole": lambda ob: press(add, use_pole=True),
    "remove": lambda ob: press(remove),
    "remove and keep the pose": lambda ob: press(remove, keep_pose=True),
    "restore": lambda ob: press(restore, use_all=True),
    "store": lambda ob: press(store),
    "solve": lambda ob: press(solve),
    "drag": drag,
}


@pytest.mark.parametrize("action", ACTIONS)
def test_one_undo_takes_an_action_back_and_one_redo_brings_it_again(action):
    ob, _ = make_driven_limbs()
    press(remove)  # of the tail, which is free for what comes
    select_bones(ob, ["Leg.0", "Tail.0", "Tail.1", "Tail.2"])
    bpy.ops.ed.undo_push(message="Before")
    before = state()
    ACTIONS[action](ob)
    after = state()
    assert after != before or action == "store"
    bpy.ops.ed.undo()
    assert_same_state(state(), before)
    bpy.ops.ed.redo()
    assert_same_state(state(), after)
    bpy.ops.ed.undo()
    assert_same_state(state(), before)


def assert_same_state(actual: dict[str, object], expected: dict[str, object]) -> None:
    """Check two states; bones may differ by the float32 noise of solving once more."""
    assert without_rotations(actual) == without_rotations(expected)
    for what in expected.keys() - without_rotations(expected).keys():
        assert actual[what].keys() == expected[what].keys()
        for bone, rotation in expected[what].items():
            np.testing.assert_allclose(actual[what][bone], rotation, atol=5e-6)
