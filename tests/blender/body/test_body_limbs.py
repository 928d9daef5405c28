"""Limbs of a body that gives way: they reach by themselves wherever it brings them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import bpy
import numpy as np
import pytest

from tests.blender.body import human_bodies as bodies
from tests.blender.body.test_body_floor import FLOOR_TOLERANCE, heights, lay_floor
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press

PULLS = (0.99, 0.999, 0.9999, 1.0)
"""Pulls that come nearer and nearer to a full one."""
MAX_STEP = 1.5
"""Largest turn of a bone between two of the last pulls, degrees: a thousandth of the way."""
PAST_BODY = (0.7, -0.4, -0.5)
"""Offset of a hand that its body does not reach."""
PAST_FINGERS = (-0.24, -0.81, -0.31)
"""Offset of a hand whose elbow a body with fingers once bent backward."""


def axes(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return the evaluated axes of deforming bones, as unit columns."""
    matrices = rigs.matrices(ob)
    shown = {bone.name: matrices[bone.name][:3, :3] for bone in ob.data.bones if bone.use_deform}
    return {name: rows / np.linalg.norm(rows, axis=0) for name, rows in shown.items()}


def largest_turns(shown: Iterable[dict[str, np.ndarray]]) -> list[float]:
    """Return the largest turn of a bone from each pose to the next, degrees."""
    turns = []
    for before, after in pairwise(shown):
        traces = [np.trace(before[name].T @ rows) for name, rows in after.items()]
        turns.append(np.degrees(np.arccos(np.clip((min(traces) - 1.0) / 2.0, -1.0, 1.0))))
    return turns


def add_fingers() -> None:
    press(bpy.ops.pose.chain_ik_setup, kinds={"FINGER"}, control="BONE")


@pytest.mark.parametrize("has_fingers", [False, True])
@pytest.mark.parametrize("offset", [bodies.AWAY, PAST_BODY])
@pytest.mark.parametrize("setting", ["pull", "influence"])
def test_a_limb_comes_to_its_full_pull_and_influence_without_a_pop(
    body, setting, offset, has_fingers
):
    """Once elbows turned by up to 68 degrees between a pull of 0.99999 and one."""
    if has_fingers:
        add_fingers()
    bodies.move(body, "Arm Target.L", offset)
    shown = []
    for value in PULLS:
        rigs.change(body.chain_ik.chains["Arm.L"], **{setting: value})
        shown.append(axes(body))
    assert max(largest_turns(shown)[1:]) < MAX_STEP


@pytest.mark.parametrize("soft", [0.0, 0.05])
def test_a_fully_pulled_limb_arrives_however_soft_it_is(body, soft):
    rigs.change(body.chain_ik.chains["Arm.L"], soft_distance=soft, priority=1)
    bodies.move(body, "Arm Target.L", (0.3, -0.35, 0.05))
    assert body.chain_ik.chains["Arm.L"].status.startswith("Reached")
    rigs.change(body.chain_ik.chains["Arm.L"], pull=0.5)
    assert body.chain_ik.chains["Arm.L"].status.startswith("Part of the way because of influence")


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9, 1.0])
def test_elbows_of_hands_with_fingers_bend_to_their_side_wherever_the_body_brings_them(body, share):
    add_fingers()
    bodies.move(body, "Arm Target.L", tuple(share * x for x in PAST_FINGERS))
    shown = axes(body)
    upper, lower = shown["upper_arm.L"][:, 1], shown["forearm.L"]
    bend = np.cross(upper, lower[:, 1])
    assert np.degrees(np.linalg.norm(bend)) > 1.0
    # A hinge bends about its own X axis.
    assert bend @ lower[:, 0] > 0.9 * np.linalg.norm(bend)


