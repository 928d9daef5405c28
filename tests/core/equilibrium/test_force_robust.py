"""FORCE never diverges, whatever springs, limits, weight and targets chains are given."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Forces,
    Goal,
    Goals,
    SolveOptions,
    Solver,
    Status,
    solve,
    solve_batch,
)
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.model.joints import free_joints
from tests.core.chains import unit
from tests.core.equilibrium.energies import make_forces
from tests.core.limited_rigs import FREE_AXES, K, make_rig
from tests.helpers import make_rng

ROUNDING = 1e-9
LIMITS_KEPT = 1e-6
KINDS = tuple(FREE_AXES)


def random_rig(rng, count):
    """Return a rig of joints of any kind, with ranges about zero of any width."""
    kinds = [KINDS[i] for i in rng.integers(0, len(KINDS) - 1, count)]
    free = {K.BALL: 3, K.SWING: 2, K.ELBOW_X: 2, K.ELBOW_Z: 2}
    bones = [
        (kind, [(-rng.uniform(1, 120), rng.uniform(1, 120)) for _ in range(free.get(kind, 1))])
        if rng.random() < 0.8
        else (kind, ())
        for kind in kinds
    ]
    bends = [(int(rng.integers(0, 3)), rng.uniform(-90, 90)) for _ in kinds]
    astray = float(rng.choice([0.0, 0.3]))
    lengths = np.exp(rng.uniform(-1.0, 1.0, count))
    return make_rig(bones, lengths, bends=bends, astray=astray, seed=int(rng.integers(1e6)))


def random_forces(rng, chains, count):
    """Return forces of any size, many of them none at all."""
    low, high = np.sort(rng.uniform(-1.5, 1.5, (2, chains, count, 3)), axis=0)
    is_loose = rng.random((chains, 1, 1)) < 0.5
    return Forces(
        stiffness=10.0 ** rng.uniform(-4, 3, (chains, count)) * (rng.random((chains, count)) < 0.8),
        masses=10.0 ** rng.uniform(-3, 2, (chains, count)) * (rng.random((chains, 1)) < 0.8),
        gravity=rng.normal(size=(chains, 3)) * 10.0 ** rng.uniform(-2, 1, (chains, 1)),
        comfort_low=np.where(is_loose, low, 0.0),
        comfort_high=np.where(is_loose, high, 0.0),
    )


def started_anywhere(rig, chains, rng):
    """Return the rig so many times, each in a pose of its own inside the ranges."""
    return rig.started(np.array([rig.some_rotations(rng, 0.9) for _ in range(chains)]))


def assert_never_diverges(rig, chains, rng):
    started = started_anywhere(rig, chains, rng)
    points = started.joint_positions
    forces = random_forces(rng, chains, len(rig.kinds))
    targets = unit(rng.normal(size=(chains, 3))) * rig.length * rng.uniform(0, 1.3, (chains, 1))
    options = SolveOptions(solver=Solver.FORCE, tolerance=1e-5 * rig.length)
    solutions = solve_batch(replace(started, forces=forces), Goals(targets), options)
    assert np.isfinite(solutions.joint_positions).all()
    assert np.isfinite(solutions.local_rotations_wxyz).all()
    before = np.linalg.norm(points[:, -1] - targets, axis=1)
    assert (solutions.residual <= before + options.tolerance + ROUNDING).all()
    lengths = np.linalg.norm(np.diff(solutions.joint_positions, axis=1), axis=2)
    np.testing.assert_allclose(lengths, np.linalg.norm(np.diff(points, axis=1), axis=2), 1e-9)
    worst = max(rig.violations(each).max() for each in solutions.local_rotations_wxyz)
    assert worst <= LIMITS_KEPT


# Few chains at each run; `scripts/test.py --only core-3.11 -- -m exhaustive` takes ten thousand,
# which is ten minutes.
FEW, MANY = 6, 200
CASES = [
    *((seed, FEW) for seed in range(3)),
    (14, MANY),  # A target too near for limits that do not let the chain fold.
    *(pytest.param(seed, MANY, marks=pytest.mark.exhaustive) for seed in range(50)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "chains"), CASES)
def test_no_random_chain_diverges(seed, chains):
    rng = make_rng(seed)
    rig = random_rig(rng, int(rng.integers(1, 9)))
    assert_never_diverges(rig, chains, rng)


def test_a_chain_of_fixed_joints_stays_and_says_what_holds_it_back():
    rig = make_rig([(K.FIXED, ())] * 4, np.ones(4), bends=[(0, 20.0)] * 4)
    chain = rig.chain()
    chain = Chain(chain.joint_positions, None, chain.joints, make_forces([1.0] * 4, [1.0] * 4))
    solution = solve(chain, Goal(np.array([1.0, 1.0, 1.0])), SolveOptions(Solver.FORCE))
    assert solution.status is Status.LIMITED
    np.testing.assert_allclose(solution.joint_positions, chain.joint_positions, atol=1e-12)


@pytest.mark.parametrize("place", [[4.5, 0.0, 0.0], [0.0, -30.0, 6.0]])
def test_straight_chains_of_free_joints_are_extended_not_held(place):
    """Bones whose own axes lie askew straighten ever more slowly, and nothing holds them."""
    angles = np.random.default_rng(2).uniform(-0.4, 0.4, (4, 3))
    offsets = rotation.matrix_from_quaternion(
        rotation.quaternion_from_axis_angle(
            np.column_stack((np.linalg.norm(angles, axis=1), angles))
        )
    )
    axes, joints = np.eye(3), [np.zeros(3)]
    for offset in offsets:
        axes = axes @ offset
        joints.append(joints[-1] + axes[:, 2])
    free = free_joints(offsets, np.tile([1.0, 0.0, 0.0, 0.0], (4, 1)))
    chain = Chain(np.array(joints), None, free, make_forces([1.0] * 4))
    assert solve(chain, Goal(np.array(place)), SolveOptions(Solver.FORCE)).status is Status.EXTENDED


@pytest.mark.parametrize("seed", [139, 468, 825])
def test_a_joint_leaves_the_only_edge_that_it_has_pressed_on(seed):
    """After one step no edge is near any more, those that were shut before neither."""
    rng = make_rng(seed)
    count = int(rng.integers(2, 5))
    lengths = rng.uniform(0.7, 1.4, count)
    rig = make_rig([(K.BALL, ())] * count, lengths, astray=0.2, seed=seed)
    chain = rig.chain(rig.some_rotations(rng, 1.5))
    low, high = np.full((count, 3), -np.inf), np.full((count, 3), np.inf)
    only = int(rng.integers(count)), int(rng.integers(3))
    low[only], high[only] = -rng.uniform(0.0, 1.5), rng.uniform(0.0, 1.5)
    forces = Forces(
        stiffness=10.0 ** rng.uniform(-3.0, 1.0, count),
        masses=rng.uniform(0.0, 5.0, count),
        gravity=unit(rng.normal(size=3)) * 10.0 ** rng.uniform(-1.0, 1.5),
    )
    joints = replace(chain.joints, low=low, high=high)
    chain = replace(chain, joints=joints, forces=forces)
    target = unit(rng.normal(size=3)) * rig.length * rng.uniform(0.1, 1.2)
    options = SolveOptions(solver=Solver.FORCE, tolerance=1e-6)
    assert solve(chain, Goal(target), options).status is not Status.ITERATIONS_USED_UP
