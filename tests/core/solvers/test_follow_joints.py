"""FOLLOW with joints: ranges hold while an end is led, with the other one free or anchored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import (
    Goal,
    Goals,
    Lead,
    SolveOptions,
    Solver,
    Status,
    solve,
    solve_batch,
)
from blender_ik_addon.core.solving import compiled_chains
from tests.core.limited_rigs import RIGS
from tests.helpers import make_rng

NAMES = ("arm", "tail", "ten_hinges", "mixed_lengths")
LEADS = [pytest.param(lead, id=lead.value) for lead in Lead]
# Rounding of a range's edge, in radians; sines of half angles tell it worst near half a turn.
HELD = 1e-6


def led_along(rig, lead, rng, *, count=8, reach=0.25, use_anchor=False):
    """Lead a chain along a random way, pose after pose; yield targets and solutions."""
    options = SolveOptions(Solver.FOLLOW, lead=lead, use_anchor=use_anchor)
    chain = rig.chain()
    led = -1 if lead is Lead.TIP else 0
    target = chain.joint_positions[led]
    for _ in range(count):
        target = target + reach * rig.length * rng.uniform(-1.0, 1.0, 3)
        solution = solve(chain, Goal(target), options)
        yield target, solution
        moved = rig.joints(solution.local_rotations_wxyz)
        chain = replace(chain, joint_positions=solution.joint_positions, joints=moved)


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("name", NAMES)
def test_the_led_end_arrives_and_joints_stay_in_their_ranges(name, lead):
    rig = RIGS[name]()
    for target, solution in led_along(rig, lead, make_rng(1)):
        joints = solution.joint_positions
        posed = rig.points(solution.local_rotations_wxyz) + joints[0]
        assert np.abs(posed - joints).max() <= 1e-9 * rig.length
        led = joints[-1 if lead is Lead.TIP else 0]
        assert np.linalg.norm(led - target) <= 1e-9 * rig.length
        assert solution.status is Status.REACHED
        # The root moves freely: its own joint has no neighbour.
        assert rig.violations(solution.local_rotations_wxyz)[1:].max() <= HELD


@pytest.mark.parametrize("name", NAMES)
def test_a_chain_with_its_root_anchored_is_dragged_both_ways(name):
    rig = RIGS[name]()
    root = rig.chain().joint_positions[0]
    for _, solution in led_along(rig, Lead.TIP, make_rng(3), count=6, use_anchor=True):
        assert np.linalg.norm(solution.joint_positions[0] - root) <= 1e-9 * rig.length
        assert rig.violations(solution.local_rotations_wxyz).max() <= HELD


@pytest.mark.parametrize("lead", LEADS)
def test_one_by_one_and_side_by_side_are_the_same(lead, monkeypatch):
    rig, rng = RIGS["arm"](), make_rng(5)
    targets = rig.length * rng.uniform(-1.2, 1.2, (3, 3))
    options = SolveOptions(Solver.FOLLOW, lead=lead)
    alone = [solve(rig.chain(), Goal(target), options).joint_positions for target in targets]
    assert compiled_chains.MAX_CHAINS_IN_FLOATS > 0
    monkeypatch.setattr(compiled_chains, "MAX_CHAINS_IN_FLOATS", 0)
    together = solve_batch(rig.chains(3), Goals(targets), options)
    assert np.abs(together.joint_positions - np.array(alone)).max() <= 1e-9 * rig.length


def test_a_child_that_is_held_carries_its_parent():
    rig = RIGS["tail"]()
    target = rig.chain().joint_positions[-1] + np.array([3.0 * rig.length, 0.0, 0.0])
    solution = solve(rig.chain(), Goal(target), SolveOptions(Solver.FOLLOW))
    along = np.diff(solution.joint_positions, axis=0)
    # What is pulled far enough lies along the pull, whatever its joints had to turn.
    assert (along[:, 0] > 0.0).all()
