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
def test_a_name_that_is_taken_gets_a_number(given, shown):
    assert [chain.name for chain in make_named(*given).chain_ik.chains] == shown


def test_a_name_given_in_the_list_does_not_take_another_one_away():
    ob = make_named("Arm", "Leg")
    ob.chain_ik.chains[0].name = "Leg"
    assert [chain.name for chain in ob.chain_ik.chains] == ["Leg.001", "Leg"]
    ob.chain_ik.chains[0].name = "Leg.001"
    assert ob.chain_ik.chains[0].name == "Leg.001"


def test_chains_that_a_script_does_not_name_are_told_apart_once_they_have_bones():
    ob = rigs.make_rig()
    for bone in ob.pose.bones:
        ob.chain_ik.chains.add().bone = bone.name
    names = [chain.name for chain in ob.chain_ik.chains]
    assert names[:2] == ["Chain", "Chain.001"]
    assert len(set(names)) == len(ob.pose.bones)


def test_another_armature_may_have_the_same_names():
    first, second = make_named("Arm"), make_named("Arm")
    assert first.chain_ik.chains[0].name == second.chain_ik.chains[0].name == "Arm"


def test_names_that_a_file_holds_twice_stay_and_both_chains_are_solved():
    ob = rigs.make_rig()
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Other")
    targets = [rigs.make_empty(f"Target {i}", (2 * i, 0.4, 0.4)) for i in range(2)]
    for bone, target in zip(("Bone.1", "Other.0"), targets, strict=True):
        chain = ob.chain_ik.chains.add()
        chain.bone, chain.target = bone, target
    # As files have them that were made before.
    for chain in ob.chain_ik.chains:
        # Blender keeps what add-ons define elsewhere since 5.0.
        stored = chain.bl_system_properties_get() if bpy.app.version >= (5, 0) else chain
        stored["name"] = "Chain"
    rigs.updated()
    assert [chain.name for chain in ob.chain_ik.chains] == ["Chain", "Chain"]
    assert all(not chain.status.startswith("Not solved") for chain in ob.chain_ik.chains)
