"""Effectors of a tree have poles and rotations of their own, free and inside of limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import Goal, Goals, Solver, solve, solve_batch
from tests.core.chains import side_of, unit
from tests.core.limited_rigs import angle_between, matrix, multiply, quaternion
from tests.core.tree_rigs import TREES, TreeRig, heads_of, options_for

LEFT, RIGHT = [4, 5, 6, 7], [8, 9, 10, 11]


def whole_turns(rig: TreeRig, rotations: np.ndarray) -> np.ndarray:
    """Return the turns (n, 3, 3) of bones from rest in the space of the tree."""
    turns = np.empty((len(rotations), 3, 3))
    for bone, parent in enumerate(rig.parents):
        own = rig.axes[bone] @ matrix(rotations[bone]) @ rig.axes[bone].T
        turns[bone] = own if parent < 0 else turns[parent] @ own
    return turns


def side(points: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the mean offset of inner joints from the line to the target, a unit vector."""
    return unit(side_of(np.vstack((points, target)), target))


def beside(rig: TreeRig, targets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return poles well off the lines from the arms' roots at rest to targets."""
    roots = rig.heads[[LEFT[0], RIGHT[0]]]
    aside = np.cross(targets - roots, rng.normal(size=targets.shape))
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    return 0.5 * (roots + targets) + 2.0 * rig.length * aside


# Inside of the spine, at the root of an arm, and within the other.
SOME = (2, 4, 9)


@pytest.mark.parametrize(
    ("solver", "unturned", "flip"),
    [
        (Solver.NEWTON, (), False),
        (Solver.NEWTON, (), True),
        (Solver.FABRIK, (), False),
        (Solver.NEWTON, SOME, False),
    ],
)
def test_each_arm_bends_to_its_own_pole(solver: Solver, unturned: tuple, flip: bool) -> None:
    rig = replace(TREES["spine_with_arms"](), unturned=unturned).freed()
    rng, used = np.random.default_rng(21), []
    for _ in range(8):
        targets = rig.targets(rng)
        poles = beside(rig, targets, rng)
        options = options_for(rig, solver=solver, use_flip_bend=flip)
        solution = solve(rig.tree(), Goal(targets, pole_position=poles), options)
        assert solution.is_converged.all()
        used.append(solution.iterations)
        for limb, target, pole in zip((LEFT, RIGHT), targets, poles, strict=True):
            points = heads_of(solution)[limb]
            wanted = side(np.array([points[0], pole]), target)
            cosine = side(points, target) @ wanted
            assert (-cosine if flip else cosine) > np.cos(1e-3)
    # As many where some bones are not turned: the slopes know what moves.
    assert np.median(used) <= 14


def test_only_the_poles_that_count_do() -> None:
    rig = TREES["spine_with_arms"]().freed()
    targets = rig.targets(np.random.default_rng(22))
    poles = targets + np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 3.0]])
    tree, options = rig.tree(), options_for(rig)

    def solved(has_poles: list[bool]) -> np.ndarray:
        goals = Goal(targets, pole_position=poles, has_pole=np.array(has_poles))
        return heads_of(solve(tree, goals, options))

    none, first, both = solved([False, False]), solved([True, False]), solved([True, True])
    plain = heads_of(solve(tree, Goal(targets), options))
    assert np.abs(none - plain).max() < 1e-12
    wanted = side(np.array([first[4], poles[0]]), targets[0])
    assert side(first[LEFT], targets[0]) @ wanted > np.cos(1e-3)
    assert np.abs(both - first).max() > 0.01


@pytest.mark.parametrize("is_free", [True, False])
def test_tips_take_the_rotations_asked_for(is_free: bool) -> None:
    rig = TREES["spine_with_arms"]()
    rig = rig.freed() if is_free else rig
    rng = np.random.default_rng(23)
    met = []
    for _ in range(10):
        pose = rig.some_rotations(rng, 0.7)
        targets, turns = rig.posed(pose)[1], whole_turns(rig, pose)
        wanted = np.array([quaternion(turns[bone]) for bone in rig.effector_bones])
        goals = Goal(targets, tip_rotation_wxyz=wanted)
        solution = solve(rig.tree(), goals, options_for(rig))
        assert solution.is_converged.all()
        found = whole_turns(rig, solution.local_rotations_wxyz)
        gaps = [
            angle_between(quaternion(found[bone]), turn)
            for bone, turn in zip(rig.effector_bones, wanted, strict=True)
        ]
        assert np.abs(np.array(gaps) - solution.tip_gap).max() < 1e-6
        met.append(max(gaps) < 1e-3)
    assert np.mean(met) >= (1.0 if is_free else 0.8)


def test_half_a_rotation_is_half_of_it() -> None:
    rig = TREES["spine_with_arms"]().freed()
    targets = rig.targets(np.random.default_rng(24))
    free = solve(rig.tree(), Goal(targets), options_for(rig))
    stands = [
        quaternion(whole_turns(rig, free.local_rotations_wxyz)[bone]) for bone in rig.effector_bones
    ]
    turn = np.array([np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    wanted = np.array([multiply(turn, stand) for stand in stands])
    goals = Goal(targets, tip_rotation_wxyz=wanted)
    half = solve(rig.tree(), goals, options_for(rig, orient_weight=0.5))
    found = whole_turns(rig, half.local_rotations_wxyz)
    for bone, end, stand in zip(rig.effector_bones, wanted, stands, strict=True):
        assert angle_between(quaternion(found[bone]), end) == pytest.approx(0.3, abs=1e-3)
        assert angle_between(quaternion(found[bone]), stand) == pytest.approx(0.3, abs=1e-3)


def test_positions_come_before_rotations_that_limits_forbid() -> None:
    rig = TREES["hand"]()
    rng = np.random.default_rng(25)
    targets = np.array([rig.targets(rng) for _ in range(6)])
    wanted = np.tile([0.0, 0.6, 0.0, 0.8], (6, 5, 1))
    goals = Goals(targets, tip_rotation_wxyz=wanted)
    found = solve_batch(rig.trees(6), goals, options_for(rig))
    assert found.residual.max() < 1e-3 * rig.length
    assert found.tip_gap.max() > 0.1
    worst = max(rig.as_rig().violations(each).max() for each in found.local_rotations_wxyz)
    assert worst < 1e-7
