"""Presets of a chain's settings: those of the extension, and those of the user."""

from pathlib import Path

import bpy
import pytest

from blender_ik_addon.rig.anatomy.limb_chains import chain_of
from blender_ik_addon.rig.anatomy.limbs import Limb, LimbKind
from tests.blender.operators.test_characters import make_left_arm
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects


def preset_files() -> dict[str, Path]:
    """Return the files of all presets that Blender lists, by name."""
    folders = map(Path, bpy.utils.preset_paths("chain_ik"))
    return {file.stem: file for folder in folders for file in folder.glob("*.py")}


def make_chain(count: int = 2) -> bpy.types.PropertyGroup:
    ob = rigs.make_rig(rigs.zigzag(count))
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", rigs.make_empty(location=(0.4, 0.3, 1.0)))
    select_objects(active=ob)
    return chain


def apply(name: str) -> None:
    """Apply a preset as its button in the popover does."""
    path = str(preset_files()[name])
    operator = bpy.types.CHAINIK_PT_presets.preset_operator.split(".")
    # Blender passes only the path to operators of add-ons.
    press(getattr(getattr(bpy.ops, operator[0]), operator[1]), filepath=path)


@pytest.mark.parametrize("name", ["Arm", "Leg", "Finger", "Tail", "Spine", "Spider_Leg"])
def test_a_preset_sets_the_settings_that_set_up_gives_such_a_limb(name):
    end = "Hand" if name in ("Arm", "Leg") else ""
    chain = make_chain(2 if end else 3)
    chain.solver = "CCD"
    apply(name)
    chain = bpy.context.active_object.chain_ik.chains[0]
    expected = chain_of(Limb(LimbKind[name.upper()], "Name", ("A", "B", "C"), end))
    assert chain.use_rotation == expected.use_rotation
    assert chain.rotation_bone == expected.rotation_bone.value
    assert chain.solver == ("TWO_BONE" if end else "NEWTON")
    # A preset for limbs with hands also works on two bones without a hand.
    assert chain.status.startswith(
        "Reached; no bone takes the target's rotation" if end else "Reached"
    )


def set_up_arm() -> bpy.types.PropertyGroup:
    """Return the chain that Set Up Limbs gives an arm."""
    ob = make_left_arm()
    select_objects(active=ob)
    press(bpy.ops.pose.chain_ik_setup)
    return ob.chain_ik.chains[0]


def test_a_preset_restores_all_settings_of_a_new_limb_of_its_kind(capfd):
    chain = set_up_arm()
    before = chain.stored_pose
    apply("Arm")
    assert "The chain already has the settings of the preset 'Arm'" in capfd.readouterr().out
    assert chain.stored_pose == before
    # Unused settings stay unset, so Blender does not copy them with every evaluated pose.
    assert not chain.is_property_set("force")
    chain.solver, chain.soft_distance, chain.use_stretch = "FORCE", 0.2, True
    chain.force.gravity, chain.tolerance, chain.influence = 2.0, 0.1, 0.5
    chain.space, chain.use_pin, chain.priority, chain.planted = "Bone.0", True, 4, "FOOT"
    chain.pull, chain.weight = 0.25, 0.5
    apply("Arm")
    assert (chain.solver, chain.use_stretch) == ("TWO_BONE", False)
    assert (chain.force.gravity, chain.tolerance) == (0.0, pytest.approx(1e-5))
    # These settings belong to the rig.
    assert (chain.influence, chain.bone, chain.space) == (0.5, "forearm.L", "Bone.0")
    assert (chain.use_pin, chain.priority, chain.planted) == (True, 4, "FOOT")
    assert (chain.pull, chain.weight) == (0.25, 0.5)
    assert chain.soft_distance == pytest.approx(0.2)
    output = capfd.readouterr().out
    assert "The preset 'Arm' changed " in output
    assert all(label in output for label in ("Solver", "Stretch", "Tolerance", "Gravity"))
    assert "Soft Distance" not in output


def test_a_preset_is_one_undo_step_and_takes_no_other_with_it():
    chain = set_up_arm()
    bpy.ops.ed.undo_push(message="Before")
    chain.orient_weight = 0.2
    bpy.ops.ed.undo_push(message="Weight")
    apply("Finger")
    apply("Tail")
    assert chain.orient_weight == 1.0
    for rotation_bone, weight in (("TIP", 1.0), ("AUTO", pytest.approx(0.2)), ("AUTO", 1.0)):
        bpy.ops.ed.undo()
        chain = bpy.data.objects["Rig"].chain_ik.chains[0]
        assert (chain.rotation_bone, chain.orient_weight) == (rotation_bone, weight)


def test_a_preset_of_the_user_restores_all_settings_except_those_of_the_rig():
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
    assert "My_Neck" not in preset_files()
