"""Names of chains: two of one armature never have the same, as with objects and bones."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.setups import rigs


def make_named(*names: str) -> bpy.types.Object:
    """Return an armature with chains that a script adds and names."""
    ob = rigs.make_rig()
    for name in names:
        ob.chain_ik.chains.add().name = name
    return ob


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (("Arm", "Arm", "Arm"), ["Arm", "Arm.001", "Arm.002"]),
        (("Arm.001", "Arm.001"), ["Arm.001", "Arm.002"]),
        (("Bone.1", "Bone.1"), ["Bone.1", "Bone.1.001"]),
        (("", ""), ["", "Chain.001"]),
        (("Arm", "arm"), ["Arm", "arm"]),
    ],
)
def test_a_name_that_is_taken_in_this_armature_gets_a_number(given, shown):
    for _ in range(2):
        assert [chain.name for chain in make_named(*given).chain_ik.chains] == shown


def test_a_name_given_in_the_list_does_not_take_another_one_away():
    ob = make_named("Arm", "Leg")
    for name in ("Leg", "Leg.001"):
        ob.chain_ik.chains[0].name = name
        assert [chain.name for chain in ob.chain_ik.chains] == ["Leg.001", "Leg"]


def test_chains_that_a_script_does_not_name_are_told_apart_once_they_have_bones():
    ob = rigs.make_rig()
    for bone in ob.pose.bones:
        ob.chain_ik.chains.add().bone = bone.name
    assert [chain.name for chain in ob.chain_ik.chains] == ["Chain", "Chain.001"]


def test_names_that_a_file_holds_twice_stay_and_both_chains_are_solved():
    ob = rigs.make_rig()
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Other")
    for i, bone in enumerate(("Bone.1", "Other.0")):
        rigs.add_chain(ob, bone, rigs.make_empty(f"Target {i}", (2 * i, 0.4, 0.4)))
    # As files have them that were made before.
    for chain in ob.chain_ik.chains:
        # Blender keeps what add-ons define elsewhere since 5.0.
        stored = chain.bl_system_properties_get() if bpy.app.version >= (5, 0) else chain
        stored["name"] = "Chain"
    rigs.updated()
    assert [chain.name for chain in ob.chain_ik.chains] == ["Chain", "Chain"]
    assert all(not chain.status.startswith("Not solved") for chain in ob.chain_ik.chains)
