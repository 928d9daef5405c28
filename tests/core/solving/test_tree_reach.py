"""Effectors of trees reach targets that they can reach together; their poles and rotations."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Chains,
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
from tests.core.chains import side_of, unit
from tests.core.limited_rigs import matrix, quaternion
from tests.core.tree_rigs import LIMITED, TREES, TreeRig, heads_of, make_tree, options_for, tips_of
from tests.helpers import angles_between

SOLVERS = (Solver.NEWTON, Solver.FABRIK)
COUNT = 20
EXACT, ARRIVED = 1e-6, 1e-3
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def unturned(rig: TreeRig) -> TreeRig:
    """Return a tree with every third bone carried but not turned by its parent."""
    return replace(rig, unturned=tuple(range(2, len(rig.parents), 3)))


def misses(rig: TreeRig, rotations: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the largest distance of each tree from a target, a share of the length."""
    return np.linalg.norm(rig.posed(rotations)[1] - targets, axis=2).max(axis=1) / rig.length


def targets_of(rig: TreeRig, count: int = COUNT, seed: int = 1) -> np.ndarray:
    """Return effectors (count, E, 3) of random poses."""
    rng = np.random.default_rng(seed)
    return np.array([rig.targets(rng) for _ in range(count)])


@every_solver
@pytest.mark.parametrize("name", TREES)
def test_free_trees_reach_what_they_can_reach_together(name: str, solver: Solver) -> None:
    for rig in (TREES[name]().freed(), unturned(TREES[name]()).freed()):
        targets = targets_of(rig)
        found = solve_batch(rig.trees(COUNT), Goals(targets), options_for(rig, solver=solver))
        assert misses(rig, found.local_rotations_wxyz, targets).max() < 1.01 * EXACT
        # Bones are rigid: positions computed from rotations keep all lengths.
        for one, other in zip(
            rig.posed(found.local_rotations_wxyz), (heads_of(found), tips_of(found)), strict=True
        ):
            assert np.abs(one - other).max() < 1e-12 * rig.length
        assert all(solution.is_converged.all() for solution in found)
        assert np.median(found.iterations) <= 10


@every_solver
@pytest.mark.parametrize("name", LIMITED)
def test_limited_trees_reach_and_keep_their_limits(name: str, solver: Solver) -> None:
    rig = TREES[name]()
    targets = targets_of(rig, 2 * COUNT)
    solutions = solve_batch(rig.trees(2 * COUNT), Goals(targets), options_for(rig, solver=solver))
    arrived = misses(rig, solutions.local_rotations_wxyz, targets) < ARRIVED
    assert arrived.mean() >= 0.99
    worst = max(rig.as_rig().violations(pose).max() for pose in solutions.local_rotations_wxyz)
    assert worst < 1e-7
    if solver is Solver.NEWTON:
        assert np.median(solutions.iterations) <= 10


@pytest.mark.parametrize(
    ("name", "solver", "has_poles"),
    [
        ("spine_with_arms", Solver.NEWTON, False),
        ("spine_with_arms", Solver.FABRIK, False),
        ("humanoid", Solver.NEWTON, True),
    ],
)
def test_one_tree_and_some_of_a_batch_are_solved_as_the_whole_batch(
    name, solver, has_poles
) -> None:
    rig, rows = TREES[name](), np.array([7, 2])
    targets, trees = targets_of(rig, 9), rig.trees(9)
    poles = targets + np.random.default_rng(4).normal(size=targets.shape) if has_poles else None
    goals, options = Goals(targets, pole_position=poles), options_for(rig, solver=solver)
    whole = solve_batch(trees, goals, options)
    part = solve_batch(trees.take(rows), goals.take(rows), options)
    assert part.iterations.tolist() == whole.iterations[rows].tolist()
    off = np.abs(part.local_rotations_wxyz - whole.local_rotations_wxyz[rows]).max()
    assert off < 1e-9
    for row in range(0 if has_poles else 9):
        alone = solve(rig.tree(), Goal(targets[row]), options)
        assert alone.iterations == whole[row].iterations
        assert np.abs(heads_of(alone) - heads_of(whole[row])).max() < 1e-9 * rig.length


