"""Buttons beside the list of chains: remove, restore, store; and one undo step for every action."""

from __future__ import annotations

from functools import partial

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import linked
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
    """Return the limbs with a chain each, its target dragged off, and the rotations before.

    The chain of the leg is the active one.
    """
    ob = make_limbs(**bones)
    before = rigs.rotations(ob)
    for tip in TIPS.values():
        select_bones(ob, [tip])
        press(add, use_pole=True)
    for chain in ob.chain_ik.chains:
        chain.target.location += chain.target.matrix_world.to_3x3().col[0] * 0.7
        chain.target.location.z -= 0.4
    ob.chain_ik.active_index = 1
    bpy.context.view_layer.update()
    assert restored(ob, before) == []
    return ob, before


def restored(ob: bpy.types.Object, before: dict[str, tuple[float, ...]]) -> list[str]:
    """Return the limbs all of whose bones hold exactly what they held before."""
    now = rigs.rotations(ob)
    return [limb for limb in TIPS if all(now[n] == before[n] for n in now if n.startswith(limb))]


def test_removed_chains_leave_no_anchors_their_controls_stay_and_another_is_active():
    ob, _ = make_driven_limbs()
    for chain in ob.chain_ik.chains:
        for followed in (chain.target, chain.pole_target):
            followed.hide_render = True
    bpy.context.view_layer.update()
    objects = set(bpy.data.objects.keys())
    for left, index in ((4, 1), (2, 0), (0, 0)):
        before = rigs.rotations(ob)
        press(remove, keep_pose=left == 2)
        assert (rigs.rotations(ob) == before) == (left == 2)
        assert len(anchors(ob)) == left
        assert ob.chain_ik.active_index == index
    assert not ob.chain_ik.chains
    assert set(bpy.data.objects.keys()) == objects


def test_restoring_mutes_the_active_chain_and_gives_its_exact_pose_back():
    ob, before = make_driven_limbs()
    solved = rigs.pose(ob)
    ob.pose.bones["Arm.0"].location = (0.1, 0.2, 0.3)
    press(restore)
    assert [chain.mute for chain in ob.chain_ik.chains] == [False, True, False]
    assert restored(ob, before) == ["Leg"]
    # What was posed outside of the chain stays.
    np.testing.assert_allclose(ob.pose.bones["Arm.0"].location, (0.1, 0.2, 0.3), atol=1e-6)
    ob.chain_ik.chains[1].target.location.z += 0.3
    bpy.context.view_layer.update()
    assert restored(ob, before) == ["Leg"]
    ob.chain_ik.chains[1].target.location.z -= 0.3
    ob.pose.bones["Arm.0"].location = (0.0, 0.0, 0.0)
    press(restore, use_all=True)
    assert all(chain.mute for chain in ob.chain_ik.chains)
    assert rigs.rotations(ob) == before
    for chain in ob.chain_ik.chains:
        chain.mute = False
    np.testing.assert_allclose(rigs.pose(ob, rigs.updated()), solved, atol=5e-6)


def test_without_a_chain_the_buttons_ask_for_one():
    expected = "Select an armature that has a chain, and the chain in its list."
    of_joints = ("joint_add", "joint_remove", "joints_copy", "joint_to_selected", "joint_preset")
    joints = [getattr(bpy.ops.pose, f"chain_ik_{name}") for name in of_joints]
    for operator in (compare, remove, restore, store, *joints):
        select_objects(active=None)
        assert refusal(operator) == expected
        select_objects(active=rigs.make_armature())
        assert refusal(operator) == expected


def test_buttons_refuse_a_linked_armature_and_say_what_to_do(tmp_path):
    make_driven_limbs()
    select_objects(active=linked(tmp_path / "library.blend", "Rig")[0])
    before = state()
    for operator in (add, solve, compare, remove, restore, store):
        expected = "This armature is linked: make a library override of it first."
        assert refusal(operator) == expected
    assert state() == before


def drag() -> None:
    bpy.data.objects["Arm.1 Target"].location.z += 0.3
    bpy.ops.ed.undo_push(message="Drag")


ACTIONS = {
    "add": partial(press, add),
    "add with a pole": partial(press, bpy.ops.pose.chain_ik_add, control="BONE", use_pole=True),
    "remove": partial(press, remove),
    "remove and keep the pose": partial(press, remove, keep_pose=True),
    "restore": partial(press, restore, use_all=True),
    "store": partial(press, store),
    "solve": partial(press, solve),
    "switch": partial(press, bpy.ops.pose.chain_ik_switch, to="FK"),
    "drag": drag,
}


@pytest.mark.parametrize("action", ACTIONS)
def test_one_undo_takes_an_action_back_and_one_redo_brings_it_again(action):
    ob, _ = make_driven_limbs()
    ob.chain_ik.active_index = 2
    press(remove)  # of the tail, which is free for what comes
    select_bones(ob, ["Leg.0", "Tail.0", "Tail.1", "Tail.2"])
    bpy.ops.ed.undo_push(message="Before")
    before = state()
    ACTIONS[action]()
    after = state()
    assert after != before or action == "store"
    for step, expected in (("undo", before), ("redo", after), ("undo", before)):
        getattr(bpy.ops.ed, step)()
        assert_same_state(state(), expected)


def assert_same_state(actual: dict[str, object], expected: dict[str, object]) -> None:
    """Check two states; bones may differ by the float32 noise of solving once more."""
    assert without_rotations(actual) == without_rotations(expected)
    for what in expected.keys() - without_rotations(expected).keys():
        assert actual[what].keys() == expected[what].keys()
        for bone, rotation in expected[what].items():
            np.testing.assert_allclose(actual[what][bone], rotation, atol=5e-6)
