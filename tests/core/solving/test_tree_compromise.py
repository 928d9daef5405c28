"""Goals of a tree that cannot all be met end in the pose with the least weighted errors.

Solutions move with a tree that is moved, mirrored or scaled, and do not jump.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Goal,
    Goals,
    JointKind,
    Joints,
    SolveOptions,
    Solver,
    Status,
    Topology,
    solve,
    solve_batch,
)
from blender_ik_addon.core.algebra import rotation
from tests.core.chains import random_frame
from tests.core.limited_rigs import about, multiply
from tests.core.tree_rigs import LIMITED, TREES, TreeRig, heads_of, options_for, tips_of, tree_of

SOLVERS = (Solver.NEWTON, Solver.FABRIK)
COUNT = 6


def conflicting_goals(rig: TreeRig, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return targets (E, 3) that can be reached one by one, but not together, and weights (E,)."""
    rng = np.random.default_rng(seed)
    targets = rig.targets(rng) + 0.2 * rig.length * rng.normal(size=rig.tips.shape)
    for effector, (root, reach) in enumerate(rig.reaches):
        offset = targets[effector] - root
        targets[effector] = root + offset * min(1.0, reach / np.linalg.norm(offset))
    return targets, rng.choice([0.2, 1.0, 3.0], size=len(targets))


