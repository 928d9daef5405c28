"""Promise 6 where the rig itself is what is wrong: shared bones, no scale, no length, linked."""

import numpy as np

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.saved_rigs import linked
from tests.blender.setups.spoiling import assert_is_advice

POINT = np.array([0.7, 0.4, 1.2])


def test_a_bone_whose_child_starts_at_its_own_head_has_no_length_to_turn():
    ob = rigs.make_armature()
    heads = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 2)]
    rigs.add_bones(ob, heads, tails=[(0, 0, 1), (0, 0, 1), (0, 0, 2)])
    chain, _ = scaled_rigs.follow(ob, ["Bone.0", "Bone.1", "Bone.2"], POINT)
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


def test_a_linked_armature_says_so_and_local_rigs_go_on(tmp_path):
    rigs.make_arm(name="Linked")
    of_library = linked(tmp_path / "library.blend", "Linked")[0]
    local, target = rigs.make_arm(name="Local")
    scaled_rigs.update()
    assert scaled_rigs.miss(local, ["Bone.0", "Bone.1"], target) <= 1e-5
    assert_is_advice(of_library.chain_ik.chains[0].status, "linked")
