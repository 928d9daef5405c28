"""Limited limbs reach what poses inside their ranges reach, and never leave the ranges."""

import numpy as np
import pytest

from blender_ik_addon.core import Goals, Solver, Status, solve_batch
from blender_ik_addon.core.solving import restarts
from blender_ik_addon.core.solving.joint_run import Run
from tests.core.chains import ITERATIVE, SOLVERS, random_frame
from tests.core.equilibrium.test_force_robust import random_rig
from tests.core.limited_rigs import RIGS, THIRTY, K, X, knee, make_rig, misses, poles_of, targets_of
from tests.core.limited_rigs import worst_violation as worst
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

ARRIVED = 1e-3
EXACT = 1e-6
SHARES = {Solver.NEWTON: 0.999, Solver.FABRIK: 0.99, Solver.CCD: 0.99, Solver.FORCE: 0.99}
every_solver = pytest.mark.parametrize("solver", ITERATIVE)
# Every kind of joint and rig with NEWTON, half of them with poles; some rigs with other solvers.
CASES = [
    *((name, Solver.NEWTON, bool(number % 2)) for number, name in enumerate(RIGS)),
    *(("arm", Solver.FABRIK, True), ("mixed_lengths", Solver.FABRIK, False)),
    *(("spider_leg", Solver.FABRIK, True), ("offset_bones", Solver.FABRIK, False)),
    *(("arm", Solver.CCD, True), ("one_sided", Solver.CCD, False), ("finger", Solver.CCD, True)),
    *(("tail", Solver.FORCE, True), ("bent_rest", Solver.FORCE, False)),
]


def solved(rig, targets, poles, solver, **settings):
    """Solve for all targets from rest."""
    options = rig.options(solver, **settings)
    return solve_batch(rig.chains(len(targets)), Goals(targets, poles), options)


@pytest.mark.every_case
@pytest.mark.parametrize(("name", "solver", "has_pole"), CASES)
def test_targets_of_limited_poses_are_reached_from_rest(name, solver, has_pole):
    rig, rng = RIGS[name](), make_rng(11)
    targets = targets_of(rig, 60, rng)
    poles = poles_of(rig, 60, rng) if has_pole else None
    solutions = solved(rig, targets, poles, solver)
    gaps = misses(rig, solutions, targets)
    assert np.mean(gaps <= ARRIVED) >= SHARES[solver], f"{np.sum(gaps > ARRIVED)} of 60 missed"
    assert worst(rig, solutions) <= EXACT
    np.testing.assert_array_equal(solutions.is_converged, gaps <= 1.0001e-5)


@pytest.mark.parametrize("wrist", [(), ((K.HINGE_Y, ((-90, 90),)),)])
@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.FABRIK, Solver.CCD])
def test_a_hinge_without_a_range_turns_round_to_targets_behind_it(solver, wrist):
    """An excavator that slews freely: eight of these targets within its reach were lost.

    With a wrist that twists, its column does not slew to the target before NEWTON.
    """
    arm = [(K.HINGE_X, ((-60, 45),)), (K.HINGE_X, ((-110, 20),)), *wrist]
    lengths, bends = (1.5, 4.7, 3.0, *(1.0 for _ in wrist)), ((X, 42), (X, 75))
    rigs = [
        make_rig([(K.HINGE_Y, slew), *arm], lengths, bends=bends) for slew in ((), ((-179, 179),))
    ]
    for rig in rigs:
        # The boom is fixed in front of the slewing axis.
        rig.segments[0, 2] = 0.3
    targets = targets_of(rigs[1], 300, make_rng(16), share=1.0)
    gaps = misses(rigs[0], solved(rigs[0], targets, None, solver), targets)
    assert np.sum(gaps > ARRIVED) <= 2


@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.FABRIK, Solver.FORCE])
def test_bones_that_turns_lengthen_reach_what_they_reach_in_other_poses(solver):
    """Below uneven scale lengths depend on the pose, and so does the reach of the start pose."""
    rig, rng = make_rig([(K.BALL, ((-90, 90),) * 3)] * 4), make_rng(14)
    rig.offsets[0] = np.diag((1.25, 0.64, 1.25)) @ random_frame(rng)
    starts = np.array([rig.random_pose(rng, 0.6) for _ in range(60)])
    targets = targets_of(rig, 60, rng)
    options, chains = rig.options(solver), rig.with_starts(starts)
    solutions = solve_batch(chains, Goals(targets), options)
    gaps = misses(rig, solutions, targets)
    assert np.mean(gaps <= ARRIVED) >= SHARES[solver], f"{np.sum(gaps > ARRIVED)} of 60 missed"
    far = solve_batch(chains, Goals(10.0 * targets), options)
    assert set(far.statuses) <= {Status.EXTENDED, Status.LIMITED}


