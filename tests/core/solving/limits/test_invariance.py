"""Limited chains: solved again they stay, they move with their space, and give finite numbers."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import Chains, Goals, Solver, solve_batch
from blender_ik_addon.core.model.status import LIMITED
from tests.core.chains import ITERATIVE, random_frame, unit
from tests.core.limited_rigs import RIGS, knee, poles_beside, poles_of, targets_of, worst_violation
from tests.helpers import angles_between, make_rng

pytestmark = pytest.mark.slow

# Every solver with a pole and without one.
CASES = [
    *(("arm", Solver.NEWTON, True), ("tail", Solver.NEWTON, False)),
    *(("finger", Solver.NEWTON, False), ("spider_leg", Solver.NEWTON, True)),
    *(("spider_leg", Solver.FABRIK, True), ("arm", Solver.FABRIK, False)),
    *(("arm", Solver.CCD, True), ("tail", Solver.CCD, False)),
    *(("tail", Solver.FORCE, True), ("finger", Solver.FORCE, False)),
]
# Rigs without poses that are nearly as good as others, where rounding decides between the two.
LIMBS = ("arm", "spider_leg", "finger", "bent_rest", "offset_bones", "mixed_lengths")
every_solver = pytest.mark.parametrize("solver", ITERATIVE)
every_case = pytest.mark.parametrize(("name", "solver", "has_pole"), CASES)
# The largest turn of a bone, in radians.
SAME_TURN = 1e-3
# The largest change of a residual, a share of the length. Measured: 1.8e-13.
GAINS = 1e-11


def moves_between(first, second):
    """Return the largest angle between the bones of two solutions, one for each chain."""
    turns = angles_between(first.local_rotations_wxyz, second.local_rotations_wxyz)
    return turns.max(axis=1)


def solved_twice(rig, goals, solver, **settings):
    """Return the solutions, and those of the same goals from there."""
    options = rig.options(solver, **settings)
    once = solve_batch(rig.chains(len(goals.target_position)), goals, options)
    return once, solve_batch(rig.with_starts(once.local_rotations_wxyz), goals, options)


@every_case
def test_solved_again_nothing_moves(name, solver, has_pole):
    rig, rng = RIGS[name](), make_rng(21)
    targets = targets_of(rig, 8, rng)
    poles = poles_beside(targets, rig.length, rng) if has_pole else None
    moves = moves_between(*solved_twice(rig, Goals(targets, poles), solver))
    assert np.max(moves) <= SAME_TURN, np.round(np.sort(moves), 4)
    once, again = solved_twice(rig, Goals(poles_of(rig, 10, make_rng(22))), solver)
    assert np.max(moves_between(once, again)) <= SAME_TURN
    assert np.max(np.abs(once.residual - again.residual)) <= GAINS * rig.length


@every_solver
@pytest.mark.parametrize("off", [0.0, 0.04])
def test_a_flipped_chain_that_keeps_its_start_stays_where_its_pole_is_in_line(solver, off):
    for name in ("arm", "spider_leg"):
        rig, rng = RIGS[name](), make_rng(24)
        targets = targets_of(rig, 8, rng)
        beside = poles_beside(targets, rig.length, rng) - targets
        poles = targets + off * np.linalg.norm(targets, axis=1, keepdims=True) * unit(beside)
        options = {"keeps_start": True, "use_flip_bend": True}
        moves = moves_between(*solved_twice(rig, Goals(targets, poles, 0.5), solver, **options))
        assert np.max(moves) <= SAME_TURN, np.round(np.sort(moves), 4)


@every_case
def test_the_solution_moves_with_a_moved_mirrored_or_scaled_problem(name, solver, has_pole):
    rig, rng = RIGS[name](), make_rng(25)
    chains, targets = rig.chains(6), targets_of(rig, 6, rng)
    poles = poles_beside(targets, rig.length, rng) if has_pole else None
    here = solve_batch(chains, Goals(targets, poles), rig.options(solver))
    for sign, scale in ((1.0, 1.0), (-1.0, 0.01), (1.0, 100.0)):
        frame = random_frame(rng) @ np.diag([sign, 1.0, 1.0])
        shift = scale * rng.normal(size=3) * rig.length
        moved_targets = scale * targets @ frame.T + shift
        goals = Goals(moved_targets, None if poles is None else scale * poles @ frame.T + shift)
        # Limits and local rotations do not change.
        offsets = chains.joints.offsets.copy()
        offsets[:, 0] = frame @ offsets[:, 0]
        points = scale * chains.joint_positions @ frame.T + shift
        moved = Chains(points, joints=replace(chains.joints, offsets=offsets))
        there = solve_batch(
            moved, goals, replace(rig.options(solver), tolerance=1e-5 * scale * rig.length)
        )
        assert np.max(moves_between(here, there)) <= SAME_TURN


@every_solver
def test_limbs_of_both_sides_are_mirror_images(solver):
    """Where limits hold them back too: the sampled poses to restart from are mirror images."""
    mirror, rng, held = np.diag([-1.0, 1.0, 1.0]), make_rng(26), 0
    for name in LIMBS:
        left = RIGS[name]()
        right = replace(
            left,
            low=np.column_stack((left.low[:, 0], -left.high[:, 1:])),
            high=np.column_stack((left.high[:, 0], -left.low[:, 1:])),
            offsets=mirror @ left.offsets @ mirror,
            segments=left.segments @ mirror,
        )
        targets = rng.uniform(0.1, 1.2, (40, 1)) * left.length * unit(rng.normal(size=(40, 3)))
        solved = [
            solve_batch(rig.chains(40), Goals(goals), rig.options(solver))
            for rig, goals in ((left, targets), (right, targets @ mirror))
        ]
        turns = solved[1].local_rotations_wxyz * (1.0, 1.0, -1.0, -1.0)
        assert angles_between(solved[0].local_rotations_wxyz, turns).max() <= SAME_TURN
        held += np.count_nonzero(solved[0].status_code == LIMITED)
    assert held > 10 * len(LIMBS)


@every_solver
def test_any_target_gives_numbers(solver):
    rig = knee()
    rest = rig.points(np.tile([1.0, 0.0, 0.0, 0.0], (2, 1)))
    points = [rest[0], rest[1], rest[2], 2.0 * rest[2], -rest[2], [1e-12, 0, 0], [0, 0, 1e6]]
    targets = np.array(points, float)
    for pole in (None, [0.0, 0.0, 0.0], rest[2], [0.0, 1e-9, 1.0]):
        goals = Goals(targets, None if pole is None else np.tile(pole, (len(targets), 1)))
        solutions = solve_batch(rig.chains(len(targets)), goals, rig.options(solver))
        assert np.isfinite(solutions.local_rotations_wxyz).all()
        assert np.isfinite(solutions.joint_positions).all()
        assert worst_violation(rig, solutions) <= 1e-6
