"""Records keep checked copies, for one chain and for many, and give their rows."""

import dataclasses

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Chains,
    Forces,
    Goal,
    Goals,
    Topology,
    solve_batch,
)
from tests.core.limited_rigs import RIGS
from tests.helpers import make_rng


def test_records_keep_copies_that_nobody_can_change():
    joints, target, pole = np.eye(3), np.ones(3), np.zeros(3)
    chain, goal = Chain(joints, bend_direction=pole), Goal(target, pole, 0.0, np.eye(4)[0])
    many, goals = Chains(joints[None]), Goals(target[None], pole[None])
    fork = Topology((-1, 0, 0), (1, 2))
    tree = Chain(np.arange(15.0).reshape(5, 3) ** 2, topology=fork)
    joints[0], target[0], pole[0] = 9.0, 9.0, 9.0
    assert np.array_equal(chain.joint_positions, np.eye(3))
    assert np.array_equal(goal.target_position, np.ones(3))
    assert np.array_equal(goal.pole_position, np.zeros(3))
    arrays = (
        chain.joint_positions,
        chain.bend_direction,
        chain.segment_lengths,
        goal.target_position,
        goal.pole_position,
        goal.tip_rotation_wxyz,
        many.joint_positions,
        goals.target_position,
        tree.segment_lengths,
        Goal(np.ones((2, 3)), weight=[1, 2]).weight,
    )
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        goal.pole_angle = 1.0


def same(one, other):
    """Tell whether two records, or what stands in them, hold the same."""
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one) if field.compare]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    return np.array_equal(one, other)


def test_rows_of_many_are_the_records_of_one_chain():
    rig, rng, count = RIGS["arm"](), make_rng(2), 4
    bones = len(rig.chain().segment_lengths)
    forces = Forces(np.ones((count, bones)), np.ones((count, bones)))
    chains = dataclasses.replace(rig.chains(count), forces=forces)
    targets, poles = rng.normal(size=(2, count, 3))
    tips = rng.normal(size=(count, 4))
    goals = Goals(targets, poles, 0.3, tips)
    rows = np.array([2, 0])
    some, asked = chains.take(rows), goals.take(rows)
    assert isinstance(some, Chains)
    assert isinstance(asked, Goals)
    for place, row in enumerate(rows):
        assert same(some.joints.take(place), chains.joints.take(row))
        one = Goal(targets[row], poles[row], 0.3, tips[row])
        assert same(asked.take(np.array([place])), one.as_batch())
    alone = rig.chain()
    assert same(alone.as_batch(), rig.chains(1))
    solutions = solve_batch(chains, goals)
    assert same(solutions.take(rows)[1], solutions[0])
    assert isinstance(solutions[0].residual, float)
    assert isinstance(solutions[0].iterations, int)
    assert [each.status for each in solutions] == [solutions[row].status for row in range(count)]