def test_a_leg_that_pulls_in_part_reaches_on_with_its_toe(body):
    rigs.change(body.chain_ik.chains["Leg.L"], use_pin=False, pull=0.5)
    bodies.move(body, "Leg Target.L", (0.4, -0.9, 0.4))
    shown = axes(body)
    thigh, shin = shown["thigh.L"][:, 1], shown["shin.L"][:, 1]
    assert thigh @ shin > 0.9999
    way = bodies.places(body)["shin.L"][1] - bodies.places(body)["thigh.L"][0]
    target = bodies.places(body)["Leg Target.L"][0] - bodies.places(body)["thigh.L"][0]
    assert np.linalg.norm(np.cross(way, target)) < 1e-3 * np.linalg.norm(way)


def feet_of(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    shown = bodies.places(ob)
    return {name: shown[name] for name in bodies.FEET}


@pytest.mark.parametrize("offset", [bodies.AWAY, (0.2, -0.5, -0.3)])
def test_pinned_feet_stay_where_the_solver_of_their_leg_alone_does_not_arrive(rigify, offset):
    """Once they slid by up to 0.19 m."""
    ob = bodies.make_body(use_limits=True)
    for chain in ob.chain_ik.chains:
        if chain.name.startswith(("Arm", "Leg")):
            rigs.change(chain, solver="FABRIK", use_finish=False)
    before = feet_of(ob)
    bodies.move(ob, "Arm Target.L" if offset == bodies.AWAY else "Torso", offset)
    assert bodies.farthest(before, feet_of(ob)) < 1e-4


def test_toes_arrive_below_feet_that_take_half_of_the_rotation_of_their_targets(body):
    for name in ("Leg.L", "Leg.R"):
        rigs.change(body.chain_ik.chains[name], orient_weight=0.5)
    bodies.move(body, "Torso", (0.2, -0.5, -0.3))
    for name in ("Toe.L", "Toe.R"):
        assert body.chain_ik.chains[name].status.startswith("Reached")


def test_an_elbow_on_the_floor_takes_back_no_other_limb(body):
    """Once the neck turned by 92 degrees between two places of the torso."""
    lay_floor(body)
    shown = []
    for share in np.linspace(0.85, 0.93, 6):
        bodies.move(body, "Torso", tuple(share * x for x in (0.3, -0.2, -0.95)))
        shown.append({"spine.004": axes(body)["spine.004"]})
    assert max(largest_turns(shown)) < 10.0


@pytest.mark.parametrize(
    ("offset", "share"),
    [
        ((0.3, -0.2, -0.95), 0.89761),
        ((-0.19, -0.232, -1.0), 0.7668),
        ((-0.19, -0.232, -0.9), 0.96606),
        ((0.03, -0.299, -1.0), 0.95975),
    ],
)
def test_a_knee_that_comes_down_to_the_floor_stays_on_it(body, offset, share):
    """Once it turned by up to 36 degrees where its leg, solved once more, met the floor."""
    floor, before, shown = lay_floor(body), feet_of(body), []
    for nearby in np.linspace(-0.001, 0.001, 5):
        bodies.move(body, "Torso", tuple((share + nearby) * x for x in offset))
        shown.append(axes(body))
        assert heights(body, floor).min() >= -FLOOR_TOLERANCE
        assert bodies.farthest(before, feet_of(body)) < bodies.PIN_TOLERANCE
    assert max(largest_turns(shown)) < MAX_STEP


def test_a_hand_that_is_dragged_out_of_reach_leaves_no_other_valley_at_single_places(body):
    """Once neck and hands turned by up to 170 degrees there and back, into a pose farther off."""
    shown = []
    for share in np.linspace(0.618, 0.644, 14):
        bodies.move(body, "Arm Target.L", tuple(share * x for x in (0.0, -0.3, -1.6)))
        shown.append(axes(body))
    assert max(largest_turns(shown)) < MAX_STEP


def test_a_spine_that_reaches_at_two_places_reaches_between_them(body):
    """Once one long step seemed to take too much force at single places: 0.03 of the reach off."""
    rigs.change(body.chain_ik.chains["Spine"], priority=1)
    for share in np.linspace(0.496, 0.546, 7):
        way = (0.626037886179093, -1.0037161706803417, -0.5391014874615021)
        bodies.move(body, "Spine Target", tuple(share * x for x in way))
        assert body.chain_ik.chains["Spine"].status.startswith("Reached")
