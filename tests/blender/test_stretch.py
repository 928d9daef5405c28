"""Stretch: bones with an IK Stretch grow to targets out of reach, and come back as they were."""

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from blender_ik_addon.rig import live
from tests.blender import renders, rigs
from tests.helpers import assert_positions_close, make_rng

SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")
INHERITED = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")
DIRECTION = np.array([0.36, 0.48, 0.8])
REACHED = 2e-5
# How far lengths may be off where limited bones shear each other; see docs/behaviour.md.
SHEARED = {"FULL": 0.01, "NONE": 2e-5}


def stretchy(count=3, share=0.5, inherited="FULL", **settings):
    """Return a rig whose bones may all stretch, its target, and its chain; targets out of reach."""
    ob = rigs.make_rig(rigs.zigzag(count))
    for bone in ob.pose.bones:
        bone.ik_stretch = share
        bone.bone.inherit_scale = inherited
    target = rigs.make_empty(location=1.4 * count * DIRECTION)
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", target, use_stretch=True, **settings)
    rigs.updated()
    return ob, target, chain


def scales(ob):
    return np.array([bone.scale for bone in ob.pose.bones])


def lengths(ob):
    """Return the lengths of the evaluated bones in world space."""
    names = [bone.name for bone in ob.pose.bones]
    return np.array([np.linalg.norm(rigs.tail(ob, name) - rigs.head(ob, name)) for name in names])


def assert_lands(ob, chain, target, bone=None):
    bone = bone or ob.pose.bones[-1].name
    assert_positions_close(rigs.tail(ob, bone), rigs.position(target), REACHED)
    assert chain.status.startswith("Reached"), chain.status
    assert chain.residual <= REACHED


def assert_unstretched(ob):
    assert np.array_equal(scales(ob), np.ones((len(ob.pose.bones), 3)))


@pytest.mark.parametrize("inherited", INHERITED)
@pytest.mark.parametrize("keeps_volume", [False, True])
def test_the_effector_lands_on_the_target_whatever_bones_inherit(inherited, keeps_volume):
    ob, target, chain = stretchy(inherited=inherited, use_keep_volume=keeps_volume)
    assert_lands(ob, chain, target)
    for share in (1.01, 1.2, 2.0, 5.0):
        target.location = 3.0 * share * DIRECTION
        rigs.updated()
        assert_lands(ob, chain, target)
        np.testing.assert_allclose(lengths(ob), share, rtol=2e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("has_pole", [False, True])
def test_every_solver_stretches_with_a_soft_distance_and_without(solver, has_pole):
    count = 2 if solver == "TWO_BONE" else 4
    ob, target, chain = stretchy(count, solver=solver)
    if has_pole:
        chain.pole_target = rigs.make_empty("Pole", (0.0, -5.0, 1.0))
    for soft in (0.0, 0.3):
        chain.soft_distance = soft
        for share in (0.8, 0.95, 0.999, 1.001, 1.1, 2.0):
            target.location = share * count * DIRECTION
            rigs.updated()
            assert_lands(ob, chain, target)
            is_grown = share > 1.0 - soft / count
            assert (scales(ob)[:, 1].max() > 1.0 + 1e-6) == is_grown


def test_a_soft_distance_keeps_the_knee_of_a_stretching_limb_from_popping():
    ob, target, chain = stretchy(2, solver="TWO_BONE", soft_distance=0.2)
    bends, distances = [], np.linspace(1.7, 2.6, 200)
    for distance in distances:
        target.location = distance * DIRECTION
        rigs.updated()
        assert_lands(ob, chain, target)
        a = rigs.head(ob, "Bone.1")
        b = rigs.tail(ob, "Bone.1") - a
        bends.append(np.arccos(min(1.0, float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))))
    # As without stretch: all bones grow alike, so the pose is the soft one, larger.
    bound = np.sqrt(2.0 / (2.0 * 0.2)) * 1.1
    assert np.abs(np.diff(bends) / np.diff(distances)).max() <= bound


def test_bones_grow_by_length_and_the_square_of_their_ik_stretch():
    ob, target, chain = stretchy(4)
    shares = (0.2, 0.0, 1.0, 0.5)
    for bone, share in zip(ob.pose.bones, shares, strict=True):
        bone.ik_stretch = share
    ob.update_tag()
    rigs.updated()
    assert_lands(ob, chain, target)
    weights = np.square(shares)
    np.testing.assert_allclose(lengths(ob), 1.0 + 1.6 * weights / weights.sum(), rtol=2e-5)


