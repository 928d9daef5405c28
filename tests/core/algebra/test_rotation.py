"""Quaternions, matrices, axis-angle and Euler angles: laws of rotations, no flips on paths."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.algebra.quaternions import HALF_TURN_COSINE
from tests.core.chains import turned_about, unit
from tests.helpers import assert_positions_close, assert_rotations_close, make_rng

# The error of a few float64 operations on numbers of size 1.
ROUNDING = 1e-14
# These rotations place bones, and the lengths of segments are promised to 1e-9 of the length.
ACCURATE = 1e-10

component = st.floats(-1.0, 1.0)


def vectors(size):
    """Return a strategy for unit vectors, also along axes or nearly so, and with tiny parts."""
    parts = st.lists(component, min_size=size, max_size=size).map(np.array)
    return parts.filter(lambda v: np.linalg.norm(v) > 1e-3).map(unit)


directions, quaternions = vectors(3), vectors(4)


@given(directions, st.floats(-2.0 * np.pi, 2.0 * np.pi), directions)
def test_a_quaternion_is_half_the_angle_about_its_axis(axis, angle, vector):
    q = np.concatenate(([np.cos(angle / 2.0)], np.sin(angle / 2.0) * axis))
    expected = turned_about(axis, angle)
    assert_positions_close(rotation.rotate(q, vector), expected @ vector, ROUNDING)
    assert_positions_close(rotation.matrix_from_quaternion(q), expected, ROUNDING)
    axis_angle = np.concatenate(([angle], axis))
    assert_rotations_close(rotation.quaternion_from_axis_angle(axis_angle), q, ROUNDING)


@given(quaternions | st.sampled_from([*np.eye(4)]))
def test_quaternion_to_matrix_and_back_half_turns_too(q):
    matrix = rotation.matrix_from_quaternion(q)
    assert_positions_close(matrix @ matrix.T, np.eye(3), ROUNDING)
    assert np.linalg.det(matrix) == pytest.approx(1.0)
    back = rotation.quaternion_from_matrix(matrix)
    assert back[0] >= 0.0
    assert_rotations_close(back, q, ROUNDING)


@given(quaternions, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_shares_of_a_rotation_add_up(q, first, second):
    # A half turn has two shortest directions, and a fixed one is taken.
    assume(abs(q[0]) > HALF_TURN_COSINE)
    both = rotation.multiply(rotation.power(q, first), rotation.power(q, second))
    assert_rotations_close(both, rotation.power(q, first + second), 1e-9)
    assert_rotations_close(rotation.power(q, 1.0), q, ROUNDING)
    # The shortest direction.
    angles = [2.0 * np.arccos(min(1.0, abs(each[0]))) for each in (rotation.power(q, first), q)]
    assert angles[0] == pytest.approx(first * angles[1], abs=1e-7)


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), (0.6, -0.8, 0.0), (-0.6, 0.0, 0.8)])
@pytest.mark.parametrize("share", [0.3, 0.7, 1.0 / 0.7])
def test_rounding_does_not_choose_the_direction_of_a_half_turn(axis, share):
    powers = [
        rotation.power(np.array([w, *(side * np.array(axis))]), share)
        for w in (1e-7, 0.0, -0.0, -1e-7)
        for side in (1.0, -1.0)
    ]
    assert_rotations_close(np.array(powers), np.tile(powers[0], (8, 1)), 1e-6)


@given(directions, directions)
def test_the_shortest_rotation_takes_one_direction_to_the_other(source, target):
    q = rotation.between(source, target)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=ROUNDING)
    assert_positions_close(rotation.rotate(q, source), target, ACCURATE)
    # Shortest: it does not turn about the source, nor more than the angle between the two.
    assert abs(q[1:] @ source) <= ACCURATE
    angle = 2.0 * np.arctan2(np.linalg.norm(q[1:]), abs(q[0]))
    between = 2.0 * np.arctan2(np.linalg.norm(source - target), np.linalg.norm(source + target))
    assert angle == pytest.approx(between, abs=ACCURATE)


@given(quaternions, quaternions)
def test_the_nearest_quaternion_is_the_same_rotation_on_the_side_of_the_reference(q, reference):
    nearest = rotation.nearest_quaternion(q, reference)
    assert np.array_equal(nearest, q) or np.array_equal(nearest, -q)
    assert nearest @ reference >= 0.0


@given(quaternions, directions, st.floats(-9.0, 9.0))
def test_axis_angle_makes_the_same_rotation_within_half_a_turn_of_its_reference(q, axis, angle):
    reference = np.concatenate(([angle], axis))
    axis_angle = rotation.axis_angle_from_quaternion(q, reference)
    assert np.linalg.norm(axis_angle[1:]) == pytest.approx(1.0)
    assert_rotations_close(rotation.quaternion_from_axis_angle(axis_angle), q, ACCURATE)
    assert abs(axis_angle[0] - angle) <= np.pi + ACCURATE


@pytest.mark.parametrize("angle", [0.0, 1e-200, -1e-200])
@given(directions)
def test_axis_angle_from_no_turn_is_positive_so_that_no_axis_flips(angle, axis):
    reference = np.array([angle, 0.0, 1.0, 0.0])
    q = rotation.quaternion_from_axis_angle(np.concatenate(([0.7], axis)))
    row = rotation.axis_angle_from_quaternion(q, reference)
    assert row[0] == pytest.approx(0.7)
    assert_positions_close(row[1:], axis, ACCURATE)


@given(directions, st.integers(0, 1000))
def test_a_steady_turn_has_neither_jumps_of_its_angle_nor_flips_of_its_axis(axis, seed):
    rng = make_rng(seed)
    # At three frames the turn is a whole number of full turns, which have no axis.
    angles = np.linspace(-2.0 * np.pi, 2.0 * np.pi, 41)
    signs, turns = rng.choice([-1.0, 1.0], 41), rng.integers(-1, 2, 41)
    axes = np.outer(signs, axis)
    axes[::20] = [unit(rng.normal(size=3)) for _ in range(3)]
    given_rows = np.column_stack((signs * angles + 2.0 * np.pi * turns, axes))
    rows = rotation.without_axis_flips(given_rows)
    quaternions = [rotation.quaternion_from_axis_angle(row) for row in (given_rows, rows)]
    assert_rotations_close(*quaternions, ACCURATE)
    np.testing.assert_allclose(np.diff(rows[:, 0]), signs[1] * np.diff(angles), atol=ACCURATE)
    np.testing.assert_allclose(rows[:, 1:], np.outer(np.full(41, signs[1]), axis), atol=ACCURATE)


def test_frames_without_any_rotation_have_the_same_axis_and_angle():
    rows = [(2.0 * np.pi, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)]
    continuous = rotation.without_axis_flips(np.array(rows))
    np.testing.assert_array_equal(continuous, np.tile((0.0, 0.0, 1.0, 0.0), (3, 1)))


def test_no_rotation_keeps_the_axis_of_the_reference_and_no_axis_is_no_rotation():
    reference = np.array([0.0, 0.0, 0.6, 0.8])
    for q in ([1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]):
        axis_angle = rotation.axis_angle_from_quaternion(np.array(q), reference)
        assert_positions_close(axis_angle, reference, ROUNDING)
    no_axis = rotation.quaternion_from_axis_angle(np.array([1.0, 0.0, 0.0, 0.0]))
    assert np.array_equal(no_axis, np.eye(4)[0])


ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
# Near gimbal lock the angles of a rounded matrix are uncertain; their rotation must not be.
SAME_ROTATION = 1e-7

angle = st.floats(-np.pi, np.pi)
angles = st.tuples(angle, angle, angle).map(np.array)


def product_of_turns(euler, order):
    """Return the matrix of turns one after the other, in the order of the axes."""
    matrix = np.eye(3)
    for name in order:
        axis = "XYZ".index(name)
        matrix = turned_about(np.eye(3)[axis], euler[axis]) @ matrix
    return matrix


@pytest.mark.parametrize("order", ORDERS)
@settings(max_examples=30)
@given(euler=angles, reference=angles)
def test_each_order_is_the_product_of_its_turns_and_its_angles_make_the_matrix(
    order, euler, reference
):
    matrix = product_of_turns(euler, order)
    assert_positions_close(rotation.matrix_from_euler(euler, order), matrix, ROUNDING)
    found = rotation.euler_from_matrix(matrix, order, 3.0 * reference)
    assert_positions_close(product_of_turns(found, order), matrix, SAME_ROTATION)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_the_angles_are_the_nearest_of_all_that_give_the_rotation(order, seed):
    rng = make_rng(seed)
    euler, reference = rng.uniform(-np.pi, np.pi, 3), rng.uniform(-9.0, 9.0, 3)
    matrix = product_of_turns(euler, order)
    nearest = rotation.euler_from_matrix(matrix, order, reference)
    middle = "XYZ".index(order[1])
    other = euler + np.pi
    other[middle] = np.pi - euler[middle]
    # Reference and angles lie within two turns of zero.
    turns = 2.0 * np.pi * np.array(list(itertools.product(range(-3, 4), repeat=3)))
    candidates = np.concatenate((euler + turns, other + turns))
    least = np.min(np.sum(np.abs(candidates - reference), axis=1))
    assert np.sum(np.abs(nearest - reference)) == pytest.approx(least, abs=1e-9)
    unchanged = rotation.euler_from_matrix(matrix, order, other)
    assert_positions_close(unchanged, other, 1e-8)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("order", ORDERS)
def test_gimbal_lock_keeps_the_last_angle_and_the_rotation(order, side):
    rng = make_rng(1)
    for _ in range(8):
        euler, reference = rng.uniform(-np.pi, np.pi, 3), rng.uniform(-np.pi, np.pi, 3)
        euler["XYZ".index(order[1])] = side * np.pi / 2.0
        matrix = product_of_turns(euler, order)
        result = rotation.euler_from_matrix(matrix, order, reference)
        last = "XYZ".index(order[2])
        assert result[last] == pytest.approx(reference[last], abs=1e-12)
        assert_positions_close(product_of_turns(result, order), matrix, SAME_ROTATION)


@pytest.mark.parametrize("order", ORDERS)
def test_angles_stay_near_the_reference_through_gimbal_lock(order):
    first, middle, last = map("XYZ".index, order)
    result = np.zeros(3)
    for value in np.linspace(0.0, np.pi, 501):
        euler = np.zeros(3)
        euler[first], euler[last], euler[middle] = 0.3, -0.2, value
        before = result if value else euler
        result = rotation.euler_from_matrix(product_of_turns(euler, order), order, before)
        assert np.max(np.abs(result - before)) <= 1e-2
    assert result[middle] == pytest.approx(np.pi)
