"""Any scale: of the object, of its parents, of the bones. Measured in world space.

Blender keeps poses in float32: a bone's direction is known to 1e-7, and the matrices that lead
from it to the world round as much again, times the ratio of longest to shortest axis. 1e-5 of the
limb's length leaves room for the ten bones and the ratios of up to 10 that occur here.
"""

import numpy as np
import pytest
from mathutils import Vector

from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng

# Thorough: thousands of solves, left out of the quick subset.
pytestmark = pytest.mark.slow

MISS = 1e-5
SEEDS = range(2)
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")
OBJECT_SCALES = {
    "uneven": (0.5, 2.0, 1.3),
    "minus_x": (-1.0, 1.0, 1.0),
    "minus_y": (1.0, -1.0, 1.0),
    "minus_xy": (-1.0, -1.0, 1.0),
    "minus_all": (-1.0, -1.0, -1.0),
    "minus_uneven": (-0.4, 1.0, -1.7),
    "tiny": (0.01, 0.01, 0.01),
    "huge": (100.0, 100.0, 100.0),
    "tiny_and_mirrored": (-0.01, 0.01, 0.01),
}
BONE_SCALES = {
    "uniform": (2.0, 2.0, 2.0),
    "uneven": (0.6, 1.4, 1.0),
    "minus_x": (-1.0, 1.0, 1.0),
    "minus_y": (1.0, -1.0, 1.0),
    "minus_z": (1.0, 1.0, -1.0),
    "minus_all": (-1.0, -1.0, -1.0),
    "minus_uneven": (1.2, -0.7, 0.9),
}

every_seed = pytest.mark.parametrize("seed", SEEDS)
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def bones_of(solver):
    return 2 if solver == "TWO_BONE" else 4


def in_kind(table):
    return pytest.mark.parametrize("scale", table.values(), ids=table.keys())


def follow_reachable(ob, bones, rng, solver, angle=0.7):
    point = scaled_rigs.reachable_point(ob, bones, rng, angle)
    tolerance = 1e-6 * scaled_rigs.limb_length(ob, bones)
    return scaled_rigs.follow(ob, bones, point, solver=solver, tolerance=tolerance)


def assert_reached(ob, bones, chain, target):
    miss = scaled_rigs.miss(ob, bones, target)
    assert miss <= MISS, f"missed by {miss:.3g} of the limb: {chain.status}"
    assert chain.status.startswith("Reached"), chain.status


def turned_and_moved(ob, rng):
    ob.rotation_mode = "QUATERNION"
    ob.rotation_quaternion = scaled_rigs.random_quaternion(rng, 3.0)
    ob.location = rng.uniform(-1.0, 1.0, 3)


@every_seed
@every_solver
@in_kind(OBJECT_SCALES)
def test_target_is_reached_under_any_object_scale(scale, solver, seed):
    rng = make_rng(seed)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    turned_and_moved(ob, rng)
    ob.location *= abs(scale[0])
    ob.scale = scale
    chain, target = follow_reachable(ob, bones, rng, solver)
    assert_reached(ob, bones, chain, target)


@every_seed
@every_solver
@in_kind({"uneven": (0.3, 1.0, 2.0), "minus_uneven": (-0.5, 1.0, 1.5), "thin": (1.0, 1.0, 0.1)})
def test_target_is_reached_under_parents_that_shear_the_object(scale, solver, seed):
    rng = make_rng(seed)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    turned_and_moved(ob, rng)
    ob.parent = scaled_rigs.sheared_parent(scale, scaled_rigs.random_quaternion(rng, 2.0))
    chain, target = follow_reachable(ob, bones, rng, solver)
    assert_reached(ob, bones, chain, target)


@every_seed
@every_solver
@in_kind(BONE_SCALES)
def test_target_is_reached_below_a_scaled_bone(scale, solver, seed):
    rng = make_rng(seed)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    scaled_rigs.scale_bones(ob, {"Bone.0": scale})
    scaled_rigs.turn(ob, ["Bone.0", "Bone.1"], rng, 0.5)
    chain, target = follow_reachable(ob, bones, rng, solver)
    assert_reached(ob, bones, chain, target)


@every_seed
@every_solver
@in_kind(BONE_SCALES)
def test_target_is_reached_by_a_limb_with_scaled_bones(scale, solver, seed):
    rng = make_rng(seed)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    scaled_rigs.scale_bones(ob, {bones[0]: scale})
    chain, target = follow_reachable(ob, bones, rng, solver)
    assert_reached(ob, bones, chain, target)


@every_seed
@every_solver
@in_kind(BONE_SCALES)
def test_target_is_reached_by_a_limb_with_a_scaled_tip(scale, solver, seed):
    rng = make_rng(seed)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    scaled_rigs.scale_bones(ob, {bones[-1]: scale})
    chain, target = follow_reachable(ob, bones, rng, solver)
    assert_reached(ob, bones, chain, target)


