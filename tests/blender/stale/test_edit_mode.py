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


@pytest.mark.parametrize("is_renamed", [True, False])
def test_all_operators_ask_to_leave_edit_mode_and_settings_can_be_changed_all_the_same(is_renamed):
    ob, _ = make_active_arm(solver="FORCE")
    ob.pose.bones[0].lock_ik_x = True
    bpy.ops.pose.chain_ik_compare()
    rigs.enter(ob, "EDIT")
    bones = ob.data.edit_bones
    if is_renamed:
        bones[0].name = "Renamed"
    else:
        bones.remove(bones[-1])
    before = state()
    names = {name for name in dir(bpy.ops.pose) if name.startswith("chain_ik_")} - ALWAYS
    said = {name: refusal(getattr(bpy.ops.pose, name)) for name in names}
    assert {name: text for name, text in said.items() if text != LEAVE} == {}
    assert len(said) > 20
    assert state() == before
    chain = ob.chain_ik.chains[0]
    chain.use_tail = chain.use_rotation = chain.use_stretch = True
    chain.use_stretch, chain.chain_count, chain.mute = False, 1, True
    assert chain.status == "Muted"
    chain.mute = False
    assert chain.status == "Not solved: the armature is in edit mode"
    assert draw()
    bpy.context.view_layer.objects.active = chain.target
    assert ob.data.is_editmode
    assert refusal(bpy.ops.pose.chain_ik_joints_copy) == LEAVE
    rigs.enter(ob, "OBJECT")
    select_objects(active=ob)
    rigs.updated()
    assert "edit mode" not in ob.chain_ik.chains[0].status
