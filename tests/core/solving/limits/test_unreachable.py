"""Targets out of reach of a limited limb: the nearest pose, and the limits that hold it back."""

import numpy as np
import pytest

from blender_ik_addon import core
from blender_ik_addon.core.model.status import LIMITED
from tests.core.chains import ITERATIVE, SOLVERS, random_direction, unit
from tests.core.equilibrium.energies import make_forces
from tests.core.limited_rigs import RIGS, K, X, Y, Z, about, make_rig, multiply, quaternion
from tests.helpers import angles_between, make_rng

pytestmark = pytest.mark.slow

# The largest excess over the least distances, a share of the length.
WORSE = 0.02
# The rounding error of a target in single precision, a share of the length.
LAST_DIGITS = 3e-7
# Radians: a pose with a larger turn is another pose. In flat valleys a small share of them may be.
OTHER_POSE, MAX_SHARE = 0.1, 0.01
# The number of chains of a kind.
COUNT = 150
# The least distances to targets, shares of the length, found by a local search from thousands of
# random poses inside the ranges.
NEAREST = {
    "arm": (0.531227, 0.6364, 3.8e-05, 0.364379),
    "spider_leg": (0.644608, 0.888129, 0.063416, 0.50251),
    "one_sided": (1.316217, 1.259805, 0.480418, 0.639717),
}


def anywhere(rig):
    """Return targets in reach and out of it, shape (4, 3)."""
    rng = make_rng(41)
    shares = rng.uniform(0.1, 1.6, (4, 1))
    return shares * rig.length * unit(rng.normal(size=(4, 3)))


@pytest.mark.parametrize("name", NEAREST)
def test_no_search_finds_a_much_nearer_pose(name):
    rig = RIGS[name]()
    for target, best in zip(anywhere(rig), NEAREST[name], strict=True):
        for solver in ITERATIVE:
            options = core.SolveOptions(solver, tolerance=1e-5 * rig.length)
            solution = core.solve(rig.chain(), core.Goal(target), options)
            assert rig.violations(solution.local_rotations_wxyz).max() <= 1e-6
            gap = np.linalg.norm(rig.points(solution.local_rotations_wxyz)[-1] - target)
            assert solution.residual == pytest.approx(gap, abs=1e-9)
            assert gap / rig.length - best <= WORSE, (solver, target, gap, best)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_holding_limit_is_named(solver: core.Solver) -> None:
    rig = make_rig([(K.HINGE_X, ((-60, 20),)), (K.HINGE_X, ((0, 150),))])
    target = np.array([0.0, -1.2, 1.2])
    expected = np.zeros((2, 3), dtype=bool)
    expected[0, X] = True
    for iterations in (10, 100):
        solution = core.solve(
            rig.chain(), core.Goal(target), core.SolveOptions(solver, iterations=iterations)
        )
        # Ten iterations of FORCE leave the knee four degrees off the nearest pose.
        is_capped = solver is core.Solver.FORCE and iterations == 10
        status = core.Status.ITERATIONS_USED_UP if is_capped else core.Status.LIMITED
        assert solution.status is status
        np.testing.assert_array_equal(solution.holds, expected)


@pytest.mark.parametrize(
    ("solver", "use_finish"),
    [(core.Solver.NEWTON, True), (core.Solver.FABRIK, True), (core.Solver.FABRIK, False)],
)
def test_limits_are_not_blamed_where_iterations_are_used_up(
    solver: core.Solver, *, use_finish: bool
) -> None:
    rng, counts = make_rng(49), dict.fromkeys(core.Status, 0)
    for make in RIGS.values():
        rig = make()
        for _ in range(10):
            goal = core.Goal(rig.points(rig.random_pose(rng))[-1])
            options = core.SolveOptions(
                solver, tolerance=1e-5 * rig.length, iterations=2, use_finish=use_finish
            )
            counts[core.solve(rig.chain(), goal, options).status] += 1
    assert counts[core.Status.ITERATIONS_USED_UP] > 0.5 * sum(counts.values())
    assert counts[core.Status.LIMITED] == 0


