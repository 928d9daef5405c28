"""One jointed chain in plain floats gives what the path for many gives."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chains,
    Goals,
    InvalidChainError,
    SolveOptions,
    Solver,
    batch_rotations,
    limited_batch,
    solve_batch,
)
from tests.core.limited_rigs import RIGS, K, make_rig, poles_beside, targets_of
from tests.helpers import make_rng

# What rounding makes of some ten iterations.
ALIKE = 1e-8


def solved(
    chains: Chains, goals: Goals, options: SolveOptions, monkeypatch: pytest.MonkeyPatch, few: int
) -> np.ndarray:
    """Return local rotations, one by one for up to so many chains."""
    monkeypatch.setattr(limited_batch, "FEW_JOINTED", few)
    local = solve_batch(chains, goals, options).local_rotations_wxyz
    assert local is not None
    return local


@pytest.mark.parametrize("solver", [Solver.NEWTON])
@pytest.mark.parametrize("has_pole", [False, True], ids=["free", "pole"])
@pytest.mark.parametrize("name", ["arm", "tail", "ten_hinges", "mixed_lengths", "bent_rest"])
def test_chains_one_by_one_turn_as_side_by_side(name, has_pole, solver, monkeypatch):
    rig, rng = RIGS[name](), make_rng(81)
    targets = targets_of(rig, 12, rng)
    goals = Goals(targets, poles_beside(targets, rig.length, rng) if has_pole else None)
    options = SolveOptions(solver, tolerance=1e-5 * rig.length)
    alone = solved(rig.chains(12), goals, options, monkeypatch, 12)
    together = solved(rig.chains(12), goals, options, monkeypatch, 0)
    apart = np.abs(np.abs(np.einsum("bnk,bnk->bn", alone, together)) - 1.0)
    assert apart.max() <= ALIKE


def test_a_start_in_the_corner_of_a_range_without_rest_turns_alike(monkeypatch):
    ranges = ((-10, 20), (5, 80))
    bones = [(K.BALL, ()), (K.SWING, ranges), (K.BALL, ((10, 60), (-90, 90), (-30, 30)))]
    rig, rng = make_rig(bones), make_rng(83)
    targets = targets_of(rig, 12, rng)
    alone = solved(rig.chains(12), Goals(targets), SolveOptions(), monkeypatch, 12)
    together = solved(rig.chains(12), Goals(targets), SolveOptions(), monkeypatch, 0)
    assert np.abs(np.abs(np.einsum("bnk,bnk->bn", alone, together)) - 1.0).max() <= ALIKE


def test_the_quick_path_is_the_one_that_is_taken(monkeypatch):
    rig = RIGS["arm"]()
    taken = []
    known = limited_batch.single_limited.solved

    def counted(*arguments: object) -> object:
        taken.append(known(*arguments))
        return taken[-1]

    monkeypatch.setattr(limited_batch.single_limited, "solved", counted)
    solve_batch(rig.chains(3), Goals(targets_of(rig, 3, make_rng(82))), SolveOptions())
    assert len(taken) == 3
    assert all(pose is not None for pose in taken)


def test_rotations_from_positions_are_refused_where_joints_turn():
    rig = RIGS["arm"]()
    chains = rig.chains(2)
    solutions = solve_batch(chains, Goals(targets_of(rig, 2, make_rng(83))))
    with pytest.raises(InvalidChainError, match="local rotations"):
        batch_rotations(chains, solutions)