def test_volume_is_kept_where_asked_for():
    ob, _, chain = stretchy(inherited="NONE", use_keep_volume=True)
    grown = scales(ob)
    np.testing.assert_allclose(grown[:, 1], 1.4, rtol=1e-5)
    np.testing.assert_allclose(grown[:, [0, 2]], 1.4**-0.5, rtol=1e-5)
    chain.use_keep_volume = False
    rigs.updated()
    np.testing.assert_allclose(scales(ob), [[1.0, grown[0, 1], 1.0]] * 3, rtol=1e-5)


@pytest.mark.parametrize("start_from", ["KEYED", "REST", "CURRENT"])
@pytest.mark.parametrize("influence", [1.0, 0.5])
def test_solving_again_changes_nothing(start_from, influence):
    settings = {"start_from": start_from, "influence": influence, "soft_distance": 0.2}
    ob, target, _ = stretchy(inherited="FULL", use_keep_volume=True, **settings)
    before = scales(ob), rigs.rotations(ob)
    for _ in range(3):
        target.update_tag()
        ob.update_tag()
        rigs.updated()
        assert np.array_equal(scales(ob), before[0])
        assert rigs.rotations(ob) == before[1]


def test_within_reach_bones_have_their_own_scale_again():
    ob, target, chain = stretchy()
    assert scales(ob)[:, 1].max() > 1.1
    target.location = 2.0 * DIRECTION
    rigs.updated()
    assert_lands(ob, chain, target)
    assert_unstretched(ob)


def test_it_stretches_from_the_scale_that_was_there():
    ob = rigs.make_rig(rigs.zigzag(3))
    own = np.array([[1.0, 1.2, 1.0], [0.8, 0.9, 1.1], [1.0, 1.0, 1.0]])
    for bone, scale in zip(ob.pose.bones, own, strict=True):
        bone.ik_stretch, bone.scale, bone.bone.inherit_scale = 0.3, scale, "NONE"
    target = rigs.make_empty(location=(2.0, 2.0, 4.0))
    chain = rigs.add_chain(ob, "Bone.2", target, use_stretch=True)
    rigs.updated()
    assert_lands(ob, chain, target)
    np.testing.assert_allclose(scales(ob)[:, 1] / own[:, 1], np.sqrt(24.0) / 3.1, rtol=1e-5)
    target.location = 2.0 * DIRECTION
    rigs.updated()
    np.testing.assert_array_equal(scales(ob), own.astype(np.float32))


@pytest.mark.parametrize("way", ["mute", "switch off", "remove", "restore", "rechain"])
def test_letting_go_gives_the_scale_back(way):
    ob, target, chain = stretchy()
    rest = rigs.rotations(rigs.make_rig(rigs.zigzag(3), name="Fresh"))
    if way == "mute":
        chain.mute = True
    elif way == "switch off":
        chain.use_stretch = False
    elif way == "rechain":
        chain.chain_count = 1
    else:
        bpy.context.view_layer.objects.active = ob
        getattr(bpy.ops.pose, f"chain_ik_{way}")()
    bpy.context.view_layer.update()
    if way == "rechain":
        np.testing.assert_array_equal(scales(ob)[:2], np.ones((2, 3)))
        return
    assert_unstretched(ob)
    if way in ("mute", "remove"):
        assert rigs.rotations(ob) == rest
    if way == "switch off":
        assert chain.status.startswith("Out of reach by 1.2 m"), chain.status
        chain.use_stretch = True
        rigs.updated()
        assert_lands(ob, chain, target)


def test_a_stored_pose_without_scales_still_loads():
    ob = rigs.make_rig(rigs.zigzag(2))
    for bone in ob.pose.bones:
        bone.ik_stretch, bone.scale = 0.5, (1.0, 1.1, 1.0)
    target = rigs.make_empty(location=1.0 * DIRECTION)
    chain = rigs.add_chain(ob, "Bone.1", target)
    rigs.updated()
    assert "1.1" not in chain.stored_pose
    chain.use_stretch = True
    target.location = 4.0 * DIRECTION
    rigs.updated()
    assert_lands(ob, chain, target)
    chain.mute = True
    rigs.updated()
    np.testing.assert_array_equal(scales(ob), np.float32([[1.0, 1.1, 1.0]] * 2))


def test_what_does_not_stretch_stores_no_scale():
    ob, _ = rigs.make_arm()
    assert ob.chain_ik.chains[0].stored_pose.count("[") == 1 + 2 * 2


