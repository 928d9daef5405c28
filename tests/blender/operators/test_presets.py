"""Presets of a chain's settings: those that come along, and one's own."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from blender_ik_addon.rig.anatomy.limb_chains import chain_of
from blender_ik_addon.rig.anatomy.limbs import Limb, LimbKind
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects


def shipped() -> dict[str, Path]:
    """Return the presets that Blender lists, by name."""
    folders = map(Path, bpy.utils.preset_paths("chain_ik"))
    return {file.stem: file for folder in folders for file in folder.glob("*.py")}


def make_chain(count: int = 2) -> bpy.types.PropertyGroup:
    ob = rigs.make_rig(rigs.zigzag(count))
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", rigs.make_empty(location=(0.4, 0.3, 1.0)))
    select_objects(active=ob)
    rigs.updated()
    return chain


def apply(name: str) -> None:
    bpy.ops.script.execute_preset(filepath=str(shipped()[name]), menu_idname="CHAINIK_PT_presets")
    rigs.updated()


def test_presets_for_the_usual_limbs_come_along():
    names = {"Arm", "Leg", "Finger", "Tail", "Spine", "Spider_Leg", "Rope"}
    assert names <= shipped().keys()


@pytest.mark.parametrize("name", ["Arm", "Leg", "Finger", "Tail", "Spine", "Spider_Leg"])
def test_a_preset_sets_what_the_set_up_of_such_a_limb_does(name):
    chain = make_chain(2 if name in ("Arm", "Leg") else 3)
    chain.solver = "CCD"
    apply(name)
    chain = bpy.context.active_object.chain_ik.chains[0]
    kind = LimbKind[name.upper()]
    end = "Hand" if name in ("Arm", "Leg") else ""
    wanted = chain_of(Limb(kind, "Name", ("A", "B", "C"), end))
    assert chain.use_rotation == wanted.use_rotation
    assert chain.rotation_bone == wanted.rotation_bone.value
    assert chain.solver == ("TWO_BONE" if end else "NEWTON")


@pytest.mark.parametrize("name", ["Arm", "Leg"])
def test_a_preset_for_limbs_with_hands_works_on_two_bones_without_one(name):
    chain = make_chain(2)
    apply(name)
    assert chain.status.startswith("Reached; no single bone begins"), chain.status


def test_a_preset_of_one_s_own_brings_all_settings_back_but_those_of_the_rig():
    chain = make_chain()
    chain.solver, chain.soft_distance, chain.force.gravity = "FORCE", 0.25, 3.0
    chain.pole_angle, chain.influence = 0.5, 0.75
    bpy.ops.pose.chain_ik_preset_add(name="My Neck")
    try:
        chain.solver, chain.soft_distance, chain.force.gravity = "NEWTON", 0.0, 0.0
        chain.pole_angle, chain.influence = 0.1, 1.0
        bone, target = chain.bone, chain.target
        apply("My_Neck")
        assert (chain.solver, chain.soft_distance) == ("FORCE", pytest.approx(0.25))
        assert chain.force.gravity == pytest.approx(3.0)
        assert (chain.pole_angle, chain.influence) == (pytest.approx(0.1), 1.0)
        assert (chain.bone, chain.target) == (bone, target)
    finally:
        bpy.ops.pose.chain_ik_preset_add(name="My Neck", remove_name=True)
    assert "My_Neck" not in shipped()


def test_a_preset_holds_every_setting_that_is_not_the_rig_s_own():
    chain = make_chain()
    values = bpy.types.POSE_OT_chain_ik_preset_add.preset_values.fget(None)
    for value in values:
        owner, _, name = value.removeprefix("settings.").rpartition(".")
        holder = getattr(chain, owner) if owner else chain
        assert name in holder.bl_rna.properties
    assert {"settings.solver", "settings.start_from", "settings.force.ease"} <= set(values)


def test_without_a_chain_the_button_says_what_is_missing():
    select_objects(active=rigs.make_rig())
    assert not bpy.ops.pose.chain_ik_preset_add.poll()
