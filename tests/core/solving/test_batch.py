"""Many chains at once: each comes out as it does alone, whatever stands beside it."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chains,
    Forces,
    Goal,
    Goals,
    SolveOptions,
    Solver,
    Status,
    bone_rotations,
    solve,
    solve_batch,
)
from blender_ik_addon.core.solving.compiled_chains import MAX_CHAINS_IN_FLOATS
from tests.core.chains import EVERY_SOLVER, POSES, SOLVERS, start_chain, unit
from tests.helpers import make_rng

AGREES = 1e-12
CHAINS = 12


def problems(count, pose, *, ratio=3.0, seed=0):
    """Return chains with targets and poles all round: near, far, and out of reach."""
    rng = make_rng(100 * count + seed)
    chains = [start_chain(pose, count, rng, ratio) for _ in range(CHAINS)]
    reach = np.array([chain.max_reach for chain in chains])
    roots = np.array([chain.joint_positions[0] for chain in chains])
    shares = np.linspace(0.05, 1.1, CHAINS)[:, None] * reach[:, None]
    targets = roots + shares * unit(rng.normal(size=(CHAINS, 3)))
    poles = roots + reach[:, None] * unit(rng.normal(size=(CHAINS, 3)))
    return chains, targets, poles


def stacked(chains):
    """Return single chains as a batch."""
    bends = [np.zeros(3) if c.bend_direction is None else c.bend_direction for c in chains]
    return Chains(np.array([chain.joint_positions for chain in chains]), np.array(bends))


def assert_agree(chains, goals, options, solutions):
    """Assert that a batch gives what single solves give."""
    assert len(solutions) == len(chains)
    for i, (chain, goal) in enumerate(zip(chains, goals, strict=True)):
        alone, beside = solve(chain, goal, options), solutions[i]
        # Conjugate ways carry rounding on from iteration to iteration.
        agrees = 10.0 * AGREES if options.solver is Solver.FORCE else AGREES
        tolerance = agrees * chain.max_reach
        np.testing.assert_allclose(
            beside.joint_positions, alone.joint_positions, rtol=0.0, atol=tolerance
        )
        turns = beside.chain_rotation_wxyz, alone.chain_rotation_wxyz
        np.testing.assert_allclose(*turns, rtol=0.0, atol=AGREES)
        assert beside.residual == pytest.approx(alone.residual, rel=0.0, abs=tolerance)
        assert (beside.iterations, beside.status) == (alone.iterations, alone.status)


@pytest.mark.parametrize("use_pole", [False, True])
@pytest.mark.parametrize(
    ("count", "solver"), [(1, Solver.NEWTON), *EVERY_SOLVER, (10, Solver.NEWTON)]
)
def test_a_batch_gives_what_single_solves_give(count, solver, use_pole):
    for pose in POSES:
        chains, targets, poles = problems(count, pose)
        options = SolveOptions(solver=solver, tolerance=1e-6, use_flip_bend=use_pole)
        goals, batch = Goals(targets, poles if use_pole else None, 0.3), stacked(chains)
        single = [
            Goal(target, pole if use_pole else None, 0.3)
            for target, pole in zip(targets, poles, strict=True)
        ]
        solutions = solve_batch(batch, goals, options)
        assert_agree(chains, single, options, solutions)
        if pose not in ("arc", "random"):
            # Turning a segment over has no shortest way; there the last digit decides.
            continue
        rotations = bone_rotations(batch, solutions)
        for chain, goal, found in zip(chains, single, rotations, strict=True):
            expected = bone_rotations(chain, solve(chain, goal, options))
            assert np.abs((found * expected).sum(axis=1)).min() >= 1.0 - 1e-9


@pytest.mark.parametrize("weight", [1.0, 0.0, 0.4])
@pytest.mark.parametrize(("count", "solver"), [(1, Solver.NEWTON), (3, Solver.TWO_BONE)])
def test_tips_that_take_a_rotation_come_out_as_alone(count, solver, weight):
    chains, targets, _ = problems(count, "arc")
    turns = unit(make_rng(5).normal(size=(CHAINS, 4)))
    if weight < 1.0:
        solver = Solver.NEWTON
    options = SolveOptions(solver=solver, tolerance=1e-6, orient_weight=weight)
    goals = Goals(targets, tip_rotation_wxyz=turns)
    single = [
        Goal(*goal) for goal in zip(targets, [None] * CHAINS, [0.0] * CHAINS, turns, strict=True)
    ]
    solutions = solve_batch(stacked(chains), goals, options)
    assert_agree(chains, single, options, solutions)
    rotations = bone_rotations(stacked(chains), solutions)
    for chain, goal, found in zip(chains, single, rotations, strict=True):
        expected = bone_rotations(chain, solve(chain, goal, options))
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("compiled", [MAX_CHAINS_IN_FLOATS, CHAINS])
@pytest.mark.parametrize(
    ("count", "solver", "weight"),
    [
        *((2, Solver.TWO_BONE, weight) for weight in (0.0, 0.4, 1.0)),
        *((5, Solver.NEWTON, weight) for weight in (0.0, 0.4, 1.0)),
        *((3, Solver.FABRIK, 1.0), (3, Solver.CCD, 0.0)),
    ],
)
def test_a_pose_is_the_same_to_the_last_digit_whoever_is_asked_for(count, solver, weight, compiled):
    chains, targets, poles = problems(count + (weight > 0.0), "random")
    turns = unit(make_rng(6).normal(size=(CHAINS, 4)))
    flips, soft = np.arange(CHAINS) % 3 == 0, np.linspace(0.0, 0.1, CHAINS)
    batch = stacked(chains[:compiled])

    def solve_rows(rows):
        goals = Goals(targets[rows], poles[rows], 0.2, turns[rows])
        options = SolveOptions(
            solver=solver,
            use_flip_bend=flips[rows],
            soft_distance=soft[rows],
            orient_weight=weight,
        )
        some = batch.take(rows)
        solutions = solve_batch(some, goals, options)
        return solutions, bone_rotations(some, solutions)

    whole, rotations = solve_rows(np.arange(compiled))
    order = make_rng(3).permutation(compiled)
    for size in (1, 2, 5):
        for rows in np.array_split(order, compiled // size)[:4]:
            found, turned = solve_rows(rows)
            np.testing.assert_array_equal(found.joint_positions, whole.joint_positions[rows])
            np.testing.assert_array_equal(found.residual, whole.residual[rows])
            np.testing.assert_array_equal(found.iterations, whole.iterations[rows])
            np.testing.assert_array_equal(turned, rotations[rows])


@pytest.mark.parametrize("rows", [[4], [9, 4, 2]])
def test_forces_pose_some_of_the_chains_as_all_of_them_together(rows):
    chains, targets, _ = problems(4, "arc")
    down, rows = np.tile([0.0, 0.0, -1.0], (CHAINS, 1)), np.array(rows)
    forces = Forces(np.full((CHAINS, 4), 0.1), np.ones((CHAINS, 4)), down)
    batch, options = replace(stacked(chains), forces=forces), SolveOptions(solver=Solver.FORCE)
    whole = solve_batch(batch, Goals(targets), options)
    some = solve_batch(batch.take(rows), Goals(targets[rows]), options)
    assert np.abs(some.joint_positions - whole.joint_positions[rows]).max() <= 1e-9
    # Compiled under one gravity, solved under another one.
    aside = np.tile([1.0, 0.0, 0.0], (CHAINS, 1))
    moved = replace(batch, forces=Forces(forces.stiffness, forces.masses, aside))
    found = solve_batch(moved, Goals(targets), options).joint_positions
    some = solve_batch(batch.take(rows).under(aside[rows]), Goals(targets[rows]), options)
    assert np.abs(some.joint_positions - found[rows]).max() <= 1e-9


@pytest.mark.parametrize("use_rotation", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_settings_may_differ_by_chain(solver, use_rotation):
    chains, targets, _ = problems(2 + use_rotation, "arc")
    rng = make_rng(9)
    settings = {
        "iterations": rng.integers(1, 60, CHAINS),
        "tolerance": 10.0 ** rng.uniform(-8, -2, CHAINS),
        "use_flip_bend": rng.random(CHAINS) < 0.5,
        "soft_distance": rng.uniform(0.1, 0.3, CHAINS) * [chain.max_reach for chain in chains],
    }
    turns = unit(rng.normal(size=(CHAINS, 4))) if use_rotation else [None] * CHAINS
    goals = Goals(targets, tip_rotation_wxyz=turns if use_rotation else None)
    solutions = solve_batch(stacked(chains), goals, SolveOptions(solver=solver, **settings))
    for i, chain in enumerate(chains):
        own = {name: values[i].item() for name, values in settings.items()}
        goal = Goal(targets[i], tip_rotation_wxyz=turns[i])
        assert_agree([chain], [goal], SolveOptions(solver=solver, **own), [solutions[i]])
    assert Status.SOFTENED in {each.status for each in solutions}


def test_no_chains_are_no_work():
    solutions = solve_batch(Chains(np.zeros((0, 3, 3))), Goals(np.zeros((0, 3))))
    assert len(solutions) == 0


def test_one_chain_is_the_same_record_as_a_single_solve():
    chains, targets, _ = problems(3, "arc")
    batch = solve_batch(stacked(chains[:1]), Goals(targets[:1]))
    assert_agree([chains[0]], [Goal(targets[0])], SolveOptions(), batch)
    assert isinstance(batch.is_converged[0], np.bool_)
