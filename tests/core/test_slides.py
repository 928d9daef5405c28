"""Joints that let a bone move along its own axis, as on robot arms."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Goal,
    JointKind,
    Joints,
    SolveOptions,
    Solver,
    Status,
    solve,
)
from tests.helpers import make_rng

ITERATIVE = [Solver.NEWTON, Solver.FABRIK, Solver.CCD]


def robot(low: float, high: float) -> Chain:
    """Return a base that turns about Y, a shoulder, and a forearm that slides but does not turn."""
    points = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 3.0, 0.0]])
    kinds = (JointKind.HINGE_Y, JointKind.HINGE_X, JointKind.FIXED)
    joints = Joints(
        kinds=kinds,
        offsets=np.tile(np.eye(3), (3, 1, 1)),
        start_wxyz=np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)),
        low=np.full((3, 3), -2.5),
        high=np.full((3, 3), 2.5),
        mobility=np.ones((3, 3)),
        slide_low=np.array([0.0, 0.0, low]),
        slide_high=np.array([0.0, 0.0, high]),
    )
    return Chain(points, joints=joints)


def place(turn: float, bend: float, slide: float) -> np.ndarray:
    """Return where the arm's effector stands, by its own arithmetic."""
    length = 2.0 + slide
    across, along = length * np.sin(bend), 1.0 + length * np.cos(bend)
    return np.array([across * np.sin(turn), along, across * np.cos(turn)])


@pytest.mark.parametrize("solver", ITERATIVE)
def test_a_sliding_arm_reaches_what_only_its_slide_allows(solver):
    rng = make_rng(95)
    for _ in range(40):
        turn, bend = rng.uniform(-2.0, 2.0), rng.uniform(0.2, 1.8)
        slide = rng.uniform(-0.4, 0.8)
        solution = solve(
            robot(-0.5, 1.0), Goal(place(turn, bend, slide)), SolveOptions(solver, tolerance=1e-6)
        )
        assert solution.status is Status.REACHED
        assert solution.slides is not None
        # Base and shoulder alone reach no other distance from the shoulder.
        assert solution.slides[2] == pytest.approx(slide, abs=1e-5)
        assert solution.slides[:2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("slide", "end"), [(1.7, 1.0), (-0.9, -0.5)])
@pytest.mark.parametrize("solver", ITERATIVE)
def test_slides_stop_at_both_ends(solver, slide, end):
    solution = solve(
        robot(-0.5, 1.0), Goal(place(0.4, 1.1, slide)), SolveOptions(solver, tolerance=1e-6)
    )
    assert solution.slides is not None
    assert solution.slides[2] == pytest.approx(end, abs=1e-12)
    assert solution.residual == pytest.approx(abs(slide - end), abs=1e-4)
    assert solution.status is Status.LIMITED or slide > end


def test_a_slide_that_leaves_out_its_start_begins_at_the_nearer_end():
    target = robot(0.2, 0.6).joint_positions[-1] + (0.0, 0.2, 0.0)
    solution = solve(robot(0.2, 0.6), Goal(target), SolveOptions(tolerance=1e-9))
    assert solution.slides is not None
    assert solution.slides[2] == pytest.approx(0.2, abs=1e-9)
    assert solution.iterations == 0
