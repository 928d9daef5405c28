"""Promise 6 where the rig itself is what is wrong: shared bones, no scale, no length, linked."""

import bpy
import numpy as np
import pytest

from tests.blender.rig.test_rig_bad_input import assert_is_advice
from tests.blender.setups import rigs, scaled_rigs

POINT = np.array([0.7, 0.4, 1.2])


def test_of_two_chains_that_share_a_bone_and_cannot_the_first_goes_on():
    ob = rigs.make_rig(rigs.zigzag(4))
    bones = list(ob.pose.bones.keys())
    first, target = scaled_rigs.follow(ob, bones, np.array([1.0, 0.5, 2.0]), name="First")
    follower = rigs.make_empty("Second", POINT)
    second = rigs.add_chain(ob, "Bone.2", follower, name="Second", solver="CCD")
    scaled_rigs.update()
    first, second = ob.chain_ik.chains
    assert scaled_rigs.miss(ob, bones, target) <= 1e-5
    assert first.status.startswith("Reached"), first.status
    assert_is_advice(second.status, "'First'")
    assert "'Bone." in second.status


def test_a_bone_whose_child_starts_at_its_own_head_has_no_length_to_turn():
    ob = rigs.make_armature()
    heads = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 2)]
    rigs.add_bones(ob, heads, tails=[(0, 0, 1), (0, 0, 1), (0, 0, 2)])
    chain, _ = scaled_rigs.follow(ob, ["Bone.0", "Bone.1", "Bone.2"], POINT)
    assert_is_advice(chain.status, "'Bone.0'")
    chain.chain_count = 2
    scaled_rigs.update()
    assert ob.chain_ik.chains[0].status.startswith("Reached"), ob.chain_ik.chains[0].status


def test_a_deleted_tip_bone_is_named_and_the_other_chain_goes_on():
    ob = rigs.make_rig(rigs.zigzag(2))
    rigs.add_bones(ob, [(2, 0, 0), (2, -0.1, 1), (2, 0, 2)], prefix="Other")
    target = rigs.make_empty("Other Target", (2.4, 0.3, 1.0))
    rigs.add_chain(ob, "Bone.1", rigs.make_empty())
    rigs.add_chain(ob, "Other.1", target)
    scaled_rigs.update()
    rigs.enter(ob, "EDIT")
    ob.data.edit_bones.remove(ob.data.edit_bones["Bone.1"])
    bpy.ops.object.mode_set(mode="OBJECT")
    target.location.x = 2.9
    scaled_rigs.update()
    assert_is_advice(ob.chain_ik.chains[0].status, "'Bone.1'")
    assert scaled_rigs.miss(ob, ["Other.0", "Other.1"], target) <= 1e-5


@pytest.mark.parametrize("bone", ["Bone.0", "Bone.1", "Bone.2"])
def test_nan_in_any_bones_location_is_reported_and_not_written_on(bone):
    ob, _ = scaled_rigs.random_rig(np.random.default_rng(3), 3, above=0)
    bones = list(ob.pose.bones.keys())
    _, target = scaled_rigs.follow(ob, bones, np.array([0.8, 0.3, 1.5]))
    ob.pose.bones[bone].location.y = float("nan")
    scaled_rigs.update()
    assert_is_advice(ob.chain_ik.chains[0].status, f"'{bone}'")
    assert np.isfinite(np.concatenate(list(rigs.rotations(ob).values()))).all()
    ob.pose.bones[bone].location.y = 0.0
    scaled_rigs.update()
    assert scaled_rigs.miss(ob, bones, target) <= 1e-5


def test_a_target_at_the_end_of_the_world_stretches_the_limb_toward_it():
    ob, target = rigs.make_arm()
    # Blender takes infinity for its largest number.
    target.location = (0.0, float("inf"), 0.0)
    scaled_rigs.update()
    direction = rigs.tail(ob, "Bone.1") / np.linalg.norm(rigs.tail(ob, "Bone.1"))
    np.testing.assert_allclose(direction, (0.0, 1.0, 0.0), atol=1e-6)
    assert ob.chain_ik.chains[0].status.startswith("Out of reach")


def test_a_linked_armature_says_so_and_local_rigs_go_on(tmp_path):
    ob, _ = rigs.make_arm(name="Linked")
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {ob})
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Linked"]
    linked = rigs.link(wanted.objects[0])
    local, target = rigs.make_arm(name="Local")
    scaled_rigs.update()
    assert scaled_rigs.miss(local, ["Bone.0", "Bone.1"], target) <= 1e-5
    assert_is_advice(linked.chain_ik.chains[0].status, "linked")
