"""What limits hold back takes so many steps and starts, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core import Goal, SolveOptions, Solver, solve
from blender_ik_addon.core.solvers import weighted_least_squares
from blender_ik_addon.core.solving import joint_run
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from tests.core.limited_rigs import K, make_rig
from tests.helpers import make_rng

# Balls that swing and twist by little: targets to the side are out of reach of all poses.
RANGES = ((-30, 30), (-20, 20), (-30, 30))
# A pose that is the nearest is known as such after so many steps.
FEW_STEPS = 6
# Poses that a chain is solved from side by side: four that are drawn and its own, each two times,
# as a single chain always is.
MOST_STARTS = 10


def held_back(seed: int):
    """Return a chain, and a target that it cannot reach."""
    rig = make_rig([(K.BALL, RANGES)] * 4)
    way = make_rng(seed).normal(size=3)
    return rig.chain(), Goal(0.6 * rig.length * way / np.linalg.norm(way))


def test_a_pose_that_is_the_nearest_is_known_as_such_at_once():
    """In a few steps; in which few is for the last digits to say, of one pose of many."""
    needed = []
    for seed in range(20):
        chain, goal = held_back(seed)
        compiled = compile_chains(chain)
        target = (goal.target_position - chain.joint_positions[0]) / compiled.unit[0]
        asked = target[:, None], np.array([1e-9]), np.array([200])
        state, used = weighted_least_squares.compromise(
            compiled.tree, compiled.clamped_states, *asked, is_alone=True
        )
        assert 1 < used[0] < 60
        again, used = weighted_least_squares.compromise(compiled.tree, state, *asked, is_alone=True)
        needed.append(used[0])
        gaps = [np.linalg.norm(asked[0] - each[-1, :3]) for each in (state, again)]
        assert gaps[1] == pytest.approx(gaps[0], rel=1e-7)
    assert np.quantile(needed, 0.9) <= FEW_STEPS
    assert np.median(needed) <= FEW_STEPS / 2
    assert max(needed) <= 2 * FEW_STEPS


@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.FABRIK])
def test_what_is_held_back_starts_anew_from_a_few_poses(solver, monkeypatch):
    counts = []

    def compromise(tree, *args, **options):
        counts.append(tree.reach.size)
        return weighted_least_squares.compromise(tree, *args, **options)

    monkeypatch.setattr(joint_run, "compromise", compromise)
    chain, goal = held_back(1)
    solution = solve(chain, goal, SolveOptions(solver))
    assert solution.residual > 0.01
    assert max(counts) == MOST_STARTS
    assert sum(counts) <= 3 * MOST_STARTS
