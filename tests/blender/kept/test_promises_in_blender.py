"""Promises 1, 2 and 4 on the evaluated rig: reached, closest, at rest, with any influence."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import angles_between, make_rng

# Thousands of solves are too slow for the quick tests.
pytestmark = pytest.mark.slow


# Each rotation mode with one solver, each solver with two modes.
solver_and_mode = pytest.mark.parametrize(
    ("solver", "mode"), list(zip(rigs.SOLVERS * 2, rigs.ROTATION_MODES, strict=True))
)


def make_posed_rig(solver, mode="QUATERNION", seed=3):
    """Return a posed rig and the limb's bones: two for Two-Bone, five for other solvers."""
    ob, bones = scaled_rigs.random_rig(make_rng(seed), 2 if solver == "TWO_BONE" else 5)
    rigs.set_each(ob.pose.bones, rotation_mode=mode)
    rigs.turn_bones(ob, seed)
    return ob, bones


def solve_again(ob, times=3):
    for _ in range(times):
        rigs.tagged(ob)


@solver_and_mode
def test_targets_on_the_effector_in_reach_and_out_of_reach_and_all_influences(solver, mode):
    ob, bones = make_posed_rig(solver, mode)
    before = rigs.pose(ob)
    reach, root = scaled_rigs.limb_length(ob, bones), rigs.head(ob, bones[0])
    local = turns_of(ob, bones)
    # A target on the effector moves nothing.
    chain, target = scaled_rigs.follow(ob, bones, rigs.tail(ob, bones[-1]), solver=solver)
    np.testing.assert_allclose(rigs.pose(ob), before, atol=5e-6)
    assert chain.status.startswith("Reached"), chain.status
    # Another solve moves nothing. Influence 0 is the start, 1 the solution, a half is between.
    target.location = root + reach * np.array([0.4, 0.2, 0.4])
    angles = {}
    for influence in (1.0, 0.5, 0.0):
        rigs.change(chain, influence=influence)
        rotations = rigs.rotations(ob)
        solve_again(ob)
        assert rigs.rotations(ob) == rotations
        angles[influence] = angles_between(turns_of(ob, bones), local)
        if influence == 1.0:
            assert scaled_rigs.miss(ob, bones, target) <= 2e-5
    np.testing.assert_allclose(angles[0.0], 0.0, atol=2e-6)
    np.testing.assert_allclose(angles[0.5], 0.5 * angles[1.0], atol=2e-6)
    assert np.max(angles[1.0]) > 0.1
    # Toward a target out of reach the limb is straight.
    direction = np.array([0.48, -0.6, 0.64])
    target.location, chain.influence = root + 1.7 * reach * direction, 1.0
    rigs.updated()
    steps = np.diff(scaled_rigs.joints(ob, bones), axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    np.testing.assert_allclose(steps, np.tile(direction, (len(bones), 1)), atol=2e-6)
    gap = np.linalg.norm(rigs.tail(ob, bones[-1]) - rigs.position(target))
    assert gap == pytest.approx(0.7 * reach, rel=1e-5)
    assert chain.residual == pytest.approx(gap, rel=1e-5)
    assert chain.status.startswith("Out of reach by"), chain.status
    # A target on the root is reached, or the limb folds as far as it can.
    rigs.change(target, location=root)
    assert np.isfinite(rigs.pose(ob)).all()
    assert chain.status.startswith(("Reached", "Too near by")), chain.status


def turns_of(ob, bones):
    return np.array([ob.pose.bones[bone].matrix_basis.to_quaternion() for bone in bones])


@pytest.mark.parametrize("solver", rigs.SOLVERS)
@pytest.mark.parametrize("start", ["KEYED", "CURRENT"])
def test_nothing_moves_again_from_any_start_and_the_path_of_the_target_does_not_count(
    solver, start
):
    ob, bones = make_posed_rig(solver)
    reach, root = scaled_rigs.limb_length(ob, bones), rigs.head(ob, bones[0])
    _, target = scaled_rigs.follow(ob, bones, root, solver=solver, start_from=start)
    for place in (0.5, 3.0):
        goal = target.location = root + place * reach * np.array([0.3, 0.4, 0.8])
        rigs.updated()
        solve_again(ob, 1)
        before = rigs.rotations(ob)
        solve_again(ob)
        assert rigs.rotations(ob) == before
        for direction in make_rng(5).normal(size=(4, 3)) if start != "CURRENT" else ():
            rigs.change(target, location=root + reach * 0.6 * direction)
        rigs.change(target, location=goal)
        assert rigs.rotations(ob) == before


@pytest.mark.parametrize("count", [1, 2, 3, 10, 300])
def test_any_number_of_bones_reaches_from_a_straight_rest_pose(count):
    ob = rigs.make_rig([(0.0, 0.0, z / count) for z in range(count + 1)])
    bones = list(ob.pose.bones.keys())
    for place in ((0.0, 0.0, 1.0), (0.3, 0.1, 0.4), (0.0, 0.0, 0.5), (0.0, 0.0, -0.5)):
        point = np.array(place) if count > 1 else np.array(place) / np.linalg.norm(place)
        bpy.context.view_layer.update()
        chain, target = scaled_rigs.follow(ob, bones, point)
        # Each bone adds the rounding error of float32, 1e-7.
        assert scaled_rigs.miss(ob, bones, target) <= max(1e-5, 2e-7 * count), chain.status
        ob.chain_ik.chains.remove(0)