def test_without_ik_stretch_on_any_bone_the_status_says_what_to_do():
    ob, target, chain = stretchy(share=0.0)
    assert "set IK Stretch on the bones" in chain.status
    assert_unstretched(ob)
    target.location = DIRECTION
    rigs.updated()
    assert chain.status.startswith("Reached"), chain.status


def test_locked_scale_channels_are_left_alone():
    ob, target, chain = stretchy(inherited="FULL", use_keep_volume=True)
    ob.pose.bones["Bone.1"].lock_scale = (False, True, False)
    ob.pose.bones["Bone.2"].lock_scale = (True, False, True)
    for bone in ob.pose.bones:
        bone.scale = (1.0, 1.0, 1.0)
    chain.mute = True
    rigs.updated()
    chain.mute = False
    rigs.updated()
    assert scales(ob)[1, 1] == 1.0
    assert np.array_equal(scales(ob)[2, [0, 2]], [1.0, 1.0])
    assert_lands(ob, chain, target)


@pytest.mark.parametrize("inherited", ["FULL", "NONE"])
def test_limited_joints_stretch_and_keep_their_limits(inherited):
    ob, target, chain = stretchy(3, inherited=inherited)
    for bone in ob.pose.bones:
        bone.use_ik_limit_x = bone.use_ik_limit_z = True
        bone.ik_min_x = bone.ik_min_z = -1.0
        bone.ik_max_x = bone.ik_max_z = 1.0
    rng = make_rng(5)
    for share in (0.9, 1.05, 1.5, 3.0):
        target.location = share * 3.0 * (DIRECTION + rng.uniform(-0.1, 0.1, 3))
        rigs.updated()
        assert_lands(ob, chain, target)
        wanted = max(1.0, np.linalg.norm(target.location) / 3.0)
        np.testing.assert_allclose(lengths(ob), wanted, rtol=SHEARED[inherited])
        swings = [
            Quaternion(bone.rotation_quaternion).to_swing_twist("Y")[0] for bone in ob.pose.bones
        ]
        assert max(abs(swing.to_euler().x) for swing in swings) <= 1.0 + 1e-5


@pytest.mark.parametrize("inherited", INHERITED)
def test_bent_chains_of_one_stretching_bone_land_too(inherited):
    ob, target, chain = stretchy(3, inherited=inherited, soft_distance=1.0)
    for bone in ob.pose.bones[1:]:
        bone.ik_stretch = 0.0
    rigs.turn_bones(ob, seed=4)
    rng = make_rng(6)
    for share in (0.8, 0.9, 1.0, 1.1, 1.4):
        target.location = share * 3.0 * (DIRECTION + rng.uniform(-0.1, 0.1, 3))
        rigs.updated()
        assert_lands(ob, chain, target)
        np.testing.assert_allclose(lengths(ob)[1:], 1.0, rtol=2e-5)


def test_a_tip_with_a_rotation_keeps_its_length_and_takes_the_rotation():
    ob, target, chain = stretchy(3, inherited="NONE", use_rotation=True)
    target.rotation_euler = (0.4, 0.9, -0.3)
    rigs.updated()
    assert_lands(ob, chain, target)
    assert lengths(ob)[2] == pytest.approx(1.0, rel=2e-5)
    posed = np.array(rigs.evaluated(ob).pose.bones["Bone.2"].matrix)[:3, :3]
    wanted = np.array(target.rotation_euler.to_matrix())
    np.testing.assert_allclose(posed[:, 1], wanted[:, 1], atol=2e-5)


def test_influence_stretches_its_share():
    ob, _, chain = stretchy(1, inherited="NONE")
    chain.influence = 0.5
    rigs.updated()
    assert scales(ob)[0, 1] == pytest.approx(1.2, rel=1e-5)


@pytest.mark.parametrize("scale", [(0.01, 0.01, 0.01), (2.0, 2.0, 2.0), (-1.0, 1.0, 1.0)])
def test_objects_of_any_scale_stretch(scale):
    ob, target, chain = stretchy()
    ob.scale = scale
    ob.rotation_mode, ob.rotation_quaternion = "QUATERNION", Quaternion((1, 2, 3, 4)).normalized()
    target.location = 4.2 * abs(scale[0]) * DIRECTION
    rigs.updated()
    assert_lands(ob, chain, target)
    np.testing.assert_allclose(scales(ob)[:, 1].prod(), 1.4, rtol=1e-4)


