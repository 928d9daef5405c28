"""Chains that follow each other: refused in one sentence, or at rest."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, tree_rigs


def assert_at_rest(ob: bpy.types.Object) -> None:
    """Check that further updates change nothing."""
    rigs.updated()
    before = rigs.rotations(ob)
    for _ in range(4):
        ob.update_tag()
        rigs.updated()
        assert rigs.rotations(ob) == before


def in_tree(other: str) -> str:
    return (
        f"This chain follows bones of chain '{other}' and shares others with it:"
        " choose a target and a pole that neither of them moves."
    )


@pytest.mark.parametrize("word", ["target", "pole"])
def test_what_hangs_below_the_shared_bones_cannot_be_followed(word):
    rig = tree_rigs.make_y()
    rig.follow()
    rig.place(1)
    hook = rigs.make_empty("Hook", (0, 0, 0), parent=rig.ob, parent_bone="Right.1")
    left = rig.chain("Left")
    setattr(left, word if word == "target" else "pole_target", hook)
    rigs.updated()
    assert left.status == (
        f"The {word} 'Hook' is moved by the chain that would follow it:"
        " clear its parent or constraint, or choose another object."
    )
    assert rig.chain("Right").status.startswith("Reached")
    assert_at_rest(rig.ob)
    left.target, left.pole_target = rig.target("Left"), None
    rig.assert_reached()


def test_a_bone_of_the_tree_above_the_chain_cannot_be_followed():
    rig = tree_rigs.make_y()
    rig.follow()
    left = rig.chain("Left")
    left.chain_count = 3
    left.target, left.subtarget = rig.ob, "Trunk.0"
    rigs.updated()
    assert left.status == in_tree("Right")
    assert rig.chain("Right").status.startswith("Reached")
    assert_at_rest(rig.ob)
    rig.chain("Right").mute = True
    rigs.updated()
    assert left.status.startswith(("Reached", "Out of reach", "Too near"))


def make_arms() -> bpy.types.Object:
    """Return two arms that share no bone, and no targets yet."""
    ob = rigs.make_armature("Arms")
    rigs.add_bones(ob, tree_rigs.LEFT, prefix="Left")
    rigs.add_bones(ob, np.add(tree_rigs.RIGHT, (-0.3, 0, 0)), prefix="Right")
    return ob


def test_two_arms_that_follow_each_other_leave_one_at_work():
    ob = make_arms()
    for name, other in (("Left", "Right"), ("Right", "Left")):
        rigs.add_chain(ob, f"{name}.1", ob, subtarget=f"{other}.1", name=name)
    rigs.updated()
    left, right = ob.chain_ik.chains
    assert right.status == (
        "This chain and chain 'Left' follow each other:"
        " give one of the two a target that neither of them moves."
    )
    assert left.status.startswith(("Reached", "Out of reach")), left.status
    assert_at_rest(ob)
    right.mute = True
    rigs.updated()
    assert left.status.startswith(("Reached", "Out of reach"))


def test_both_hands_on_one_bar_settle_where_one_of_them_carries_it():
    ob = make_arms()
    rigs.add_chain(ob, "Right.1", rigs.make_empty("Lead", (-0.6, 0.3, 1.5)), name="Right")
    grip = rigs.make_empty("Grip", (0.3, 0.0, 0.1), parent=ob, parent_bone="Right.1")
    rigs.add_chain(ob, "Left.1", grip, name="Left")
    rigs.updated()
    rigs.assert_reaches(ob, "Left.1", grip)
    assert_at_rest(ob)


def test_both_hands_on_one_bar_that_each_of_them_carries_are_refused():
    ob = make_arms()
    for name, other in (("Left", "Right"), ("Right", "Left")):
        grip = rigs.make_empty(f"Grip {name}", (0, 0, 0))
        tie = grip.constraints.new("CHILD_OF")
        tie.target, tie.subtarget = ob, f"{other}.1"
        rigs.add_chain(ob, f"{name}.1", grip, name=name)
    rigs.updated()
    assert "follow each other" in ob.chain_ik.chains["Right"].status
    assert_at_rest(ob)


def test_a_ring_of_three_over_two_armatures_loses_one_member():
    ob, third = make_arms(), rigs.make_rig(name="Third")
    rigs.add_chain(ob, "Left.1", ob, subtarget="Right.1", name="Left")
    rigs.add_chain(ob, "Right.1", third, subtarget="Bone.1", name="Right")
    rigs.add_chain(third, "Bone.1", ob, subtarget="Left.1", name="Third")
    rigs.updated()
    chains = (*ob.chain_ik.chains, *third.chain_ik.chains)
    assert sum("follow each other" in chain.status for chain in chains) == 1
    for each in (ob, third):
        assert_at_rest(each)


def test_a_spine_that_follows_its_own_hand_is_refused():
    ob = rigs.make_rig(name="Spine")
    rigs.add_bones(ob, ((0, 0, 2), (0.3, 0.1, 2.7), (0, 0, 3.4)), prefix="Arm", parent="Bone.1")
    hook = rigs.make_empty("Hook", (0, 0, 0), parent=ob, parent_bone="Arm.1")
    rigs.add_chain(ob, "Arm.1", rigs.make_empty("Hand", (0.5, 0, 2.5)), name="Arm", chain_count=2)
    rigs.add_chain(ob, "Bone.1", hook, name="Spine")
    rigs.updated()
    assert "moved by the chain that would follow it" in ob.chain_ik.chains["Spine"].status
    assert_at_rest(ob)


def test_drivers_alone_make_no_ring():
    """Blender does not tell for which bone of an object a driver is."""
    ob = make_arms()
    rigs.add_bones(ob, ((0, 2, 0), (0, 2, 1)), prefix="Corrective")
    for number, name in enumerate(("Left.0", "Right.0")):
        driver = ob.pose.bones["Corrective.0"].driver_add("scale", number).driver
        variable = driver.variables.new()
        variable.name, variable.type = "turn", "TRANSFORMS"
        variable.targets[0].id, variable.targets[0].bone_target = ob, name
        driver.expression = "1.0 + 0.0 * turn"
    targets = {}
    for name, place in (("Left", (0.6, 0.3, 1.2)), ("Right", (-0.9, 0.3, 1.2))):
        targets[name] = rigs.make_empty(f"{name} Target", place)
        rigs.add_chain(ob, f"{name}.1", targets[name], name=name)
    rigs.updated()
    for name, target in targets.items():
        rigs.assert_reaches(ob, f"{name}.1", target)