def t_pose() -> TreeRig:
    """Return a straight spine with straight arms on one line: no joint is bent."""
    bones = [(-1, (0.0, 0.0, 0.0)), (0, (0.0, 0.5, 0.0))]
    tips = []
    for side in (1.0, -1.0):
        first = len(bones)
        bones += [
            (1, (0.2 * side, 1.0, 0.0)),
            (first, (0.5 * side, 1.0, 0.0)),
            (first + 1, (0.8 * side, 1.0, 0.0)),
        ]
        tips.append((first + 2, (1.0 * side, 1.0, 0.0)))
    return make_tree(bones, tips)


@every_solver
def test_straight_arms_bend_toward_targets_on_their_line(solver: Solver) -> None:
    rig = t_pose()
    for share in (0.99, 0.7, 0.4):
        goal = Goal(rig.tips * [share, 1.0, 1.0])
        solution = solve(rig.tree(), goal, options_for(rig, solver=solver))
        assert solution.residual.max() < 1.01 * EXACT * rig.length


def test_straight_arms_bend_to_their_bend_directions() -> None:
    rig = t_pose()
    targets = rig.tips * [0.7, 1.0, 1.0]
    for hint in (np.array([0.0, 0.0, 1.0]), np.array([0.0, -1.0, 0.0])):
        bends = np.tile(hint, (len(rig.parents), 1))
        tree = rig.tree(bend_direction=bends)
        solution = solve(tree, Goal(targets), options_for(rig))
        elbows = heads_of(solution)[[3, 4, 6, 7]] - rig.heads[[3, 4, 6, 7]]
        assert ((elbows @ hint) > 0.01).all()


LEFT, RIGHT = [4, 5, 6, 7], [8, 9, 10, 11]


def whole_turns(rig: TreeRig, rotations: np.ndarray) -> np.ndarray:
    """Return the turns (n, 3, 3) of bones from rest in the space of the tree."""
    turns = np.empty((len(rotations), 3, 3))
    for bone, parent in enumerate(rig.parents):
        turn = rig.axes[bone] @ matrix(rotations[bone]) @ rig.axes[bone].T
        turns[bone] = turn if parent < 0 else turns[parent] @ turn
    return turns