@every_seed
@pytest.mark.parametrize("solver", ["TWO_BONE", "NEWTON"])
def test_target_is_reached_with_scales_everywhere_at_once(solver, seed):
    rng = make_rng(100 + seed)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    turned_and_moved(ob, rng)
    ob.scale = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.5, 1.5, 3)
    ob.parent = scaled_rigs.sheared_parent(
        rng.uniform(0.5, 1.5, 3), scaled_rigs.random_quaternion(rng, 2.0)
    )
    for bone in ob.pose.bones:
        bone.scale = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.85, 1.15, 3)
    chain, target = follow_reachable(ob, bones, rng, solver, angle=0.5)
    assert_reached(ob, bones, chain, target)


@every_solver
def test_a_rig_of_another_size_takes_the_same_pose(solver):
    poses = []
    for factor in (1.0, 0.01, 100.0):
        rng = make_rng(7)
        ob, bones = scaled_rigs.random_rig(rng, bones_of(solver), name=f"Rig {factor}")
        point = scaled_rigs.reachable_point(ob, bones, rng)
        ob.scale = (factor,) * 3
        scaled_rigs.update()
        scaled_rigs.follow(ob, bones, point * factor, solver=solver, tolerance=1e-6 * factor)
        poses.append(rigs.pose(ob))
    np.testing.assert_allclose(poses[1], poses[0], atol=2e-5)
    np.testing.assert_allclose(poses[2], poses[0], atol=2e-5)


def test_residual_is_told_in_scene_units_of_the_world():
    ob = rigs.make_rig([(0, 0, 0), (0, -0.1, 1), (0, 0, 2)])
    ob.scale = (1.0, 1.0, 3.0)
    chain, _ = scaled_rigs.follow(ob, ["Bone.0", "Bone.1"], np.array([0.0, 0.0, 10.0]))
    expected = np.linalg.norm(rigs.tail(ob, "Bone.1") - (0.0, 0.0, 10.0))
    assert chain.residual == pytest.approx(expected, rel=1e-5)
    assert chain.residual == pytest.approx(10.0 - 3.0 * np.hypot(0.1, 1.0) * 2.0, rel=1e-4)


@pytest.mark.parametrize("solver", ["TWO_BONE", "NEWTON"])
@pytest.mark.parametrize("stretch", [0.6, 1.1, 1.4, 1.7])
def test_an_arm_with_a_stretched_upper_bone_reaches_far_and_near(stretch, solver):
    """The lower bone inherits the stretch, so its length depends on where it points."""
    ob, bones = rigs.make_rig(), ["Bone.0", "Bone.1"]
    ob.pose.bones["Bone.0"].scale = (1.0, stretch, 1.0)
    scaled_rigs.update()
    points = [scaled_rigs.reachable_point(ob, bones, make_rng(seed), 0.9) for seed in range(4)]
    chain, target = scaled_rigs.follow(ob, bones, points[0], solver=solver, tolerance=1e-6)
    for point in points:
        target.location = point
        scaled_rigs.update()
        assert_reached(ob, bones, chain, target)


@pytest.mark.parametrize("stretch", [1.1, 1.4, 1.7])
def test_status_says_reached_only_within_the_tolerance(stretch):
    ob, bones = rigs.make_rig(), ["Bone.0", "Bone.1"]
    ob.pose.bones["Bone.0"].scale = (1.0, stretch, 1.0)
    scaled_rigs.update()
    point = scaled_rigs.reachable_point(ob, bones, make_rng(0), 0.6)
    chain, target = scaled_rigs.follow(ob, bones, point, tolerance=1e-4)
    gap = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
    assert chain.status.startswith("Reached") == (gap <= 1.1e-4), f"{gap:.3g} m: {chain.status}"


@pytest.mark.parametrize("scale", [(1.0, 2.0, 1.0), (2.0, 1.0, 1.0)])
def test_toes_below_a_scaled_bone_are_turned_as_their_target_is(scale):
    """A chain of one bone that takes the target's rotation has none left to reach with."""
    ob = rigs.make_rig(rigs.ARM)
    ob.pose.bones["Bone.0"].scale = scale
    target = rigs.make_empty(location=(0.3, 0.4, 2.0))
    target.rotation_euler = (1.0, 0.4, 0.2)
    chain = rigs.add_chain(
        ob, "Bone.1", target, chain_count=1, use_rotation=True, rotation_bone="TIP"
    )
    depsgraph = rigs.updated()
    turned = target.matrix_world.to_quaternion() @ Vector((0.0, 1.0, 0.0))
    along = rigs.tail(ob, "Bone.1", depsgraph) - rigs.head(ob, "Bone.1", depsgraph)
    np.testing.assert_allclose(along / np.linalg.norm(along), turned, atol=1e-5)
    gap = np.linalg.norm(rigs.tail(ob, "Bone.1", depsgraph) - rigs.position(target, depsgraph))
    assert chain.residual == pytest.approx(gap, abs=1e-5)
