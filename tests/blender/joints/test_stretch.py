"""Stretch: bones with an IK Stretch grow to targets out of reach, whatever they inherit.

Also the scales that they start from, leave alone and restore.
"""

import numpy as np
import pytest
from mathutils import Quaternion

from tests.blender.setups import rigs
from tests.helpers import assert_positions_close, make_rng

pytestmark = pytest.mark.slow

# Relative errors of lengths where limited bones shear each other; see docs/behaviour.md.
LENGTH_ERRORS = {"FULL": 0.01, "NONE": 2e-5}
DIRECTION = np.array([0.36, 0.48, 0.8])
REACHED = 2e-5
"""Distance to a target that is reached: the default tolerance, and float32 in the channels."""


def make_stretchy(count=3, share=0.5, inherited="FULL", **settings):
    """Return a rig whose bones may all stretch, its target out of reach, and its chain."""
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
    names = [bone.name for bone in ob.pose.bones]
    return np.array([np.linalg.norm(rigs.tail(ob, name) - rigs.head(ob, name)) for name in names])


def assert_lands(ob, chain, target, scale=1.0):
    tip = ob.pose.bones[-1].name
    assert_positions_close(rigs.tail(ob, tip), rigs.position(target), REACHED * scale)
    assert chain.status.startswith("Reached"), chain.status
    assert chain.residual <= REACHED * scale


@pytest.mark.parametrize("inherited", rigs.INHERITED)
@pytest.mark.parametrize("is_mirrored", [False, True])
def test_the_effector_lands_on_the_target_whatever_bones_inherit(inherited, is_mirrored):
    ob, target, chain = make_stretchy(inherited=inherited, use_keep_volume=is_mirrored)
    if is_mirrored:
        ob.scale, ob.rotation_mode = (-1.0, 1.0, 1.0), "QUATERNION"
        rigs.change(ob, rotation_quaternion=Quaternion((1, 2, 3, 4)).normalized())
    assert_lands(ob, chain, target)
    for share in (1.01, 5.0):
        rigs.change(target, location=3.0 * share * DIRECTION)
        assert_lands(ob, chain, target)
        np.testing.assert_allclose(lengths(ob), share, rtol=2e-5)


@pytest.mark.parametrize("solver", rigs.SOLVERS)
@pytest.mark.parametrize(("has_pole", "scale"), [(False, 0.01), (True, 1.0), (False, 100.0)])
def test_every_solver_stretches_with_a_soft_distance_or_stops_where_that_says(
    solver, has_pole, scale
):
    count = 2 if solver == "TWO_BONE" else 4
    ob, target, chain = make_stretchy(count, solver=solver, tolerance=1e-6 * scale)
    ob.scale, reach, tip = (scale, scale, scale), count * scale, f"Bone.{count - 1}"
    if has_pole:
        chain.pole_target = rigs.make_empty("Pole", (0.0, -5.0, 1.0))
    for soft in (0.0, 0.3 * scale):
        chain.soft_distance = soft
        for distance in np.multiply((0.8, 0.95, 0.999, 1.001, 2.0), reach):
            excess = distance - reach + soft
            span = reach - soft * np.exp(-excess / soft) if soft else reach
            span = span if excess > 0.0 else distance
            target.location = distance * DIRECTION
            for chain.use_stretch in (True, False):
                rigs.updated()
                if chain.use_stretch:
                    assert_lands(ob, chain, target, max(1.0, scale))
                    # All bones grow alike: the pose of the soft distance alone is scaled up.
                    np.testing.assert_allclose(lengths(ob), scale * distance / span, rtol=2e-5)
                    continue
                assert_positions_close(rigs.tail(ob, tip), span * DIRECTION, 1e-5 * reach)
                assert chain.residual == pytest.approx(distance - span, abs=1e-5 * reach)
                if span == distance:
                    assert chain.status.startswith("Reached"), chain.status
                elif distance < reach:
                    assert "short of the target by the soft distance" in chain.status
                else:
                    assert chain.status.startswith("Out of reach"), chain.status