def side(points: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the mean offset of inner joints from the line to the target, a unit vector."""
    return unit(side_of(np.vstack((points, target)), target))


def beside(rig: TreeRig, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return poles far off the lines from the arms' roots at rest to their targets."""
    roots = rig.heads[[LEFT[0], RIGHT[0]]]
    aside = np.cross(targets - roots, rng.normal(size=targets.shape))
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    return 0.5 * (roots + targets) + 2.0 * rig.length * aside


# A bone of the spine, the root of an arm, and a bone of the other arm.
UNTURNED = (2, 4, 9)


@pytest.mark.parametrize(
    ("solver", "unturned", "flip"),
    [
        (Solver.NEWTON, (), False),
        (Solver.NEWTON, (), True),
        (Solver.FABRIK, (), False),
        (Solver.NEWTON, UNTURNED, False),
    ],
)
def test_each_arm_bends_to_its_pole(solver: Solver, unturned: tuple, flip: bool) -> None:
    rig = replace(TREES["spine_with_arms"](), unturned=unturned).freed()
    rng, iterations = np.random.default_rng(21), []
    for _ in range(8):
        targets = rig.targets(rng)
        poles = beside(rig, targets, rng)
        options = options_for(rig, solver=solver, use_flip_bend=flip)
        solution = solve(rig.tree(), Goal(targets, pole_position=poles), options)
        assert solution.is_converged.all()
        iterations.append(solution.iterations)
        for limb, target, pole in zip((LEFT, RIGHT), targets, poles, strict=True):
            points = heads_of(solution)[limb]
            goal_side = side(np.array([points[0], pole]), target)
            cosine = side(points, target) @ goal_side
            assert (-cosine if flip else cosine) > np.cos(1e-3)
    # Bones that are not turned take no more iterations: the slopes are correct for them.
    assert np.median(iterations) <= 14


@every_solver
def test_free_arms_bend_to_their_poles_wherever_the_spine_moves(solver: Solver) -> None:
    """On the way to far targets the spine moves, and limbs may end far from their poles."""
    arms = [(2, 4), (3, 5)]
    heads = [(0, 0, 0), (0, 0, 0.5), (0, 0.05, 1), (0, 0.05, 1), (0.7, 0, 1.6), (-0.7, 0, 1.6)]
    rest = np.array([(1.4, 0.1, 2.4), (-1.4, 0.1, 2.4)])
    topology = Topology((-1, 0, 1, 1, 2, 3), (4, 5))
    tree = Chain(np.vstack((np.array(heads, dtype=float), rest)), topology=topology)
    rng = np.random.default_rng(1)
    for _ in range(25):
        targets = 0.9 * rest + 0.1 * rng.normal(size=(2, 3))
        poles = np.array(heads[4:]) + 0.5 * rng.normal(size=(2, 3)) - (0.0, 1.5, 0.0)
        solution = solve(tree, Goal(targets, pole_position=poles), SolveOptions(solver))
        assert solution.is_converged.all()
        for limb, target, pole in zip(arms, targets, poles, strict=True):
            points = solution.joint_positions[list(limb)]
            goal_side = side(np.array([points[0], pole]), target)
            assert side(points, target) @ goal_side > np.cos(1e-2)


@pytest.mark.parametrize("is_free", [True, False])
def test_tips_take_the_goal_rotations(is_free: bool) -> None:
    rig = TREES["spine_with_arms"]()
    rig = rig.freed() if is_free else rig
    rng = np.random.default_rng(23)
    met = []
    for _ in range(10):
        pose = rig.random_pose(rng, 0.7)
        targets, turns = rig.posed(pose)[1], whole_turns(rig, pose)
        goal_rotations = np.array([quaternion(turns[bone]) for bone in rig.effector_bones])
        goals = Goal(targets, tip_rotation_wxyz=goal_rotations)
        solution = solve(rig.tree(), goals, options_for(rig))
        assert solution.is_converged.all()
        found = whole_turns(rig, solution.local_rotations_wxyz)
        gaps = [
            angles_between(quaternion(found[bone]), turn)
            for bone, turn in zip(rig.effector_bones, goal_rotations, strict=True)
        ]
        assert np.abs(np.array(gaps) - solution.tip_gap).max() < 1e-6
        met.append(max(gaps) < 1e-3)
    assert np.mean(met) >= (1.0 if is_free else 0.8)


def test_below_uneven_scale_a_soft_limb_does_not_straighten():
    """Bones may be longer in other directions; a limb is straight where it is."""
    straight = np.array([(0.0, length, 0.0) for length in (0.0, 1.0, 2.0, 2.0, 3.0, 3.0)])
    for scale in (1.0, 3.0):
        offsets = np.tile(np.eye(3), (1, 4, 1, 1))
        offsets[0, 0] = np.diag((scale, 1.0, 1.0))
        joints = Joints((JointKind.BALL,) * 4, offsets, np.tile((1.0, 0.0, 0.0, 0.0), (1, 4, 1)))
        trees = Chains(straight[None], joints=joints, topology=Topology((-1, 0, 1, 1), (2, 3)))
        goals = Goals(np.array([[(0.02, 3.0, 0.0), (-0.02, 3.0, 0.0)]]))
        (solved,) = solve_batch(trees, goals, SolveOptions(soft_distance=0.4))
        assert set(solved.statuses) == {Status.SOFTENED}
        assert solved.joint_positions[-1, 1] == pytest.approx(2.853, abs=1e-3)
