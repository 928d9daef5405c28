"""The loop of the iterative solvers: who is computed on, who stays, and that it ends."""

import dataclasses

import numpy as np
import pytest

from blender_ik_addon.core.algebra.arithmetic import ARRAYS
from blender_ik_addon.core.solvers.newton_directions import find_gap
from blender_ik_addon.core.solving.free_chains import NEWTON
from blender_ik_addon.core.solving.iteration import (
    Progress,
    Work,
    iterate,
    iterate_states,
    judge_by_rate,
)
from tests.helpers import make_rng

CHAINS, BONES = 40, 6


def problem(seed=0):
    """Return chains a little bent, and targets at all distances."""
    rng = make_rng(seed)
    lengths = np.ones((BONES, CHAINS)) / BONES
    angles = np.cumsum(rng.uniform(0.1, 0.4, (BONES, CHAINS)), axis=0)
    flat = np.zeros_like(angles)
    steps = lengths[:, None] * np.stack((np.cos(angles), np.sin(angles), flat), axis=1)
    points = np.concatenate((np.zeros((1, 3, CHAINS)), np.cumsum(steps, axis=0)))
    target = rng.uniform(0.1, 0.95, CHAINS) * np.stack(
        (np.cos(angles[0]), np.sin(angles[0]), flat[0]), axis=0
    )
    tolerance = 10.0 ** rng.uniform(-9.0, -2.0, CHAINS)
    return points, Work(lengths, target, tolerance, rng.integers(1, 12, CHAINS))


def solve(method, work, points):
    """Return the segments that NEWTON on directions finds, and the iterations used."""
    lengths, segments, target = work.chain, np.diff(points, axis=0), tuple(work.target)
    squares = lengths * lengths
    ones = np.ones_like(lengths)
    chain = lengths, squares, squares.sum(axis=0), lengths.sum(axis=0), ones
    gap = find_gap(ARRAYS, ones, segments, target)
    state, used = (segments, np.full_like(gap[1], 1e-4), *gap), np.zeros_like(work.caps)
    work = Work(chain, target, work.tolerance, work.caps)
    found = iterate(ARRAYS, method, work, Progress(state, state, gap[1], used))
    return found.best[0], found.used


@pytest.mark.parametrize("compaction", [0.0, 0.3, 0.9])
def test_chains_come_out_as_alone_whoever_is_computed_beside_them(compaction):
    points, work = problem()
    method = dataclasses.replace(NEWTON, compaction=compaction)
    found, used = solve(method, work, points)
    assert len(np.unique(used)) > 3
    for i in range(CHAINS):
        row = np.array([i])
        alone = solve(method, work.take(row), points[..., row])
        assert used[i] == alone[1][0]
        np.testing.assert_allclose(found[..., i], alone[0][..., 0], rtol=0.0, atol=1e-12)


def test_a_step_that_gives_no_number_ends_at_the_cap_with_what_was_best():
    points, work = problem()

    def step(_points, _chain, _target, carried):
        return np.full((BONES + 1, 3, carried.shape[-1]), np.nan), carried

    unused = np.zeros(CHAINS, dtype=np.int64)
    found, used = iterate_states(judge_by_rate(step), work, points, unused, np.zeros(CHAINS))
    np.testing.assert_array_equal(found, points)
    assert (used <= work.caps).all()
    assert used.max() == work.caps.max()
