"""A tree of one effector is a chain: both arrive, and their sweeps lead to one pose."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Goal,
    SolveOptions,
    Solver,
    Status,
    solve,
)
from blender_ik_addon.core.model.joints import free_joints
from tests.core.chains import random_direction, start_joints
from tests.core.limited_rigs import RIGS, at_rest, poles_beside, targets_of
from tests.core.tree_rigs import heads_of, tree_of

NAMES = ("arm", "tail", "finger", "spider_leg", "offset_bones", "mixed_lengths", "bent_rest")


def as_tree(chain: Chain, count: int) -> Chain:
    """Return a chain as a tree."""
    joints = chain.joint_positions
    return tree_of(np.arange(count) - 1, joints[:-1], [count - 1], joints[-1:], joints=chain.joints)


@pytest.mark.parametrize("name", NAMES)
def test_sweeps_lead_a_tree_of_one_effector_to_the_pose_of_the_chain(name: str) -> None:
    rig = RIGS[name]()
    chain, count = rig.chain(), len(rig.kinds)
    tree = as_tree(chain, count)
    options = SolveOptions(solver=Solver.FABRIK, tolerance=1e-9 * rig.length)
    same = 0
    for target in targets_of(rig, 10, np.random.default_rng(4)):
        one = solve(chain, Goal(target), options)
        other = solve(tree, Goal(target[None]), options)
        assert other.is_converged.all()
        off = np.abs(one.joint_positions[:-1] - heads_of(other)).max()
        same += off < 1e-4 * rig.length
    # Chains that start anew do so at other times.
    assert same >= 9


@pytest.mark.parametrize("name", NAMES)
def test_newton_brings_a_tree_of_one_effector_wherever_it_brings_the_chain(name: str) -> None:
    # To another pose: trees turn from their start pose, chains from the bend of a free one.
    rig = RIGS[name]()
    tree = as_tree(rig.chain(), len(rig.kinds))
    for target in targets_of(rig, 10, np.random.default_rng(4)):
        found = solve(tree, Goal(target[None]), SolveOptions(tolerance=1e-9 * rig.length))
        assert found.is_converged.all()
        assert rig.violations(found.local_rotations_wxyz).max() <= 1e-6


@pytest.mark.parametrize("count", [2, 3, 10])
def test_a_free_tree_is_straight_toward_a_target_too_far(count: int) -> None:
    rng = np.random.default_rng(count)
    joints = start_joints("random", np.ones(count), rng)
    tree = tree_of(np.arange(count) - 1, joints[:-1], [count - 1], joints[-1:])
    for distance in (1.0, 1.001, 1.3, 50.0):
        target = joints[0] + distance * count * random_direction(rng)
        found = solve(tree, Goal(target[None]), SolveOptions(tolerance=1e-6))
        along = (target - joints[0]) / np.linalg.norm(target - joints[0])
        straight = joints[0] + np.arange(count)[:, None] * along
        if distance > 1.0:
            assert np.abs(heads_of(found) - straight).max() < 1e-5 * count
            assert found.statuses == (Status.EXTENDED,)
        assert found.residual[0] < (distance - 1.0) * count + 1.1e-6


def test_an_effector_with_a_pole_bends_to_it_as_a_chain_does() -> None:
    rng = np.random.default_rng(8)
    for name in ("tail", "arm"):
        rig = RIGS[name]().with_mobility(np.ones(len(RIGS[name]().kinds)))
        chain = rig.chain()
        joints = free_joints(rig.offsets, at_rest(len(rig.kinds)))
        tree = tree_of(
            np.arange(len(rig.kinds)) - 1,
            chain.joint_positions[:-1],
            [len(rig.kinds) - 1],
            chain.joint_positions[-1:],
            joints=joints,
        )
        targets = targets_of(rig, 10, rng)
        for target, pole in zip(targets, poles_beside(targets, rig.length, rng), strict=True):
            goals = Goal(target[None], pole_position=pole[None])
            found = solve(tree, goals, SolveOptions(tolerance=1e-6 * rig.length))
            assert found.is_converged.all()
            along = target / np.linalg.norm(target)
            inner = heads_of(found)[1:].mean(axis=0)
            side, wanted = (p - along * (along @ p) for p in (inner, pole))
            cosine = side @ wanted / np.linalg.norm(side) / np.linalg.norm(wanted)
            assert cosine > np.cos(1e-3)
