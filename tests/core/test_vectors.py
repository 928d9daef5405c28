"""Vector algebra on many chains at once agrees with NumPy on one."""

import numpy as np
import pytest

from blender_ik_addon.core import vectors
from tests.core.chains import random_direction, turned_about, unit
from tests.helpers import make_rng

ROUNDING = 1e-14
CHAINS = 7
GAPS = [10.0**-power for power in range(1, 17, 3)]


def stacked(rng, *shape):
    """Return random vectors (..., 3, CHAINS)."""
    return rng.normal(size=(*shape, 3, CHAINS))


def rows(array):
    """Return vectors (..., 3, B) as (..., B, 3)."""
    return np.moveaxis(array, -2, -1)


def columns(array):
    """Return unit vectors (B, 3) as (3, B)."""
    return np.asarray(array).T


def assert_close(actual, expected, tolerance=ROUNDING):
    assert np.shape(actual) == np.shape(expected)
    assert np.max(np.abs(actual - expected)) <= tolerance


@pytest.mark.parametrize("shape", [(), (5,), (2, 4)])
def test_products_and_lengths_agree_with_numpy(shape):
    rng = make_rng(1)
    a, b = stacked(rng, *shape), stacked(rng, *shape)
    assert_close(vectors.dot(a, b), np.sum(rows(a) * rows(b), axis=-1))
    assert_close(vectors.norm(a), np.linalg.norm(rows(a), axis=-1))
    assert_close(rows(vectors.cross(a, b)), np.cross(rows(a), rows(b)))


def test_unit_vectors_fall_back_where_there_is_no_direction():
    rng = make_rng(2)
    a, fallback = stacked(rng), columns(unit(rng.normal(size=(CHAINS, 3))))
    a[:, 3] = 0.0
    found = vectors.unit(a, fallback)
    assert_close(np.linalg.norm(found, axis=0), np.ones(CHAINS))
    assert_close(found[:, 3], fallback[:, 3])
    assert_close(np.cross(found[:, 0], a[:, 0]), np.zeros(3))


def test_the_part_across_an_axis_and_the_part_along_make_the_vector():
    rng = make_rng(3)
    a, axis = stacked(rng, 4), columns(unit(rng.normal(size=(CHAINS, 3))))
    across = vectors.across(a, axis)
    assert_close(vectors.dot(across, np.broadcast_to(axis, a.shape)), np.zeros((4, CHAINS)))
    along = a - across
    assert_close(vectors.cross(along, np.broadcast_to(axis, a.shape)), np.zeros(a.shape))


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), unit([1.0, 1.0, 1.0])])
def test_any_perpendicular_is_a_unit_vector_across(axis):
    found = vectors.any_perpendicular(axis[:, None])[:, 0]
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=ROUNDING)
    assert found @ axis == pytest.approx(0.0, abs=ROUNDING)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_swing_takes_one_direction_to_another_however_near_or_opposite(sign, gap):
    rng = make_rng(4)
    source = unit(rng.normal(size=(CHAINS, 3)))
    target = unit(sign * source + gap * rng.normal(size=(CHAINS, 3)))
    half_turn_axis = unit(np.cross(source, rng.normal(size=(CHAINS, 3))))
    matrices = vectors.swing(columns(source), columns(target), columns(half_turn_axis))
    for chain in range(CHAINS):
        matrix = matrices[..., chain]
        assert_close(matrix @ source[chain], target[chain], 1e-10)
        assert_close(matrix @ matrix.T, np.eye(3), 1e-10)
        assert np.linalg.det(matrix) == pytest.approx(1.0)


def test_a_swing_keeps_the_axis_across_both_directions():
    rng = make_rng(5)
    source, target = random_direction(rng), random_direction(rng)
    axis = unit(np.cross(source, target))
    matrix = vectors.swing(source[:, None], target[:, None], axis[:, None])[..., 0]
    assert_close(matrix @ axis, axis)


def test_a_swing_between_equal_directions_is_exactly_no_turn():
    source = columns(unit(make_rng(6).normal(size=(CHAINS, 3))))
    swing = vectors.swing(source, source, vectors.any_perpendicular(source))
    assert np.array_equal(swing, np.broadcast_to(np.eye(3)[..., None], (3, 3, CHAINS)))


def test_a_swing_between_opposite_directions_turns_half_about_the_given_axis():
    source = columns(unit(make_rng(7).normal(size=(CHAINS, 3))))
    axis = vectors.any_perpendicular(source)
    swing = vectors.swing(source, -source, axis)
    for chain in range(CHAINS):
        assert_close(swing[..., chain], turned_about(axis[:, chain], np.pi), 1e-12)


def test_turns_agree_with_rodrigues_and_compose_in_order():
    rng = make_rng(8)
    axes = columns(unit(rng.normal(size=(CHAINS, 3))))
    first, second = rng.uniform(-7.0, 7.0, (2, CHAINS))
    inner, outer = vectors.turn(axes, first), vectors.turn(axes[:, ::-1], second)
    vector = stacked(rng, 2)
    at_once = vectors.rotate(vectors.compose(outer, inner), vector)
    assert_close(at_once, vectors.rotate(outer, vectors.rotate(inner, vector)))
    for chain in range(CHAINS):
        expected = turned_about(axes[:, chain], first[chain])
        assert_close(inner[..., chain], expected)
        assert_close(vectors.rotate(inner, vector)[1, :, chain], expected @ vector[1, :, chain])


def test_smoothstep_is_the_cubic_between_its_ends():
    x = np.array([-1.0, 2.0, 2.5, 3.0, 4.0, 9.0])
    assert_close(vectors.smoothstep(x, 2.0, 4.0), np.array([0.0, 0.0, 5.0 / 32.0, 0.5, 1.0, 1.0]))


@pytest.mark.parametrize("count", [1, 2, 5, 16, 31])
def test_products_along_few_chains_are_those_along_many(count):
    few = vectors.MANY_CHAINS - 1
    matrices = make_rng(9).normal(size=(count, 3, 3, few)) / 2.0
    many = np.concatenate((matrices, matrices), axis=-1)
    expected = [matrices[0]]
    for matrix in matrices[1:]:
        expected.append(np.einsum("ijb,jkb->ikb", expected[-1], matrix))
    assert_close(vectors.products(matrices), np.array(expected), 1e-9)
    assert_close(vectors.products(many)[..., :few], np.array(expected), 1e-9)
    assert_close(vectors.products(many)[..., few:], np.array(expected), 1e-9)


def test_inverses_undo_matrices_mirrored_and_sheared_too():
    matrices = make_rng(10).normal(size=(4, 3, 3, CHAINS))
    found = np.einsum("nijb,njkb->nikb", vectors.inverses(matrices), matrices)
    assert_close(found, np.tile(np.eye(3)[:, :, None], (4, 1, 1, CHAINS)), 1e-11)
    assert_close(vectors.inverses(matrices[0]), vectors.inverses(matrices)[0])


def test_skew_matrices_multiply_as_vectors_do():
    a, b = stacked(make_rng(11), 3), stacked(make_rng(12), 3)
    found = np.einsum("nijb,njb->nib", vectors.skew(a), b)
    assert_close(found, vectors.cross(a, b))
