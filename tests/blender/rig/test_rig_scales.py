"""Any scale: of the object, of its parents, of the bones. Measured in world space.

Blender keeps poses in float32: a bone's direction is known to 1e-7, and the matrices that lead
from it to the world round as much again, times the ratio of longest to shortest axis. 1e-5 of the
limb's length leaves room for the ten bones and the ratios of up to 10 that occur here.
"""

import itertools

import numpy as np
import pytest
from mathutils import Vector

from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng

# Thorough: thousands of solves, left out of the quick subset.
pytestmark = pytest.mark.slow

MISS = 1e-5
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

PARENT_SCALES = {
    "uneven": (0.3, 1.0, 2.0),
    "minus_uneven": (-0.5, 1.0, 1.5),
    "thin": (1.0, 1.0, 0.1),
}
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def bones_of(solver):
    return 2 if solver == "TWO_BONE" else 4


def with_solvers(*tables):
    """Return cases of all rows of tables, with two solvers each in turn."""
    rows = list(itertools.product(*tables))
    cases = [(row, SOLVERS[(i + half) % 4]) for i, row in enumerate(rows) for half in (0, 2)]
    return pytest.mark.parametrize(
        ("row", "solver"), cases, ids=["-".join((*row, solver)) for row, solver in cases]
    )


def reach(ob, bones, rng, solver, angle=0.7):
    """Check that a limb reaches where its bones can bring it."""
    point = scaled_rigs.reachable_point(ob, bones, rng, angle)
    tolerance = 1e-6 * scaled_rigs.limb_length(ob, bones)
    chain, target = scaled_rigs.follow(ob, bones, point, solver=solver, tolerance=tolerance)
    assert_reached(ob, bones, chain, target)


def assert_reached(ob, bones, chain, target):
    miss = scaled_rigs.miss(ob, bones, target)
    assert miss <= MISS, f"missed by {miss:.3g} of the limb: {chain.status}"
    assert chain.status.startswith("Reached"), chain.status


def turned_and_moved(ob, rng):
    ob.rotation_mode = "QUATERNION"
    ob.rotation_quaternion = scaled_rigs.random_quaternion(rng, 3.0)
    ob.location = rng.uniform(-1.0, 1.0, 3)


@pytest.mark.every_case
@with_solvers(OBJECT_SCALES)
def test_target_is_reached_under_any_object_scale(row, solver):
    rng, scale = make_rng(0), OBJECT_SCALES[row[0]]
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    turned_and_moved(ob, rng)
    ob.location *= abs(scale[0])
    ob.scale = scale
    reach(ob, bones, rng, solver)


@pytest.mark.every_case
@with_solvers(PARENT_SCALES)
def test_target_is_reached_under_parents_that_shear_the_object(row, solver):
    rng = make_rng(1)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    turned_and_moved(ob, rng)
    turn = scaled_rigs.random_quaternion(rng, 2.0)
    ob.parent = scaled_rigs.sheared_parent(PARENT_SCALES[row[0]], turn)
    reach(ob, bones, rng, solver)


@pytest.mark.every_case
@with_solvers(BONE_SCALES, ("above", "root", "tip"))
def test_target_is_reached_with_a_scaled_bone(row, solver):
    rng = make_rng(0)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    scaled = {"above": "Bone.0", "root": bones[0], "tip": bones[-1]}[row[1]]
    scaled_rigs.scale_bones(ob, {scaled: BONE_SCALES[row[0]]})
    if row[1] == "above":
        scaled_rigs.turn(ob, ["Bone.0", "Bone.1"], rng, 0.5)
    reach(ob, bones, rng, solver)


@pytest.mark.parametrize("seed", range(2))
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
    reach(ob, bones, rng, solver, angle=0.5)


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
    ob = rigs.make_rig()
    ob.scale = (1.0, 1.0, 3.0)
    chain, _ = scaled_rigs.follow(ob, ["Bone.0", "Bone.1"], np.array([0.0, 0.0, 10.0]))
    expected = np.linalg.norm(rigs.tail(ob, "Bone.1") - (0.0, 0.0, 10.0))
    assert chain.residual == pytest.approx(expected, rel=1e-5)
    assert chain.residual == pytest.approx(10.0 - 3.0 * np.hypot(0.1, 1.0) * 2.0, rel=1e-4)


@pytest.mark.parametrize("solver", ["TWO_BONE", "NEWTON"])
@pytest.mark.parametrize("stretch", [0.6, 1.4, 1.7])
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
