"""Limbs of a body stop at its floor, name what holds them back, and switch to FK and back."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector

from tests.blender.body.human_bodies import AWAY, FEET, HIPS, farthest, make_body, move
from tests.blender.body.human_bodies import places as places_of
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, refusal, select_bones

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

# Tolerance of places in metres, for a human of two metres.
FLOOR_TOLERANCE = 4e-5
LOW = (0.0, -0.3, -1.6)
"""Offset of a hand from rest to below the floor."""
LIMBS = ("hand.L", "hand.R", "shin.L", "shin.R", "forearm.L", "forearm.R")


def lay_floor(ob: bpy.types.Object, matrix: Matrix | None = None) -> bpy.types.Object:
    floor = rigs.link(bpy.data.objects.new("Ground", None))
    floor.matrix_world = matrix or Matrix()
    rigs.change(ob.chain_ik.body, floor=floor)
    return floor


def heights(ob: bpy.types.Object, floor: bpy.types.Object) -> np.ndarray:
    """Return the heights of wrists, knees and elbows above the floor, the left wrist first."""
    owner, floor_inverse = rigs.evaluated(ob), floor.matrix_world.normalized().inverted()
    heads = [owner.pose.bones[name].head for name in LIMBS]
    return np.array([(floor_inverse @ (owner.matrix_world @ head)).z for head in heads])


def places(ob: bpy.types.Object, names: tuple[str, ...] = FEET) -> np.ndarray:
    return np.array([rigs.head(ob, name) for name in names])


def test_a_hand_that_is_pulled_below_the_floor_stops_on_it_and_rises_with_it(body):
    floor = lay_floor(body)
    start = places(body)
    move(body, "Arm Target.L", LOW)
    above = heights(body, floor)
    assert above.min() >= -FLOOR_TOLERANCE
    assert above[0] <= FLOOR_TOLERANCE
    np.testing.assert_allclose(places(body), start, atol=FLOOR_TOLERANCE)
    chain = body.chain_ik.chains["Arm.L"]
    assert "Ground" in chain.status
    # With part of its pull, the arm also reaches by itself, and that solve knows no floor.
    rigs.change(chain, pull=0.9)
    assert heights(body, floor).min() >= -FLOOR_TOLERANCE
    rigs.change(chain, pull=1.0)
    rigs.change(floor.location, z=0.15)
    assert heights(body, floor).min() >= -FLOOR_TOLERANCE
    assert heights(body, floor)[0] <= FLOOR_TOLERANCE
    # A pinned foot below the floor stays where it is.
    np.testing.assert_allclose(places(body), start, atol=FLOOR_TOLERANCE)
    # A hidden floor still counts.
    floor.hide_viewport, floor.location.z = True, 0.1
    rigs.updated()
    assert floor.matrix_world.translation.z == pytest.approx(0.1)
    assert heights(body, floor).min() >= -FLOOR_TOLERANCE
    body.chain_ik.body.floor, floor.location.z = None, 0.0
    rigs.updated()
    assert heights(body, floor).min() < -0.02


def test_limbs_of_a_body_with_pinned_hips_and_chest_stop_on_the_floor(body):
    for chain in body.chain_ik.chains:
        chain.use_pin = chain.name in ("Hips", "Spine")
    floor = lay_floor(body, Matrix.Translation((0.0, 0.0, 0.2)))
    assert heights(body, floor).min() >= -FLOOR_TOLERANCE
    assert places(body, ("toe.L", "toe.R"))[:, 2].min() >= 0.2 - FLOOR_TOLERANCE
    assert body.chain_ik.chains["Hips"].status.startswith("Reached")


def test_knees_of_a_body_that_crouches_stop_on_the_floor_and_hold_it_back(body):
    move(body, "Torso", (0.0, 0.0, -0.5))
    assert places(body, ("shin.L", "shin.R"))[:, 2].max() < 0.25
    lay_floor(body, Matrix.Translation((0.0, 0.0, 0.3)))
    np.testing.assert_allclose(places(body, ("shin.L", "shin.R"))[:, 2], 0.3, atol=FLOOR_TOLERANCE)
    assert "Ground" in body.chain_ik.chains["Hips"].status


def test_feet_that_are_not_pinned_stand_on_their_soles(body):
    for name in ("Leg.L", "Leg.R"):
        body.chain_ik.chains[name].use_pin = False
    floor, start = lay_floor(body), places(body)
    # A rising floor lifts the feet unturned, whether it meets heels or toes first.
    for up in (0.02, 0.04, 0.08):
        rigs.change(floor.location, z=up)
        assert places(body, ("toe.L", "toe.R"))[:, 2].min() >= up - FLOOR_TOLERANCE
        np.testing.assert_allclose(places(body) - start, [(0.0, 0.0, up)] * 2, atol=0.01)
    floor.location.z = 0.0
    for side in "LR":
        move(body, f"Leg Target.{side}", (0.0, 0.0, -0.3))
    shown = rigs.evaluated(body).pose.bones
    # At rest, the soles are at height zero: at the heads of toes and below the ankles.
    for side in "LR":
        assert shown[f"toe.{side}"].head.z >= -FLOOR_TOLERANCE
        foot = shown[f"foot.{side}"]
        sole = foot.matrix @ (
            foot.bone.matrix_local.inverted()
            @ Vector((foot.bone.head_local.x, foot.bone.head_local.y, 0.0))
        )
        assert sole.z >= -FLOOR_TOLERANCE


def test_the_floor_may_stand_at_any_angle_below_a_mirrored_body(body):
    place = Matrix.Translation((1.0, -2.0, 0.5)) @ Euler((0.3, -0.2, 0.5)).to_matrix().to_4x4()
    rigs.change(body, matrix_world=place @ Matrix.Diagonal((-1.5, 1.5, 1.5, 1.0)))
    floor = lay_floor(body, place)
    move(body, "Arm Target.L", LOW)
    above = heights(body, floor)
    assert above.min() >= -FLOOR_TOLERANCE * 1.5
    assert above[:2].min() <= FLOOR_TOLERANCE * 1.5


def test_a_floor_that_the_body_carries_is_told(body):
    floor = lay_floor(body)
    rigs.change(floor, parent=body, parent_type="BONE", parent_bone="hand.L")
    assert body.chain_ik.chains["Arm.L"].status == (
        "This chain moves its own floor 'Ground': clear the parent or constraint of that object,"
        " or choose another object."
    )


FAR = (2.0, -1.5, 0.5)
UP = (-0.66, -0.1, 2.0)
PINS = r"Held back by Leg\.L and Leg\.R \(pinned\): \d.*m"
ONE_PIN = r"Held back by Leg\.R \(pinned\): \d.*m"


def status(ob: bpy.types.Object, name: str = "Arm.L") -> str:
    return str(ob.chain_ik.chains[name].status)


def test_what_does_not_arrive_names_what_holds_it_pins_first(body):
    chains = body.chain_ik.chains
    for legs, pattern in ((("Leg.L", "Leg.R"), PINS), (("Leg.R",), ONE_PIN)):
        rigs.mute_all_but(body, "Arm.L", *legs)
        move(body, "Arm Target.L", (0.0, 0.0, 0.0))
        assert status(body) == "Reached"
        move(body, "Arm Target.L", UP)
        assert re.fullmatch(pattern, status(body).split(";")[0])
    rigs.mute_all_but(body, "Arm.L", "Arm.R")
    move(body, "Arm Target.L", FAR)
    assert status(body).startswith("Outweighed by Arm.R: ")
    # A chain is not held back by chains of a lower priority.
    chains["Arm.L"].priority, before = 1, chains["Arm.L"].priority
    rigs.updated()
    assert status(body).startswith("Reached")
    assert status(body, "Arm.R").startswith("Outweighed by Arm.L: ")
    chains["Arm.L"].priority, chains["Arm.R"].use_pin = before, True
    for name in ("Leg.L", "Leg.R"):
        chains[name].use_pin, chains[name].priority = False, 1
    rigs.mute_all_but(body, "Arm.L", "Arm.R", "Leg.L", "Leg.R")
    assert re.match(r"Held back by Arm\.R \(pinned\)(, Leg\.[LR])*: ", status(body))


def test_a_limit_is_not_blamed_alone_where_another_arm_holds_the_body(rigify):
    body = opened(make_body, use_limits=True)
    move(body, "Arm Target.L", (0.6, -0.5, 0.5))
    start = "Outweighed by Arm.R, and held back by the limits of forearm.L X: "
    assert status(body).startswith(start)
    rigs.change(body.chain_ik.chains["Arm.R"], priority=4)
    assert status(body).startswith("Reached")


def test_a_spine_without_a_neck_leaves_hands_where_the_body_has_brought_them(body):
    body.chain_ik.chains["Neck"].mute = True
    move(body, "Arm Target.L", (0.1, -0.3, 0.1))
    shown = rigs.evaluated(body).pose.bones
    for side in "LR":
        assert status(body, f"Arm.{side}").startswith("Reached")
        gap = shown[f"hand.{side}"].head - shown[f"Arm Target.{side}"].head
        assert gap.length < 1e-4


switch = bpy.ops.pose.chain_ik_switch
solve = bpy.ops.pose.chain_ik_solve
# Tolerance of bones after two switches, as a share of the height.
SWITCH_TOLERANCE = 1e-5
FRAME, LATER = 5, 15
SWITCHED = {"Arm.L": "hand.L", "Hips": HIPS, "Leg.R": "foot.R"}
"""A bone of each chain."""


@pytest.fixture
def matched(body: bpy.types.Object) -> bpy.types.Object:
    rigs.go_to(FRAME)
    return body


def deforming(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return the places of all bones except the controls, which a switch moves."""
    return {name: ends for name, ends in places_of(ob).items() if ob.data.bones[name].use_deform}


