"""What is wrong with a tree or its goals is told in one sentence that says what to do next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Goal,
    Goals,
    IKError,
    InvalidChainError,
    InvalidGoalError,
    Solver,
    SolverMismatchError,
    Topology,
    solve,
    solve_batch,
)
from tests.core.tree_rigs import TREES, options_for, tree_of

HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.5]])
TIPS = np.array([[0.0, 2.0, 0.0], [0.0, 2.0, 1.0]])
BOTH = np.concatenate((HEADS, TIPS))
BAD_TREES = {
    "a child first": {"parents": [1, -1, 0]},
    "its own parent": {"parents": [-1, 1, 0]},
    "no such parent": {"parents": [-1, 0, -2]},
    "too few parents": {"parents": [-1, 0]},
    "fractions": {"parents": [-1.0, 0.0, 0.0]},
    "no such bone": {"effector_bones": [1, 3]},
    "no effector": {"effector_bones": [], "joint_positions": HEADS},
    "not a number": {"joint_positions": BOTH * np.nan},
    "flat heads": {"joint_positions": BOTH[:, :2]},
    "words": {"joint_positions": [["a", "b", "c"]] * 5},
    "too few effectors": {"joint_positions": BOTH[:4]},
    "no lever": {
        "effector_bones": [0, 1],
        "joint_positions": np.concatenate((HEADS, HEADS[[0, 0]] * [1, 1, 1])),
    },
    "hints": {"bend_direction": np.zeros((2, 3))},
    "joints": {"joints": TREES["Y_2_2_2"]().joints()},
}
BAD_GOALS = {
    "one too few": {"target_position": TIPS[:1]},
    "not a number": {"target_position": TIPS + np.inf},
    "many trees": {"target_position": TIPS[None]},
    "less than nothing": {"weight": [1.0, -1.0]},
    "nothing at all": {"weight": [0.0, 0.0]},
    "weights": {"weight": [1.0]},
    "poles": {"pole_position": TIPS[0]},
    "flags": {"has_pole": [True]},
    "angles": {"pole_angle": np.nan},
    "tips": {"tip_rotation_wxyz": np.zeros((2, 4))},
}


def tree(parents=(-1, 0, 0), effector_bones=(1, 2), **changes) -> Chain:
    points = changes.pop("joint_positions", BOTH)
    return Chain(points, topology=Topology(parents, effector_bones), **changes)


def is_one_sentence(error: IKError) -> bool:
    text = str(error)
    return text[0].isupper() and text.endswith(".") and ". " not in text and ":" in text


@pytest.mark.parametrize("name", BAD_TREES)
def test_bad_trees_are_refused(name: str) -> None:
    with pytest.raises(InvalidChainError) as caught:
        tree(**BAD_TREES[name])
    assert is_one_sentence(caught.value)


@pytest.mark.parametrize("name", BAD_GOALS)
def test_bad_goals_are_refused(name: str) -> None:
    with pytest.raises(InvalidGoalError) as caught:
        solve(tree(), Goal(**{"target_position": TIPS, **BAD_GOALS[name]}))
    assert is_one_sentence(caught.value)


@pytest.mark.parametrize("solver", [Solver.CCD, Solver.TWO_BONE])
def test_other_solvers_are_refused(solver: Solver) -> None:
    rig = TREES["Y_2_2_2"]()
    with pytest.raises(SolverMismatchError) as caught:
        solve_batch(rig.trees(1), Goals(rig.tips[None]), options_for(rig, solver=solver))
    assert is_one_sentence(caught.value)


def test_bones_that_stretch_or_have_no_size_are_refused() -> None:
    rig = TREES["Y_2_2_2"]()
    joints = rig.joints()
    flat = joints.offsets.copy()
    flat[1, 2] = 0.0
    for changed in (
        replace(joints, slide_high=np.ones(len(rig.parents))),
        replace(joints, offsets=flat),
    ):
        with pytest.raises(InvalidChainError) as caught:
            tree_of(rig.parents, rig.heads, rig.effector_bones, rig.tips, joints=changed)
        assert is_one_sentence(caught.value)


def test_records_are_frozen() -> None:
    one, goal = tree(), Goal(TIPS, weight=[1.0, 2.0])
    for array in (one.joint_positions, one.segment_lengths, goal.target_position, goal.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
