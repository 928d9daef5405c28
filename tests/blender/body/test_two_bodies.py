"""Bodies that hold each other's hands, and bodies of objects that share an armature."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.body.human_bodies import (
    AWAY,
    FEET,
    HELD,
    HIPS,
    STILL,
    farthest,
    height,
    make_body,
    make_human,
    move,
    places,
)
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, refusal, select_objects

whole_body = bpy.ops.pose.chain_ik_body
# How far the hand may be from the hand that it holds: tolerances of both, and float32.
HOLDS = 3e-5
IN_FRONT = {"location": (1.0, -0.6, 0.0), "rotation_euler": (0.0, 0.0, 3.0)}
"""Where a second body can take the left hand of the first with its right."""


def make_two() -> bpy.types.Object:
    """Return a body, with another one in front of it."""
    first = make_body()
    rigs.enter(first, "OBJECT")
    second = make_human()
    for name, value in IN_FRONT.items():
        setattr(second, name, value)
    press(whole_body)
    return first


def hold(ob: bpy.types.Object, chain: str, other: bpy.types.Object, bone: str) -> None:
    """Have a hand follow a bone of another body."""
    settings = ob.chain_ik.chains[chain]
    settings.use_rotation = False
    settings.target, settings.subtarget = other, bone


def follow_hand(ob: bpy.types.Object, lead: bpy.types.Object) -> None:
    """Have a body hold the left hand of another one, with nothing but pinned feet beside."""
    hold(ob, "Arm.R", lead, "hand.L")
    for chain in ob.chain_ik.chains:
        chain.mute = chain.name in ("Hips", "Spine", "Neck", "Arm.L")
    rigs.updated()


@pytest.fixture
def pair(rigify: None) -> tuple[bpy.types.Object, bpy.types.Object]:
    return opened(make_two), bpy.data.objects["metarig.001"]


@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "the second"])
def test_a_body_that_holds_a_hand_of_another_is_solved_after_it_in_one_update(pair, is_first):
    lead, follower = pair if is_first else pair[::-1]
    follow_hand(follower, lead)
    stood, hips = places(follower), list[np.ndarray]()
    for way in ((0.05, 0.1, -0.2), (-0.2, -0.1, 0.1)):
        move(lead, "Torso", (0.0, 0.0, -0.05))
        bone = lead.pose.bones["Arm Target.L"]
        bone.location = way
        depsgraph = rigs.updated()
        gap = rigs.head(follower, "hand.R", depsgraph) - rigs.head(lead, "hand.L", depsgraph)
        assert np.abs(gap).max() <= HOLDS, way
        solved = places(lead), places(follower)
        for foot in FEET:
            assert np.abs(solved[1][foot] - stood[foot]).max() <= HELD, way
        hips.append(solved[1][HIPS])
        rigs.go_to(bpy.context.scene.frame_current + 1)
        assert farthest(solved[0], places(lead)) <= STILL
        assert farthest(solved[1], places(follower)) <= STILL
    assert np.ptp(hips, axis=0).max() > 0.01


def test_of_two_bodies_that_hold_each_other_one_hand_is_refused_and_the_rest_go_on(pair):
    first, second = pair
    follow_hand(second, first)
    hold(first, "Arm.L", second, "hand.R")
    rigs.updated()
    assert second.chain_ik.chains["Arm.R"].status == (
        "This chain and chain 'Arm.L' follow each other: give one of the two a target that neither"
        " of them moves."
    )
    assert "follow" not in first.chain_ik.chains["Arm.L"].status
    before = places(second)
    move(second, "Leg Target.L", (0.0, -0.2, 0.2))
    assert np.abs(places(second)["foot.L"] - before["foot.L"]).max() > 0.05
    move(first, "Torso", (0.0, 0.0, -0.1))
    assert first.chain_ik.chains["Leg.L"].status.startswith("Reached")
    hold(first, "Arm.L", first, "Arm Target.L")
    rigs.updated()
    gap = rigs.head(second, "hand.R") - rigs.head(first, "hand.L")
    assert np.abs(gap).max() <= HOLDS


def test_bodies_of_objects_that_share_an_armature_go_their_own_ways(body):
    first = body
    second = rigs.link(first.copy())
    second.location = (2.0, 0.0, 0.0)
    rigs.updated()
    assert second.data == first.data
    assert all(chain.target == second for chain in second.chain_ik.chains)
    before = places(first)
    move(second, "Arm Target.L", AWAY)
    assert farthest(before, places(first)) <= STILL
    reached = places(second)
    assert np.abs(reached[HIPS][:, 1:] - before[HIPS][:, 1:]).max() > 0.01
    move(first, "Arm Target.L", AWAY)
    way = np.array(second.location) / height(second)
    assert farthest({name: ends - way for name, ends in reached.items()}, places(first)) <= STILL
    first.chain_ik.body.use_body = False
    rigs.updated()
    assert farthest(reached, places(second)) <= STILL
    select_objects(active=first)
    told = "Object 'metarig.001' has chains on the same armature: give this one an armature of its"
    assert refusal(whole_body).startswith(told)
