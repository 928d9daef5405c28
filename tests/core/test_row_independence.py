"""A chain in a batch gets the pose that it gets alone, with joints and without."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from blender_ik_addon import core
from blender_ik_addon.core.solving.compiled_chains import MAX_CHAINS_IN_FLOATS
from tests.core.chains import EVERY_SOLVER, start_chain, unit
from tests.core.limited_rigs import (
    RIGS,
    K,
    X,
    about,
    make_rig,
    poles_beside,
    poles_of,
    quaternion,
    targets_of,
)
from tests.core.tree_rigs import LIMITED, TREES, options_for
from tests.helpers import make_rng

AGREES = 1e-12
CHAINS = 12


def problems(count, pose, *, ratio=3.0, seed=0):
    """Return chains with targets and poles in all directions: near, far, and out of reach."""
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
    return core.Chains(np.array([chain.joint_positions for chain in chains]), np.array(bends))


def assert_agree(chain, goal, options, in_batch):
    """Assert that a single solve gives the same solution as a batch."""
    alone = core.solve(chain, goal, options)
    # Conjugate directions pass rounding errors from iteration to iteration.
    agrees = 10.0 * AGREES if options.solver is core.Solver.FORCE else AGREES
    tolerance = agrees * chain.max_reach
    np.testing.assert_allclose(
        in_batch.joint_positions, alone.joint_positions, rtol=0.0, atol=tolerance
    )
    turns = in_batch.chain_rotation_wxyz, alone.chain_rotation_wxyz
    np.testing.assert_allclose(*turns, rtol=0.0, atol=AGREES)
    assert in_batch.residual == pytest.approx(alone.residual, rel=0.0, abs=tolerance)
    assert (in_batch.iterations, in_batch.status) == (alone.iterations, alone.status)


def assert_rows_agree(chains, goals, options, together):
    """Assert that each chain of a batch with limits gets the same to the last digit alone."""
    for row, in_batch in enumerate(together):
        rows = np.array([row])
        (alone,) = core.solve_batch(chains.take(rows), goals.take(rows), options)
        for name in ("joint_positions", "local_rotations_wxyz", "holds", "residual", "tip_gap"):
            np.testing.assert_array_equal(getattr(in_batch, name), getattr(alone, name))
        assert (in_batch.iterations, in_batch.status) == (alone.iterations, alone.status)


@pytest.mark.parametrize("compiled", [MAX_CHAINS_IN_FLOATS, CHAINS])
@pytest.mark.parametrize(
    ("count", "solver", "weight"),
    [
        *((2, core.Solver.TWO_BONE, weight) for weight in (0.0, 0.4, 1.0)),
        *((5, core.Solver.NEWTON, weight) for weight in (0.0, 0.4, 1.0)),
        *((3, core.Solver.FABRIK, 1.0), (3, core.Solver.CCD, 0.0)),
    ],
)
def test_a_pose_is_the_same_to_the_last_digit_in_any_batch(count, solver, weight, compiled):
    chains, targets, poles = problems(count + (weight > 0.0), "random")
    turns = unit(make_rng(6).normal(size=(CHAINS, 4)))
    flips, soft = np.arange(CHAINS) % 3 == 0, np.linspace(0.0, 0.1, CHAINS)
    batch = stacked(chains[:compiled])

    def solve_rows(rows):
        goals = core.Goals(targets[rows], poles[rows], 0.2, turns[rows])
        options = core.SolveOptions(
            solver=solver, use_flip_bend=flips[rows], soft_distance=soft[rows], orient_weight=weight
        )
        part = batch.take(rows)
        solutions = core.solve_batch(part, goals, options)
        return solutions, core.bone_rotations(part, solutions)

    whole, rotations = solve_rows(np.arange(compiled))
    order = make_rng(3).permutation(compiled)
    for size in (1, 2, 5):
        for rows in np.array_split(order, compiled // size)[:4]:
            part, turned = solve_rows(rows)
            np.testing.assert_array_equal(part.joint_positions, whole.joint_positions[rows])
            np.testing.assert_array_equal(part.residual, whole.residual[rows])
            np.testing.assert_array_equal(part.iterations, whole.iterations[rows])
            np.testing.assert_array_equal(turned, rotations[rows])


@pytest.mark.parametrize("rows", [[4], [9, 4, 2]])
def test_forces_pose_some_of_the_chains_as_all_of_them_together(rows):
    chains, targets, _ = problems(4, "arc")
    down, rows = np.tile([0.0, 0.0, -1.0], (CHAINS, 1)), np.array(rows)
    forces = core.Forces(np.full((CHAINS, 4), 0.1), np.ones((CHAINS, 4)), down)
    batch = replace(stacked(chains), forces=forces)
    options = core.SolveOptions(solver=core.Solver.FORCE)
    whole = core.solve_batch(batch, core.Goals(targets), options)
    some = core.solve_batch(batch.take(rows), core.Goals(targets[rows]), options)
    assert np.abs(some.joint_positions - whole.joint_positions[rows]).max() <= 1e-9
    # Compile with one gravity, solve with another.
    aside = np.tile([1.0, 0.0, 0.0], (CHAINS, 1))
    moved = replace(batch, forces=core.Forces(forces.stiffness, forces.masses, aside))
    expected = core.solve_batch(moved, core.Goals(targets), options).joint_positions
    some = core.solve_batch(batch.take(rows).under(aside[rows]), core.Goals(targets[rows]), options)
    assert np.abs(some.joint_positions - expected[rows]).max() <= 1e-9


@pytest.mark.parametrize(
    ("use_pole", "weight"), [(False, None), (True, None), (False, 0.4), (True, 1.0)]
)
@pytest.mark.parametrize(
    ("count", "solver"), [(1, core.Solver.NEWTON), *EVERY_SOLVER, (10, core.Solver.NEWTON)]
)
def test_a_batch_gives_what_single_solves_give_and_settings_may_differ_by_chain(
    count, solver, use_pole, weight
):
    is_turned = weight is not None
    for pose in ("arc",) if is_turned else ("random", "arc", "folded"):
        chains, targets, poles = problems(count + is_turned, pose)
        rng, batch = make_rng(9), stacked(chains)
        settings = {
            "iterations": rng.integers(1, 60, CHAINS),
            "tolerance": 10.0 ** rng.uniform(-8, -2, CHAINS),
            "use_flip_bend": rng.random(CHAINS) < 0.5,
            "soft_distance": rng.uniform(0.1, 0.3, CHAINS) * [chain.max_reach for chain in chains],
        }
        shared = {"orient_weight": weight} if is_turned else {}
        turns = unit(rng.normal(size=(CHAINS, 4))) if is_turned else None
        goals = core.Goals(targets, poles if use_pole else None, 0.3, turns)
        solutions = core.solve_batch(batch, goals, core.SolveOptions(solver, **settings, **shared))
        rotations = core.bone_rotations(batch, solutions)
        for i, chain in enumerate(chains):
            row = {name: values[i].item() for name, values in settings.items()}
            options = core.SolveOptions(solver, **row, **shared)
            pole, turn = (
                None if rows is None else rows[i] for rows in (goals.pole_position, turns)
            )
            goal = core.Goal(targets[i], pole, 0.3, turn)
            assert_agree(chain, goal, options, solutions[i])
            if pose != "folded":
                # A swing of half a turn has no shortest direction; the last digit chooses one.
                expected = core.bone_rotations(chain, core.solve(chain, goal, options))
                assert np.abs((rotations[i] * expected).sum(axis=1)).min() >= 1.0 - 1e-9
        if count == 2 and not is_turned:
            assert core.Status.SOFTENED in {solution.status for solution in solutions}


def test_options_per_unit_are_options_with_other_distances():
    options = core.SolveOptions(
        solver=core.Solver.FABRIK, iterations=np.array([3, 7]), tolerance=0.1, soft_distance=0.4
    )
    unit_sizes = np.array([2.0, 0.5])
    scaled = options.per_unit(unit_sizes)
    np.testing.assert_array_equal(scaled.tolerance, [0.05, 0.2])
    np.testing.assert_array_equal(scaled.soft_distance, [0.2, 0.8])
    same = replace(scaled, tolerance=0.1, soft_distance=0.4, iterations=3)
    assert same == replace(options, iterations=3)


@pytest.mark.parametrize("solver", core.Solver)
def test_an_empty_batch_has_no_solutions(solver):
    batch = core.Chains(np.zeros((0, 3, 3))), core.Goals(np.zeros((0, 3)))
    assert len(core.solve_batch(*batch, core.SolveOptions(solver=solver))) == 0


# Rig, solver, seed, pole: for some of these targets and poles two poses are equally good, and the
# last digit chooses.
FORKS = (
    ("one_limit_swing", core.Solver.NEWTON, 2, True),
    ("tail", core.Solver.NEWTON, 1, False),
    ("tail", core.Solver.FABRIK, 7, True),
    ("arm", core.Solver.FABRIK, 7, True),
    ("arm", core.Solver.CCD, 7, True),
)
ALONE = ("arm", "ten_hinges", "mixed_lengths", "ranges without rest")
AIMS = ("free", "pole", "tip", "pole and tip", "soft", "soft tip", "soft pole", "tip out of range")
BALL = (K.BALL, ((10, 60), (-90, 90), (-30, 30)))
WITHOUT_REST = [(K.BALL, ()), (K.SWING, ((-10, 20), (5, 80))), BALL]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "solver", "seed", "has_pole"), FORKS)
def test_some_of_the_chains_are_posed_as_all_of_them_together(name, solver, seed, has_pole):
    rig, rng, count = RIGS[name](), make_rng(seed), 30
    targets = targets_of(rig, count, rng, 1.0) * rng.uniform(0.7, 1.4, (count, 1))
    poles, chains = poles_of(rig, count, rng) if has_pole else None, rig.chains(count)
    options = core.SolveOptions(solver=solver, tolerance=1e-5 * rig.length)
    whole = core.solve_batch(chains, core.Goals(targets, poles), options).joint_positions
    for size in (1, 5):
        for first in range(0, count, 6 * size):
            rows = np.arange(first, min(first + size, count))
            goals = core.Goals(targets[rows], None if poles is None else poles[rows])
            some = core.solve_batch(chains.take(rows), goals, options).joint_positions
            np.testing.assert_array_equal(some, whole[rows])


@pytest.mark.parametrize(("name", "aims"), [*product(ALONE, AIMS)])
def test_a_chain_alone_turns_as_in_a_batch(name, aims):
    rig, rng = make_rig(WITHOUT_REST) if name not in RIGS else RIGS[name](), make_rng(81)
    targets, tips = targets_of(rig, 12, rng), None
    starts = np.tile((1.0, 0.0, 0.0, 0.0), (12, len(rig.kinds), 1))
    soft = 0.3 * rig.length if "soft" in aims else 0.0
    options = core.SolveOptions(tolerance=1e-5 * rig.length, soft_distance=soft)
    targets[::3] *= 1.0 if soft == 0.0 else 1.3
    if "tip" in aims:
        starts, ends = (np.array([rig.random_pose(rng, 0.5) for _ in range(12)]) for _ in range(2))
        targets = np.array([rig.points(end)[-1] for end in ends])
        before, after = (np.array([rig.frames(p)[-1] for p in poses]) for poses in (starts, ends))
        if "out of range" in aims:
            after = after[::-1]
        tips = np.array([quaternion(turn) for turn in after @ before.swapaxes(1, 2)])
    poles = poles_beside(targets, rig.length, rng) if "pole" in aims else None
    goals, chains = core.Goals(targets, poles, tip_rotation_wxyz=tips), rig.with_starts(starts)
    assert_rows_agree(chains, goals, options, core.solve_batch(chains, goals, options))


@pytest.mark.parametrize("count", [1, 2 * MAX_CHAINS_IN_FLOATS])
@pytest.mark.parametrize("aim", ["pole", "tip"])
def test_a_chain_keeps_its_start_if_a_turn_would_gain_little_alone_as_in_a_batch(aim, count):
    rig = make_rig([(K.BALL, ((-80, 80),) * 3)] * 3)
    start = rig.random_pose(make_rng(86), 0.5)
    points, inner = rig.points(start), rig.points(start)[1:-1].mean(axis=0)
    chains = rig.with_starts(np.tile(start, (count, 1, 1)))
    for angle, is_kept in ((0.002, True), (0.02, False)):
        aims = {"pole_position": np.tile(2.0 * inner, (count, 1)), "pole_angle": angle}
        if aim == "tip":
            aims = {"tip_rotation_wxyz": np.tile(about(X, angle), (count, 1))}
        goals = core.Goals(np.tile(points[-1], (count, 1)), **aims)
        solved = core.solve_batch(chains, goals, core.SolveOptions(keeps_start=True))
        turned = np.abs(solved.local_rotations_wxyz - start).max()
        assert (turned < AGREES) == is_kept, turned


@pytest.mark.parametrize("solver", [core.Solver.NEWTON, core.Solver.FABRIK, core.Solver.CCD])
@pytest.mark.parametrize(("name", "has_pole"), [("arm", True), ("spider_leg", False)])
def test_chains_of_a_small_batch_with_some_held_by_limits_are_posed_as_alone(
    name, solver, has_pole
):
    rig, rng = RIGS[name](), make_rng(85)
    targets = targets_of(rig, 5, rng)
    # One target is too far, and one too near for the limits.
    targets[1] *= 3.0
    targets[3] *= 0.02
    goals, chains = core.Goals(targets, poles_of(rig, 5, rng) if has_pole else None), rig.chains(5)
    options = core.SolveOptions(solver=solver)
    together = core.solve_batch(chains, goals, options)
    assert len(set(together.statuses)) > 1
    assert_rows_agree(chains, goals, options, together)


@pytest.mark.parametrize("name", LIMITED)
def test_trees_that_limits_hold_back_are_posed_as_if_each_were_alone(name):
    """Equal to the last digit: where limits hold a tree back, a difference can grow visible."""
    rig, rng = TREES[name](), make_rng(3)
    count, (roots, reaches) = 12, map(np.array, zip(*rig.reaches, strict=True))
    offsets = unit(rng.normal(size=(count, len(roots), 3))) * reaches[:, None]
    goals = core.Goals(roots + rng.uniform(0.4, 1.2, (count, 1, 1)) * offsets)
    chains, options = rig.trees(count), options_for(rig)
    whole = core.solve_batch(chains, goals, options).local_rotations_wxyz
    for rows in (*np.arange(4)[:, None], np.arange(3, 8)):
        some = core.solve_batch(chains.take(rows), goals.take(rows), options)
        np.testing.assert_array_equal(some.local_rotations_wxyz, whole[rows])


@pytest.mark.parametrize("seed", range(3))
def test_an_arm_with_a_twist_beyond_its_column_ends_in_the_same_place_alone(seed: int) -> None:
    """A start in one plane let rounding choose the way of the twist, alone and in a batch."""
    rng = make_rng(seed)
    bent = [(K.HINGE_X, (tuple(rng.uniform(20, 90, 2) * (-1, 1)),)) for _ in range(2)]
    slew = (K.HINGE_Y, ((-180, 180),))
    bends = [(X, 0.0), *((X, angle) for angle in rng.uniform(-50, 50, 3))]
    rig = make_rig([slew, bent[0], slew, bent[1]], rng.uniform(0.4, 1.5, 4), bends=bends)
    targets, options = targets_of(rig, 40, rng, share=0.95), rig.options(core.Solver.NEWTON)
    together = core.solve_batch(rig.chains(40), core.Goals(targets), options).joint_positions
    alone = [core.solve(rig.chain(), core.Goal(target), options) for target in targets]
    for row, solution in enumerate(alone):
        np.testing.assert_allclose(solution.joint_positions, together[row], atol=1e-7 * rig.length)
