"""Edit mode, in which bones have other names than in the pose: all buttons ask to leave it."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.interface.drawn import draw, make_active_arm
from tests.blender.setups import rigs
from tests.blender.setups.selecting import refusal, select_objects, state

LEAVE = "Leave edit mode: chains work on the pose."
# Takes what was found away, wherever one is.
ALWAYS = {"chain_ik_compare_clear"}


def operators() -> set[str]:
    """Return the names of all operators; registered they are not before the tests begin."""
    found = {name for name in dir(bpy.ops.pose) if name.startswith("chain_ik_")}
    assert {"chain_ik_joints_copy", "chain_ik_compare_use", "chain_ik_activate"} <= found
    return found


def rename(ob: bpy.types.Object) -> None:
    ob.data.edit_bones[0].name = "Renamed"


def delete(ob: bpy.types.Object) -> None:
    ob.data.edit_bones.remove(ob.data.edit_bones[-1])


EDITS = (rename, delete)


def edited(edit) -> tuple[bpy.types.Object, bpy.types.PropertyGroup]:
    """Return an armature in edit mode, of which a bone has been edited, and its chain."""
    ob, _ = make_active_arm(solver="FORCE")
    ob.pose.bones[0].lock_ik_x = True
    bpy.ops.pose.chain_ik_compare()
    rigs.enter(ob, "EDIT")
    edit(ob)
    return ob, ob.chain_ik.chains[0]


@pytest.mark.parametrize("edit", EDITS)
def test_all_operators_ask_to_leave_edit_mode_and_change_nothing(edit):
    edited(edit)
    before = state()
    said = {name: refusal(getattr(bpy.ops.pose, name)) for name in operators() - ALWAYS}
    assert {name: text for name, text in said.items() if text != LEAVE} == {}
    assert len(said) > 20
    assert state() == before


@pytest.mark.parametrize("edit", EDITS)
def test_an_operator_does_so_while_a_target_is_the_active_object(edit):
    ob, chain = edited(edit)
    target = chain.target
    bpy.context.view_layer.objects.active = target
    assert ob.data.is_editmode
    assert refusal(bpy.ops.pose.chain_ik_joints_copy) == LEAVE


@pytest.mark.parametrize("edit", EDITS)
def test_settings_can_be_changed_and_shown_all_the_same(edit):
    ob, chain = edited(edit)
    chain.use_tail = chain.use_rotation = chain.use_stretch = True
    chain.use_stretch, chain.chain_count, chain.mute = False, 1, True
    assert chain.status == "Muted"
    chain.mute = False
    assert chain.status == "Not solved: the armature is in edit mode"
    assert draw()
    rigs.enter(ob, "OBJECT")
    select_objects(active=ob)
    rigs.updated()
    assert "edit mode" not in ob.chain_ik.chains[0].status
