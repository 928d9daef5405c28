"""Settings of chains that solved bones of other chains drive: in every order of frames."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.reading.update import Update
from tests.blender.setups import rigs, ties
from tests.blender.setups.renders import render_frames
from tests.helpers import make_rng, record_calls

FRAMES = range(1, 13)
SWING = {1: (0.9, 0.3, 1.2), 6: (-0.8, 0.7, 1.4), 12: (0.4, -0.9, 0.9)}
SETTINGS = {
    "pole_angle": "3 * value",
    "influence": "0.5 + 0.5 * value",
    "soft_distance": "abs(value)",
    # These chains are idle at some of the frames.
    "mute": "value > 0.4",
    "influence of an idle chain": "value - 0.35",
}


def make_rig(setting: str) -> bpy.types.Object:
    """Make two limbs; the turn of the second one drives a setting of the first one."""
    ob = rigs.make_rig()
    rigs.add_bones(ob, ((1.0, 0.0, 0.0), (1.2, 0.1, 0.8), (1.0, 0.0, 1.6)), prefix="Limb")
    pole = rigs.make_empty("Pole", (1.4, 3.0, 0.8))
    _, chain = rigs.follow(ob, "Limb.1", (1.6, 0.5, 1.0), empty="Limb Target", chain_count=2)
    chain.pole_target = pole
    target, _ = rigs.follow(ob, "Bone.1", SWING[1], chain_count=2)
    rigs.key(target, "location", SWING)
    drive(chain, setting, ob)
    return ob


def drive(chain: bpy.types.PropertyGroup, setting: str, ob: bpy.types.Object) -> None:
    """Let the turn of the first bone of a rig drive a setting of a chain."""
    name, expression = setting.split()[0], SETTINGS[setting]
    ties.drive(chain, name, ob, "ROT_X", bone="Bone.0", expression=expression)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_that_solved_bones_drive_is_that_of_the_frame_in_any_order(setting, tmp_path):
    ob = make_rig(setting)
    played = {frame: rigs.pose(ob, rigs.go_to(frame)) for frame in FRAMES}
    assert np.ptp([pose[3] for pose in played.values()], axis=0).max() > 0.01
    for frame in (*reversed(FRAMES), *make_rng(0).permutation(FRAMES)):
        pose = rigs.pose(ob, rigs.go_to(int(frame)))
        np.testing.assert_array_equal(pose, played[frame], f"frame {frame}")
        rigs.assert_stays(ob)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    rendered = render_frames(tmp_path, lambda graph: rigs.pose(ob, graph), (FRAMES[0], FRAMES[-1]))
    for frame, pose in played.items():
        np.testing.assert_allclose(rendered[frame], pose, atol=4e-6, err_msg=f"frame {frame}")


def test_a_setting_follows_while_the_target_of_the_chain_that_drives_it_is_dragged():
    ob = make_rig("soft_distance")
    for frame in rigs.each_frame((1, 6, 12)):
        expected = rigs.pose(ob)
        rigs.go_to(3)
        rigs.change(bpy.data.objects["Target"], location=SWING[frame])
        rigs.assert_same_pose(ob, expected)


def test_a_rig_whose_only_chain_is_idle_is_read_as_it_is_now():
    """In rest position its state is dropped, while the chains that are solved stay the same."""
    ob, (arm, _) = rigs.make_rig(), rigs.make_arm((3.0, 0.0, 0.0), name="Arm")
    target, _ = rigs.follow(ob, "Bone.1", SWING[1], chain_count=2)
    rigs.key(target, "location", SWING)
    (chain,) = arm.chain_ik.chains
    drive(chain, "mute", ob)
    played = {frame: rigs.pose(arm, rigs.go_to(frame)) for frame in FRAMES}
    for _ in rigs.each_frame(FRAMES):
        if chain.mute:
            break
    assert chain.mute
    for position in ("REST", "POSE"):
        arm.data.pose_position = position
        rigs.updated()
    for frame, pose in played.items():
        np.testing.assert_array_equal(rigs.pose(arm, rigs.go_to(frame)), pose, f"frame {frame}")


def test_settings_that_no_solved_bone_drives_cost_no_evaluation(monkeypatch):
    ob = make_rig("influence")
    (curve,) = ob.animation_data.drivers
    (source,) = curve.driver.variables[0].targets
    rigs.add_bones(ob, ((3.0, 0.0, 0.0), (3.0, 0.0, 1.0)), prefix="Switch")
    source.bone_target = "Switch.0"
    rigs.go_to(1)
    evaluations = record_calls(monkeypatch, Update, "evaluate_again")
    for frame in FRAMES:
        rigs.go_to(frame)
    assert not evaluations
    source.bone_target = "Bone.0"
    rigs.go_to(1)
    assert evaluations
