"""Limbs of a body that gives way: they reach by themselves wherever it brings them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import bpy
import numpy as np
import pytest

from tests.blender.body import human_bodies as bodies
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
