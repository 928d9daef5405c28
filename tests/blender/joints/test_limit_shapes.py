"""Drawn boundaries of joints: a little farther out is clamped back, a little farther in stays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations
from blender_ik_addon.rig.shapes.limit_shapes import find_shape
from tests.core.limited_rigs import FREE_AXES, X, Y, Z, about, multiply
from tests.helpers import assert_rotations_close

AXIS_Y, AXIS_Z = np.eye(3)[1:]
# Pushes, in sines or radians, and what rounding leaves of 1.
PUSH, ROUNDING = 1e-5, 1e-9
# Nearer to half a turn than this cosine, half a turn is the boundary, not a range.
HALF_TURN = 1e-3
BENDS = {
    JointKind.HINGE_X: X,
    JointKind.HINGE_Z: Z,
    JointKind.ELBOW_X: X,
    JointKind.ELBOW_Z: Z,
}
SWINGS = (JointKind.BALL, JointKind.SWING)
TWISTS = tuple(kind for kind, axes in FREE_AXES.items() if Y in axes)
ANGLES = np.arange(8) * math.pi / 4.0
WAYS = np.column_stack((np.cos(ANGLES), np.sin(ANGLES)))

few = settings(max_examples=40)
size = st.sampled_from([math.inf, 0.0]) | st.floats(0.1, 2.9)


@st.composite
def ranges(draw):
    """Return ranges with rest among them, one-sided, without room, away from rest, all around."""
    low, high = np.array([-draw(size) for _ in range(3)]), np.array([draw(size) for _ in range(3)])
    for axis in range(3):
        if draw(st.booleans()) and math.isfinite(low[axis]) and math.isfinite(high[axis]):
            low[axis] = draw(st.floats(-4.0, 3.0))
            high[axis] = low[axis] + draw(st.floats(0.1, 7.0))
        elif draw(st.booleans()):
            low[axis], high[axis] = draw(st.sampled_from([(-math.inf, 1.0), (-1.0, math.inf)]))
            ends = low if math.isfinite(low[axis]) else high
            ends[axis] = draw(st.floats(-4.0, 4.0))
    return low, high


def clamped(kind, turns, low, high):
    """Return turns (m, 4) or one of them clamped."""
    rows = np.atleast_2d(turns)[:, None]
    held = clamp_rotations((kind,), rows, low[None], high[None])[:, 0]
    return held if np.ndim(turns) == 2 else held[0]


def some_twist(kind, low, high):
    """Return a twist inside the range of a kind, as a turn about Y."""
    if Y not in FREE_AXES[kind]:
        return about(Y, 0.0)
    least, most = (end if math.isfinite(end) else 0.0 for end in (low[Y], high[Y]))
    inside = 0.5 * (least + most) if least <= most else max(least, most)
    return about(Y, min(max(inside, low[Y]), high[Y]))


def swing_by(sines):
    """Return the swings of sines (m, 2) about X and Z."""
    cosine = np.sqrt(np.maximum(0.0, 1.0 - (sines * sines).sum(axis=-1)))
    return np.stack((cosine, sines[..., 0], np.zeros_like(cosine), sines[..., 1]), axis=-1)


def swing_of(turns):
    """Return what turns (..., 4) do after their twists, (..., 4)."""
    twists = turns * [1.0, 0.0, 1.0, 0.0]
    return multiply(turns, rotation.conjugate(rotation.normalize(twists)))


def middle_of(low, high):
    """Return where a range of swings counts from: rest, or the end that is nearest to it."""
    ends = [min(max(0.0, low[axis]), high[axis]) for axis in (X, Z)]
    return np.sin(0.5 * np.clip(ends, -math.pi, math.pi))


@pytest.mark.parametrize("kind", SWINGS)
@few
@given(edges=ranges())
def test_a_swing_beyond_its_drawn_boundary_is_clamped_back_and_one_inside_stays(kind, edges):
    low, high = edges
    boundary = find_shape(kind, low, high).swing
    if boundary is None:
        assert np.isinf([low[X], low[Z], high[X], high[Z]]).all()
        return
    twist, middle = some_twist(kind, low, high), middle_of(low, high)
    swings = rotation.between(np.broadcast_to(AXIS_Y, boundary.shape), boundary)
    sines = swings[swings[:, 0] >= HALF_TURN][:, [1, 3]]
    for inside in (sines, middle + (1.0 - PUSH) * (sines - middle)):
        turns = multiply(swing_by(inside), twist)
        assert_rotations_close(clamped(kind, turns, low, high), turns, ROUNDING)
    moves = []
    for way in WAYS:
        outside = sines + PUSH * way
        held = swing_of(clamped(kind, multiply(swing_by(outside), twist), low, high))
        moves.append(np.linalg.norm(held[:, [1, 3]] - outside, axis=1))
    # Of eight ways one is nearly straight out, and all of that is taken back.
    assert (np.max(moves, axis=0) > 0.9 * PUSH).all()


@pytest.mark.parametrize("kind", BENDS)
@few
@given(edges=ranges())
def test_a_bend_beyond_its_drawn_arc_is_clamped_back_and_one_inside_stays(kind, edges):
    low, high = edges
    axis, twist = BENDS[kind], some_twist(kind, low, high)
    arc = find_shape(kind, low, high).bend
    assert arc.axis == axis
    check_arc(kind, arc, edges, lambda angle: multiply(about(axis, angle), twist), AXIS_Y)


@pytest.mark.parametrize("kind", TWISTS)
@few
@given(edges=ranges())
def test_a_twist_beyond_its_drawn_arc_is_clamped_back_and_one_inside_stays(kind, edges):
    low, high = edges
    arc = find_shape(kind, low, high).twist
    if arc is None:
        assert high[Y] - low[Y] >= math.tau
        return
    assert arc.axis == Y
    swing = swing_of(clamped(kind, about(Y, 0.0), low, high))
    if swing[0] < HALF_TURN:
        # There is no telling swing from twist.
        return
    check_arc(kind, arc, edges, lambda angle: multiply(swing, about(Y, angle)), AXIS_Z, swing)


def check_arc(kind, arc, edges, turn_by, carried, before=None):
    """Check that an arc shows where turns carry an axis, and ends where they are clamped."""
    low, high = edges
    directions = arc.trace()
    turns = np.array([turn_by(a) for a in np.linspace(arc.least, arc.most, len(directions))])
    assert_rotations_close(clamped(kind, turns, low, high), turns, ROUNDING)
    seen = rotation.rotate(turns, np.broadcast_to(carried, directions.shape))
    if before is not None:
        back = rotation.conjugate(np.broadcast_to(before, turns.shape))
        seen = rotation.rotate(back, seen)
    np.testing.assert_allclose(seen, directions, atol=ROUNDING)
    if not arc.has_ends:
        assert high[arc.axis] - low[arc.axis] >= math.tau
        return
    assert arc.most - arc.least < math.tau
    for end, given_end, out in ((arc.least, low, -PUSH), (arc.most, high, PUSH)):
        if math.isfinite(given_end[arc.axis]):
            back = clamped(kind, turn_by(end + out), low, high)
            assert_rotations_close(back, turn_by(end), ROUNDING)
