"""Edges near to joints: how far they are and how they curve, against what they bound."""

import numpy as np
import pytest

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.algebra.arithmetic import ARRAYS
from blender_ik_addon.core.kinematics import joint_limits, limit_edges
from blender_ik_addon.core.solvers.near_edges import NEAR, bend_edges
from tests.helpers import make_rng

COUNT = 500
# Radians between the turns that are compared.
STEP = 1e-3


def level(ranges, turn, edge):
    """Return what grows toward an edge of a swing: of an ellipse, or of one axis, shape (B,)."""
    w, x, y, z = turn[0]
    c = np.hypot(w, y)
    swing = np.stack(((x * w + z * y) / c, (z * w - x * y) / c))
    above = np.concatenate((ranges.above_x, ranges.above_z))
    if np.isfinite(above).all():
        below = np.concatenate((ranges.below_x, ranges.below_z))
        half = np.where(swing >= 0.0, above, below)
        return np.linalg.norm(swing / half, axis=0)
    return np.abs(swing[edge // 2])


def find_near(ranges, turn):
    """Return turns taken apart, the edges that they are near to, and what is left to these."""
    at = joint_limits.decompose_turns(ranges, turn)
    edges = limit_edges.find_edges(ranges, at, NEAR)
    return at, edges, limit_edges.list_edges(ARRAYS, ranges, at, NEAR)


def find_rooms(at, edges, listed, edge):
    """Return by how many radians turns may go along a normal, shape (B,)."""
    rate = np.linalg.norm(listed.find_slopes(ARRAYS, at)[edge], axis=0)
    return np.maximum(np.where(edges.is_on[0, edge], listed.left[edge][0], 0.0) / rate[0], 0.0)


def on_edge(rng, free):
    """Return joints inside limits about all axes but some, one a chain; most on an edge."""
    low, high = -rng.uniform(0.3, 2.0, (3, COUNT)), rng.uniform(0.3, 2.0, (3, COUNT))
    low[free], high[free] = -np.inf, np.inf
    room = joint_limits.lock_axes(JointKind.BALL, low, high)
    ranges = joint_limits.compile_ranges(*(end[None] for end in room))
    drawn = rng.normal(size=(1, 4, COUNT))
    turn = joint_limits.clamp_turns(ranges, drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
    return ranges, turn


@pytest.mark.parametrize(("free", "edge"), [([], 0), ([1], 0), ([1, 2], 0), ([0], 2)])
def test_normals_turn_as_second_differences_of_what_an_edge_bounds(free, edge):
    rng = make_rng(77)
    ranges, turn = on_edge(rng, free)
    parts, edges, listed = find_near(ranges, turn)
    normal = edges.normals[:, edge]
    along = rng.normal(size=normal.shape)
    along -= normal * np.einsum("nib,nib->nb", along, normal)[:, None]
    along /= np.linalg.norm(along, axis=1, keepdims=True)

    def at(way, step):
        return level(ranges, turns.multiply(turns.from_vectors(step * way), turn), edge)

    growth = (at(normal, STEP) - at(normal, -STEP)) / (2.0 * STEP)
    bend = (at(along, STEP) + at(along, -STEP) - 2.0 * at(along, 0.0)) / STEP**2
    rate = np.linalg.norm(listed.find_slopes(ARRAYS, parts)[edge], axis=0)[0]
    curved = bend_edges(parts, listed)[0, :, edge // 2] / rate[:, None, None]
    found = np.einsum("bi,bij,bj->b", along[0].T, curved, along[0].T)
    # Where one quarter of an ellipse ends and the next begins there is no second derivative.
    tells = edges.is_on[0, edge]
    assert tells.sum() > COUNT / 5
    np.testing.assert_allclose(found[tells], bend[tells] / growth[tells], rtol=2e-2, atol=2e-3)


def test_the_end_of_a_twist_is_flat():
    rng = make_rng(79)
    ranges, turn = on_edge(rng, [0, 2])
    edges = find_near(ranges, turn)[1]
    normal, tells = edges.normals[:, 1], edges.is_on[0, 1]
    along = rng.normal(size=normal.shape)
    along -= normal * np.einsum("nib,nib->nb", along, normal)[:, None]
    moved = turns.multiply(turns.from_vectors(along), turn)
    before, after = (np.arctan2(each[0, 2], each[0, 0]) for each in (turn, moved))
    assert tells.sum() > COUNT / 5
    np.testing.assert_allclose(np.sin(after - before)[tells], 0.0, atol=1e-12)


def test_inside_their_ranges_joints_are_near_no_edge():
    ranges, _ = on_edge(make_rng(78), [])
    turn = np.zeros((1, 4, COUNT))
    turn[:, 0] = 1.0
    assert not find_near(ranges, turn)[1].is_on.any()


@pytest.mark.parametrize(("free", "edge"), [([], 0), ([1], 0), ([0, 2], 1), ([1, 2], 0), ([0], 2)])
def test_a_turn_by_the_room_leads_onto_the_edge(free, edge):
    ranges, turn = on_edge(make_rng(80), free)
    normal = find_near(ranges, turn)[1].normals[:, edge]
    inward = make_rng(81).uniform(0.01, 0.05, COUNT)
    inside = turns.multiply(turns.from_vectors(-inward * normal), turn)
    at, edges, listed = find_near(ranges, inside)
    rooms = find_rooms(at, edges, listed, edge)
    tells = edges.is_on[0, edge] & (rooms > 1e-3)
    assert tells.sum() > COUNT / 5
    outside = turns.multiply(turns.from_vectors(rooms * edges.normals[:, edge]), inside)
    again = find_rooms(*find_near(ranges, outside), edge)
    # To first order; edges of narrow ranges are curved most.
    assert np.quantile(again[tells] / rooms[tells], 0.9) < 0.1
