"""Where a foot is put elsewhere, the knee bends to the side that it had, as steadily as it did."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from blender_ik_addon.core.clips.branches import largest_turns
from tests.blender.body.human_bodies import make_human
from tests.blender.clips import walking
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press

pytestmark = pytest.mark.usefixtures("rigify")
FRAMES = range(1, 31)


def test_a_leg_that_kicks_high_nearly_straight_turns_as_in_the_clip():
    # It swings past the direction where the side that it carries turns over.
    human = lift([(0.1 - 0.25 * max(0, frame - 10), 0.0, 0.05) for frame in FRAMES], 0.06)
    bones = human.pose.bones
    before = largest_turn(bones["thigh.L"])
    press(bpy.ops.pose.chain_ik_plant)
    assert walking.slides(human, walking.paths_of(human)) < 1e-4
    assert largest_turn(bones["thigh.L"]) < 1.02 * before


def test_a_leg_that_turns_about_itself_does_not_go_the_long_way_round_between_frames():
    human = lift([(0.1, 0.2 * max(0, frame - 10), 0.05) for frame in FRAMES], 0.8)
    press(bpy.ops.pose.chain_ik_plant)
    path = f"chain_ik.chains[{human.chain_ik.chains.find('Leg.L')}].pole_angle"
    (curve,) = (each for each in rigs.curves_of(human) if each.data_path == path)
    angles = np.array([point.co[1] for point in curve.keyframe_points])
    assert np.abs(angles).max() > np.pi
    assert np.abs(np.diff(angles)).max() < 1.0


def lift(thighs: list[tuple[float, float, float]], knee: float) -> bpy.types.Object:
    """Return a human whose left foot stands up to frame 9, and whose thigh then turns so."""
    human = opened(make_human)
    leg, bones = human.chain_ik.chains["Leg.L"], human.pose.bones
    bpy.context.scene.frame_end = FRAMES[-1]
    for frame, thigh in zip(FRAMES, thighs, strict=True):
        for name, angles in (("thigh.L", thigh), ("shin.L", (knee, 0.0, 0.0))):
            bones[name].rotation_mode, bones[name].rotation_euler = "XYZ", angles
            bones[name].keyframe_insert("rotation_euler", frame=frame)
        bones["spine"].location.x = 0.002 * frame
        bones["spine"].keyframe_insert("location", frame=frame)
    for frame, kind in ((1, "FOOT"), (10, "NONE")):
        leg.planted = kind
        leg.keyframe_insert("planted", frame=frame)
    for chain in human.chain_ik.chains:
        chain.mute = True
    return human


def largest_turn(bone: bpy.types.PoseBone) -> float:
    """Return the farthest that a bone turns from one frame to the next, radians."""
    scene, turns = bpy.context.scene, []
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        turns.append(np.array(bone.matrix.to_quaternion()))
    return float(largest_turns(np.array(turns)[:, None]).max())