def give_way(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Make the body give way to a hand, and return the places of its bones."""
    for chain in ob.chain_ik.chains:
        # With a soft distance, a straight limb would stop before its target.
        chain.soft_distance = 0.0
    move(ob, "Arm Target.L", AWAY)
    return deforming(ob)


def assert_switched_without_a_move(ob: bpy.types.Object, limb: str, bone: str) -> set[str]:
    """Switch a limb to FK and back, and return the bones that the first switch has keyed."""
    before, keyed = deforming(ob), set[str]()
    select_bones(ob, [bone])
    for frame, side, influence in ((FRAME, "FK", 0.0), (LATER, "IK", 1.0)):
        rigs.go_to(frame)
        press(switch, to=side)
        assert ob.chain_ik.chains[limb].influence == influence
        assert farthest(before, deforming(ob)) <= SWITCH_TOLERANCE, side
        paths = [curve.data_path for curve in rigs.curves_of(ob) if '"' in curve.data_path]
        keyed = keyed or {path.split('"')[1] for path in paths}
    for frame in (FRAME - 1, FRAME + 3, LATER - 1):
        rigs.go_to(frame)
        assert farthest(before, deforming(ob)) <= SWITCH_TOLERANCE, frame
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
    assert farthest({HIPS: before[HIPS], "hand.R": before["hand.R"]}, posed) <= SWITCH_TOLERANCE
    press(switch, to="IK")
    assert farthest(posed, deforming(matched)) <= SWITCH_TOLERANCE


def test_all_limbs_of_a_body_that_has_given_way_go_to_fk_and_back_without_a_move(matched):
    start = deforming(matched)
    before = give_way(matched)
    assert np.abs(before[HIPS] - start[HIPS]).max() > 0.01
    select_bones(matched, list(before))
    for side, influence in (("FK", 0.0), ("IK", 1.0)):
        press(switch, to=side)
        assert all(chain.influence == influence for chain in matched.chain_ik.chains)
        assert farthest(before, deforming(matched)) <= SWITCH_TOLERANCE


@pytest.mark.parametrize("limb", SWITCHED)
def test_a_limb_of_a_body_that_has_given_way_or_not_goes_to_fk_and_back_without_a_move(
    matched, limb
):
    if limb == "Leg.R":
        move(matched, "Torso", (0.0, 0.0, -0.05))
        move(matched, "Arm Target.L", (-0.1, -0.1, 0.1))
        assert all(chain.status.startswith("Reached") for chain in matched.chain_ik.chains)
    else:
        give_way(matched)
        outweighed = matched.chain_ik.chains["Arm.R"].status
        assert outweighed.startswith("Outweighed by Arm.L")
        # A limb with part of its influence does not move either.
        faded = matched.chain_ik.chains["Leg.L"]
        rigs.change(faded, influence=0.6 if limb == "Hips" else 1.0)
    keyed = assert_switched_without_a_move(matched, limb, SWITCHED[limb])
    # If no limb needs the body, only the switched limb is keyed.
    assert (keyed == {HIPS, "thigh.R", "shin.R", "foot.R", "toe.R"}) == (limb == "Leg.R")


def test_a_live_limb_of_a_body_is_not_solved_once_and_a_muted_one_moves_nothing_else(matched):
    goal = rigs.make_empty("Goal", (0.4, -0.3, 1.2))
    shown = places_of(matched)
    select_bones(matched, ["upper_arm.L", "forearm.L"], goal)
    assert "is driven by the live chain 'Arm.L'" in refusal(solve)
    assert farthest(shown, places_of(matched)) <= SWITCH_TOLERANCE
    rigs.change(matched.chain_ik.chains["Arm.L"], mute=True)
    before = places_of(matched)
    press(solve)
    rigs.assert_reaches(matched, "forearm.L", goal)
    still = {name: ends for name, ends in before.items() if name in (HIPS, "hand.R", *FEET)}
    assert farthest(still, places_of(matched)) <= SWITCH_TOLERANCE
    rigs.change(matched.chain_ik.chains["Arm.L"], mute=False)
    assert farthest(shown, places_of(matched)) <= SWITCH_TOLERANCE