def test_a_bone_of_another_chain_above_changes_nothing_of_that():
    """The chain below another one stretches from where that has brought it."""
    ob = rigs.make_rig(rigs.zigzag(4))
    for bone in ob.pose.bones:
        bone.ik_stretch = 0.5
    upper, lower = rigs.make_empty("Upper", (1.5, 0.0, 2.5)), rigs.make_empty("Lower", (1, 3, 5))
    rigs.add_chain(ob, "Bone.1", upper, use_stretch=True)
    chain = rigs.add_chain(ob, "Bone.3", lower, chain_count=2, use_stretch=True)
    rigs.updated()
    assert_positions_close(rigs.tail(ob, "Bone.1"), rigs.position(upper), REACHED)
    assert_lands(ob, chain, lower)


def test_keyed_scales_are_what_a_frame_starts_from():
    ob, target, chain = stretchy(2, inherited="NONE")
    chain.mute = True
    rigs.updated()
    rigs.key(ob, 'pose.bones["Bone.0"].scale', {1: (1.0, 1.0, 1.0), 11: (1.0, 2.0, 1.0)})
    rigs.go_to(1)
    chain.mute = False
    for frame, length in ((1, 1.0), (6, 1.5), (11, 2.0), (6, 1.5), (1, 1.0)):
        target.location = DIRECTION
        rigs.go_to(frame)
        assert scales(ob)[0, 1] == pytest.approx(length, rel=1e-6)
        target.location = 6.0 * DIRECTION
        rigs.updated()
        assert_lands(ob, chain, target)
        assert scales(ob)[0, 1] == pytest.approx(length * 6.0 / (length + 1.0), rel=1e-5)
    chain.mute = True
    rigs.go_to(6)
    assert scales(ob)[0, 1] == pytest.approx(1.5)


def test_a_driven_scale_is_told_of():
    ob, _, chain = stretchy(2)
    ob.pose.bones["Bone.0"].driver_add("scale", 1).driver.expression = "1.0"
    rigs.updated()
    assert "driver on its scale" in chain.status
    chain.use_stretch = False
    rigs.updated()
    assert chain.status.startswith("Out of reach"), chain.status


def test_a_scene_in_which_nothing_changes_is_not_written_again(monkeypatch):
    _, target, _ = stretchy()
    written = []
    original = live.write_pose
    monkeypatch.setattr(
        live, "write_pose", lambda *given: written.append(given) or original(*given)
    )
    for _ in range(3):
        target.update_tag()
        rigs.updated()
    assert not written
    target.location.x += 0.5
    rigs.updated()
    assert len(written) == 1


def test_a_head_that_follows_carries_a_tip_that_takes_the_rotation():
    ob, target, chain = stretchy(3, inherited="NONE", use_tail=False, use_rotation=True)
    target.rotation_euler = (0.4, 0.9, -0.3)
    rigs.updated()
    assert_positions_close(rigs.head(ob, "Bone.2"), rigs.position(target), REACHED)
    assert chain.status.startswith("Reached"), chain.status
    posed = np.array(rigs.evaluated(ob).pose.bones["Bone.2"].matrix)[:3, :3]
    np.testing.assert_allclose(posed, np.array(target.rotation_euler.to_matrix()), atol=2e-5)


def test_renders_show_each_frame_stretched_as_it_shall_be(tmp_path):
    ob, target, chain = stretchy()
    path = {1: 2.0 * DIRECTION, 3: 6.0 * DIRECTION}
    rigs.key(target, "location", path)
    rigs.go_to(1)
    seen = renders.render_frames(tmp_path, lambda graph: rigs.tail(ob, "Bone.2", graph), (1, 3))
    for frame, share in ((1, 2.0), (2, 4.0), (3, 6.0)):
        assert_positions_close(seen[frame], share * DIRECTION, REACHED)
    rigs.go_to(1)
    assert_lands(ob, chain, target)
    assert_unstretched(ob)


def test_bones_that_other_chains_drive_stretch_by_themselves():
    """Two chains of one rig are written in one go."""
    ob = rigs.make_rig(rigs.zigzag(2))
    rigs.add_bones(ob, np.add(rigs.zigzag(2, seed=3), [3.0, 0.0, 0.0]), prefix="Other")
    for bone in ob.pose.bones:
        bone.ik_stretch = 0.5
    ends = rigs.make_empty("One", (0.0, 2.0, 3.0)), rigs.make_empty("Two", (3.0, -2.0, 4.0))
    chains = [
        rigs.add_chain(ob, bone, end, use_stretch=True)
        for bone, end in zip(("Bone.1", "Other.1"), ends, strict=True)
    ]
    rigs.updated()
    for chain, end in zip(chains, ends, strict=True):
        assert_lands(ob, chain, end, chain.bone)