def test_a_straight_chain_below_uneven_scale_that_limits_hold_back_says_so():
    rig = make_rig([(K.BALL, ((-20, 20),) * 3), (K.FIXED, ())])
    rig.offsets[0] = np.diag((1.2, 1.0, 1.0))
    goals = Goals(np.array([[1.6, 0.6, 0.0]]))
    assert solve_batch(rig.chains(1), goals, rig.options(Solver.NEWTON)).statuses == (
        Status.LIMITED,
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_knee_that_rests_bent_the_wrong_way_misses_none_of_400(solver):
    rig, rng = knee(), make_rng(13)
    for has_pole in (False, True):
        targets = targets_of(rig, 200, rng)
        solutions = solved(rig, targets, poles_of(rig, 200, rng) if has_pole else None, solver)
        assert np.sum(misses(rig, solutions, targets) > ARRIVED) == 0
        assert worst(rig, solutions) <= EXACT


@every_solver
def test_random_rigs_arrive(solver):
    missed = total = 0
    for seed in range(5):
        rng = make_rng(seed)
        rig = random_rig(rng, int(rng.integers(2, 9)))
        targets = targets_of(rig, 20, rng)
        solutions = solved(rig, targets, poles_of(rig, 20, rng) if seed % 2 else None, solver)
        missed += np.sum(misses(rig, solutions, targets) > ARRIVED)
        total += len(targets)
        assert worst(rig, solutions) <= EXACT, seed
    assert missed <= (1.0 - SHARES[solver]) * total


@every_solver
@pytest.mark.parametrize("name", ["arm", "offset_bones", "one_sided"])
def test_no_cap_on_iterations_costs_a_limit(name, solver):
    rig, rng = RIGS[name](), make_rng(16)
    targets = np.vstack((targets_of(rig, 15, rng), 3.0 * poles_of(rig, 5, rng)))
    for cap in (1, 3):
        solutions = solved(rig, targets, poles_of(rig, 20, rng), solver, iterations=cap)
        assert worst(rig, solutions) <= EXACT
        assert solutions.iterations.max() <= cap


def test_of_the_restarts_that_reach_the_least_change_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig, find_nearest = RIGS["offset_bones"](), restarts.find_nearest
    targets = targets_of(rig, 80, make_rng(44))
    first = solved(rig, targets, None, Solver.NEWTON)
    calls = []

    def reverse_starts(run: Run, tips: np.ndarray, starts: int) -> np.ndarray:
        """Return the starts of each chain in the opposite order."""
        calls.append(find_nearest(run, tips, starts))
        return calls[-1].reshape(-1, starts)[:, ::-1].ravel()

    monkeypatch.setattr(restarts, "find_nearest", reverse_starts)
    again = solved(rig, targets, None, Solver.NEWTON)
    assert calls, "some of the targets need another start"
    # The order of the starts must not matter.
    np.testing.assert_allclose(again.joint_positions, first.joint_positions, atol=1e-9)


@pytest.mark.parametrize(
    ("root", "knee_rest", "restarts_again"), [((), 5, False), ((), 60, False), (THIRTY, 60, True)]
)
def test_no_other_start_is_tried_where_lengths_and_a_knee_keep_the_target_out_of_reach(
    root: tuple[tuple[float, float], ...],
    knee_rest: int,
    restarts_again: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limb that turns to its target, its knee as straight as it gets, is at its nearest."""
    rig, find_nearest = (
        make_rig([(K.BALL, root), (K.HINGE_X, ((knee_rest, 150),))]),
        restarts.find_nearest,
    )
    directions = make_rng(47).normal(size=(30, 3))
    targets = 1.3 * rig.length * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    calls = []

    def count_starts(run: Run, tips: np.ndarray, starts: int) -> np.ndarray:
        calls.append(starts)
        return find_nearest(run, tips, starts)

    monkeypatch.setattr(restarts, "find_nearest", count_starts)
    solved(rig, targets, None, Solver.NEWTON)
    assert bool(calls) is restarts_again


@pytest.mark.parametrize(("name", "most"), [("tail", 3e-3), ("planar_four", 2e-3)])
def test_twenty_sweeps_of_fabrik_alone_come_near(name: str, most: float) -> None:
    # Measured: 0.0017 and 0.0004; if limits hold joints in one direction only, 0.0051 and 0.0076.
    rig = RIGS[name]()
    targets = targets_of(rig, 100, make_rng(18))
    solutions = solved(rig, targets, None, Solver.FABRIK, iterations=20)
    assert misses(rig, solutions, targets).mean() <= most


@pytest.mark.parametrize("solver", [Solver.FABRIK, Solver.CCD])
@pytest.mark.parametrize("is_alone", [False, True])
def test_sweeps_that_use_up_the_iterations_are_not_lost(solver: Solver, is_alone: bool) -> None:
    rig = RIGS["tail"]()
    targets = 1.2 * targets_of(rig, 40, make_rng(19))
    for iterations in (3, 7, 9, 12):
        parts = np.split(targets, 40) if is_alone else [targets]
        gaps = [solved(rig, part, None, solver, iterations=iterations).residual for part in parts]
        swept = solved(rig, targets, None, solver, iterations=iterations, use_finish=False)
        assert np.mean(gaps) <= 1.01 * swept.residual.mean()
