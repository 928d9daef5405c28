"""Ranges of joints: clamping, and the blocking, distance and curvature of their edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import JointKind, Joints
from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.algebra.arithmetic import ARRAYS, FLOATS
from blender_ik_addon.core.algebra.quaternions import IDENTITY
from blender_ik_addon.core.descent.near_edges import EDGE_DISTANCE, NearEdges
from blender_ik_addon.core.kinematics import joint_limits, limit_edges, swing_twist
from blender_ik_addon.core.kinematics.compiled_joints import CompiledJoints, compile_joints
from blender_ik_addon.core.kinematics.joint_limits import FREE
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations as clamped
from blender_ik_addon.core.kinematics.limit_edges import ON_EDGE
from blender_ik_addon.core.kinematics.swing_twist import SwingTwistRange, clamp
from tests.core.algebra.test_algebra import rotations as tuples_of_rotations
from tests.core.limited_rigs import FREE_AXES, X, Y, Z, about, multiply, violation
from tests.helpers import angles_between, assert_rotations_close, make_rng

COUNT = 2000
# Radians: a turn this small moves a joint along the tangent plane of its edge.
STEP = 1e-5
# The share of such a step that clamping at a curved edge takes back.
CURVED = 2e-3


def make_joints(kind: JointKind, low: np.ndarray, high: np.ndarray) -> CompiledJoints:
    """Return the joints of chains with one joint of a kind, with ranges (3, B)."""
    count = low.shape[-1]
    offsets, start = np.tile(np.eye(3), (count, 1, 1, 1)), np.tile(IDENTITY, (count, 1, 1))
    ranges = (end.T[:, None] for end in (low, high))
    return compile_joints(Joints((kind,), offsets, start, *ranges), np.ones(count))


def find_near(joints: CompiledJoints, turn: np.ndarray, near: float = EDGE_DISTANCE) -> NearEdges:
    """Return the edges near turns (1, 4, B)."""
    return NearEdges(joints.rows, turn.transpose(2, 0, 1), near)


every_kind = pytest.mark.parametrize(
    "kind", [kind for kind in joint_limits.FREE if kind.name != "FIXED"]
)


@every_kind
def test_a_turn_along_a_blocked_edge_stays(kind):
    rng = make_rng(91)
    drawn = rng.normal(size=(1, 4, COUNT))
    ranges = -rng.uniform(0.1, 2.5, (3, COUNT)), rng.uniform(0.1, 2.5, (3, COUNT))
    joints, vectors = make_joints(kind, *ranges), make_rng(92).normal(size=(COUNT, 3))
    turn = joints.clamped(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
    edges = find_near(joints, turn, ON_EDGE)
    assert edges.is_near.sum() > COUNT / 5
    along = np.einsum("bij,bj->ib", edges.hold(edges.is_near)[:, 0], vectors)
    moved = turns.multiply(turns.from_vectors(STEP * along), turn[0])
    taken_back = angles_between(moved.T, joints.clamped(moved[None])[0].T)
    # Where edges block every turn of a joint, the move is only rounding.
    assert taken_back.max() <= CURVED * STEP


# The count of joints near edges, and the radians between the turns that are compared.
NEARBY, APART = 500, 1e-3


def level(ranges, turn, edge):
    """Return a measure (B,) that grows toward an edge of a swing, of an ellipse or of one axis."""
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
    """Return chains of one joint with limits except on some axes, and turns, most on an edge."""
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

    def at(vector, step):
        return level(joints.ranges, turns.multiply(turns.from_vectors(step * vector), turn), edge)

    growth = (at(normal, APART) - at(normal, -APART)) / (2.0 * APART)
    bend = (at(along, APART) + at(along, -APART) - 2.0 * at(along, 0.0)) / APART**2
    press = np.zeros(near.is_near.shape)
    press[..., edge] = 1.0
    curved = near.curve(press)[:, 0]
    actual = np.einsum("bi,bij,bj->b", along[0].T, curved, along[0].T)
    # Where two quarters of an ellipse meet, there is no second derivative.
    mask = near.is_near[:, 0, edge]
    assert mask.sum() > NEARBY / 5
    np.testing.assert_allclose(actual[mask], bend[mask] / growth[mask], rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("kind", [JointKind.ELBOW_X, JointKind.ELBOW_Z])
def test_an_elbow_turns_as_the_curvature_of_its_lock_tells(kind):
    """A point at rest but for the lock: of a bend and a twist the lock takes a part back."""
    rng, wide = make_rng(80), np.full((3, NEARBY), 2.5)
    joints, drawn = make_joints(kind, -wide, wide), 0.3 * rng.normal(size=(3, NEARBY))
    turn = joints.clamped(turns.from_vectors(drawn)[None])
    edges = find_near(joints, turn)
    way, place = np.einsum("bij,kbj->kbi", edges.free[:, 0], rng.normal(size=(2, NEARBY, 3)))
    normal = (edges.normals[:, 0] * edges.is_locked[:, 0, :, None]).sum(axis=1)
    # The torque of this pull is across the lock only.
    pull = np.cross(normal, place) + rng.normal(size=(NEARBY, 1)) * place
    borne = -(place * place).sum(axis=1)[:, None, None] * edges.is_locked

    def energy(share):
        turned = joints.clamped(turns.multiply(turns.from_vectors(share * way.T), turn[0])[None])
        back = turns.multiply(turned[0], turns.conjugate(turn[0]))
        return np.einsum("bi,ijb,bj->b", pull, turns.to_matrices(back), place)

    bend = (energy(APART) + energy(-APART) - 2.0 * energy(0.0)) / APART**2
    as_free = (pull * np.cross(way, np.cross(way, place))).sum(axis=1)
    expected = as_free + np.einsum("bi,bij,bj->b", way, edges.curve(borne)[:, 0], way)
    assert np.abs(expected - as_free).max() > 0.5
    np.testing.assert_allclose(bend, expected, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize(("free", "edge"), [([], 0), ([1], 0), ([1, 2], 0), ([0], 2)])
def test_pressed_turns_along_an_edge_end_on_it(free, edge):
    rng = make_rng(79)
    joints, turn = on_edge(rng, free)
    near = find_near(joints, turn)
    move = 0.05 * rng.normal(size=(NEARBY, 1, 3))
    normal = near.normals[:, :, edge]
    move -= normal * (normal * move).sum(axis=2, keepdims=True)
    is_active = np.zeros(near.is_near.shape, dtype=np.bool_)
    is_active[..., edge] = near.is_near[..., edge] & (near.rooms[..., edge] <= STEP)

    def find_share_inside(moves):
        turned = turns.multiply(turns.from_vectors(moves.transpose(1, 2, 0)), turn)
        rooms = find_near(joints, joints.clamped(turned), np.inf).rooms
        return np.mean(rooms[is_active] > 1e-6)

    assert is_active.sum() > NEARBY / 5
    assert find_share_inside(near.press(move, is_active)) < 0.01
    assert find_share_inside(move) > 0.2


@pytest.mark.parametrize(("free", "edge"), [([], 0), ([1], 0), ([0, 2], 1), ([1, 2], 0), ([0], 2)])
def test_a_turn_by_the_room_ends_on_the_edge(free, edge):
    joints, turn = on_edge(make_rng(80), free)
    normal = find_near(joints, turn).normals[:, 0, edge].T
    inward = make_rng(81).uniform(0.01, 0.05, NEARBY)
    inside = turns.multiply(turns.from_vectors(-inward * normal), turn)
    near = find_near(joints, inside)
    rooms = near.rooms[:, 0, edge]
    is_near = near.is_near[:, 0, edge] & (rooms > 1e-3)
    assert is_near.sum() > NEARBY / 5
    outward = np.where(is_near, rooms, 0.0) * near.normals[:, 0, edge].T
    outside = turns.multiply(turns.from_vectors(outward), inside)
    again = find_near(joints, outside).rooms[:, 0, edge]
    # The room is exact to first order; edges of narrow ranges are curved most.
    assert np.quantile(again[is_near] / rooms[is_near], 0.9) < 0.1


@every_kind
def test_one_joint_and_many_are_decomposed_in_the_same_way(kind):
    """Ranges have ends on all, some or no sides, or no width; turns are on edges and inside."""
    rng = make_rng(83)
    drawn, widths = rng.normal(size=(1, 4, NEARBY)), rng.uniform(0.0, 3.1, (2, 3, NEARBY))
    widths[rng.random(widths.shape) < 0.15] = np.inf
    widths[rng.random(widths.shape) < 0.1] = 0.0
    room = joint_limits.lock_axes(kind, -widths[0], widths[1])
    ranges = joint_limits.compile_ranges(*(end[None] for end in room))
    turn = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    arrays = swing_twist.stack_ranges(ranges)
    at = swing_twist.split_swing_twist(arrays, turn.swapaxes(0, 1))
    whole = swing_twist.join_swing_twist(at, 1)[0]
    many = limit_edges.EdgeArrays(arrays, at)
    slopes = many.find_slopes()
    for row in range(NEARBY):
        joint = swing_twist.SwingTwistRange(*(float(ends[0, row]) for ends in ranges))
        one = swing_twist.decompose(FLOATS, joint, tuple(turn[0, :, row].tolist()))
        np.testing.assert_allclose(whole[:, row], swing_twist.compose(FLOATS, one), atol=1e-12)
        edges = dict(limit_edges.list_edges(joint, one))
        assert list(edges) == np.flatnonzero(many.is_near[:, 0, row]).tolist()
        for edge, slope in edges.items() if one.cosine > 1e-3 else ():
            np.testing.assert_allclose(slopes[0, row, edge], slope, rtol=1e-9, atol=1e-12)


EDGE = st.floats(0.0, np.pi)
# Half turns and tiny turns included.
rotations = tuples_of_rotations().map(np.array)


@st.composite
def ranges(draw):
    """Return ranges as in Blender, which contain 0; some axes have none."""
    has = np.array([draw(st.booleans()) for _ in range(3)])
    low = np.array([-draw(EDGE) for _ in range(3)])
    high = np.array([draw(EDGE) for _ in range(3)])
    return np.where(has, low, -np.inf), np.where(has, high, np.inf)


def clamp_one(kind, rotation, low, high):
    return clamped((kind,), rotation[None], low[None], high[None])[0]


every_free_kind = pytest.mark.parametrize("kind", FREE)
fewer_examples = settings(max_examples=40)


@every_free_kind
@fewer_examples
@given(rotation=rotations, edges=ranges())
def test_what_is_clamped_is_inside_and_not_clamped_again(kind, rotation, edges):
    once = clamp_one(kind, rotation, *edges)
    assert abs(np.linalg.norm(once) - 1.0) < 1e-12
    # Near a swing of half a turn the twist of a float64 quaternion is less precise.
    cosine = np.hypot(once[0], once[2])
    if cosine > 1e-6:
        assert violation(kind, once, *edges) <= 1e-9
    # A twist half a turn from the middle of its range is equally near to both ends.
    ends = np.array([edges[0][Y], edges[1][Y]])
    half = 0.5 * ends.mean() if np.isfinite(ends).all() else 0.0
    beside = rotation[0] * np.cos(half) + rotation[2] * np.sin(half)
    if min(abs(rotation[0]), abs(beside), np.hypot(rotation[0], rotation[2])) >= 1e-9:
        assert_rotations_close(clamp_one(kind, -rotation, *edges), once, 1e-9)
    twice = clamp_one(kind, once, *edges)
    assert angles_between(once, twice) <= 1e-9 / max(cosine, 1e-3)


@every_free_kind
@fewer_examples
@given(shares=st.tuples(*[st.floats(-0.7, 0.7)] * 3), edges=ranges())
def test_what_is_inside_stays(kind, shares, edges):
    low, high = edges
    bound = np.where(np.array(shares) < 0.0, -np.maximum(low, -2.8), np.minimum(high, 2.8))
    x, y, z = np.where([axis in FREE_AXES[kind] for axis in range(3)], shares * bound, 0.0)
    if kind in (JointKind.BALL, JointKind.SWING):
        parts = np.sin(0.7 * np.array([x, z]) / 2.0)
        turn = np.array([np.sqrt(1.0 - parts @ parts), parts[0], 0.0, parts[1]])
    else:
        turn = multiply(about(X, x), about(Z, z))
    turn = multiply(turn, about(Y, y))
    assert_rotations_close(clamp_one(kind, turn, *edges), turn, 1e-9)


@pytest.mark.parametrize(
    ("angle", "low", "high", "edge"),
    [
        (-150.0, 0.0, 150.0, 150.0),
        (-100.0, 0.0, 150.0, 0.0),
        (256.0, 0.0, 150.0, 0.0),
        (254.0, 0.0, 150.0, 150.0),
        (170.0, -160.0, 20.0, -160.0),
        (-170.0, -30.0, 60.0, 60.0),
    ],
)
@pytest.mark.parametrize(
    ("axis", "kind"),
    [
        (X, JointKind.HINGE_X),
        (Y, JointKind.HINGE_Y),
        (Z, JointKind.HINGE_Z),
        (Y, JointKind.BALL),
        (X, JointKind.ELBOW_X),
        (Y, JointKind.ELBOW_X),
        (Z, JointKind.ELBOW_Z),
    ],
)
def test_a_turn_outside_goes_to_the_edge_that_is_nearer_on_the_circle(
    angle, low, high, edge, axis, kind
):
    least, most = np.full(3, -np.inf), np.full(3, np.inf)
    least[axis], most[axis] = np.radians((low, high))
    result = clamp_one(kind, about(axis, np.radians(angle)), least, most)
    assert_rotations_close(result, about(axis, np.radians(edge)), 1e-12)


half_axes = st.sampled_from([0.0, np.inf, 1.0]) | st.floats(0.01, 0.9)
ends = st.sampled_from([0.0, np.inf]) | st.floats(0.0, 3.0)


@st.composite
def swing_twist_ranges(draw):
    low, high = -draw(ends), draw(ends)
    middle = 0.5 * (low + high) if np.isfinite(high - low) else 0.0
    room = draw(st.tuples(*(4 * [half_axes])))
    return SwingTwistRange(0.0, 0.0, *room, low, high, middle)


@given(cases=st.lists(st.tuples(swing_twist_ranges(), rotations), min_size=4, max_size=4))
def test_clamping_gives_the_same_for_floats_and_for_arrays(cases):
    edges, turns = (np.array(each).T for each in zip(*cases, strict=True))
    together = clamp(ARRAYS, SwingTwistRange(*edges), tuple(turns))
    for row, (own, q) in enumerate(cases):
        one = clamp(FLOATS, own, tuple(q.tolist()))
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, np.array(together)[:, row], atol=1e-12)
