"""Targets and rigs tied to bones of other live rigs, and untied: the order of solving follows."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import OTHER, RIG, assert_right, follow, named

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow

BOTH_WAYS = pytest.mark.parametrize("pair", [("Rig", "Other"), ("Other", "Rig")])


def tie_by_parent(owner: bpy.types.Object, rig: bpy.types.Object) -> None:
    owner.parent, owner.parent_type, owner.parent_bone = rig, "BONE", "Bone.1"


def untie_parent(owner: bpy.types.Object) -> None:
    owner.parent, owner.parent_type = None, "OBJECT"


def tie_by_constraint(owner, rig):
    constraint = owner.constraints.new("CHILD_OF")
    constraint.target, constraint.subtarget = rig, "Bone.1"


def mute_constraint(owner):
    owner.constraints[0].mute = True


def remove_constraint(owner):
    owner.constraints.remove(owner.constraints[0])


def tie_by_armature_constraint(owner, rig):
    tie = owner.constraints.new("ARMATURE").targets.new()
    tie.target, tie.subtarget = rig, "Bone.1"


def tie_by_driver(owner, rig):
    driver = owner.driver_add("location", 2).driver
    variable = driver.variables.new()
    variable.name, variable.type = "place", "TRANSFORMS"
    variable.targets[0].id, variable.targets[0].bone_target = rig, "Bone.1"
    variable.targets[0].transform_type = "LOC_Z"
    driver.expression = "place"


def mute_driver(owner):
    owner.animation_data.drivers[0].mute = True


def remove_driver(owner):
    owner.driver_remove("location", 2)


def tie_grandparent(owner, rig):
    owner.parent = rigs.make_empty("Between", (0, 0, 0))
    bpy.context.view_layer.update()
    tie_by_parent(owner.parent, rig)


def untie_grandparent(owner):
    untie_parent(owner.parent)


TIES = (
    (tie_by_parent, untie_parent),
    (tie_by_constraint, mute_constraint),
    (tie_by_constraint, remove_constraint),
    (tie_by_armature_constraint, remove_constraint),
    (tie_by_driver, mute_driver),
    (tie_by_driver, remove_driver),
    (tie_grandparent, untie_grandparent),
)
each_tie = pytest.mark.parametrize(("tie", "untie"), TIES)


def rig_target(rig: str) -> bpy.types.Object:
    return named(f"{rig} Target")


def place(owner: bpy.types.Object, location: np.ndarray) -> None:
    """Move an object, without a rotation of its own, to a place in the world as it is tied now."""
    world = rigs.world_matrix(owner, rigs.updated())
    owner.location += Vector(np.linalg.solve(world[:3, :3], location - world[:3, 3]))


@BOTH_WAYS
@each_tie
def test_a_target_tied_to_a_bone_of_another_chain_is_followed_and_untied_again(tie, untie, pair):
    rig, carrier = pair
    warm_rigs.make_pair()
    homes = {name: rigs.position(rig_target(name)) for name in pair}
    movers = (f"{carrier} Target", f"{rig} Target")
    tie(rig_target(rig), named(carrier))
    place(rig_target(rig), homes[rig])
    assert_right(movers=movers)
    untie(rig_target(rig))
    place(rig_target(rig), homes[rig])
    assert_right(movers=movers)
    # And now the other way round: the order of solving is the opposite one.
    tie(rig_target(carrier), named(rig))
    place(rig_target(carrier), homes[carrier])
    assert_right(movers=movers[::-1])


@BOTH_WAYS
@each_tie
def test_a_rig_tied_to_a_bone_of_another_chain_is_solved_where_it_is_carried(tie, untie, pair):
    rig, carrier = pair
    warm_rigs.make_pair()
    home = rigs.position(named(rig))
    movers = (f"{carrier} Target", f"{rig} Target")
    tie(named(rig), named(carrier))
    place(named(rig), home)
    assert_right(movers=movers)
    untie(named(rig))
    place(named(rig), home)
    assert_right(movers=movers)


@pytest.mark.parametrize("tie", [tie_by_constraint, tie_by_driver])
@pytest.mark.parametrize("tied", ["Rig", "Rig Target"])
def test_a_tie_that_was_muted_when_plans_were_made_orders_the_solving_once_unmuted(tie, tied):
    warm_rigs.make_pair()
    home = rigs.position(named(tied))
    tie(named(tied), named("Other"))
    place(named(tied), home)
    if tie is tie_by_driver:
        muted, unties = named(tied).animation_data.drivers[0], mute_driver
    else:
        muted, unties = named(tied).constraints[0], mute_constraint
    for _ in range(2):
        unties(named(tied))
        warm_rigs.forget()
        bpy.context.view_layer.update()
        warm_rigs.warm_up()
        muted.mute = False
        place(named(tied), home)
        assert_right()


def test_a_tie_given_another_source_changes_the_order_of_solving():
    warm_rigs.make_pair()
    warm_rigs.make_limb("A", (0.5, -2.0, 0.0), seed=5)
    third = ("A", "Bone.2", "A Target")
    follow(third)
    carried = named("Rig Target")
    constraint = carried.constraints.new("COPY_TRANSFORMS")
    constraint.target, constraint.subtarget = named("A"), "Early.0"
    constraint.influence = 0.1
    movers = ("A Target", "Other Target", "Rig Target")
    for source, bone in (
        ("A", "Bone.1"),
        ("Other", "Early.0"),
        ("Other", "Bone.2"),
        ("A", "Bone.0"),
    ):
        constraint = named("Rig Target").constraints[0]
        constraint.target, constraint.subtarget = named(source), bone
        assert_right([RIG, OTHER, third], movers)


def test_a_chain_hung_under_bones_of_another_and_back_is_solved_in_order():
    warm_rigs.make_pair()
    rigs.add_bones(named("Rig"), np.add(rigs.ARM, (0.3, 0.1, 1.5)), prefix="Arm")
    rigs.make_empty("Arm Target", (0.9, 0.4, 1.6))
    arm = ("Rig", "Arm.1", "Arm Target")
    follow(arm, chain_count=2)
    named("Rig").chain_ik.chains.move(1, 0)
    movers = ("Rig Target", "Arm Target")
    for parent in ("Bone.1", "", "Early.0", "Bone.2"):

        def hang(bones, parent=parent):
            bones["Arm.0"].parent = bones[parent] if parent else None

        warm_rigs.edit_bones(hang)
        assert_right([RIG, arm, OTHER], movers)


@pytest.mark.parametrize("carried", ["Rig", "Rig Target"])
def test_what_is_parented_to_a_moving_object_and_cleared_is_followed(carried):
    warm_rigs.make_pair()
    carrier = rigs.make_empty("Carrier", (0.1, 0.2, -0.1))
    home = rigs.position(named(carried))
    named(carried).parent = carrier
    movers = ("Carrier", "Other Target", "Rig Target")
    assert_right(movers=movers)
    named("Carrier").rotation_euler, named("Carrier").scale = (0.3, 0.2, -0.4), (1.1, 0.9, -1.1)
    place(named(carried), home)
    assert_right(movers=movers)
    for parent in (None, named("Other")):
        named(carried).parent = parent
        place(named(carried), home)
        assert_right(movers=movers)