def test_bones_grow_by_length_and_the_square_of_their_ik_stretch():
    ob, target, chain = make_stretchy(4)
    shares = (0.2, 0.0, 1.0, 0.5)
    for bone, share in zip(ob.pose.bones, shares, strict=True):
        bone.ik_stretch = share
    rigs.tagged(ob)
    assert_lands(ob, chain, target)
    weights = np.square(shares)
    np.testing.assert_allclose(lengths(ob), 1.0 + 1.6 * weights / weights.sum(), rtol=2e-5)


def test_volume_is_kept_only_with_keep_volume():
    ob, _, chain = make_stretchy(inherited="NONE", use_keep_volume=True)
    scale = scales(ob)
    np.testing.assert_allclose(scale[:, 1], 1.4, rtol=1e-5)
    np.testing.assert_allclose(scale[:, [0, 2]], 1.4**-0.5, rtol=1e-5)
    rigs.change(chain, use_keep_volume=False)
    np.testing.assert_allclose(scales(ob), [[1.0, scale[0, 1], 1.0]] * 3, rtol=1e-5)


@pytest.mark.parametrize("inherited", ["FULL", "NONE"])
def test_limited_joints_stretch_and_keep_their_limits(inherited):
    ob, target, chain = make_stretchy(3, inherited=inherited)
    rigs.limit_bones(ob, x=(-1.0, 1.0), z=(-1.0, 1.0))
    rng = make_rng(5)
    for share in (0.9, 1.05, 1.5, 3.0):
        rigs.change(target, location=share * 3.0 * (DIRECTION + rng.uniform(-0.1, 0.1, 3)))
        assert_lands(ob, chain, target)
        stretch = max(1.0, np.linalg.norm(target.location) / 3.0)
        np.testing.assert_allclose(lengths(ob), stretch, rtol=LENGTH_ERRORS[inherited])
        swings = [
            Quaternion(bone.rotation_quaternion).to_swing_twist("Y")[0] for bone in ob.pose.bones
        ]
        assert max(abs(swing.to_euler().x) for swing in swings) <= 1.0 + 1e-5


@pytest.mark.parametrize("use_tail", [True, False])
def test_a_tip_with_a_rotation_keeps_its_length_and_takes_the_rotation(use_tail):
    ob, target, chain = make_stretchy(3, inherited="NONE", use_rotation=True, use_tail=use_tail)
    rigs.change(target, rotation_euler=(0.4, 0.9, -0.3))
    end = (rigs.tail if use_tail else rigs.head)(ob, "Bone.2")
    assert_positions_close(end, rigs.position(target), REACHED)
    assert chain.status.startswith("Reached"), chain.status
    assert lengths(ob)[2] == pytest.approx(1.0, rel=2e-5)
    posed = np.array(rigs.evaluated(ob).pose.bones["Bone.2"].matrix)[:3, :3]
    goal = np.array(target.rotation_euler.to_matrix())
    # With the tail as the effector, its other axes go with the grown bones.
    axes = slice(1, 2) if use_tail else slice(3)
    np.testing.assert_allclose(posed[:, axes], goal[:, axes], atol=2e-5)


@pytest.mark.parametrize("count", [2, 3])
def test_a_chain_below_a_bone_that_grows_reaches_at_the_frame_of_the_growth(count):
    ob = rigs.make_rig(rigs.zigzag(6))
    ob.pose.bones["Bone.2"].ik_stretch = 0.5
    carrying = rigs.make_empty(location=rigs.tail(ob, "Bone.2"))
    rigs.key(carrying, "location", {1: carrying.location[:], 10: (0.2, 0.3, 3.6)})
    rigs.add_chain(ob, "Bone.2", carrying, use_stretch=True)
    target = rigs.make_empty(location=(0.3, 0.2, 5.0))
    chain = rigs.add_chain(ob, "Bone.5", target, chain_count=count)
    for _ in rigs.each_frame((10, 1, 10)):
        assert_lands(ob, chain, target)


