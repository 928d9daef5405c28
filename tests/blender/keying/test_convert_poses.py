"""Conversion: which pose bones are left with, chains that share bones, and limbs that are bent."""

from __future__ import annotations

import numpy as np
import pytest

from tests.blender.keying.converted_rigs import (
    CLOSE,
    Limb,
    assert_played,
    constrain,
    convert,
    planar,
    played,
    to_chains,
    to_constraints,
    told_settings,
    two_limbs,
)
from tests.blender.keying.test_convert_animation import CHAIN, CONSTRAINT, SHAPES, drive, points_of
from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.keyed_limbs import HAS_SLOTS
from tests.blender.setups.selecting import refusal, select_bones

KEYS = (1.0, 8.0, 20.0)


@pytest.mark.parametrize("seed", range(4))
def test_two_bones_of_a_chain_without_a_pole_stay_as_they_are(seed):
    limb = Limb(seed, use_pole=False)
    start = limb.joints()
    limb.add_chain()
    before = limb.joints()
    assert limb.apart(start) > 0.05
    to_constraints(limb.ob)
    assert limb.apart(before) <= CLOSE


def key_turns(limb: Limb) -> None:
    for frame, seed in ((1, 1), (8, 2), (20, 3)):
        rigs.turn_bones(limb.ob, seed)
        for name in limb.bones:
            bone = limb.ob.pose.bones[name]
            bone.keyframe_insert(rigs.rotation_property(bone), frame=frame)


def test_keyed_bones_of_a_chain_show_at_once_what_they_show_whenever_the_frame_is_set():
    limb = Limb(5, use_pole=False)
    with rigs.at_rest():
        key_turns(limb)
    limb.add_chain()
    rigs.go_to(8)
    to_constraints(limb.ob)
    at_once = limb.joints()
    rigs.go_to(20)
    rigs.go_to(8)
    assert limb.apart(at_once) <= CLOSE


@pytest.mark.parametrize("direction", ["TO_CHAINS", "TO_CONSTRAINTS"])
def test_where_the_influence_is_faded_out_bones_go_back_to_their_own_pose(direction):
    limb = Limb(5, use_pole=False)
    own = limb.joints()
    if direction == "TO_CHAINS":
        limb.constrain()
        rigs.key(limb.ob, f"{CONSTRAINT}.influence", {1: 1.0, 8: 1.0, 20: 0.0})
    else:
        limb.add_chain()
        rigs.key(limb.ob, f"{CHAIN}.influence", {1: 1.0, 8: 1.0, 20: 0.0})
    rigs.go_to(8)
    assert limb.apart(own) > 0.05
    if direction == "TO_CHAINS":
        to_chains(limb.ob, limb.bones[-1])
    else:
        to_constraints(limb.ob)
    rigs.go_to(20)
    assert limb.apart(own) <= CLOSE


@pytest.mark.parametrize("use_tail", [False, True])
@pytest.mark.parametrize("count", [4, 10])
@pytest.mark.parametrize("seed", range(6))
def test_long_chains_end_where_the_constraint_ends_with_and_without_the_tip(seed, count, use_tail):
    limb = Limb(seed, count)
    limb.constrain(use_tail=use_tail, chain_count=count - (not use_tail))
    end = -1 if use_tail else -2
    before = limb.joints()[end]
    to_chains(limb.ob, limb.bones[-1])
    assert np.linalg.norm(limb.joints()[end] - before) <= CLOSE * limb.length


@pytest.mark.parametrize("is_muted", [False, True])
def test_constraints_of_two_bones_that_share_one_become_a_tree(is_muted):
    ob = rigs.make_rig([(0, 0, 0), (0, -0.1, 1), (0.6, 0, 1.7)])
    rigs.add_bones(ob, [(0, -0.1, 1), (-0.6, 0, 1.7)], prefix="Other", parent="Bone.0")
    targets = []
    for i, tip in enumerate(("Bone.1", "Other.0")):
        targets.append(rigs.make_empty(f"T{i}", rigs.tail(ob, tip)))
        constrain(ob, tip, targets[i], chain_count=2, mute=is_muted and i == 1)
    scaled_rigs.update()
    to_chains(ob)
    chains = ob.chain_ik.chains
    # A muted one takes a solver that can share bones once it is unmuted.
    assert [chain.mute for chain in chains] == [False, is_muted]
    assert chains[1].solver == "NEWTON"
    for chain in chains:
        chain.mute, chain.solver = False, "NEWTON" if is_muted else chain.solver
    for target, tip in zip(targets, ("Bone.1", "Other.0"), strict=True):
        rigs.assert_reaches(ob, tip, target)


def test_a_chain_stays_as_it_is_if_keys_of_others_cannot_follow_to_their_new_places():
    ob = two_limbs()
    to_chains(ob)
    rigs.key(ob, "chain_ik.chains[1].influence", {1: 0.5})
    other = two_limbs()
    to_chains(other)
    data = other.animation_data_create()
    data.action = ob.animation_data.action
    if HAS_SLOTS:
        data.action_slot = ob.animation_data.action_slot
    scaled_rigs.update()
    before = told_settings(ob)
    select_bones(ob, ["Left.1"])
    ob.chain_ik.active_index = 0
    assert "so its keys cannot follow" in refusal(convert, direction="TO_CONSTRAINTS")
    assert told_settings(ob) == before


def test_keys_far_apart_are_told_one_by_one_over_a_pose_that_is_bent():
    limb = planar(bend=2.0)
    limb.constrain(pole_angle=0.3)
    rigs.key(limb.ob, f"{CONSTRAINT}.pole_angle", {1: -0.6, 8: 0.3, 20: 1.4})
    (curve,) = rigs.curves_of(limb.ob)
    for key in curve.keyframe_points:
        key.interpolation = "BEZIER"
        key.handle_left_type = key.handle_right_type = "FREE"
        key.handle_left = key.co.x - 2.0, key.co.y - 0.1
        key.handle_right = key.co.x + 2.0, key.co.y - 0.1
    expected, before = played(limb, KEYS), points_of(curve)
    rigs.go_to(8)
    to_chains(limb.ob, limb.bones[-1])
    (curve,) = rigs.curves_of(limb.ob)
    offsets = np.subtract(points_of(curve), before)[:, 1::2]
    assert np.ptp(offsets[:, 0]) > 0.02, "each key could be told by one offset"
    assert_played(limb, expected, KEYS)
    for value, *handles in offsets:
        np.testing.assert_allclose(handles, value, atol=0.05)
    to_constraints(limb.ob)
    (curve,) = rigs.curves_of(limb.ob)
    np.testing.assert_allclose(points_of(curve), before, atol=2e-4)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_driver_of_the_pole_angle_keeps_the_pose_of_the_moment_however_bent(shape):
    limb = planar(bend=2.0)
    limb.constrain(pole_angle=0.3)
    shape(drive(limb.ob, f"{CONSTRAINT}.pole_angle", "value"))
    limb.ob.update_tag()
    scaled_rigs.update()
    before = limb.joints()
    to_chains(limb.ob, limb.bones[-1])
    assert limb.apart(before) <= CLOSE
    to_constraints(limb.ob)
    assert limb.apart(before) <= CLOSE
