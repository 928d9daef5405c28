"""Clamping: inside nothing changes, outside the result is inside, and it is not clamped again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra.arithmetic import ARRAYS, FLOATS
from blender_ik_addon.core.kinematics.joint_limits import FREE
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations as clamped
from blender_ik_addon.core.kinematics.swing_twist import SwingTwistRange, clamp
from tests.core.algebra.test_algebra import rotations as tuples_of_rotations
from tests.core.limited_rigs import FREE_AXES, X, Y, Z, about, multiply, violation
from tests.helpers import angles_between, assert_rotations_close

EDGE = st.floats(0.0, np.pi)
# Half turns and tiny turns among them.
rotations = tuples_of_rotations().map(np.array)


@st.composite
def ranges(draw):
    """Return edges as Blender has them, 0 among what is inside; some axes without."""
    has = np.array([draw(st.booleans()) for _ in range(3)])
    low = np.array([-draw(EDGE) for _ in range(3)])
    high = np.array([draw(EDGE) for _ in range(3)])
    return np.where(has, low, -np.inf), np.where(has, high, np.inf)


def clamp_one(kind, rotation, low, high):
    return clamped((kind,), rotation[None], low[None], high[None])[0]


every_kind = pytest.mark.parametrize("kind", FREE)
some = settings(max_examples=40)


@every_kind
@some
@given(rotation=rotations, edges=ranges())
def test_what_is_clamped_is_inside_and_not_clamped_again(kind, rotation, edges):
    once = clamp_one(kind, rotation, *edges)
    assert abs(np.linalg.norm(once) - 1.0) < 1e-12
    # Near a swing by half a turn the twist of a float64 quaternion is worth no more.
    cosine = np.hypot(once[0], once[2])
    if cosine > 1e-6:
        assert violation(kind, once, *edges) <= 1e-9
    # Half a turn from the middle of its range a twist is as near to either end.
    ends = np.array([edges[0][Y], edges[1][Y]])
    half = 0.5 * ends.mean() if np.isfinite(ends).all() else 0.0
    beside = rotation[0] * np.cos(half) + rotation[2] * np.sin(half)
    if min(abs(rotation[0]), abs(beside), np.hypot(rotation[0], rotation[2])) >= 1e-9:
        assert_rotations_close(clamp_one(kind, -rotation, *edges), once, 1e-9)
    twice = clamp_one(kind, once, *edges)
    assert angles_between(once, twice) <= 1e-9 / max(cosine, 1e-3)


@every_kind
@some
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
