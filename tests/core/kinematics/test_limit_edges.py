"""The edges of ranges: which turns they block, how far they are, and how they curve."""

import numpy as np
import pytest

from blender_ik_addon.core import JointKind, Joints
from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.algebra.arithmetic import FLOATS
from blender_ik_addon.core.algebra.quaternions import IDENTITY
from blender_ik_addon.core.descent.near_edges import NEAR, NearEdges
from blender_ik_addon.core.kinematics import joint_limits, limit_edges, swing_twist
from blender_ik_addon.core.kinematics.compiled_joints import CompiledJoints, compile_joints
from blender_ik_addon.core.kinematics.limit_edges import ON_EDGE
from tests.helpers import angles_between, make_rng

COUNT = 2000
# Radians: so small a turn moves a joint along the plane of its edge.
STEP = 1e-5
# What a curved edge takes back of such a step, as a share of it.
CURVED = 2e-3


def make_joints(kind: JointKind, low: np.ndarray, high: np.ndarray) -> CompiledJoints:
    """Return one joint of a kind a chain, inside ranges (3, B)."""
    count = low.shape[-1]
    offsets, start = np.tile(np.eye(3), (count, 1, 1, 1)), np.tile(IDENTITY, (count, 1, 1))
    ranges = (end.T[:, None] for end in (low, high))
    return compile_joints(Joints((kind,), offsets, start, *ranges), np.ones(count))


def find_near(joints: CompiledJoints, turn: np.ndarray, near: float = NEAR) -> NearEdges:
    """Return the edges that turns (1, 4, B) are near to."""
    return NearEdges(joints.rows, turn.transpose(2, 0, 1), near)


every_kind = pytest.mark.parametrize(
    "kind", [kind for kind in joint_limits.FREE if kind.name != "FIXED"]
)


@every_kind
def test_a_turn_along_a_blocked_edge_stays(kind):
    rng = make_rng(91)
    drawn = rng.normal(size=(1, 4, COUNT))
    ranges = -rng.uniform(0.1, 2.5, (3, COUNT)), rng.uniform(0.1, 2.5, (3, COUNT))
    joints, some = make_joints(kind, *ranges), make_rng(92).normal(size=(COUNT, 3))
    turn = joints.clamped(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
    edges = find_near(joints, turn, ON_EDGE)
    assert edges.is_near.sum() > COUNT / 5
    along = np.einsum("bij,bj->ib", edges.hold(edges.is_near)[:, 0], some)
    moved = turns.multiply(turns.from_vectors(STEP * along), turn[0])
    taken_back = angles_between(moved.T, joints.clamped(moved[None])[0].T)
    # What leaves a whole joint nothing is rounding.
    assert taken_back.max() <= CURVED * STEP


# Joints near to edges, and the radians between the turns that are compared.
NEARBY, APART = 500, 1e-3


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


def on_edge(rng, free):
    """Return joints inside limits about all axes but some, one a chain; most on an edge."""
    low, high = -rng.uniform(0.3, 2.0, (3, NEARBY)), rng.uniform(0.3, 2.0, (3, NEARBY))
    low[free], high[free] = -np.inf, np.inf
    joints, drawn = make_joints(JointKind.BALL, low, high), rng.normal(size=(1, 4, NEARBY))
    return joints, joints.clamped(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


@pytest.mark.parametrize(("free", "edge"), [([], 0), ([1], 0), ([1, 2], 0), ([0], 2)])
def test_normals_turn_as_second_differences_of_what_an_edge_bounds(free, edge):
    rng = make_rng(77)
    joints, turn = on_edge(rng, free)
    near = find_near(joints, turn)
    normal = near.normals[:, :, edge].transpose(1, 2, 0)
    along = rng.normal(size=normal.shape)
    along -= normal * np.einsum("nib,nib->nb", along, normal)[:, None]
    along /= np.linalg.norm(along, axis=1, keepdims=True)

    def at(way, step):
        return level(joints.ranges, turns.multiply(turns.from_vectors(step * way), turn), edge)

    growth = (at(normal, APART) - at(normal, -APART)) / (2.0 * APART)
    bend = (at(along, APART) + at(along, -APART) - 2.0 * at(along, 0.0)) / APART**2
    press = np.zeros(near.is_near.shape)
    press[..., edge] = 1.0
    curved = near.bend(press)[:, 0]
    found = np.einsum("bi,bij,bj->b", along[0].T, curved, along[0].T)
    # Where one quarter of an ellipse ends and the next begins there is no second derivative.
    tells = near.is_near[:, 0, edge]
    assert tells.sum() > NEARBY / 5
    np.testing.assert_allclose(found[tells], bend[tells] / growth[tells], rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize(("free", "edge"), [([], 0), ([1], 0), ([0, 2], 1), ([1, 2], 0), ([0], 2)])
def test_a_turn_by_the_room_leads_onto_the_edge(free, edge):
    joints, turn = on_edge(make_rng(80), free)
    normal = find_near(joints, turn).normals[:, 0, edge].T
    inward = make_rng(81).uniform(0.01, 0.05, NEARBY)
    inside = turns.multiply(turns.from_vectors(-inward * normal), turn)
    near = find_near(joints, inside)
    rooms = near.rooms[:, 0, edge]
    tells = near.is_near[:, 0, edge] & (rooms > 1e-3)
    assert tells.sum() > NEARBY / 5
    outward = np.where(tells, rooms, 0.0) * near.normals[:, 0, edge].T
    outside = turns.multiply(turns.from_vectors(outward), inside)
    again = find_near(joints, outside).rooms[:, 0, edge]
    # To first order; edges of narrow ranges are curved most.
    assert np.quantile(again[tells] / rooms[tells], 0.9) < 0.1


@every_kind
def test_one_joint_and_many_are_taken_apart_alike(kind):
    """Ranges with ends on all, some and no sides, some of no width; turns on edges and inside."""
    rng = make_rng(83)
    drawn, widths = rng.normal(size=(1, 4, NEARBY)), rng.uniform(0.0, 3.1, (2, 3, NEARBY))
    widths[rng.random(widths.shape) < 0.15] = np.inf
    widths[rng.random(widths.shape) < 0.1] = 0.0
    room = joint_limits.lock_axes(kind, -widths[0], widths[1])
    ranges = joint_limits.compile_ranges(*(end[None] for end in room))
    turn = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    arrays = swing_twist.stack_ranges(ranges)
    at = swing_twist.take_apart(arrays, turn.swapaxes(0, 1))
    whole = swing_twist.put_together(at, 1)[0]
    many = limit_edges.EdgeArrays(arrays, at)
    slopes = many.find_slopes()
    for row in range(NEARBY):
        joint = swing_twist.SwingTwistRange(*(float(each[0, row]) for each in ranges))
        one = swing_twist.decompose(FLOATS, joint, tuple(turn[0, :, row].tolist()))
        np.testing.assert_allclose(whole[:, row], swing_twist.compose(FLOATS, one), atol=1e-12)
        edges = dict(limit_edges.list_edges(joint, one))
        assert list(edges) == np.flatnonzero(many.is_near[:, 0, row]).tolist()
        for edge, slope in edges.items() if one.cosine > 1e-3 else ():
            np.testing.assert_allclose(slopes[0, row, edge], slope, rtol=1e-9, atol=1e-12)
