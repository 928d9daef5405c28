"""FK and IK of limbs of a body are matched, and limbs of a body are solved once."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.body.human_bodies import HIPS, move, places
from tests.blender.body.reaching_bodies import AWAY, FEET
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal, select_bones

switch = bpy.ops.pose.chain_ik_switch
solve = bpy.ops.pose.chain_ik_solve
# What two switches may move, as a share of the height.
SAME = 1e-5
FRAME, LATER = 5, 15
LIMBS = {"Arm.L": "hand.L", "Leg.R": "foot.R", "Spine": "spine.003", "Hips": HIPS}
"""A bone of each chain."""

pytestmark = pytest.mark.usefixtures("rigify")


@pytest.fixture
def body(human: bpy.types.Object) -> bpy.types.Object:
    press(bpy.ops.pose.chain_ik_body)
    rigs.go_to(FRAME)
    return human


def deforming(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return the places of all bones but the controls, which a match moves."""
    return {name: ends for name, ends in places(ob).items() if ob.data.bones[name].use_deform}


def most_moved(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(after[name] - ends).max()) for name, ends in before.items())


def crouch(ob: bpy.types.Object) -> None:
    """Bring hips and a hand elsewhere; all limbs reach."""
    move(ob, "Torso", (0.0, 0.0, -0.05))
    move(ob, "Arm Target.L", (-0.1, -0.1, 0.1))
    assert all(chain.status.startswith("Reached") for chain in ob.chain_ik.chains)


@pytest.mark.parametrize("limb", LIMBS)
def test_a_limb_of_a_body_goes_to_fk_and_back_without_a_move(body, limb):
    crouch(body)
    before = deforming(body)
    select_bones(body, [LIMBS[limb]])
    for frame, side, influence in ((FRAME, "FK", 0.0), (LATER, "IK", 1.0)):
        rigs.go_to(frame)
        press(switch, to=side)
        assert body.chain_ik.chains[limb].influence == influence
        assert most_moved(before, deforming(body)) <= SAME, side
    for frame in (FRAME - 1, FRAME, FRAME + 3, LATER - 1, LATER, LATER + 1, FRAME):
        rigs.go_to(frame)
        assert most_moved(before, deforming(body)) <= SAME, frame


def test_in_fk_a_limb_of_a_body_is_posed_by_hand_and_its_target_comes_along(body):
    select_bones(body, ["upper_arm.L"])
    press(switch, to="FK")
    bone = body.pose.bones["upper_arm.L"]
    before = deforming(body)
    bone.rotation_mode = "XYZ"
    bone.rotation_euler[0] += 0.3
    bone.keyframe_insert("rotation_euler", frame=FRAME)
    rigs.go_to(FRAME)
    posed = deforming(body)
    assert np.abs(posed["hand.L"] - before["hand.L"]).max() > 0.01
    assert most_moved({HIPS: before[HIPS], "hand.R": before["hand.R"]}, posed) <= SAME
    press(switch, to="IK")
    assert most_moved(posed, deforming(body)) <= SAME


def test_all_limbs_of_a_body_that_has_given_way_go_to_fk_and_back_without_a_move(body):
    for chain in body.chain_ik.chains:
        # With it a limb that is straight would stop short of its target.
        chain.soft_distance = 0.0
    stood = deforming(body)
    move(body, "Arm Target.L", AWAY)
    before = deforming(body)
    assert np.abs(before[HIPS] - stood[HIPS]).max() > 0.01
    select_bones(body, list(before))
    press(switch, to="FK")
    assert not any(chain.influence for chain in body.chain_ik.chains)
    assert most_moved(before, deforming(body)) <= SAME
    press(switch, to="IK")
    assert all(chain.influence == 1.0 for chain in body.chain_ik.chains)
    assert most_moved(before, deforming(body)) <= SAME


@pytest.mark.parametrize("limb", [*LIMBS, "Arm.R"])
def test_a_limb_of_a_body_that_has_given_way_goes_to_fk_and_back_without_a_move(body, limb):
    for chain in body.chain_ik.chains:
        # With it a limb that is straight would stop short of its target.
        chain.soft_distance = 0.0
    move(body, "Arm Target.L", AWAY)
    before = deforming(body)
    assert body.chain_ik.chains["Arm.R"].status.startswith("Held back by Leg.L (pinned), Arm.L")
    select_bones(body, [LIMBS.get(limb, "hand.R")])
    for frame, side, influence in ((FRAME, "FK", 0.0), (LATER, "IK", 1.0)):
        rigs.go_to(frame)
        press(switch, to=side)
        assert body.chain_ik.chains[limb].influence == influence
        assert most_moved(before, deforming(body)) <= SAME, side
    for frame in (1, FRAME - 1, FRAME, FRAME + 3, LATER - 1, LATER, LATER + 1, FRAME):
        rigs.go_to(frame)
        assert most_moved(before, deforming(body)) <= SAME, frame


def test_where_no_limb_needs_the_body_only_the_switched_limb_is_keyed(body):
    crouch(body)
    select_bones(body, [LIMBS["Leg.R"]])
    press(switch, to="FK")
    keyed = {each.data_path.split('"')[1] for each in rigs.curves_of(body) if '"' in each.data_path}
    assert keyed == {HIPS, "thigh.R", "shin.R", "foot.R", "toe.R"}


def test_a_live_limb_of_a_body_is_not_solved_once(body):
    goal = rigs.make_empty("Goal", (0.4, -0.3, 1.2))
    before = places(body)
    select_bones(body, ["upper_arm.L", "forearm.L"], goal)
    assert "is driven by the live chain 'Arm.L'" in refusal(solve)
    assert most_moved(before, places(body)) <= SAME


def test_a_muted_limb_of_a_body_is_solved_once_and_nothing_else_moves(body):
    goal = rigs.make_empty("Goal", (0.4, -0.3, 1.2))
    body.chain_ik.chains["Arm.L"].mute = True
    rigs.updated()
    before = places(body)
    select_bones(body, ["upper_arm.L", "forearm.L"], goal)
    press(solve)
    rigs.assert_reaches(body, "forearm.L", goal)
    after = places(body)
    still = {name: ends for name, ends in before.items() if name in (HIPS, "hand.R", *FEET)}
    assert most_moved(still, after) <= SAME
    body.chain_ik.chains["Arm.L"].mute = False
    rigs.updated()
    assert most_moved(before, places(body)) <= SAME
