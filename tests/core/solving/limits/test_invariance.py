"""Limited chains keep the promises of free ones: what is solved stays, moves along, is alone."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chains,
    Goal,
    Goals,
    SolveOptions,
    Solver,
    solve,
    solve_batch,
)
from tests.core.chains import ITERATIVE, random_frame, unit
from tests.core.limited_rigs import (
    RIGS,
    angle_between,
    knee,
    matrix,
    poles_beside,
    poles_of,
    targets_of,
    worst_violation,
)
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

NAMES = ("arm", "tail", "spider_leg", "finger")
every_solver = pytest.mark.parametrize("solver", ITERATIVE)
every_rig = pytest.mark.parametrize("name", NAMES)
with_and_without_pole = pytest.mark.parametrize("has_pole", [False, True], ids=["free", "pole"])
# Radians.
SAME_TURN = 1e-3
ALIKE = 1e-9
# A share of the length. Measured: 1.8e-13.
GAINS = 1e-11
# Poles that the joints cannot follow end in a compromise, where rounding grows. Measured: 2.6e-8
# (NEWTON, finger); without a pole 4.4e-11.
ALIKE_WITH_POLE = 1e-7
# FORCE's ways carry rounding on from sweep to sweep where no pose arrives. Measured: 1.05e-7 (arm),
# and by other targets up to 2e-2 (tail): beside the nearest pose others are as near, but for 1e-5.
ALIKE_FORCED_OUT_OF_REACH = 3e-7


def options_for(rig, solver, scale=1.0):
    return SolveOptions(solver=solver, tolerance=1e-5 * scale * rig.length)


def largest_turn(first, second):
    """Return the largest angle between the bones of two poses."""
    return max(angle_between(a, b) for a, b in zip(first, second, strict=True))


def far_targets(rig, count, rng):
    """Return points out of reach."""
    return 1.6 * rig.length * unit(rng.normal(size=(count, 3)))


def largest_turns(first, second):
    """Return the largest angle between the bones of two poses, of each chain."""
    pairs = zip(first.local_rotations_wxyz, second.local_rotations_wxyz, strict=True)
    return np.array([largest_turn(*pair) for pair in pairs])


def solved_twice(rig, goals, solver, **settings):
    """Return the solutions, and those of the same tasks from there."""
    options = replace(options_for(rig, solver), **settings)
    once = solve_batch(rig.chains(len(goals.target_position)), goals, options)
    return once, solve_batch(rig.started(once.local_rotations_wxyz), goals, options)


@every_rig
@every_solver
@with_and_without_pole
def test_solved_again_nothing_moves(name, solver, has_pole):
    rig, rng = RIGS[name](), make_rng(21)
    targets = targets_of(rig, 8, rng)
    poles = poles_beside(targets, rig.length, rng) if has_pole else None
    moves = largest_turns(*solved_twice(rig, Goals(targets, poles), solver))
    assert np.max(moves) <= SAME_TURN, np.round(np.sort(moves), 4)


@every_rig
@every_solver
@pytest.mark.parametrize("off", [0.0, 0.04])
def test_a_flipped_chain_that_keeps_its_start_stays_where_its_pole_is_in_line(name, solver, off):
    rig, rng = RIGS[name](), make_rng(24)
    targets = targets_of(rig, 8, rng)
    beside = poles_beside(targets, rig.length, rng) - targets
    poles = targets + off * np.linalg.norm(targets, axis=1, keepdims=True) * unit(beside)
    kept = {"keeps_start": True, "use_flip_bend": True}
    moves = largest_turns(*solved_twice(rig, Goals(targets, poles, 0.5), solver, **kept))
    assert np.max(moves) <= SAME_TURN, np.round(np.sort(moves), 4)


@every_rig
@every_solver
def test_solved_again_out_of_reach_nothing_moves(name: str, solver: Solver) -> None:
    rig = RIGS[name]()
    once, again = solved_twice(rig, Goals(far_targets(rig, 10, make_rng(22))), solver)
    assert np.max(largest_turns(once, again)) <= SAME_TURN
    assert np.max(np.abs(once.residual - again.residual)) <= GAINS * rig.length


@every_rig
@every_solver
@with_and_without_pole
def test_a_batch_gives_what_its_chains_give_alone(
    name: str, solver: Solver, has_pole: bool
) -> None:
    rig, rng = RIGS[name](), make_rng(23)
    targets = np.vstack((targets_of(rig, 9, rng), far_targets(rig, 1, rng)))
    poles = poles_beside(targets, rig.length, rng)
    options = options_for(rig, solver)
    goals = Goals(targets, poles if has_pole else None)
    together = solve_batch(rig.chains(10), goals, options)
    turns = []
    for i, beside in enumerate(together):
        goal = Goal(targets[i], poles[i] if has_pole else None)
        alone = solve(rig.chain(), goal, options)
        assert beside.status is alone.status
        turns.append(largest_turn(beside.local_rotations_wxyz, alone.local_rotations_wxyz))
    alike = ALIKE_WITH_POLE if has_pole else ALIKE
    if solver == "FORCE":
        assert turns.pop() <= ALIKE_FORCED_OUT_OF_REACH
    assert max(turns) <= alike, np.array(turns)


def scaled(chains: Chains, scale: float) -> Chains:
    """Return the same chains in another unit."""
    return Chains(scale * chains.joint_positions, joints=chains.joints)


def in_frame(chains: Chains, frame: np.ndarray, shift: np.ndarray) -> Chains:
    """Return the chains turned (or mirrored) and moved: limits and turns stay."""
    offsets = chains.joints.offsets.copy()
    offsets[:, 0] = frame @ offsets[:, 0]
    moved = replace(chains.joints, offsets=offsets)
    return Chains(chains.joint_positions @ frame.T + shift, joints=moved)


@every_rig
@every_solver
@with_and_without_pole
@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_scaled_the_answer_scales(name, solver, scale, has_pole):
    rig, rng = RIGS[name](), make_rng(24)
    chains, targets = rig.chains(6), targets_of(rig, 6, rng)
    poles = poles_beside(targets, rig.length, rng) if has_pole else None
    big = Goals(scale * targets, None if poles is None else scale * poles)
    small = solve_batch(chains, Goals(targets, poles), options_for(rig, solver))
    large = solve_batch(scaled(chains, scale), big, options_for(rig, solver, scale))
    assert np.max(largest_turns(small, large)) <= SAME_TURN


@every_rig
@every_solver
@with_and_without_pole
@pytest.mark.parametrize("is_mirror", [False, True], ids=["moved", "mirrored"])
def test_moved_or_mirrored_the_answer_moves_along(name, solver, is_mirror, has_pole):
    rig, rng = RIGS[name](), make_rng(25)
    chains, targets = rig.chains(6), targets_of(rig, 6, rng)
    poles = poles_beside(targets, rig.length, rng) if has_pole else None
    frame = random_frame(rng) @ np.diag([-1.0 if is_mirror else 1.0, 1.0, 1.0])
    shift = rng.normal(size=3) * rig.length
    away = Goals(targets @ frame.T + shift, None if poles is None else poles @ frame.T + shift)
    here = solve_batch(chains, Goals(targets, poles), options_for(rig, solver))
    there = solve_batch(in_frame(chains, frame, shift), away, options_for(rig, solver))
    assert np.max(largest_turns(here, there)) <= SAME_TURN


@every_solver
@with_and_without_pole
def test_inputs_are_not_modified(solver, has_pole):
    rig, rng = RIGS["arm"](), make_rng(26)
    chain, goals = rig.chains(3), Goals(targets_of(rig, 3, rng), poles_of(rig, 3, rng))
    if not has_pole:
        goals = Goals(goals.target_position)
    arrays = [chain.joint_positions, goals.target_position]
    arrays += [v for v in vars(chain.joints).values() if isinstance(v, np.ndarray)]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=True)
    solve_batch(chain, goals, options_for(rig, solver))
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@every_solver
@with_and_without_pole
def test_any_target_gives_numbers(solver, has_pole):
    rig = knee()
    rest = rig.points(np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)))
    points = [rest[0], rest[1], rest[2], 2.0 * rest[2], -rest[2], [1e-12, 0, 0], [0, 0, 1e6]]
    targets = np.array(points, float)
    for pole in ([0.0, 0.0, 0.0], rest[2], [0.0, 1e-9, 1.0]) if has_pole else [None]:
        goals = Goals(targets, None if pole is None else np.tile(pole, (len(targets), 1)))
        solutions = solve_batch(rig.chains(len(targets)), goals, options_for(rig, solver))
        assert np.isfinite(solutions.local_rotations_wxyz).all()
        assert np.isfinite(solutions.joint_positions).all()
        assert worst_violation(rig, solutions) <= 1e-6


def test_the_local_rotation_matrix_of_the_tests_is_a_rotation():
    turn = matrix(np.array([0.5, 0.5, -0.5, 0.5]))
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(turn) == pytest.approx(1.0)
