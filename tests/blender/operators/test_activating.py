"""Clicking a bone or a control makes its chain the active one, and undoes no other choice."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.setups import rigs, tree_rigs


def click(ob: bpy.types.Object, bone: str) -> None:
    ob.data.bones.active = ob.data.bones[bone]
    # What Blender does on a click, which tells of the selection.
    ob.data.update_tag()
    rigs.updated()


@pytest.fixture
def y_rig() -> tree_rigs.TreeRig:
    rig = tree_rigs.make_y()
    rig.follow()
    rigs.enter(rig.ob, "POSE")
    click(rig.ob, "Trunk.0")
    return rig


def active(rig: tree_rigs.TreeRig) -> str:
    return rig.ob.chain_ik.chains[rig.ob.chain_ik.active_index].name


def test_a_click_on_a_bone_makes_its_chain_active(y_rig):
    for tip in ("Right", "Left", "Right"):
        click(y_rig.ob, f"{tip}.1")
        assert active(y_rig) == tip


def test_a_shared_bone_keeps_the_chain_that_is_active(y_rig):
    click(y_rig.ob, "Right.1")
    click(y_rig.ob, "Trunk.1")
    assert active(y_rig) == "Right"


def test_a_control_bone_belongs_to_the_chain_that_follows_it(y_rig):
    rigs.enter(y_rig.ob, "OBJECT")
    rigs.add_bones(y_rig.ob, ((2, 0, 0), (2, 0, 0.3)), prefix="Control")
    rigs.enter(y_rig.ob, "POSE")
    click(y_rig.ob, "Right.1")
    chain = y_rig.chain("Left")
    chain.target, chain.subtarget = y_rig.ob, "Control.0"
    click(y_rig.ob, "Control.0")
    assert active(y_rig) == "Left"


def test_a_choice_in_the_list_stays_until_another_bone_is_clicked(y_rig):
    click(y_rig.ob, "Right.1")
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    y_rig.target("Right").location.x += 0.1
    rigs.updated()
    click(y_rig.ob, "Right.1")
    assert active(y_rig) == "Left"
    click(y_rig.ob, "Right.0")
    assert active(y_rig) == "Right"


def test_a_bone_without_a_chain_changes_nothing(y_rig):
    rigs.enter(y_rig.ob, "OBJECT")
    rigs.add_bones(y_rig.ob, ((2, 0, 0), (2, 0, 0.3)), prefix="Free")
    rigs.enter(y_rig.ob, "POSE")
    click(y_rig.ob, "Right.1")
    click(y_rig.ob, "Free.0")
    assert active(y_rig) == "Right"
