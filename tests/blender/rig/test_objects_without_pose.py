"""Chains on objects that have no pose: new armature objects, and objects that are no armature."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.setups import rigs


def add_everything(ob: bpy.types.Object, target: bpy.types.Object) -> bpy.types.PropertyGroup:
    """Add a chain and touch every setting that does more than be stored."""
    chain = rigs.add_chain(ob, "Bone.1", target, pole_target=target, use_stretch=True)
    chain.joints.add().bone = "Bone.0"
    chain.use_stretch = False
    chain.chain_count = 1
    chain.mute = True
    chain.mute = False
    chain.target.hide_viewport = True
    chain.target = target
    return chain


def test_a_chain_on_an_armature_object_that_was_never_evaluated_works_from_its_first_update(capfd):
    armature = rigs.make_rig(name="Known").data
    target = rigs.make_empty()
    ob = bpy.data.objects.new("New", armature)
    rigs.link(ob)
    chain = rigs.add_chain(ob, "Bone.1", target)
    assert chain.status
    assert chain.residual == -1.0
    rigs.updated()
    rigs.assert_reaches(ob, "Bone.1", target)
    assert chain.status.startswith("Reached")
    assert "Error" not in capfd.readouterr().err


@pytest.mark.parametrize("is_linked", [True, False])
def test_settings_of_a_new_object_can_be_changed_before_it_has_a_pose(is_linked, capfd):
    armature = rigs.make_rig(name="Known").data
    ob = bpy.data.objects.new("New", armature)
    if is_linked:
        rigs.link(ob)
    chain = add_everything(ob, rigs.make_empty())
    assert chain.status
    rigs.updated()
    assert "Error" not in capfd.readouterr().err


@pytest.mark.parametrize("data", ["mesh", "empty"])
def test_a_chain_on_an_object_that_is_no_armature_says_so_and_prints_nothing(data, capfd):
    ob = bpy.data.objects.new("Thing", bpy.data.meshes.new("M") if data == "mesh" else None)
    rigs.link(ob)
    chain = add_everything(ob, rigs.make_empty())
    rigs.updated()
    bpy.context.scene.frame_set(3)
    assert chain.status == "Not solved: this object is not an armature, so remove the chain"
    assert chain.residual == -1.0
    bpy.context.view_layer.objects.active = ob
    assert "Error" not in capfd.readouterr().err


def test_an_object_that_gets_an_armature_with_other_bones_keeps_no_trace(capfd):
    ob, target = rigs.make_arm()
    other = rigs.make_rig(rigs.zigzag(3), name="Other").data
    ob.data = other
    chain = ob.chain_ik.chains[0]
    chain.chain_count = 2
    rigs.updated()
    rigs.assert_reaches(ob, "Bone.1", target)
    assert "Error" not in capfd.readouterr().err
