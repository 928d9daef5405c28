"""Edges near to joints: how far they are and how they curve, against what they bound."""

import numpy as np
import pytest

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.kinematics import joint_limits, limit_edges
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
    at = joint_limits.decompose_turns(ranges, turn)
    return limit_edges.find_edges(ranges, at, limit_edges.NEAR)


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
    edges = find_near(ranges, turn)
    normal = edges.normals[:, edge]
    along = rng.normal(size=normal.shape)
    along -= normal * np.einsum("nib,nib->nb", along, normal)[:, None]
    along /= np.linalg.norm(along, axis=1, keepdims=True)

    def at(way, step):
        return level(ranges, turns.multiply(turns.from_vectors(step * way), turn), edge)

    growth = (at(normal, STEP) - at(normal, -STEP)) / (2.0 * STEP)
    bend = (at(along, STEP) + at(along, -STEP) - 2.0 * at(along, 0.0)) / STEP**2
    curved = limit_edges.measure_curvatures(ranges, turn, edges)[:, edge]
    found = np.einsum("nib,nijb,njb->nb", along, curved, along)[0]
    # Where one quarter of an ellipse ends and the next begins there is no second derivative.
    tells = edges.is_on[0, edge] & (np.abs(curved[0]).max(axis=(0, 1)) > 0.0)
    assert tells.sum() > COUNT / 5
    np.testing.assert_allclose(found[tells], bend[tells] / growth[tells], rtol=2e-2, atol=2e-3)


def test_the_end_of_a_twist_is_flat():
    rng = make_rng(79)
    ranges, turn = on_edge(rng, [0, 2])
    edges = find_near(ranges, turn)
    normal = edges.normals[:, 1]
    along = rng.normal(size=normal.shape)
    along -= normal * np.einsum("nib,nib->nb", along, normal)[:, None]
    moved = turns.multiply(turns.from_vectors(along), turn)
    before, after = (np.arctan2(each[0, 2], each[0, 0]) for each in (turn, moved))
    np.testing.assert_allclose(np.sin(after - before), 0.0, atol=1e-12)
    assert not limit_edges.measure_curvatures(ranges, turn, edges)[:, 1].any()


def test_inside_their_ranges_joints_have_no_edge():
    ranges, _ = on_edge(make_rng(78), [])
    turn = np.zeros((1, 4, COUNT))
    turn[:, 0] = 1.0
    edges = find_near(ranges, turn)
    assert not limit_edges.measure_curvatures(ranges, turn, edges).any()


@pytest.mark.parametrize(("free", "edge"), [([], 0), ([1], 0), ([0, 2], 1), ([1, 2], 0), ([0], 2)])
def test_a_turn_by_the_room_leads_onto_the_edge(free, edge):
    ranges, turn = on_edge(make_rng(80), free)
    normal = find_near(ranges, turn).normals[:, edge]
    inward = make_rng(81).uniform(0.01, 0.05, COUNT)
    inside = turns.multiply(turns.from_vectors(-inward * normal), turn)
    edges = find_near(ranges, inside)
    rooms = limit_edges.find_rooms(ranges, inside, edges)[:, edge]
    tells = edges.is_on[0, edge] & (rooms[0] > 1e-3)
    assert tells.sum() > COUNT / 5
    outside = turns.multiply(turns.from_vectors(rooms[:, None] * edges.normals[:, edge]), inside)
    again = limit_edges.find_rooms(ranges, outside, find_near(ranges, outside))[:, edge]
    # To first order; edges of narrow ranges are curved most.
    assert np.quantile(again[0][tells] / rooms[0][tells], 0.9) < 0.1