@pytest.mark.parametrize(
    "last", [(K.ELBOW_X, ((-30, 90), (-60, 60))), (K.BALL, ((-30, 30), (-90, 90), (-30, 30)))]
)
def test_the_last_bone_of_a_chain_that_limits_hold_back_does_not_roll(last) -> None:
    """A roll about its axis moves no tip; two of three bones rolled, some to their ends."""
    limits = [(K.BALL, ((-60, 60),) * 3), (K.SWING, ((-40, 40),) * 2)]
    rig = make_rig([*limits, last], bends=((X, 10),) * 2)
    rng, rolls = make_rng(51), []
    for direction in rng.normal(size=(60, 3)):
        target = rng.uniform(0.1, 1.4) * rig.length * unit(direction)
        solution = core.solve(rig.chain(), core.Goal(target))
        if solution.status is not core.Status.REACHED:
            real, _, along, _ = solution.local_rotations_wxyz[-1]
            rolls.append(abs(np.arctan2(along, real)))
    assert len(rolls) > 30
    assert max(rolls) < 1e-6


@pytest.mark.parametrize("solver", ITERATIVE)
def test_a_chain_that_is_still_bent_is_not_extended(solver: core.Solver) -> None:
    rig = make_rig([(K.BALL, ((-150, 150),) * 3)] * 4)
    pose = rig.random_pose(make_rng(50))
    goal = core.Goal(1.5 * rig.length * unit(np.array([0.3, -1.0, 0.2])))
    for iterations, status in ((1, core.Status.ITERATIONS_USED_UP), (500, core.Status.EXTENDED)):
        options = core.SolveOptions(solver, iterations=iterations)
        solution = core.solve(rig.chain(pose), goal, options)
        assert solution.status is status


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("excess", "soft_distance", "status"),
    [
        (0.5, 0.0, core.Status.EXTENDED),
        (0.5, 0.1, core.Status.EXTENDED),
        (0.05, 0.0, core.Status.LIMITED),
    ],
)
def test_a_limit_that_costs_a_hundredth_of_the_gap_does_not_hold_back(
    solver: core.Solver, excess: float, soft_distance: float, status: core.Status
) -> None:
    """A knee that keeps five degrees of its bend shortens a leg of two by a thousandth."""
    rig = make_rig([(K.BALL, ()), (K.HINGE_X, ((5, 150),))])
    goal = core.Goal((rig.length + excess) * unit(np.array([0.3, 1.0, 0.2])))
    options = core.SolveOptions(solver, soft_distance=soft_distance)
    solution = core.solve(rig.chain(rig.random_pose(make_rng(45))), goal, options)
    assert solution.status is status
    assert solution.residual > excess + 1e-3


@pytest.mark.parametrize("solver", SOLVERS)
def test_axes_without_room_are_locks_and_hold_nothing_back(solver: core.Solver) -> None:
    bones = [(K.BALL, ((-60, 20), (0, 0), (0, 0))), (K.SWING, ((0, 150), (0, 0)))]
    rig, rng = make_rig(bones, bends=((X, 10), (X, -20))), make_rng(44)
    for target in 1.5 * rng.normal(size=(5, 3)):
        solution = core.solve(rig.chain(), core.Goal(target), core.SolveOptions(solver))
        assert solution.status is not core.Status.REACHED
        assert not solution.holds[:, [Y, Z]].any()


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("axis", [X, Y, Z])
def test_too_far_a_chain_that_turns_its_tip_is_straight_in_few_steps(solver, axis):
    """Steps toward the rotation, and of NEWTON back to the line, were eighty."""
    rig = make_rig([(K.BALL, ((-40, 40),) * 3)] * 4)
    target = 7.0 * unit(np.array([0.1 * axis, 1.0, 0.1]))
    goal = core.Goal(target, tip_rotation_wxyz=about(axis, 0.8))
    solution = core.solve(rig.chain(), goal, core.SolveOptions(solver))
    assert solution.status is core.Status.EXTENDED
    assert solution.residual == pytest.approx(3.0, abs=1e-12)
    assert solution.iterations <= 25
    tip = quaternion(rig.frames(solution.local_rotations_wxyz)[-1])
    angles = np.linspace(-np.pi, np.pi, 721)[:, None]
    twists = np.hstack((np.cos(0.5 * angles), np.sin(0.5 * angles) * unit(target)))
    gaps = [angles_between(multiply(twist, tip), goal.tip_rotation_wxyz) for twist in twists]
    assert solution.tip_gap <= np.min(gaps) + 1e-4


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("has_tip", [False, True])
def test_stiff_joints_do_not_jump_where_a_target_passes_full_reach(solver, has_tip):
    """Straight at once, all joints would turn as mobile ones do: up to half a radian elsewhere."""
    rig = make_rig([(K.BALL, ((-70, 70),) * 3)] * 4).with_mobility([0.9, 0.2, 0.6, 0.3])
    start, turn = rig.random_pose(make_rng(45), 0.5), about(Y, 0.7) if has_tip else None
    poses = []
    for share in (1.0 - 1e-9, 1.0 + 1e-9):
        target = share * rig.length * unit(np.array([0.2, 1.0, 0.1]))
        goal = core.Goal(target, tip_rotation_wxyz=turn)
        solution = core.solve(rig.chain(start), goal, core.SolveOptions(solver))
        poses.append(solution.local_rotations_wxyz)
    assert np.max(angles_between(*poses)) <= 0.05


