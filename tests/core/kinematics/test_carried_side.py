"""The carried side of a limb: as in the rest pose at rest, and smooth elsewhere."""

import math

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from blender_ik_addon.core.algebra import quaternions
from blender_ik_addon.core.algebra.arithmetic import FLOATS
from blender_ik_addon.core.algebra.vectors import reject, unit
from blender_ik_addon.core.kinematics.bend_plane import carry_side
from tests.core.algebra.test_algebra import directions, rotations

fewer_examples = settings(max_examples=40)
NOT_TURNED = (1.0, 0.0, 0.0, 0.0)
leans = st.floats(-1.2, 1.2)
shares = st.floats(0.0, 1.0)


@st.composite
def rests(draw):
    """Return chord and side of a limb at rest, and direction and angle of its lean."""
    chord, *others = (draw(directions()) for _ in range(3))
    side, across = (reject(other, chord) for other in others)
    assume(min(np.linalg.norm(vector) for vector in (side, across)) > 0.1)
    side, across = (unit(FLOATS, vector, vector) for vector in (side, across))
    return chord, side, (across, draw(leans))


def angle(first, second):
    return 2.0 * math.asin(min(1.0, float(np.linalg.norm(np.subtract(first, second))) / 2.0))


def seat_of(rest):
    """Return the direction from which sides are carried."""
    chord, _, (across, lean) = rest
    return np.array(chord) * math.cos(lean) + np.array(across) * math.sin(lean)


@fewer_examples
@given(rest=rests(), other=directions(), turns=st.tuples(*2 * [st.floats(0.01, 3.0)]))
def test_along_a_circle_through_its_seat_the_side_keeps_its_angle_to_the_circle(rest, other, turns):
    seat = seat_of(rest)
    away = np.array(reject(other, tuple(seat)))
    assume(np.linalg.norm(away) > 0.1)
    away /= np.linalg.norm(away)
    angles = []
    for turn in turns:
        toward = tuple(seat * math.cos(turn) + away * math.sin(turn))
        along = away * math.cos(turn) - seat * math.sin(turn)
        side = carry_side(FLOATS, *rest, toward, NOT_TURNED, 0.0)
        angles.append(math.atan2(np.dot(toward, np.cross(along, side)), np.dot(along, side)))
    assert abs(math.remainder(angles[0] - angles[1], math.tau)) < 1e-6


@fewer_examples
@given(rest=rests(), toward=directions(), turn=rotations(), share=shares, whole=rotations())
def test_a_limb_that_is_turned_as_a_whole_has_its_side_turned(rest, toward, turn, share, whole):
    chord, side, (across, lean) = rest
    assume(seat_of(rest) @ toward > -0.99)
    turned = [quaternions.rotate(whole, each) for each in (chord, side, across, toward)]
    about = quaternions.multiply(whole, quaternions.multiply(turn, quaternions.conjugate(whole)))
    there = carry_side(FLOATS, *turned[:2], (turned[2], lean), turned[3], about, share)
    alone = carry_side(FLOATS, *rest, toward, turn, share)
    np.testing.assert_allclose(there, quaternions.rotate(whole, alone), atol=1e-6)


@fewer_examples
@given(rest=rests(), toward=directions(), axis=directions(), first=rotations(), share=shares)
def test_targets_and_chords_that_move_a_little_turn_it_a_little(rest, toward, axis, first, share):
    # At least 30 degrees from where the side turns over: there it turns 7 times as fast.
    assume(seat_of(rest) @ toward > -0.86)
    step = 1e-5
    small = quaternions.about(FLOATS, axis, step)
    there = carry_side(FLOATS, *rest, toward, first, share)
    turned = carry_side(FLOATS, *rest, toward, quaternions.multiply(small, first), share)
    assert angle(there, turned) < 4.0 * step
    moved = carry_side(FLOATS, *rest, quaternions.rotate(small, toward), first, share)
    assert angle(there, moved) < 12.0 * step
