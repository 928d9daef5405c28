"""What is wrong with a tree or its goals is told in one sentence that says what to do next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import (
    IKError,
    InvalidChainError,
    InvalidGoalError,
    Solver,
    SolverMismatchError,
    Tree,
    TreeGoals,
    solve_tree,
    solve_trees,
)
from tests.core.tree_rigs import TREES, options_for

HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.5]])
TIPS = np.array([[0.0, 2.0, 0.0], [0.0, 2.0, 1.0]])
BAD_TREES = {
    "a child first": {"parents": [1, -1, 0]},
    "its own parent": {"parents": [-1, 1, 0]},
    "no such parent": {"parents": [-1, 0, -2]},
    "too few parents": {"parents": [-1, 0]},
    "fractions": {"parents": [-1.0, 0.0, 0.0]},
    "no such bone": {"effector_bones": [1, 3]},
    "no effector": {"effector_bones": [], "effector_positions": np.empty((0, 3))},
    "not a number": {"head_positions": HEADS * np.nan},
    "flat heads": {"head_positions": HEADS[:, :2]},
    "words": {"head_positions": [["a", "b", "c"]] * 3},
    "too few effectors": {"effector_positions": TIPS[:1]},
    "no lever": {"effector_bones": [0, 1], "effector_positions": HEADS[[0, 0]] * [1, 1, 1]},
    "hints": {"bend_directions": np.zeros((2, 3))},
    "joints": {"joints": TREES["Y_2_2_2"]().joints()},
}
BAD_GOALS = {
    "one too few": {"target_positions": TIPS[:1]},
    "not a number": {"target_positions": TIPS + np.inf},
    "many trees": {"target_positions": TIPS[None]},
    "less than nothing": {"weights": [1.0, -1.0]},
    "nothing at all": {"weights": [0.0, 0.0]},
    "weights": {"weights": [1.0]},
    "poles": {"pole_positions": TIPS[0]},
    "flags": {"has_poles": [True]},
    "angles": {"pole_angles": np.nan},
    "tips": {"tip_rotations_wxyz": np.zeros((2, 4))},
}


def tree(**changes) -> Tree:
    return Tree(
        **{
            "parents": [-1, 0, 0],
            "head_positions": HEADS,
            "effector_bones": [1, 2],
            "effector_positions": TIPS,
            **changes,
        }
    )


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
        solve_tree(tree(), TreeGoals(**{"target_positions": TIPS, **BAD_GOALS[name]}))
    assert is_one_sentence(caught.value)


@pytest.mark.parametrize("solver", [Solver.CCD, Solver.TWO_BONE])
def test_other_solvers_are_refused(solver: Solver) -> None:
    rig = TREES["Y_2_2_2"]()
    with pytest.raises(SolverMismatchError) as caught:
        solve_trees(rig.trees(1), TreeGoals(rig.tips[None]), options_for(rig, solver=solver))
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
            Tree(rig.parents, rig.heads, rig.effector_bones, rig.tips, joints=changed)
        assert is_one_sentence(caught.value)


def test_records_are_frozen() -> None:
    one, goals = tree(), TreeGoals(TIPS)
    for array in (one.head_positions, one.parents, goals.target_positions, goals.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
