"""Euler angles: the six orders, and no flips along paths."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core.algebra import rotation
from tests.core.chains import turned_about
from tests.helpers import assert_positions_close, make_rng

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
ROUNDING = 1e-14
# Near gimbal lock the angles of a rounded matrix are uncertain, the rotation must not be.
SAME_ROTATION = 1e-7

angle = st.floats(-np.pi, np.pi)
angles = st.tuples(angle, angle, angle).map(np.array)


def product_of_turns(euler, order):
    """Return the matrix made of one turn after the other, first axis of the order first."""
    matrix = np.eye(3)
    for name in order:
        axis = "XYZ".index(name)
        matrix = turned_about(np.eye(3)[axis], euler[axis]) @ matrix
    return matrix


def middle_axis(order):
    return "XYZ".index(order[1])


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
def test_the_angles_are_the_nearest_of_all_that_make_the_rotation(order, seed):
    rng = make_rng(seed)
    euler, reference = rng.uniform(-np.pi, np.pi, 3), rng.uniform(-9.0, 9.0, 3)
    matrix = product_of_turns(euler, order)
    found = rotation.euler_from_matrix(matrix, order, reference)
    middle = middle_axis(order)
    other = euler + np.pi
    other[middle] = np.pi - euler[middle]
    # Reference and angles lie within two turns of zero.
    turns = 2.0 * np.pi * np.array(list(itertools.product(range(-3, 4), repeat=3)))
    candidates = np.concatenate((euler + turns, other + turns))
    least = np.min(np.sum(np.abs(candidates - reference), axis=1))
    assert np.sum(np.abs(found - reference)) == pytest.approx(least, abs=1e-9)
    kept = rotation.euler_from_matrix(matrix, order, other)
    assert_positions_close(kept, other, 1e-8)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("order", ORDERS)
def test_gimbal_lock_keeps_the_last_angle_and_the_rotation(order, side):
    rng = make_rng(1)
    for _ in range(8):
        euler, reference = rng.uniform(-np.pi, np.pi, 3), rng.uniform(-np.pi, np.pi, 3)
        euler[middle_axis(order)] = side * np.pi / 2.0
        matrix = product_of_turns(euler, order)
        found = rotation.euler_from_matrix(matrix, order, reference)
        last = "XYZ".index(order[2])
        assert found[last] == pytest.approx(reference[last], abs=1e-12)
        assert_positions_close(product_of_turns(found, order), matrix, SAME_ROTATION)


@pytest.mark.parametrize("order", ORDERS)
def test_angles_stay_beside_the_reference_through_gimbal_lock(order):
    middle = middle_axis(order)
    first, last = "XYZ".index(order[0]), "XYZ".index(order[2])
    found = np.zeros(3)
    for value in np.linspace(0.0, np.pi, 501):
        euler = np.zeros(3)
        euler[first], euler[last], euler[middle] = 0.3, -0.2, value
        before = found if value else euler
        found = rotation.euler_from_matrix(product_of_turns(euler, order), order, before)
        assert np.max(np.abs(found - before)) <= 1e-2
    assert found[middle] == pytest.approx(np.pi)
