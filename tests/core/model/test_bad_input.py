"""Bad input raises one error, whose sentence says what to do next."""

import re

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Goal,
    IKError,
    InvalidChainError,
    InvalidGoalError,
    InvalidOptionError,
    SolveOptions,
    Solver,
    SolverMismatchError,
    solve,
)

JOINTS = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 3.0, 0.0]])
TARGET = np.array([1.0, 1.0, 0.0])
NAN, INFINITE = float("nan"), float("inf")

# What a sentence must contain besides the complaint: something to do.
ADVICE = re.compile(
    r"\b(check|choose|give|lengthen|leave|lower|raise|remove|select|set|use)\b", re.IGNORECASE
)


def joints_with(index, value):
    """Return the joints with one number replaced."""
    joints = JOINTS.copy()
    joints[index] = value
    return joints


def options_for(count, **options):
    """Solve a chain of so many bones."""
    chain = Chain(np.arange(count + 1)[:, None] * np.array([0.0, 1.0, 0.0]))
    return solve(chain, Goal(TARGET), SolveOptions(**options))


BAD_CHAINS = {
    "no joints": lambda: Chain(np.zeros((0, 3))),
    "one joint": lambda: Chain(JOINTS[:1]),
    "flat": lambda: Chain(JOINTS.ravel()),
    "points of a plane": lambda: Chain(JOINTS[:, :2]),
    "too deep": lambda: Chain(JOINTS[None]),
    "no numbers": lambda: Chain([["a", "b", "c"], ["d", "e", "f"]]),
    "ragged": lambda: Chain([[0.0, 0.0, 0.0], [1.0, 0.0]]),
    "nothing": lambda: Chain(None),
    "a joint is not a number": lambda: Chain(joints_with((1, 2), NAN)),
    "a joint is infinite": lambda: Chain(joints_with((0, 0), INFINITE)),
    "a segment without length": lambda: Chain(joints_with(2, JOINTS[1])),
    "all segments without length": lambda: Chain(np.ones((3, 3))),
    "a segment too short": lambda: Chain(joints_with(1, (0.0, 1e-10, 0.0))),
    "bend direction is not a number": lambda: Chain(JOINTS, (NAN, 0.0, 0.0)),
    "bend direction of a plane": lambda: Chain(JOINTS, (1.0, 0.0)),
}
BAD_GOALS = {
    "target is not a number": lambda: Goal((0.0, NAN, 0.0)),
    "target is infinite": lambda: Goal((0.0, -INFINITE, 0.0)),
    "target of a plane": lambda: Goal((1.0, 2.0)),
    "target is many": lambda: solve(Chain(JOINTS), Goal(JOINTS)),
    "no target": lambda: Goal(None),
    "target is a word": lambda: Goal("here"),
    "pole is not a number": lambda: Goal(TARGET, (NAN, 0.0, 0.0)),
    "pole of a plane": lambda: Goal(TARGET, (1.0, 0.0)),
    "pole angle is not a number": lambda: Goal(TARGET, TARGET, NAN),
    "pole angle is infinite": lambda: Goal(TARGET, TARGET, INFINITE),
    "tip rotation is zero": lambda: Goal(TARGET, tip_rotation_wxyz=np.zeros(4)),
    "tip rotation is not a number": lambda: Goal(TARGET, tip_rotation_wxyz=(1.0, NAN, 0.0, 0.0)),
    "tip rotation of three numbers": lambda: Goal(TARGET, tip_rotation_wxyz=(0.0, 0.0, 1.0)),
}
BAD_OPTIONS = {
    "unknown solver": lambda: SolveOptions(solver="JACOBIAN"),
    "no solver": lambda: SolveOptions(solver=None),
    "no iterations": lambda: SolveOptions(iterations=0),
    "iterations below zero": lambda: SolveOptions(iterations=-5),
    "tolerance below zero": lambda: SolveOptions(tolerance=-1e-9),
    "tolerance is not a number": lambda: SolveOptions(tolerance=NAN),
    "orient weight above one": lambda: SolveOptions(orient_weight=1.5),
    "orient weight is not a number": lambda: SolveOptions(orient_weight=NAN),
}
BAD_MATCHES = {
    "two-bone for one bone": lambda: options_for(1, solver=Solver.TWO_BONE),
    "two-bone for three bones": lambda: options_for(3, solver=Solver.TWO_BONE),
    "two-bone for many bones": lambda: options_for(40, solver=Solver.TWO_BONE),
}
BAD_INPUTS = [
    pytest.param(error, make, id=name)
    for error, inputs in (
        (InvalidChainError, BAD_CHAINS),
        (InvalidGoalError, BAD_GOALS),
        (InvalidOptionError, BAD_OPTIONS),
        (SolverMismatchError, BAD_MATCHES),
    )
    for name, make in inputs.items()
]


@pytest.mark.parametrize(("error", "make"), BAD_INPUTS)
def test_bad_input_is_refused_with_advice(error, make):
    with pytest.raises(IKError) as caught:
        make()
    assert type(caught.value) is error
    message = str(caught.value)
    assert ADVICE.search(message), f"says nothing to do: {message}"
    assert message.endswith(".")
    assert "\n" not in message
    # One sentence: no full stop before the last.
    assert ". " not in message, message


def test_the_sentence_names_the_segment_without_length():
    with pytest.raises(InvalidChainError, match=r"\bSegment 2\b"):
        Chain(joints_with(3, JOINTS[2]))


def test_the_sentence_names_the_option_and_the_solvers_to_choose_from():
    with pytest.raises(InvalidOptionError, match="orient_weight"):
        SolveOptions(orient_weight=2.0)
    with pytest.raises(InvalidOptionError) as caught:
        SolveOptions(solver="LIMB")
    assert "LIMB" in str(caught.value)
    assert all(solver in str(caught.value) for solver in Solver)


@pytest.mark.parametrize("error", [InvalidChainError, InvalidGoalError, InvalidOptionError])
def test_every_error_is_an_ik_error_and_a_value_error(error):
    assert issubclass(error, IKError)
    assert issubclass(IKError, ValueError)


@pytest.mark.parametrize("solver", [Solver.FABRIK, Solver.CCD, Solver.NEWTON])
def test_strange_but_sound_input_is_taken(solver):
    options = SolveOptions(solver=solver, iterations=1, tolerance=0.0)
    chain = Chain(JOINTS, bend_direction=(0.0, 5.0, 0.0))
    goal = Goal(JOINTS[0], JOINTS[0], 1e6, (-7.0, 0.0, 0.0, 0.0))
    assert np.isfinite(solve(chain, goal, options).joint_positions).all()