def cost(
    rig: TreeRig, rotations: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return half the sums of weights times squared distances, in units of the length."""
    gaps = (rig.posed(rotations)[1] - targets) / rig.length
    costs: np.ndarray = 0.5 * (weights * (gaps**2).sum(axis=-1)).sum(axis=-1)
    return costs


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        *(("Y_5_10_10", Solver.NEWTON), ("humanoid", Solver.NEWTON)),
        *(("Y_4_3_3", Solver.FABRIK), ("spine_with_arms", Solver.FABRIK)),
    ],
)
def test_no_turn_reduces_the_error(name: str, solver: Solver) -> None:
    rig = TREES[name]().freed()
    slopes = []
    for seed in range(COUNT):
        targets, weights = conflicting_goals(rig, seed)
        goals = Goal(targets, weight=weights)
        solution = solve(rig.tree(), goals, options_for(rig, solver=solver))
        rotations, turned = solution.local_rotations_wxyz, []
        for bone, axis, angle in product(range(len(rotations)), range(3), (1e-4, -1e-4)):
            turned.append(rotations.copy())
            turned[-1][bone] = multiply(about(axis, angle), rotations[bone])
        there, back = cost(rig, np.array(turned), targets, weights).reshape(-1, 2).T
        slopes.append(np.abs(there - back).max() / 2e-4)
    assert np.median(slopes) < 1e-6
    assert max(slopes) < 1e-4


@pytest.mark.parametrize("name", ["Y_4_3_3", *LIMITED])
def test_solved_again_from_the_solution_nothing_moves(name: str) -> None:
    rig = TREES[name]().freed()
    moves = []
    for seed in range(COUNT):
        targets, weights = conflicting_goals(rig, seed)
        goals = Goal(targets, weight=weights)
        first = solve(rig.tree(), goals, options_for(rig))
        again = solve(rig.tree(first.local_rotations_wxyz), goals, options_for(rig))
        moved = np.abs(tips_of(again) - tips_of(first)).max()
        moves.append(moved / rig.length)
    assert np.median(moves) < 1e-7
    assert max(moves) < 1e-3


def four_limbs() -> Chain:
    """Return four limbs of two bones on a free bone, with axes rounded as in float32."""
    bent = about(2, np.pi / 3)
    lower = rotation.matrix_from_quaternion(bent)
    roots = np.array(((0.5, 1, 0), (-0.5, 1, 0), (0.5, 1.5, 0), (-0.5, 1.5, 0)))
    elbows = roots + np.array((1.0, 0.0, 0.0))
    tips = elbows + np.array((np.cos(np.pi / 3), 0.0, -np.sin(np.pi / 3)))
    offsets = np.array([np.eye(3), *[np.roll(np.eye(3), -1, axis=0)] * 4, *[lower] * 4])
    offsets += 3e-8 * np.random.default_rng(1).normal(size=offsets.shape)
    ends = np.tile(np.radians((40.0, 20.0, 40.0)), (9, 1))
    ends[0] = np.inf
    unturned = np.tile((1.0, 0.0, 0.0, 0.0), (9, 1))
    joints = Joints((JointKind.BALL,) * 9, offsets, unturned, -ends, ends)
    points = np.concatenate((np.zeros((1, 3)), roots, elbows, tips))
    return Chain(
        points, joints=joints, topology=Topology((-1, 0, 0, 0, 0, 1, 2, 3, 4), range(5, 9))
    )


def test_limbs_that_limits_hold_back_take_few_steps_with_rounded_axes_too() -> None:
    tree, steps = four_limbs(), []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        moves = rng.normal(size=(4, 3))
        moves *= 1.9 * rng.random((4, 1)) ** (1 / 3) / np.linalg.norm(moves, axis=1, keepdims=True)
        target = tree.joint_positions[1:5] + moves
        steps.append(int(solve(tree, Goal(target), SolveOptions(iterations=500)).iterations))
    # In a flat direction a least shift of 1e-7 makes steps ten times shorter, and takes 52 of them.
    # Without a stop at steps that save almost nothing there are about 170.
    assert np.median(steps) < 45


@pytest.mark.parametrize("name", LIMITED)
def test_limited_trees_end_no_worse_than_poses_nearby(name: str) -> None:
    rig = TREES[name]()
    ranges = rig.as_rig()
    for seed in range(2):
        targets, weights = conflicting_goals(rig, seed)
        solution = solve(rig.tree(), Goal(targets, weight=weights), options_for(rig))
        assert ranges.violations(solution.local_rotations_wxyz).max() < 1e-7
        solution_cost = cost(rig, solution.local_rotations_wxyz, targets, weights)
        shape = (300, len(solution.local_rotations_wxyz), 3)
        turns = np.insert(0.02 * np.random.default_rng(seed).normal(size=shape), 0, 1.0, axis=-1)
        turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
        nearby = multiply(turns, solution.local_rotations_wxyz)
        costs = cost(rig, nearby, targets, weights)
        assert np.isfinite(costs).all()
        for turned in nearby[costs <= solution_cost - 1e-6]:
            assert ranges.violations(turned).max() > 1e-9


def test_a_goal_with_more_weight_has_a_smaller_error() -> None:
    rig = TREES["Y_4_3_3"]().freed()
    targets = rig.tips + np.array([[3.0, 0.5, 0.0], [-3.0, 0.5, 0.0]])
    tree = rig.tree()
    gaps = []
    for weight in (1.0, 3.0, 10.0, 100.0):
        goals = Goal(targets, weight=np.array([weight, 1.0]))
        solution = solve(tree, goals, options_for(rig))
        assert solution.statuses == (Status.OUTWEIGHED, Status.OUTWEIGHED)
        gaps.append(solution.residual)
    heavy, light = np.array(gaps).T
    assert (np.diff(heavy) < 0.0).all()
    assert (np.diff(light) > 0.0).all()
    assert not solution.is_converged.any()


def test_a_far_target_does_not_outweigh_a_near_one() -> None:
    rig = TREES["spine_with_arms"]().freed()
    near = rig.targets(np.random.default_rng(6))
    far = near.copy()
    gaps = []
    for distance in (3.0, 30.0, 3e6):
        far[1] = rig.heads[0] + distance * np.array([-1.0, 0.2, 0.0])
        gaps.append(solve(rig.tree(), Goal(far), options_for(rig)).residual[0])
    assert max(gaps) - min(gaps) < 1e-3 * rig.length


@pytest.mark.slow
def test_many_impossible_goals_give_numbers_and_keep_limits() -> None:
    rng = np.random.default_rng(7)
    for name in ("Y_4_3_3", "humanoid"):
        rig = TREES[name]()
        targets = rig.heads[0] + rng.normal(size=(8, *rig.tips.shape)) * 10.0 ** rng.uniform(
            -3.0, 6.0, size=(8, 1, 1)
        )
        targets[0] = rig.heads[0]
        goals = Goals(targets, weight=rng.uniform(0.01, 1.0, targets.shape[:2]))
        for solver in SOLVERS:
            solutions = solve_batch(rig.trees(8), goals, options_for(rig, solver=solver))
            assert np.isfinite(solutions.local_rotations_wxyz).all()
            assert np.isfinite(solutions.residual).all()
            worst = max(rig.as_rig().violations(r).max() for r in solutions.local_rotations_wxyz)
            assert worst < 1e-7


def free_tree(heads: np.ndarray, tips: np.ndarray, rig: TreeRig) -> Chain:
    """Return a tree without limits with these heads and tips."""
    return tree_of(rig.parents, heads, rig.effector_bones, tips)


def turned_by(vectors: np.ndarray) -> np.ndarray:
    """Return rotations wxyz (E, 4) about small vectors (E, 3)."""
    turns = np.column_stack((np.ones(len(vectors)), 0.5 * vectors))
    return turns / np.linalg.norm(turns, axis=1, keepdims=True)


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("scale", [0.01, 100.0, -1.0])
@pytest.mark.parametrize("name", ["Y_5_10_10", "humanoid"])
def test_a_free_tree_moves_with_its_space(name: str, scale: float, share: float) -> None:
    rig = TREES[name]().freed()
    rng = np.random.default_rng(11)
    for _ in range(2):
        targets = rig.targets(rng) + share * rig.length * rng.normal(size=rig.tips.shape)
        frame, shift = scale * random_frame(rng), abs(scale) * rng.normal(size=3)
        plain = solve(free_tree(rig.heads, rig.tips, rig), Goal(targets), options_for(rig))
        moved = solve(
            free_tree(rig.heads @ frame.T + shift, rig.tips @ frame.T + shift, rig),
            Goal(targets @ frame.T + shift),
            replace(options_for(rig), tolerance=1e-6 * rig.length * abs(scale)),
        )
        expected = tips_of(plain) @ frame.T + shift
        size = abs(scale) * rig.length
        assert np.abs(tips_of(moved) - expected).max() < 2e-6 * size
        heads = heads_of(plain) @ frame.T + shift
        # Rounding errors grow along a flat valley.
        assert np.abs(heads_of(moved) - heads).max() < (1e-6 if share == 0.0 else 1e-3) * size


@pytest.mark.parametrize("has_turns", [False, True])
@pytest.mark.parametrize("name", LIMITED)
def test_a_limited_tree_moves_with_its_space(name: str, has_turns: bool) -> None:
    """Turns have equal weight in all directions, in any axes."""
    rig = TREES[name]()
    rng = np.random.default_rng(12)
    roots = [i for i, parent in enumerate(rig.parents) if parent < 0]
    for scale in (1.0, 0.01, 100.0):
        targets = rig.targets(rng, 0.4)
        frame, shift = random_frame(rng), scale * rng.normal(size=3)
        vectors = 0.2 * rng.normal(size=targets.shape)
        here, there = (
            turned_by(rows) if has_turns else None for rows in (vectors, vectors @ frame.T)
        )
        options = replace(options_for(rig), iterations=12)
        plain = solve(rig.tree(), Goal(targets, tip_rotation_wxyz=here), options)
        joints = rig.joints()
        offsets = joints.offsets.copy()
        offsets[roots] = frame @ offsets[roots]
        heads, tips = (scale * points @ frame.T + shift for points in (rig.heads, rig.tips))
        joints = replace(joints, offsets=offsets)
        tree = tree_of(rig.parents, heads, rig.effector_bones, tips, joints=joints)
        goal = Goal(scale * targets @ frame.T + shift, tip_rotation_wxyz=there)
        moved = solve(tree, goal, replace(options, tolerance=scale * options.tolerance))
        expected = scale * heads_of(plain) @ frame.T + shift
        assert np.abs(heads_of(moved) - expected).max() < 1e-6 * scale * rig.length
        turned = moved.local_rotations_wxyz - plain.local_rotations_wxyz
        assert np.abs(turned).max() < 1e-6


@pytest.mark.parametrize("name", ["Y_5_10_10", "humanoid"])
def test_a_small_step_of_the_targets_gives_a_small_step_of_the_joints(name: str) -> None:
    rig = TREES[name]().freed()
    start, end = rig.tips, rig.targets(np.random.default_rng(14))
    targets = start + np.linspace(0.0, 1.0, 101)[:, None, None] * (end - start)
    solutions = solve_batch(rig.trees(len(targets)), Goals(targets), options_for(rig))
    assert solutions.residual.max() < 1.01e-6 * rig.length
    steps = np.abs(np.diff(heads_of(solutions), axis=0)).max(axis=(1, 2))
    target_step = np.linalg.norm(np.diff(targets, axis=0), axis=2).max()
    assert steps.max() < 5.0 * target_step


def test_a_compressed_spine_arcs_and_does_not_zigzag() -> None:
    rig = TREES["Y_5_10_10"]().freed()
    targets = rig.tips * 0.5
    solution = solve(rig.tree(), Goal(targets), options_for(rig))
    assert solution.is_converged.all()
    branch = np.array([*heads_of(solution)[5:15], tips_of(solution)[0]])
    directions = np.diff(branch, axis=0)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    bends = np.cross(directions[:-1], directions[1:])
    # All joints bend to the same side.
    together = (bends[:-1] * bends[1:]).sum(axis=1)
    assert (together > -1e-3).all()
    assert np.degrees(np.arcsin(np.linalg.norm(bends, axis=1).max())) < 70.0


@pytest.mark.parametrize("name", ["Y_4_3_3", "spine_with_arms"])
def test_elbows_at_the_ends_of_trees_do_not_twist_for_nothing(name):
    """They twisted by up to half a radian, and took half as many iterations more."""
    rig, rng = TREES[name](), np.random.default_rng(60)
    ends, kinds = rig.effector_bones, dict(enumerate(rig.kinds))
    kinds |= dict.fromkeys(ends, JointKind.ELBOW_X)
    rig = replace(rig, kinds=tuple(kinds.values()))
    targets = rig.targets(rng) + 0.5 * rig.length * rng.normal(size=(40, len(ends), 3))
    options = SolveOptions(Solver.NEWTON, tolerance=1e-5 * rig.length)
    solutions = solve_batch(rig.trees(40), Goals(targets), options)
    turns = solutions.local_rotations_wxyz[:, list(ends)]
    twists = np.abs(np.arctan2(turns[..., 2], turns[..., 0]))
    assert np.mean(~solutions.is_converged) > 0.5
    assert twists.max() < 0.02
