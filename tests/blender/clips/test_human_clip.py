"""A human that Set Up Limbs has set up, baked as a clip: hands and feet stay where they were."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.clips.shaken import LAST, TARGETS, bake, played
from tests.blender.controls.test_character_clips import human, key, metarig, target, walk
from tests.blender.setups import rigs

__all__ = ["human", "metarig"]

HELD = ("hand.L", "hand.R", "foot.L", "foot.R")
# Least that an elbow is to give way, in scene units: otherwise nothing is tested.
GIVES_WAY = 1e-3


@pytest.fixture
def walking(human):
    walk(human)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST
    for name in ("Spine", "Neck"):
        for frame, side in ((1, 0.0), (9, 0.12), (17, -0.1), (25, 0.08)):
            place = (side, 0.01 * frame, 0.0)
            key(human, target(human, name), frame, place, (0.3 * side, side, 2.0 * side))
    rigs.updated()
    return human


def test_hands_and_feet_keep_places_and_turns(walking):
    for chain in walking.chain_ik.chains:
        # A spine of three bones that bends all of them has more than one way to its target.
        if chain.name in ("Spine", "Arm.L"):
            chain.solver = "CCD"
    rigs.updated()
    names = {bone.name: i for i, bone in enumerate(walking.pose.bones)}
    before = played(walking)
    bake(smoothness=1.0)
    after = played(walking)
    for name in HELD:
        i, length = names[name], 0.6
        moved = np.abs(after.poses[:, i, :3, 3] - before.poses[:, i, :3, 3]).max()
        assert moved <= TARGETS * length, name
        np.testing.assert_allclose(
            after.poses[:, i, :3, :3], before.poses[:, i, :3, :3], atol=5e-5, err_msg=name
        )
    elbows = [names["forearm.L"], names["forearm.R"]]
    gone = np.abs(after.poses - before.poses)[:, elbows, :3, 3].max()
    assert gone > GIVES_WAY
    assert after.acceleration <= before.acceleration
