"""The bone that takes the target's rotation: the tip, or the hand that is connected to it."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.scaled_rigs import axes_of_bone, axes_of_object, turned_target

SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON", "FORCE")
LIMB = ((0.0, 0.0, 0.0), (0.0, -0.1, 1.0), (0.0, 0.0, 2.0), (0.1, 0.0, 2.4))
UPPER, FORE, HAND = "Bone.0", "Bone.1", "Bone.2"


def connect(ob, *, is_connected, others):
    """Connect the hand or not, and others beside it."""
    rigs.enter(ob, "EDIT")
    bones = ob.data.edit_bones
    bones[HAND].use_connect = is_connected
    bones[HAND].head.x += 0.0 if is_connected else 0.1
    for number in range(others):
        other = bones.new(f"Other.{number}")
        other.head, other.tail = bones[FORE].tail, bones[FORE].tail + bones[HAND].vector
        other.parent, other.use_connect = bones[FORE], True
    bpy.ops.object.mode_set(mode="OBJECT")


def make_limb(is_connected=True, others=0, **settings):
    """Return upper arm, forearm and hand, the chain of the first two, and its target."""
    ob = rigs.make_rig(LIMB)
    connect(ob, is_connected=is_connected, others=others)
    target = turned_target((0.6, 0.5, 1.2))
    given = {"chain_count": 2, "use_rotation": True, "rotation_bone": "AUTO", **settings}
    chain = rigs.add_chain(ob, FORE, target, **given)
    scaled_rigs.update()
    return ob, chain, target


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_hand_is_turned_as_the_target_and_the_arm_reaches_with_all_its_bones(solver):
    ob, chain, target = make_limb(solver=solver)
    assert chain.status.startswith("Reached"), chain.status
    rigs.assert_reaches(ob, FORE, target)
    np.testing.assert_allclose(axes_of_bone(ob, HAND), axes_of_object(target), atol=2e-6)


def test_the_arm_bends_as_without_rotation():
    ob, chain, _ = make_limb(solver="TWO_BONE")
    turned = rigs.rotations(ob)
    chain.use_rotation = False
    scaled_rigs.update()
    plain = rigs.rotations(ob)
    for bone in (UPPER, FORE):
        np.testing.assert_allclose(turned[bone], plain[bone], atol=1e-6)


@pytest.mark.parametrize("influence", [0.0, 0.5])
def test_the_hand_belongs_to_the_stored_pose_and_to_influence(influence):
    ob = rigs.make_rig(LIMB)
    rigs.turn_bones(ob)
    before = rigs.rotations(ob)
    target = turned_target((0.6, 0.5, 1.2))
    chain = rigs.add_chain(ob, FORE, target, chain_count=2, use_rotation=True, rotation_bone="AUTO")
    scaled_rigs.update()
    assert rigs.rotations(ob)[HAND] != before[HAND]
    chain.influence = influence
    scaled_rigs.update()
    assert (rigs.rotations(ob)[HAND] == pytest.approx(before[HAND], abs=1e-6)) == (influence == 0.0)
    chain.mute = True
    scaled_rigs.update()
    assert rigs.rotations(ob) == before


def test_a_hand_that_begins_at_the_tail_need_not_be_connected():
    ob, chain, target = make_limb(solver="TWO_BONE")
    rigs.enter(ob, "EDIT")
    ob.data.edit_bones[HAND].use_connect = False
    bpy.ops.object.mode_set(mode="OBJECT")
    target.location.x -= 0.1
    scaled_rigs.update()
    assert chain.status.startswith("Reached"), chain.status
    np.testing.assert_allclose(axes_of_bone(ob, HAND), axes_of_object(target), atol=2e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("is_connected", "others"), [(False, 0), (True, 1)])
def test_two_bones_without_one_hand_reach_and_say_that_none_is_turned(solver, is_connected, others):
    ob, chain, target = make_limb(is_connected, others, solver=solver)
    rigs.assert_reaches(ob, FORE, target)
    assert chain.status.startswith("Reached"), chain.status
    assert "so none is turned with the target" in chain.status
    turned = rigs.rotations(ob)
    assert turned[HAND] == (1.0, 0.0, 0.0, 0.0)
    chain.use_rotation = False
    scaled_rigs.update()
    assert rigs.rotations(ob) == turned
    assert "turned" not in chain.status


@pytest.mark.parametrize("solver", SOLVERS[:-1])
def test_three_bones_without_a_hand_turn_the_tip(solver):
    ob = rigs.make_rig(LIMB)
    target = turned_target((0.3, 0.5, 1.2))
    given = {"use_rotation": True, "rotation_bone": "AUTO", "solver": solver}
    chain = rigs.add_chain(ob, HAND, target, **given)
    scaled_rigs.update()
    assert chain.status.startswith("Reached"), chain.status
    np.testing.assert_allclose(axes_of_bone(ob, HAND), axes_of_object(target), atol=2e-6)
