"""The edges of ranges: which way they block a turn, and which ways they leave free."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.kinematics import joint_limits, limit_edges
from blender_ik_addon.core.kinematics.swing_twist import SwingTwistRange
from tests.helpers import make_rng

COUNT = 2000
# Radians: so small a turn moves a joint along the plane of its edge.
STEP = 1e-5
# What a curved edge takes back of such a step, as a share of it.
CURVED = 2e-3


def apart(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the angles between turns (4, B)."""
    nearer = np.minimum(
        np.linalg.norm(first - second, axis=0), np.linalg.norm(first + second, axis=0)
    )
    return 2.0 * nearer


def standing(kind: JointKind) -> tuple[SwingTwistRange, np.ndarray, limit_edges.Edges, np.ndarray]:
    """Return random ranges of a kind, turns inside them, their edges, and what can turn."""
    rng = make_rng(91)
    drawn = rng.normal(size=(4, COUNT))
    low, high = -rng.uniform(0.1, 2.5, (3, COUNT)), rng.uniform(0.1, 2.5, (3, COUNT))
    ranges = joint_limits.compile_ranges(*joint_limits.lock_axes(kind, low, high))
    turn = joint_limits.clamp_turns(ranges, drawn / np.linalg.norm(drawn, axis=0))
    edges = limit_edges.find_edges(ranges, joint_limits.decompose_turns(ranges, turn))
    mobility = np.tile(np.eye(3)[:, :, None], (1, 1, COUNT))
    for edge in range(3):
        mobility = limit_edges.block_normals(mobility, edges.normals[edge], ranges.is_held[edge])
    return ranges, turn, edges, mobility


def taken_back(ranges: SwingTwistRange, turn: np.ndarray, move: np.ndarray) -> np.ndarray:
    """Return how much of a small move the ranges take back, as a share of it."""
    moved = turns.multiply(turns.from_vectors(STEP * move), turn)
    return apart(moved, joint_limits.clamp_turns(ranges, moved)) / STEP


every_kind = pytest.mark.parametrize(
    "kind", [kind for kind in joint_limits.FREE if kind.name != "FIXED"]
)


@every_kind
def test_a_turn_out_of_an_edge_is_taken_back(kind):
    ranges, turn, edges, mobility = standing(kind)
    for edge in range(3):
        alone = edges.is_on[edge] & ~ranges.is_held[edge]
        move = np.einsum("ijb,jb->ib", mobility, edges.normals[edge])
        out = alone & (np.linalg.norm(move, axis=0) > 0.1)
        assert (taken_back(ranges, turn, move)[out] > 0.01).all()


@every_kind
def test_a_turn_along_a_blocked_edge_stays(kind):
    ranges, turn, edges, mobility = standing(kind)
    blocked, some = mobility, make_rng(92).normal(size=(3, COUNT))
    for edge in range(3):
        is_on = edges.is_on[edge] & ~ranges.is_held[edge]
        blocked = limit_edges.block_normals(blocked, edges.normals[edge], is_on)
    along = np.einsum("ijb,jb->ib", blocked, some)
    # What leaves a whole joint nothing is rounding.
    assert taken_back(ranges, turn, along).max() <= CURVED


@every_kind
def test_edges_are_where_turns_have_been_stopped(kind):
    ranges, turn, edges, _ = standing(kind)
    # Of two thousand random turns, as many as a hinge within 0.1 to 2.5 radians stops.
    assert (edges.is_on & ~ranges.is_held).any(axis=0).mean() > 0.3
    at = joint_limits.decompose_turns(ranges, turn)
    x, z = 0.5 * at.swing_x, 0.5 * at.swing_z
    cosine = np.sqrt(1.0 - x * x - z * z)
    inner = at._replace(swing_x=x, swing_z=z, cosine=cosine, twist=0.5 * at.twist)
    inside = limit_edges.find_edges(
        ranges, joint_limits.decompose_turns(ranges, joint_limits.compose_turns(inner))
    )
    assert not (inside.is_on & ~ranges.is_held).any()


def test_a_range_that_begins_at_rest_has_an_edge_there():
    low, high = np.zeros((3, 1)), np.array([[1.0], [0.0], [0.0]])
    ranges = joint_limits.compile_ranges(low, high)
    rest = np.array([[1.0], [0.0], [0.0], [0.0]])
    edges = limit_edges.find_edges(ranges, joint_limits.decompose_turns(ranges, rest))
    assert edges.is_on[0, 0]
    np.testing.assert_allclose(edges.normals[0, :, 0], [-1.0, 0.0, 0.0], atol=1e-15)


def test_stiffness_is_told_about_the_axes_of_the_posed_bone() -> None:
    weights = np.array([[0.1], [0.5], [1.0]])
    turn = turns.from_vectors(make_rng(94).normal(size=(3, 1)))
    mobility = limit_edges.weigh_axes(turn, weights)[..., 0]
    for axis, weight in zip(turns.to_matrices(turn)[..., 0].T, weights[:, 0], strict=True):
        np.testing.assert_allclose(mobility @ axis, weight * axis, atol=1e-12)


def test_an_edge_is_let_go_when_nothing_presses_on_it_any_more() -> None:
    normals, is_on = np.zeros((1, 3, 3, 2)), np.zeros((1, 3, 2), dtype=np.bool_)
    normals[0, 0, 0], is_on[0, 0] = 1.0, True
    edges = limit_edges.Edges(normals, is_on)
    pull = np.array([[[1.0, -1.0], [0.0, 0.0], [0.0, 0.0]]])
    assert edges.find_pressed(is_on, pull, np.zeros_like(pull))[0, 0].tolist() == [True, False]
    free = np.zeros_like(is_on)
    assert edges.find_pressed(free, pull, pull)[0, 0].tolist() == [True, False]
