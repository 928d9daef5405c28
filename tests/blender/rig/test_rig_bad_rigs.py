"""Promise 6 where the rig itself is what is wrong: no pose yet, no armature, no length."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.spoiling import assert_is_advice


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


def test_a_bone_whose_child_starts_at_its_own_head_has_no_length_to_turn():
    ob = rigs.make_armature()
    heads = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 2)]
    rigs.add_bones(ob, heads, tails=[(0, 0, 1), (0, 0, 1), (0, 0, 2)])
    chain, _ = scaled_rigs.follow(ob, ["Bone.0", "Bone.1", "Bone.2"], np.array([0.7, 0.4, 1.2]))
    assert_is_advice(chain.status, "'Bone.0'")
    chain.chain_count = 2
    scaled_rigs.update()
    assert ob.chain_ik.chains[0].status.startswith("Reached"), ob.chain_ik.chains[0].status


def test_a_target_at_the_end_of_the_world_stretches_the_limb_toward_it():
    ob, target = rigs.make_arm()
    # Blender takes infinity for its largest number.
    target.location = (0.0, float("inf"), 0.0)
    scaled_rigs.update()
    direction = rigs.tail(ob, "Bone.1") / np.linalg.norm(rigs.tail(ob, "Bone.1"))
    np.testing.assert_allclose(direction, (0.0, 1.0, 0.0), atol=1e-6)
    assert ob.chain_ik.chains[0].status.startswith("Out of reach")