def test_joints_that_have_no_room_at_all_stay_where_they_are():
    """No joint can move: the system of a step is zero except for rounding."""
    rig = make_rig([(K.BALL, ((0.0, 0.0),) * 3), (K.HINGE_Y, ((-1e-12, 1e-12),)), (K.FIXED, ())])
    for pole in (None, np.array([1.0, 0.2, 3.0])):
        for target in ([0.3, 0.4, 0.5], [5.0, 1.0, 0.0]):
            solution = core.solve(
                rig.chain(), core.Goal(np.array(target), pole), core.SolveOptions()
            )
            assert solution.status is core.Status.LIMITED
            assert np.abs(solution.local_rotations_wxyz[:, 1:]).max() <= 1e-12


@pytest.mark.parametrize(
    ("solver", "has_pole"),
    [(core.Solver.NEWTON, True), (core.Solver.CCD, False), (core.Solver.FORCE, False)],
)
def test_last_digits_of_a_target_choose_no_other_pose(solver, has_pole):
    """Of almost equally near poses the solver takes the one with the least change of the start."""
    turned, rng = [], make_rng(11)
    for count in (2, 3, 7):
        ranges = ((-52, 63), (-np.inf, np.inf), (-69, 46))
        rig = make_rig([(K.BALL, ranges)] * count, rng.uniform(0.5, 1.5, count))
        starts = np.insert(rng.uniform(-0.3, 0.3, (COUNT, count, 3)), 0, 1.0, axis=-1)
        chains = rig.with_starts(starts / np.linalg.norm(starts, axis=-1, keepdims=True))
        if solver is core.Solver.FORCE:
            forces = make_forces(rng.uniform(0.5, 4.0, (COUNT, count)))
            chains = core.Chains(chains.joint_positions, joints=chains.joints, forces=forces)
        directions = [random_direction(rng) for _ in range(2 * COUNT)]
        targets = rig.length * rng.uniform(0.1, 1.0, (COUNT, 1)) * directions[:COUNT]
        moved = targets + LAST_DIGITS * rig.length * np.array(directions[COUNT:])
        poles = 2.0 * rig.length * rng.normal(size=(COUNT, 3)) if has_pole else None
        first, second = (
            core.solve_batch(chains, core.Goals(places, poles), core.SolveOptions(solver))
            for places in (targets, moved)
        )
        turns = angles_between(first.local_rotations_wxyz, second.local_rotations_wxyz)
        turned.append(turns.max(axis=1)[first.status_code == LIMITED])
    turned = np.concatenate(turned)
    assert len(turned) > COUNT
    assert np.mean(turned > OTHER_POSE) <= MAX_SHARE, turned[turned > OTHER_POSE]
