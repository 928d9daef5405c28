"""Targets and rigs tied to bones of other live rigs, hidden and deleted: each update sees them."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import OTHER, RIG, assert_followed, chain, follow, named, told

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow


def by_parent(owner, rig):
    owner.parent, owner.parent_type, owner.parent_bone = rig, "BONE", "Bone.1"
    return None, lambda: setattr(owner, "parent", None)


def by_grandparent(owner, rig):
    owner.parent = rigs.make_empty("Between", (0, 0, 0))
    owner.parent_type = "OBJECT"
    by_parent(owner.parent, rig)
    return None, lambda: bpy.data.objects.remove(named("Between"))


def by_moving_object(owner, _rig):
    owner.parent = rigs.make_empty("Carrier", (0.1, 0.2, -0.1))
    owner.parent_type = "OBJECT"
    owner.parent.rotation_euler, owner.parent.scale = (0.3, 0.2, -0.4), (1.1, 0.9, -1.1)
    return None, lambda: setattr(owner, "parent", None)


def by_constraint(owner, rig):
    tie = owner.constraints.new("CHILD_OF")
    tie.target, tie.subtarget = rig, "Bone.1"
    return tie, lambda: owner.constraints.remove(owner.constraints[0])


def by_armature_constraint(owner, rig):
    constraint = owner.constraints.new("ARMATURE")
    tie = constraint.targets.new()
    tie.target, tie.subtarget = rig, "Bone.1"
    return constraint, lambda: owner.constraints.remove(owner.constraints[0])


def by_driver(owner, rig):
    driver = owner.driver_add("location", 2).driver
    variable = driver.variables.new()
    variable.name, variable.type = "place", "TRANSFORMS"
    variable.targets[0].id, variable.targets[0].bone_target = rig, "Bone.1"
    variable.targets[0].transform_type = "LOC_Z"
    driver.expression = "place"
    return owner.animation_data.drivers[0], lambda: owner.driver_remove("location", 2)


TIES = (
    *(by_parent, by_grandparent, by_moving_object),
    *(by_constraint, by_armature_constraint, by_driver),
)


def place(owner: bpy.types.Object, location: np.ndarray) -> None:
    """Move an object, without a rotation of its own, to a place in the world as it is tied now."""
    world = rigs.world_matrix(owner, rigs.updated())
    owner.location += Vector(np.linalg.solve(world[:3, :3], location - world[:3, 3]))


@pytest.mark.parametrize("tied", ["Rig Target", "Other"])
def test_what_is_tied_to_a_bone_of_another_chain_is_solved_after_it_until_it_is_untied(tied):
    warm_rigs.make_pair()
    owner, home = named(tied), rigs.position(named(tied))
    carrier = "Other" if tied.startswith("Rig") else "Rig"
    movers = [f"{carrier} Target", f"{tied.split()[0]} Target"]

    def assert_placed_right(what):
        place(owner, home)
        with told(what):
            carriers = [ob.name for ob in bpy.data.objects if ob.name == "Carrier"]
            assert_followed(movers=[*carriers, *movers])

    for tie in TIES:
        muted, untie = tie(owner, named(carrier))
        assert_placed_right(tie)
        if muted is not None:
            muted.mute = True
            assert_placed_right(f"{tie.__name__}, muted")
            # Plans that are made now know of nothing.
            warm_rigs.forget()
            rigs.updated()
            warm_rigs.warm_up()
            muted.mute = False
            assert_placed_right(f"{tie.__name__}, unmuted")
        untie()
        assert_placed_right(f"{tie.__name__}, untied")


def test_a_constraint_above_a_chain_is_seen_with_each_of_its_changes():
    warm_rigs.make_pair()
    bone, holder = warm_rigs.pose_bone("Above.0"), rigs.make_empty("Holder", (0.2, -0.1, -0.4))
    holder.rotation_euler = (0.3, 0.4, -0.2)
    tie = bone.constraints.new("COPY_ROTATION")
    for target, subtarget in (("Holder", ""), ("Other", "Bone.1"), ("Other", "Early.0")):
        tie.target, tie.subtarget = named(target), subtarget
        for tie.mute, tie.influence in ((False, 1.0), (True, 1.0), (False, 0.4)):
            with told((target, subtarget, tie.mute, tie.influence)):
                assert_followed(movers=("Holder", *warm_rigs.TARGETS))
    bone.constraints.remove(tie)
    assert_followed()


def test_a_chain_hung_under_bones_of_another_and_back_is_solved_in_order():
    warm_rigs.make_pair()
    rigs.add_bones(named("Rig"), np.add(rigs.ARM, (0.3, 0.1, 1.5)), prefix="Arm")
    rigs.make_empty("Arm Target", (0.9, 0.4, 1.6))
    arm = ("Rig", "Arm.1", "Arm Target")
    follow(arm, chain_count=2)
    named("Rig").chain_ik.chains.move(1, 0)
    for parent in ("Bone.1", "", "Early.0", "Bone.2"):

        def hang(bones, parent=parent):
            bones["Arm.0"].parent = bones[parent] if parent else None

        warm_rigs.edit_bones(hang)
        with told(parent):
            assert_followed([RIG, arm, OTHER], ("Rig Target", "Arm Target"))


def assert_follows_handle(bone: str = "Handle.1") -> None:
    assert_followed([OTHER], ["Other Target", "Handle"])
    found = rigs.tail(named("Rig"), "Bone.2", rigs.updated())
    expected = rigs.head(named("Handle"), bone, bpy.context.view_layer.depsgraph)
    np.testing.assert_allclose(found, expected, atol=rigs.REACHED)


def test_a_target_bone_is_followed_as_it_is_also_as_part_of_a_live_chain():
    warm_rigs.make_pair()
    handle = rigs.make_armature("Handle")
    rigs.add_bones(handle, ((0.5, 0.4, 0.8), (0.5, 0.4, 1.0), (0.3, 0.5, 1.2)), prefix="Handle")
    chain().target, chain().subtarget = handle, "Handle.1"
    assert_follows_handle()
    handle.pose.bones["Handle.0"].rotation_quaternion = (0.9, 0.3, 0.1, 0.0)
    assert_follows_handle()
    warm_rigs.edit_bones(lambda bones: bones["Handle.0"].translate(Vector((0, 0, 0.1))), "Handle")
    assert_follows_handle()
    named("Handle").data.bones["Handle.1"].name = "New"
    assert_follows_handle("New")
    rigs.make_empty("Handle Target", (0.6, 0.2, 1.0))
    limb = ("Handle", "New", "Handle Target")
    follow(limb, chain_count=2)
    assert_followed([OTHER, limb], ["Other Target", "Handle Target"])
    assert_follows_handle("New")
    named("Handle").chain_ik.chains.clear()
    assert_follows_handle("New")
    chain().subtarget, chain().target = "", named("Rig Target")
    assert_followed()
