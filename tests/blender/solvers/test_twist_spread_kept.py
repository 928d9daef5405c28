"""Twist spread and time: what is stored and keyed, and where *Set Up Limbs* switches it on."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_bones
from tests.blender.setups.twisted_rigs import MOVED, RIGS, UNREAL, make_arm, make_bones, turn_hand


@RIGS
@pytest.mark.parametrize("how", ["mute", "influence", "off"])
def test_bones_get_their_own_pose_back(bones, how):
    ob, chain, target = make_arm(bones, use_twist_spread=True)
    chain.mute = True
    rigs.updated()
    rigs.turn_bones(ob)
    own = rigs.rotations(ob)
    chain.stored_pose = ""
    chain.mute = False
    turn_hand(ob, target, 2.0, moved=MOVED)
    rigs.updated()
    changed = [name for name, turn in rigs.rotations(ob).items() if turn != own[name]]
    assert set(changed) >= {name for name in bones if "arm" in name}
    if how == "mute":
        chain.mute = True
    elif how == "influence":
        chain.influence = 0.0
    else:
        chain.use_twist_spread = False
        rigs.updated()
        assert chain.status.startswith("Reached")
        helpers = [name for name in bones if "twist" in name]
        assert all(rigs.rotations(ob)[name] == own[name] for name in helpers)
        chain.mute = True
    rigs.updated()
    for name, turn in rigs.rotations(ob).items():
        assert turn == pytest.approx(own[name], abs=1e-6), name


@RIGS
def test_baked_keys_show_the_spread(bones):
    ob, _, target = make_arm(bones, use_twist_spread=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 6
    for frame, angle in ((1, -2.5), (6, 2.5)):
        turn_hand(ob, target, angle, moved=np.multiply(MOVED, frame / 6))
        for path in ("location", "rotation_quaternion"):
            target.keyframe_insert(path, frame=frame)
    live = []
    for frame in range(1, 7):
        rigs.go_to(frame)
        live.append(rigs.pose(ob))
    select_bones(ob, [])
    press(bpy.ops.pose.chain_ik_bake)
    assert ob.chain_ik.chains[0].mute
    keyed = {curve.data_path.split('"')[1] for curve in rigs.curves_of(ob)}
    assert keyed == {name for name in bones if "arm" in name or "hand" in name}
    for frame in range(1, 7):
        np.testing.assert_allclose(rigs.pose(ob, rigs.go_to(frame)), live[frame - 1], atol=4e-6)
    # From the keys the chain finds the same pose: they are not spread once more.
    ob.chain_ik.chains[0].mute = False
    for frame in range(1, 7):
        np.testing.assert_allclose(rigs.pose(ob, rigs.go_to(frame)), live[frame - 1], atol=2e-5)


def test_a_driven_twist_bone_is_told():
    ob, chain, _ = make_arm(UNREAL, mode="XYZ", use_twist_spread=True)
    ob.pose.bones["lowerarm_twist_01_l"].driver_add("rotation_euler", 1).driver.expression = "0.1"
    ob.update_tag()
    rigs.updated()
    assert chain.status == (
        "Bone 'lowerarm_twist_01_l' has a driver on its rotation, which always wins:"
        " remove the driver, or switch Twist Spread off."
    )


@pytest.mark.parametrize("turn", [0.0, 0.5])
def test_set_up_limbs_switches_it_on_where_nothing_moves_by_it(turn):
    ob = make_bones(UNREAL)
    ob.pose.bones["hand_l"].rotation_quaternion = Quaternion((0.3, 1.0, 0.2), turn)
    rigs.updated()
    before = rigs.pose(ob)
    select_bones(ob, [])
    press(bpy.ops.pose.chain_ik_setup)
    (chain,) = ob.chain_ik.chains
    assert chain.use_twist_spread == (turn == 0.0)
    named = [bone.name for bone in ob.pose.bones]
    posed = {bone.name: np.array(bone.matrix) for bone in rigs.evaluated(ob).pose.bones}
    for name, matrix in zip(named[: len(before)], before, strict=True):
        np.testing.assert_allclose(posed[name], matrix, atol=2e-5)


def test_set_up_limbs_leaves_driven_twist_bones_alone():
    ob = make_bones(UNREAL, mode="XYZ")
    ob.pose.bones["lowerarm_twist_01_l"].driver_add("rotation_euler", 1).driver.expression = "0"
    rigs.updated()
    select_bones(ob, [])
    press(bpy.ops.pose.chain_ik_setup)
    (chain,) = ob.chain_ik.chains
    assert not chain.use_twist_spread
    assert chain.status.startswith("Reached"), chain.status


def test_the_other_side_is_spread_as_well():
    arm = {name: bone for name, bone in UNREAL.items() if name != "finger_l"}
    other = {
        name[:-1] + "r": (
            parent and parent[:-1] + "r",
            np.multiply(head, (-1.0, 1.0, 1.0)),
            np.multiply(tail, (-1.0, 1.0, 1.0)),
        )
        for name, (parent, head, tail) in arm.items()
    }
    ob, *_ = make_arm({**arm, **other}, chain_count=2, use_twist_spread=True)
    select_bones(ob, ["lowerarm_l"])
    press(bpy.ops.pose.chain_ik_mirror)
    assert ob.chain_ik.chains[1].use_twist_spread
    mirrored = ob.chain_ik.chains[1].target
    mirrored.rotation_mode = "QUATERNION"
    mirrored.rotation_quaternion = Quaternion((1, 0, 0), 0.9) @ mirrored.rotation_quaternion
    rigs.updated()
    assert abs(ob.pose.bones["lowerarm_twist_01_r"].rotation_quaternion.w) < 0.99
