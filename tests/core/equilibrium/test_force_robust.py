"""FORCE never diverges, for any springs, limits, weights and targets."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon import core
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.descent.constrained_step import ConstrainedStep, make_empty
from blender_ik_addon.core.descent.held_outputs import HeldOutputs
from blender_ik_addon.core.model.joints import free_joints
from tests.core.chains import unit
from tests.core.equilibrium.energies import arc, make_forces, many
from tests.core.limited_rigs import FREE_AXES, K, about, make_rig
from tests.core.peer_cases import median_iterations, peer_solutions
from tests.helpers import make_rng

ROUNDING = 1e-9
# Radians by which a solution may be out of its limits.
MAX_VIOLATION = 1e-6
FORCE = core.SolveOptions(core.Solver.FORCE)
KINDS = tuple(FREE_AXES)


def random_rig(rng, count):
    """Return a rig of joints of random kinds, with ranges of random widths about zero."""
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
    """Return forces of random sizes, many of them zero."""
    low, high = np.sort(rng.uniform(-1.5, 1.5, (2, chains, count, 3)), axis=0)
    is_loose = rng.random((chains, 1, 1)) < 0.5
    return core.Forces(
        stiffness=10.0 ** rng.uniform(-4, 3, (chains, count)) * (rng.random((chains, count)) < 0.8),
        masses=10.0 ** rng.uniform(-3, 2, (chains, count)) * (rng.random((chains, 1)) < 0.8),
        gravity=rng.normal(size=(chains, 3)) * 10.0 ** rng.uniform(-2, 1, (chains, 1)),
        comfort_low=np.where(is_loose, low, 0.0),
        comfort_high=np.where(is_loose, high, 0.0),
    )


def random_starts(rig, chains, rng):
    """Return copies of the rig with random start poses inside the ranges."""
    return rig.with_starts(np.array([rig.random_pose(rng, 0.9) for _ in range(chains)]))


# A usual run has few chains; `scripts/test.py --only core-3.11 -- -m exhaustive` has ten thousand
# and takes ten minutes.
CHAINS, MANY_CHAINS = 6, 200
CASES = [
    *((seed, CHAINS) for seed in range(3)),
    (14, MANY_CHAINS),  # A target too near for limits that do not let the chain fold.
    *(pytest.param(seed, MANY_CHAINS, marks=pytest.mark.exhaustive) for seed in range(50)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "chains"), CASES)
def test_no_random_chain_diverges(seed, chains):
    rng = make_rng(seed)
    rig = random_rig(rng, int(rng.integers(1, 9)))
    starts = random_starts(rig, chains, rng)
    points = starts.joint_positions
    forces = random_forces(rng, chains, len(rig.kinds))
    targets = unit(rng.normal(size=(chains, 3))) * rig.length * rng.uniform(0, 1.3, (chains, 1))
    options = core.SolveOptions(solver=core.Solver.FORCE, tolerance=1e-5 * rig.length)
    solutions = core.solve_batch(replace(starts, forces=forces), core.Goals(targets), options)
    assert np.isfinite(solutions.joint_positions).all()
    assert np.isfinite(solutions.local_rotations_wxyz).all()
    before = np.linalg.norm(points[:, -1] - targets, axis=1)
    assert (solutions.residual <= before + options.tolerance + ROUNDING).all()
    lengths = np.linalg.norm(np.diff(solutions.joint_positions, axis=1), axis=2)
    np.testing.assert_allclose(lengths, np.linalg.norm(np.diff(points, axis=1), axis=2), 1e-9)
    worst = max(rig.violations(pose).max() for pose in solutions.local_rotations_wxyz)
    assert worst <= MAX_VIOLATION


def test_a_chain_of_fixed_joints_stays_and_says_what_holds_it_back():
    rig = make_rig([(K.FIXED, ())] * 4, np.ones(4), bends=[(0, 20.0)] * 4)
    chain = replace(rig.chain(), forces=make_forces([1.0] * 4, [1.0] * 4))
    solution = core.solve(
        chain, core.Goal(np.array([1.0, 1.0, 1.0])), core.SolveOptions(core.Solver.FORCE)
    )
    assert solution.status is core.Status.LIMITED
    np.testing.assert_allclose(solution.joint_positions, chain.joint_positions, atol=1e-12)


@pytest.mark.parametrize("target", [[4.5, 0.0, 0.0], [0.0, -30.0, 6.0]])
def test_straight_chains_of_free_joints_are_extended_not_held(target):
    """Bones whose axes are not parallel straighten more and more slowly; no limit holds them."""
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
    chain = core.Chain(np.array(joints), None, free, make_forces([1.0] * 4))
    assert core.solve(chain, core.Goal(np.array(target)), FORCE).status is core.Status.EXTENDED


@pytest.mark.parametrize("seed", [139, 468, 825])
def test_a_joint_leaves_the_only_edge_that_it_presses_on(seed):
    """After one step no edge is near any more, not even one that was held before."""
    rng = make_rng(seed)
    count = int(rng.integers(2, 5))
    lengths = rng.uniform(0.7, 1.4, count)
    rig = make_rig([(K.BALL, ())] * count, lengths, astray=0.2, seed=seed)
    chain = rig.chain(rig.random_pose(rng, 1.5))
    low, high = np.full((count, 3), -np.inf), np.full((count, 3), np.inf)
    only = int(rng.integers(count)), int(rng.integers(3))
    low[only], high[only] = -rng.uniform(0.0, 1.5), rng.uniform(0.0, 1.5)
    forces = core.Forces(
        stiffness=10.0 ** rng.uniform(-3.0, 1.0, count),
        masses=rng.uniform(0.0, 5.0, count),
        gravity=unit(rng.normal(size=3)) * 10.0 ** rng.uniform(-1.0, 1.5),
    )
    joints = replace(chain.joints, low=low, high=high)
    chain = replace(chain, joints=joints, forces=forces)
    target = unit(rng.normal(size=3)) * rig.length * rng.uniform(0.1, 1.2)
    options = core.SolveOptions(solver=core.Solver.FORCE, tolerance=1e-6)
    assert (
        core.solve(chain, core.Goal(target), options).status is not core.Status.ITERATIONS_USED_UP
    )


BONES = 5
SHIFTS = 1e-19, 1e-10
"""The least shift, and the first larger one: as small relative to these systems as relative to
held edges, which are 1e7 times as stiff as joints."""


@pytest.mark.parametrize("seed", range(10))
def test_joints_without_stiffness_beside_stiff_edges_cause_no_error(seed):
    rng = make_rng(seed)
    stiffness = np.concatenate(([0.0], 10.0 ** rng.uniform(3.0, 5.0, 9), np.full(5, 1.4e12)))
    step, slope, _ = _make_step(rng, stiffness)
    assert np.isfinite(step.move).all()
    # The step leads downhill.
    assert (step.move.reshape(1, -1) * slope).sum() < 0.0


@pytest.mark.parametrize(("lowest", "is_ridge"), [(-1.0, True), (-1e-3, True), (1e-3, False)])
def test_a_ridge_is_left_in_the_direction_that_curves_down_most(lowest, is_ridge):
    rng = make_rng(7)
    stiffness = np.concatenate(([lowest, 0.5 * lowest], rng.uniform(0.1, 4.0, 3 * BONES - 2)))
    step, _, directions = _make_step(rng, stiffness)
    move, leads_down = step.find_negative_curvature(np.ones(1, dtype=np.bool_))
    assert leads_down == [is_ridge]
    down = move.ravel() / np.linalg.norm(move)
    assert not is_ridge or abs(down @ directions[:, 0]) > 1.0 - 1e-9


def _make_step(
    rng: np.random.Generator, stiffness: np.ndarray
) -> tuple[ConstrainedStep, np.ndarray, np.ndarray]:
    """Return a step of joints with a stiffness along random directions, its slope, and these."""
    directions = np.linalg.qr(rng.normal(size=(3 * BONES, 3 * BONES)))[0]
    slope, axes = rng.normal(size=(1, 3 * BONES)), np.arange(3 * BONES)
    step = ConstrainedStep(
        axes,
        (slope, ((directions * stiffness) @ directions.T)[None]),
        (HeldOutputs(np.zeros((1, 0, 3 * BONES)), axes), np.zeros((1, 0))),
        None,
        make_empty(np.zeros((1, BONES, 4)), 0),
        np.zeros(1),
        SHIFTS,
    )
    return step, slope, directions


MOST_ITERATIONS = 20
TARGETS = 75
# Relative tolerance: the poses and targets of the published medians are unknown.
NEARLY = 0.2


@pytest.mark.parametrize("count", [2, 5, 20])
def test_the_targets_of_the_peers_are_all_reached_in_a_median_of_20_iterations(count):
    solutions = peer_solutions(count, core.Solver.FORCE, 1e-3)
    assert all(solution.is_converged for solution in solutions)
    assert median_iterations(solutions) <= MOST_ITERATIONS


@pytest.mark.parametrize(
    ("mode", "gain", "tolerance", "published"),
    [
        (core.StepMode.CLASSIC, 0.2, 1e-6, 130),
        (core.StepMode.EXACT, 0.5, 1e-3, 29),
        (core.StepMode.EXACT, 0.5, 1e-6, 62),
    ],
)
def test_steps_of_a_fixed_gain_take_the_published_iterations(mode, gain, tolerance, published):
    """This start pose and these targets give the counts of MATH C2.

    Five bones of total length 1 start on an arc of 60 degrees; targets lie in random directions,
    at distances uniform from zero to full reach. Each joint turns about its three local axes.
    """
    joints, rng = arc(BONES), make_rng(7)
    targets = unit(rng.normal(size=(TARGETS, 3))) * rng.uniform(size=(TARGETS, 1))
    forces = make_forces(np.zeros(BONES), mode=mode, gain=gain)
    options = core.SolveOptions(solver=core.Solver.FORCE, tolerance=tolerance, iterations=2000)
    solutions = core.solve_batch(many(joints, forces, TARGETS), core.Goals(targets), options)
    assert solutions.is_converged.mean() > 0.95
    assert np.median(solutions.iterations) == pytest.approx(published, rel=NEARLY)


@pytest.mark.parametrize("share", [0.97, 1.0])
@pytest.mark.parametrize(("aim", "most"), [("none", 10), ("tip", 80), ("pole", 80)])
def test_near_full_extension_chains_come_to_rest_in_few_steps(share, aim, most):
    """Steps out of the line and back went on for up to 250."""
    points = np.array([(0.0, 0.05 * np.sin(1.3 * bone), 0.25 * bone) for bone in range(5)])
    chain = core.Chain(points, forces=core.Forces(np.ones(4), np.full(4, 0.25), -np.eye(3)[2]))
    for axis, direction in enumerate(((0.3, 0.4, 1.0), (-0.5, 0.2, 1.0), (0.1, -0.6, 1.0))):
        goal = core.Goal(
            share * chain.max_reach * unit(np.array(direction)),
            pole_position=np.array((2.0 - 3.0 * axis, 1.0, 1.0)) if aim == "pole" else None,
            tip_rotation_wxyz=about(axis, 0.6) if aim == "tip" else None,
        )
        solution = core.solve(chain, goal, FORCE)
        assert solution.status is core.Status.REACHED
        assert solution.iterations <= most


@pytest.mark.parametrize("share", [1.0, 1.1, 1.25, 1.3, 1.4, 1.5])
def test_soft_limbs_with_poles_come_to_rest_in_few_steps_out_of_reach(share):
    """At 1.3 of the reach the soft target is a billionth short of it: up to 85 steps."""
    points = np.array([(0.0, 0.0, 0.0), (0.1, 0.3, 0.0), (0.0, 0.6, 0.1)])
    chain = core.Chain(points, forces=core.Forces(np.ones(2), np.full(2, 0.25), -np.eye(3)[2]))
    target = share * chain.max_reach * unit(np.array((0.5, 1.0, 0.4)))
    options = replace(FORCE, soft_distance=0.017 * chain.max_reach)
    solution = core.solve(chain, core.Goal(target, (0.2, 0.3, -2.0)), options)
    assert solution.status is core.Status.EXTENDED
    assert solution.iterations <= 10


@pytest.mark.parametrize(("aim", "most"), [("none", 60), ("tip", 160), ("pole", 120)])
def test_chains_that_limits_hold_back_come_to_rest_in_few_steps(aim, most):
    """Steps along the ends of ranges led inside, were rejected, and went on for up to 250."""
    rig = make_rig([(K.BALL, ((-35, 35),) * 3)] * 4)
    forces = core.Forces(np.ones(4), np.full(4, 0.25), -np.eye(3)[2])
    chain = replace(rig.chain(), forces=forces)
    for target in ((1.0, 1.5, 0.5), (0.5, 0.4, 1.0), (-1.5, 0.8, 0.7), (0.2, 1.2, -1.4)):
        goal = core.Goal(
            np.array(target),
            pole_position=np.array((2.0, 1.0, 3.0)) if aim == "pole" else None,
            tip_rotation_wxyz=about(0, 0.6) if aim == "tip" else None,
        )
        solution = core.solve(chain, goal, FORCE)
        assert solution.status is core.Status.LIMITED
        assert solution.iterations <= most
