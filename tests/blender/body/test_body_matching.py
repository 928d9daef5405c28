"""FK and IK of limbs of a body are matched, and limbs of a body are solved once."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.body.human_bodies import AWAY, FEET, HIPS, farthest, move, places
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal, select_bones

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

switch = bpy.ops.pose.chain_ik_switch
solve = bpy.ops.pose.chain_ik_solve
# What two switches may move, as a share of the height.
SAME = 1e-5
FRAME, LATER = 5, 15
LIMBS = {"Arm.L": "hand.L", "Hips": HIPS, "Leg.R": "foot.R"}
"""A bone of each chain."""


@pytest.fixture
def matched(body: bpy.types.Object) -> bpy.types.Object:
    rigs.go_to(FRAME)
    return body


def deforming(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return the places of all bones but the controls, which a match moves."""
    return {name: ends for name, ends in places(ob).items() if ob.data.bones[name].use_deform}


def give_way(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Have the body give way to a hand, and return the places of its bones."""
    for chain in ob.chain_ik.chains:
        # With it a limb that is straight would stop short of its target.
        chain.soft_distance = 0.0
    move(ob, "Arm Target.L", AWAY)
    return deforming(ob)


def assert_switched_without_a_move(ob: bpy.types.Object, limb: str, bone: str) -> set[str]:
    """Switch a limb there and back, and return the bones that the first switch has keyed."""
    before, keyed = deforming(ob), set[str]()
    select_bones(ob, [bone])
    for frame, side, influence in ((FRAME, "FK", 0.0), (LATER, "IK", 1.0)):
        rigs.go_to(frame)
        press(switch, to=side)
        assert ob.chain_ik.chains[limb].influence == influence
        assert farthest(before, deforming(ob)) <= SAME, side
        paths = [each.data_path for each in rigs.curves_of(ob) if '"' in each.data_path]
        keyed = keyed or {path.split('"')[1] for path in paths}
    for frame in (FRAME - 1, FRAME + 3, LATER - 1):
        rigs.go_to(frame)
        assert farthest(before, deforming(ob)) <= SAME, frame
    return keyed


def test_in_fk_a_limb_of_a_body_is_posed_by_hand_and_its_target_comes_along(matched):
    select_bones(matched, ["upper_arm.L"])
    press(switch, to="FK")
    bone = matched.pose.bones["upper_arm.L"]
    before = deforming(matched)
    bone.rotation_mode = "XYZ"
    bone.rotation_euler[0] += 0.3
    bone.keyframe_insert("rotation_euler", frame=FRAME)
    rigs.go_to(FRAME)
    posed = deforming(matched)
    assert np.abs(posed["hand.L"] - before["hand.L"]).max() > 0.01
    assert farthest({HIPS: before[HIPS], "hand.R": before["hand.R"]}, posed) <= SAME
    press(switch, to="IK")
    assert farthest(posed, deforming(matched)) <= SAME


def test_all_limbs_of_a_body_that_has_given_way_go_to_fk_and_back_without_a_move(matched):
    stood = deforming(matched)
    before = give_way(matched)
    assert np.abs(before[HIPS] - stood[HIPS]).max() > 0.01
    select_bones(matched, list(before))
    for side, influence in (("FK", 0.0), ("IK", 1.0)):
        press(switch, to=side)
        assert all(chain.influence == influence for chain in matched.chain_ik.chains)
        assert farthest(before, deforming(matched)) <= SAME


@pytest.mark.parametrize("limb", LIMBS)
def test_a_limb_of_a_body_that_has_given_way_or_not_goes_to_fk_and_back_without_a_move(
    matched, limb
):
    if limb == "Leg.R":
        move(matched, "Torso", (0.0, 0.0, -0.05))
        move(matched, "Arm Target.L", (-0.1, -0.1, 0.1))
        assert all(chain.status.startswith("Reached") for chain in matched.chain_ik.chains)
    else:
        give_way(matched)
        held = matched.chain_ik.chains["Arm.R"].status
        assert held.startswith("Held back by Leg.L (pinned), Arm.L")
    keyed = assert_switched_without_a_move(matched, limb, LIMBS[limb])
    # Where no limb needs the body only the switched limb is keyed.
    assert (keyed == {HIPS, "thigh.R", "shin.R", "foot.R", "toe.R"}) == (limb == "Leg.R")


def test_a_live_limb_of_a_body_is_not_solved_once_and_a_muted_one_moves_nothing_else(matched):
    goal = rigs.make_empty("Goal", (0.4, -0.3, 1.2))
    shown = places(matched)
    select_bones(matched, ["upper_arm.L", "forearm.L"], goal)
    assert "is driven by the live chain 'Arm.L'" in refusal(solve)
    assert farthest(shown, places(matched)) <= SAME
    matched.chain_ik.chains["Arm.L"].mute = True
    rigs.updated()
    before = places(matched)
    press(solve)
    rigs.assert_reaches(matched, "forearm.L", goal)
    still = {name: ends for name, ends in before.items() if name in (HIPS, "hand.R", *FEET)}
    assert farthest(still, places(matched)) <= SAME
    matched.chain_ik.chains["Arm.L"].mute = False
    rigs.updated()
    assert farthest(shown, places(matched)) <= SAME
