"""FORCE arrives in few iterations, and in as many as are published for the ways it can be run."""

import numpy as np
import pytest

from blender_ik_addon.core import (
    Goals,
    SolveOptions,
    Solver,
    StepMode,
    solve_batch,
)
from tests.core.chains import unit
from tests.core.equilibrium.energies import make_forces, many
from tests.core.peer_cases import median_iterations, peer_solutions
from tests.helpers import make_rng

MOST_ITERATIONS = 20
CASES = 75
BONES = 5
# Published counts are medians of poses and targets that nobody has written down.
NEARLY = 0.2


@pytest.mark.parametrize("count", [2, 5, 20])
def test_the_rivals_targets_are_all_reached_in_a_median_of_20_iterations(count):
    solutions = peer_solutions(count, Solver.FORCE, 1e-3)
    assert all(solution.is_converged for solution in solutions)
    assert median_iterations(solutions) <= MOST_ITERATIONS


def published_cases():
    """Return a start pose and targets with which the counts of MATH C2 come out.

    Five bones, one unit long together, start on an arc of 60 degrees; targets lie in any direction,
    at distances uniform from nothing to full reach. Each joint turns about its own three axes.
    """
    angles = np.arange(BONES) * np.pi / 3 / (BONES - 1)
    steps = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1) / BONES
    rng = make_rng(7)
    targets = unit(rng.normal(size=(CASES, 3))) * rng.uniform(size=(CASES, 1))
    return np.vstack((np.zeros(3), np.cumsum(steps, axis=0))), targets


@pytest.mark.parametrize(
    ("mode", "gain", "tolerance", "published"),
    [
        (StepMode.CLASSIC, 0.2, 1e-6, 130),
        (StepMode.EXACT, 0.5, 1e-3, 29),
        (StepMode.EXACT, 0.5, 1e-6, 62),
    ],
)
def test_steps_of_a_fixed_gain_take_the_published_iterations(mode, gain, tolerance, published):
    joints, targets = published_cases()
    forces = make_forces(np.zeros(BONES), mode=mode, gain=gain)
    options = SolveOptions(solver=Solver.FORCE, tolerance=tolerance, iterations=2000)
    solutions = solve_batch(many(joints, forces, CASES), Goals(targets), options)
    assert solutions.is_converged.mean() > 0.95
    assert np.median(solutions.iterations) == pytest.approx(published, rel=NEARLY)
