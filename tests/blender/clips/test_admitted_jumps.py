"""Every jump that docs/behaviour.md admits, baked as a clip: gone where no goal asks for it."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from tests.blender.clips.shaken import LAST, bettered, make_tail, targets_of, wander
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects

# Radians of the joint that turns most in a frame, beside the target's largest step in lengths.
LARGEST_TURN = 5.0
Rig = tuple[bpy.types.Object, bpy.types.Object, float]


@pytest.fixture(autouse=True)
def _scene(empty_scene):
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST


def arm(places: np.ndarray, joints: object = rigs.ARM, **settings: object) -> Rig:
    """Return an arm whose target goes through places, and the length of one of two bones."""
    ob = rigs.make_rig(joints)
    target = rigs.make_empty("Target")
    wander(target, places)
    rigs.add_chain(ob, ob.pose.bones[-1].name, target, **settings)
    select_objects(active=ob)
    bpy.context.view_layer.update()
    return ob, target, 2.01


def through_the_root() -> Rig:
    return arm(np.array([(0.9, 0.3, 0.4), (-0.9, -0.3, -0.4)]))


def past_the_opposite_of_the_start() -> Rig:
    return arm(np.array([(0.5, 0.05, -1.2), (-0.5, -0.05, -1.2)]))


def past_its_pole() -> Rig:
    ob, target, length = arm(np.array([(-0.14, 0.25, 1.2), (0.14, 0.25, 1.2)]))
    ob.chain_ik.chains[0].pole_target = rigs.make_empty("Pole", (0.0, 0.5, 2.8))
    bpy.context.view_layer.update()
    return ob, target, length


def to_full_reach() -> Rig:
    return arm(np.array([(0.0, 0.5, 1.8), (0.0, 0.2, 2.2), (0.0, 0.5, 1.8)]))


def hooked_round_a_long_bone() -> Rig:
    joints = [(0, 0, 0), (0, 0, 2.0), (0.1, 0.3, 1.6), (0.2, 0.1, 1.2), (0.3, 0.3, 0.9)]
    places = [(0.9, 0.3, 1.2), (0.2, 0.9, 1.4), (-0.9, 0.2, 1.2), (0.1, -0.9, 1.3)]
    return *arm(np.array(places), joints, solver="NEWTON")[:2], 3.5


def an_s_that_straightens() -> Rig:
    ob, target = make_tail(count=4, solver="FABRIK")
    wander(target, np.array([(0.4, 0.2, 3.0), (0.0, 0.1, 3.9), (-0.4, 0.3, 2.8)]))
    return ob, target, 4.0


def baked(make: Callable[[], Rig]) -> tuple[float, float]:
    """Return the largest turn of a joint beside the target's largest step, before and after."""
    ob, target, length = make()
    step = np.linalg.norm(np.diff(targets_of(target), axis=0), axis=1).max() / length
    before, after = bettered(ob, {ob.pose.bones[-1].name: target}, length)
    return before.largest_turn / step, after.largest_turn / step


GONE = (through_the_root, past_the_opposite_of_the_start, hooked_round_a_long_bone)
FORCED = (past_its_pole, to_full_reach, an_s_that_straightens)


@pytest.mark.parametrize("make", [*GONE, *FORCED], ids=lambda make: make.__name__)
def test_jumps_that_no_goal_asks_for_are_gone_and_no_other_is_larger(make: Callable[[], Rig]):
    """A pole turns the elbow as it says; near full reach a straight limb bends as it must."""
    before, after = baked(make)
    if make in GONE:
        assert after <= LARGEST_TURN
    else:
        assert before > LARGEST_TURN
        assert after <= before * 1.001
