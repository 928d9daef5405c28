"""Trees with bones that their parents carry but do not turn: reached as exactly as all others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import Goal, Goals, Solver, solve, solve_batch
from tests.core.solving.test_tree_aims import LEFT, RIGHT, beside, side
from tests.core.solving.test_tree_reach import EXACT, misses, targets_of
from tests.core.tree_rigs import TREES, TreeRig, heads_of, options_for, tips_of

COUNT = 20
# Inside of the spine, at the root of an arm, and within the other.
SOME = (2, 4, 9)


def unturned(name: str) -> TreeRig:
    """Return a tree of which about every third bone is not turned by its parent."""
    rig = TREES[name]()
    return replace(rig, unturned=tuple(range(2, len(rig.parents), 3)))


@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.FABRIK])
@pytest.mark.parametrize("name", TREES)
def test_they_reach_what_they_can_reach_together(name: str, solver: Solver) -> None:
    rig = unturned(name).freed()
    targets = targets_of(rig, COUNT)
    found = solve_batch(rig.trees(COUNT), Goals(targets), options_for(rig, solver=solver))
    assert misses(rig, found.local_rotations_wxyz, targets).max() < 1.01 * EXACT
    assert np.median(found.iterations) <= 10


@pytest.mark.parametrize("name", TREES)
def test_positions_are_those_of_the_rotations(name: str) -> None:
    rig = unturned(name)
    targets = targets_of(rig, 5)
    for solution in solve_batch(rig.trees(5), Goals(targets), options_for(rig)):
        heads, tips = rig.posed(solution.local_rotations_wxyz)
        assert np.abs(heads - heads_of(solution)).max() < 1e-12 * rig.length
        assert np.abs(tips - tips_of(solution)).max() < 1e-12 * rig.length


def test_each_arm_bends_to_its_own_pole() -> None:
    rig = replace(TREES["spine_with_arms"](), unturned=SOME).freed()
    rng = np.random.default_rng(31)
    used = []
    for _ in range(10):
        targets = rig.targets(rng)
        poles = beside(rig, targets, rng)
        solution = solve(rig.tree(), Goal(targets, pole_position=poles), options_for(rig))
        assert solution.is_converged.all()
        used.append(solution.iterations)
        for limb, target, pole in zip((LEFT, RIGHT), targets, poles, strict=True):
            points = heads_of(solution)[limb]
            wanted = side(np.array([points[0], pole]), target)
            assert side(points, target) @ wanted > np.cos(1e-3)
    # As many as where all bones turn: the slopes know what moves.
    assert np.median(used) <= 14