def test_a_chain_stretches_from_the_scale_of_the_stored_pose():
    ob = rigs.make_rig(rigs.zigzag(3))
    start = np.array([[1.0, 1.2, 1.0], [0.8, 0.9, 1.1], [1.0, 1.0, 1.0]])
    for bone, scale in zip(ob.pose.bones, start, strict=True):
        bone.ik_stretch, bone.scale, bone.bone.inherit_scale = 0.3, scale, "NONE"
    target, chain = rigs.follow(ob, "Bone.2", (2.0, 2.0, 4.0), use_stretch=True)
    rigs.updated()
    assert_lands(ob, chain, target)
    np.testing.assert_allclose(scales(ob)[:, 1] / start[:, 1], np.sqrt(24.0) / 3.1, rtol=1e-5)
    rigs.change(target, location=2.0 * DIRECTION)
    np.testing.assert_array_equal(scales(ob), start.astype(np.float32))


WAYS = {"mute": True, "use_stretch": False, "chain_count": 1}


@pytest.mark.parametrize("way", [*WAYS, "remove", "restore"])
def test_letting_go_gives_the_scale_back(way):
    ob, target, chain = make_stretchy()
    rest = rigs.rotations(rigs.make_rig(rigs.zigzag(3), name="Fresh"))
    rigs.release_chain(ob, way, WAYS.get(way))
    if way == "chain_count":
        np.testing.assert_array_equal(scales(ob)[:2], np.ones((2, 3)))
        return
    np.testing.assert_array_equal(scales(ob), np.ones((3, 3)))
    if way in ("mute", "remove"):
        assert rigs.rotations(ob) == rest
    if way == "use_stretch":
        assert chain.status.startswith("Out of reach by 1.2 m"), chain.status
        rigs.change(chain, use_stretch=True)
        assert_lands(ob, chain, target)


def test_a_stored_pose_without_scales_still_loads():
    ob = rigs.make_rig(rigs.zigzag(2))
    rigs.set_each(ob.pose.bones, ik_stretch=0.5, scale=(1.0, 1.1, 1.0))
    target, chain = rigs.follow(ob, "Bone.1", 1.0 * DIRECTION)
    rigs.updated()
    assert "1.1" not in chain.stored_pose
    chain.use_stretch = True
    rigs.change(target, location=4.0 * DIRECTION)
    assert_lands(ob, chain, target)
    rigs.change(chain, mute=True)
    np.testing.assert_array_equal(scales(ob), np.float32([[1.0, 1.1, 1.0]] * 2))


def test_locked_scale_channels_are_left_alone():
    ob, target, chain = make_stretchy(inherited="FULL", use_keep_volume=True)
    ob.pose.bones["Bone.1"].lock_scale = (False, True, False)
    ob.pose.bones["Bone.2"].lock_scale = (True, False, True)
    rigs.set_each(ob.pose.bones, scale=(1.0, 1.0, 1.0))
    rigs.change(chain, mute=True)
    rigs.change(chain, mute=False)
    assert scales(ob)[1, 1] == 1.0
    assert np.array_equal(scales(ob)[2, [0, 2]], [1.0, 1.0])
    assert_lands(ob, chain, target)


def test_stretches_start_from_the_keyed_scales_of_the_frame():
    ob, target, chain = make_stretchy(2, inherited="NONE")
    rigs.change(chain, mute=True)
    rigs.key(ob, 'pose.bones["Bone.0"].scale', {1: (1.0, 1.0, 1.0), 11: (1.0, 2.0, 1.0)})
    rigs.go_to(1)
    chain.mute = False
    for frame, length in ((1, 1.0), (6, 1.5), (11, 2.0), (6, 1.5), (1, 1.0)):
        target.location = DIRECTION
        rigs.go_to(frame)
        assert scales(ob)[0, 1] == pytest.approx(length, rel=1e-6)
        rigs.change(target, location=6.0 * DIRECTION)
        assert_lands(ob, chain, target)
        assert scales(ob)[0, 1] == pytest.approx(length * 6.0 / (length + 1.0), rel=1e-5)
    chain.mute = True
    rigs.go_to(6)
    assert scales(ob)[0, 1] == pytest.approx(1.5)
