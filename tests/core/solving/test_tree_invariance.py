"""Trees moved, mirrored or scaled as a whole are solved to what moves with them; no jumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, Goals, solve, solve_batch
from tests.core.chains import random_frame
from tests.core.tree_rigs import (
    LIMITED,
    TREES,
    TreeRig,
    heads_of,
    options_for,
    tips_of,
    tree_of,
)


def apart(rig: TreeRig, rng: np.random.Generator, share: float) -> np.ndarray:
    """Return targets (E, 3), a share of the length off what a pose reaches."""
    return rig.targets(rng) + share * rig.length * rng.normal(size=rig.tips.shape)


def free_tree(heads: np.ndarray, tips: np.ndarray, rig: TreeRig) -> Chain:
    """Return a free tree through given points."""
    return tree_of(rig.parents, heads, rig.effector_bones, tips)


def turned_by(vectors: np.ndarray) -> np.ndarray:
    """Return rotations wxyz (E, 4) about small vectors (E, 3)."""
    turns = np.column_stack((np.ones(len(vectors)), 0.5 * vectors))
    return turns / np.linalg.norm(turns, axis=1, keepdims=True)


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("scale", [0.01, 100.0, -1.0])
@pytest.mark.parametrize("name", ["Y_5_10_10", "hand", "humanoid"])
def test_a_free_tree_moves_with_its_space(name: str, scale: float, share: float) -> None:
    rig = TREES[name]().freed()
    rng = np.random.default_rng(11)
    for _ in range(2):
        targets = apart(rig, rng, share)
        frame, shift = scale * random_frame(rng), abs(scale) * rng.normal(size=3)
        plain = solve(free_tree(rig.heads, rig.tips, rig), Goal(targets), options_for(rig))
        moved = solve(
            free_tree(rig.heads @ frame.T + shift, rig.tips @ frame.T + shift, rig),
            Goal(targets @ frame.T + shift),
            replace(options_for(rig), tolerance=1e-6 * rig.length * abs(scale)),
        )
        expected = tips_of(plain) @ frame.T + shift
        size = abs(scale) * rig.length
        assert np.abs(tips_of(moved) - expected).max() < 2e-6 * size
        heads = heads_of(plain) @ frame.T + shift
        # Rounding grows on the way down a flat valley.
        assert np.abs(heads_of(moved) - heads).max() < (1e-6 if share == 0.0 else 1e-3) * size


def turned_tree(rig: TreeRig, frame: np.ndarray, scale: float, shift: np.ndarray) -> Chain:
    """Return a limited tree turned, scaled and moved as a whole."""
    joints = rig.joints()
    offsets = joints.offsets.copy()
    roots = [i for i, parent in enumerate(rig.parents) if parent < 0]
    offsets[roots] = frame @ offsets[roots]
    heads, tips = (scale * points @ frame.T + shift for points in (rig.heads, rig.tips))
    joints = replace(joints, offsets=offsets)
    return tree_of(rig.parents, heads, rig.effector_bones, tips, joints=joints)


@pytest.mark.parametrize("name", LIMITED)
def test_a_limited_tree_moves_with_its_space(name: str) -> None:
    rig = TREES[name]()
    rng = np.random.default_rng(12)
    for scale in (1.0, 0.01, 100.0):
        targets = rig.targets(rng)
        frame, shift = random_frame(rng), scale * rng.normal(size=3)
        plain = solve(rig.tree(), Goal(targets), options_for(rig))
        tree = turned_tree(rig, frame, scale, shift)
        options = replace(options_for(rig), tolerance=1e-6 * rig.length * scale)
        moved = solve(tree, Goal(scale * targets @ frame.T + shift), options)
        expected = scale * heads_of(plain) @ frame.T + shift
        assert np.abs(heads_of(moved) - expected).max() < 1e-6 * scale * rig.length
        turned = moved.local_rotations_wxyz - plain.local_rotations_wxyz
        assert np.abs(turned).max() < 1e-6


@pytest.mark.parametrize("name", ["hand", "spine_with_arms"])
def test_a_limited_tree_with_turned_tips_moves_with_its_space(name: str) -> None:
    # Turns are weighed alike in all directions, whatever axes they are told in.
    rig = TREES[name]()
    rng = np.random.default_rng(16)
    targets, frame = rig.targets(rng, 0.4), random_frame(rng)
    vectors = 0.2 * rng.normal(size=(len(targets), 3))
    options = replace(options_for(rig), iterations=12)
    plain = solve(rig.tree(), Goal(targets, tip_rotation_wxyz=turned_by(vectors)), options)
    goal = Goal(targets @ frame.T, tip_rotation_wxyz=turned_by(vectors @ frame.T))
    moved = solve(turned_tree(rig, frame, 1.0, np.zeros(3)), goal, options)
    off = np.abs(heads_of(moved) - heads_of(plain) @ frame.T).max()
    assert off < 1e-9 * rig.length


@pytest.mark.parametrize("name", ["Y_5_10_10", "hand", "humanoid"])
def test_a_small_step_of_the_targets_is_a_small_step_of_the_joints(name: str) -> None:
    rig = TREES[name]().freed()
    start, end = rig.tips, rig.targets(np.random.default_rng(14))
    targets = start + np.linspace(0.0, 1.0, 101)[:, None, None] * (end - start)
    found = solve_batch(rig.trees(len(targets)), Goals(targets), options_for(rig))
    assert found.residual.max() < 1.01e-6 * rig.length
    steps = np.abs(np.diff(heads_of(found), axis=0)).max(axis=(1, 2))
    asked = np.linalg.norm(np.diff(targets, axis=0), axis=2).max()
    assert steps.max() < 5.0 * asked


def test_a_compressed_spine_arcs_and_does_not_zigzag() -> None:
    rig = TREES["Y_5_10_10"]().freed()
    targets = rig.tips * 0.5
    solution = solve(rig.tree(), Goal(targets), options_for(rig))
    assert solution.is_converged.all()
    branch = np.array([*heads_of(solution)[5:15], tips_of(solution)[0]])
    ways = np.diff(branch, axis=0)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    bends = np.cross(ways[:-1], ways[1:])
    # All joints bend to one side.
    together = (bends[:-1] * bends[1:]).sum(axis=1)
    assert (together > -1e-3).all()
    assert np.degrees(np.arcsin(np.linalg.norm(bends, axis=1).max())) < 70.0
