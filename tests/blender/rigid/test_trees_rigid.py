"""Trees of rigid bones come to the same pose in the spaces of root bones and of armatures."""

from __future__ import annotations

import pytest

from tests.blender.rigid import rigid_trees
from tests.blender.rigid.rigid_rigs import Limb
from tests.blender.setups import rigs

# Many trees: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow

TREES = 12


def build(copies: int, *, is_limited: bool = False, **others: object) -> list[Limb]:
    """Return the chains of trees of many kinds; the more of each, the fewer kinds."""
    solver = others.pop("solver", "NEWTON")
    limbs = []
    for seed in range(TREES // copies):
        kind = rigid_trees.tree_kind(seed, is_limited=is_limited, solver=solver)
        limbs += rigid_trees.build(kind, copies, seed, **others)
    return limbs


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("solver", ["NEWTON", "FABRIK"])
@pytest.mark.parametrize("is_limited", [False, True])
def test_any_rigid_tree_moves_in_any_space_alike(is_limited, solver, copies, monkeypatch):
    limbs = build(copies, is_limited=is_limited, solver=solver)
    rigid_trees.assert_moves_as_in_armatures(limbs, copies, monkeypatch)


@pytest.mark.parametrize("copies", [1, 3])
def test_trees_that_cannot_reach_their_targets_move_in_any_space(copies, monkeypatch):
    rigid_trees.assert_moves_as_in_armatures(build(copies, is_apart=True), copies, monkeypatch)


def test_keyed_trees_move_in_any_space(monkeypatch):
    limbs = build(2, is_keyed=True)
    rigs.go_to(5.25)
    rigid_trees.assert_moves_as_in_armatures(limbs, 2, monkeypatch)
