"""Vector algebra on many chains at once agrees with NumPy on one."""

import numpy as np
import pytest

from blender_ik_addon.core.algebra import arrays, nested, quaternions, turns
from blender_ik_addon.core.algebra.arrays import solve_positive
from tests.core.chains import unit
from tests.helpers import make_rng

ROUNDING = 1e-14
CHAINS = 7


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


@pytest.mark.parametrize("shape", [(), (2, 4)])
def test_products_and_lengths_agree_with_numpy(shape):
    rng = make_rng(1)
    a, b = stacked(rng, *shape), stacked(rng, *shape)
    assert_close(arrays.dot(a, b), np.sum(rows(a) * rows(b), axis=-1))
    assert_close(arrays.norm(a), np.linalg.norm(rows(a), axis=-1))
    assert_close(rows(arrays.cross(a, b)), np.cross(rows(a), rows(b)))


def test_unit_vectors_fall_back_where_there_is_no_direction():
    rng = make_rng(2)
    a, fallback = stacked(rng), columns(unit(rng.normal(size=(CHAINS, 3))))
    a[:, 3] = 0.0
    found = arrays.unit(a, fallback)
    assert_close(np.linalg.norm(found, axis=0), np.ones(CHAINS))
    assert_close(found[:, 3], fallback[:, 3])
    assert_close(np.cross(found[:, 0], a[:, 0]), np.zeros(3))


def test_the_part_across_an_axis_and_the_part_along_make_the_vector():
    rng = make_rng(3)
    a, axis = stacked(rng, 4), columns(unit(rng.normal(size=(CHAINS, 3))))
    across = arrays.reject(a, axis)
    assert_close(arrays.dot(across, np.broadcast_to(axis, a.shape)), np.zeros((4, CHAINS)))
    along = a - across
    assert_close(arrays.cross(along, np.broadcast_to(axis, a.shape)), np.zeros(a.shape))


def test_inverses_undo_matrices_mirrored_and_sheared_too():
    matrices = make_rng(10).normal(size=(4, 3, 3, CHAINS))
    found = np.einsum("nijb,njkb->nikb", arrays.invert(matrices), matrices)
    assert_close(found, np.tile(np.eye(3)[:, :, None], (4, 1, 1, CHAINS)), 1e-11)
    assert_close(arrays.invert(matrices[0]), arrays.invert(matrices)[0])


def test_turns_are_those_of_the_algebra():
    rng = make_rng(13)
    outer, inner = (turns.normalize(rng.normal(size=(3, 4, CHAINS))) for _ in range(2))
    product = quaternions.multiply(nested.split(outer), nested.split(inner))
    assert_close(turns.multiply(outer, inner), np.stack(product, axis=1))
    both = np.einsum("nijb,njkb->nikb", turns.to_matrices(outer), turns.to_matrices(inner))
    assert_close(turns.to_matrices(turns.multiply(outer, inner)), both)
    matrices = np.array(quaternions.to_matrix(nested.split(outer)))
    assert_close(turns.to_matrices(outer), matrices.transpose(2, 0, 1, 3))


@pytest.mark.parametrize("count", [1, 3, 4, 7])
def test_positive_systems_are_solved_as_lapack_solves_them(count):
    rng = make_rng(count)
    root = rng.normal(size=(count, count, CHAINS))
    system = np.einsum("ikb,jkb->ijb", root, root) + 0.1 * np.eye(count)[:, :, None]
    right = rng.normal(size=(count, CHAINS))
    found = solve_positive(system, right)
    assert np.abs(np.einsum("ijb,jb->ib", system, found) - right).max() <= 1e-10
