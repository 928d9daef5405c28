"""The comparisons themselves: a check that cannot fail checks nothing."""

import numpy as np
import pytest

from tests.helpers import assert_positions_close, assert_rotations_close, make_rng


def test_a_rotation_equals_its_negative_quaternion():
    quaternions = make_rng(1).normal(size=(5, 4))
    assert_rotations_close(quaternions, -quaternions)


@pytest.mark.parametrize("compare", [assert_positions_close, assert_rotations_close])
@pytest.mark.parametrize("wrong", [[0.0, 0.0, 1.1, 0.0], [0.0, 0.0, np.nan, 0.0], [[0.0] * 4]])
def test_comparisons_fail_on_what_is_far_or_nan_or_of_another_shape(compare, wrong):
    compare([0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0 + 1e-7, 0.0])
    with pytest.raises(AssertionError):
        compare([0.0, 0.0, 1.0, 0.0], wrong)


def test_random_numbers_repeat():
    assert make_rng(7).random() == make_rng(7).random()
