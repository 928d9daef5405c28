"""Formulas of the algebra: equal results for floats and arrays, and laws."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core.algebra import angles, arrays, matrices, quaternions, turns, vectors
from blender_ik_addon.core.algebra.arithmetic import ARRAYS, FLOATS
from tests.helpers import make_rng

# Zero, rounding errors, ordinary numbers; tiny and large numbers overflow nowhere.
numbers = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 1e-15, -1e-9]) | st.floats(-10.0, 10.0)
triples = st.tuples(numbers, numbers, numbers)
quadruples = st.tuples(numbers, numbers, numbers, numbers)
BATCH = 5
fewer_examples = settings(max_examples=15)


@st.composite
def directions(draw):
    x, y, z = draw(triples)
    size = math.sqrt(x * x + y * y + z * z)
    return (x / size, y / size, z / size) if size > 1e-6 else (0.0, 1.0, 0.0)


@st.composite
def rotations(draw):
    q = draw(quadruples)
    size = math.sqrt(sum(part * part for part in q))
    return tuple(part / size for part in q) if size > 1e-6 else (1.0, 0.0, 0.0, 0.0)


KINDS = {
    **dict.fromkeys(("x", "y", "by"), numbers),
    **dict.fromkeys(("angles", "v", "yes", "no"), triples),
    **dict.fromkeys(("fallback", "axis", "source", "target", "hinge"), directions()),
    **dict.fromkeys(("q", "outer", "inner", "start", "end", "reference"), rotations()),
    "axis_angle": quadruples,
    "share": st.floats(-2.0, 2.0),
    "angle": st.floats(-7.0, 7.0),
    "near": st.floats(-20.0, 20.0),
    "low": st.floats(-1.0, 0.0),
    "high": st.floats(0.5, 2.0),
    "order": st.just("YZX"),
    "condition": st.booleans(),
    "half_turn_axis": st.none(),
}
MATRIX = st.tuples(triples, triples, triples)
# The rows of a positive definite matrix, from the diagonal on.
BESIDE, DIAGONAL = st.floats(-0.5, 0.5), st.floats(2.0, 5.0)
POSITIVE = st.tuples(DIAGONAL, BESIDE, BESIDE, DIAGONAL, BESIDE, DIAGONAL)
OWN = {
    "matrices": {
        "a": MATRIX,
        "outer": MATRIX,
        "inner": MATRIX,
        "system": POSITIVE,
        "lower": POSITIVE.map(lambda n: ((n[0],), (n[1], n[3]), (n[2], n[4], n[5]))),
        "right": triples,
    },
    "vectors": {"a": triples, "b": triples},
    "quaternions": {"yes": rotations(), "no": rotations(), "a": MATRIX},
}


# Rounding chooses between two equally near sets of angles; another test checks their rotations.
CHOOSES = ("to_euler", "to_axis_angle")


def formulas():
    """Return every public function of the four modules."""
    functions = []
    for module in (vectors, quaternions, matrices, angles):
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                if not name.startswith("_") and name not in CHOOSES:
                    functions.append(pytest.param(function, id=f"{module.__name__[-11:]}.{name}"))
    return functions


def stacked(rows):
    """Return rows of nested tuples of numbers as nested tuples of arrays."""
    if rows[0] is None or isinstance(rows[0], str):
        return rows[0]
    if isinstance(rows[0], tuple):
        return tuple(stacked(parts) for parts in zip(*rows, strict=True))
    return np.array(rows)


def picked(nested, row):
    """Return one row of nested tuples of arrays."""
    if isinstance(nested, tuple):
        return tuple(picked(part, row) for part in nested)
    return nested[row] if isinstance(nested, np.ndarray) and nested.ndim else nested


def sizes(*nested):
    return np.ravel(np.array(nested, dtype=float))


@pytest.mark.parametrize("formula", formulas())
@fewer_examples
@given(data=st.data())
def test_a_formula_gives_the_same_for_floats_and_for_arrays(formula, data):
    own = OWN.get(formula.__module__.rsplit(".", 1)[-1], {})
    names = [name for name in inspect.signature(formula).parameters if name != "m"]
    rows = [
        tuple(data.draw(own.get(name, KINDS.get(name)), label=name) for name in names)
        for _ in range(BATCH)
    ]
    has_m = "m" in inspect.signature(formula).parameters
    together = formula(*([ARRAYS] if has_m else []), *stacked(rows))
    for row, arguments in enumerate(rows):
        alone = formula(*([FLOATS] if has_m else []), *arguments)
        one, other = sizes(alone), sizes(picked(together, row))
        assert np.isfinite(one).all()
        scale = max(1.0, np.abs(one).max())
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12 * scale)


# Sums over the bones of a chain: tests of chains alone and in batches compare these.
SUMS = {"total", "project", "square", "place"}


@pytest.mark.parametrize(
    "name", sorted({name for name in vars(type(FLOATS)) if not name.startswith("_")} - SUMS)
)
@fewer_examples
@given(data=st.data())
def test_both_arithmetics_agree_where_floats_would_raise(name, data):
    any_number = numbers | st.sampled_from([1e300, -1e300, 5e-324])
    condition = st.booleans()
    pair = st.tuples(any_number, any_number)
    takes = {
        "choose": (condition, pair, pair),
        "where": (condition, any_number, any_number),
        "negate": (condition,),
        "all": (condition,),
        "any": (condition,),
    }
    function = getattr(FLOATS, name)
    if name in ("sin", "cos", "exp", "length"):
        any_number = st.floats(-900.0, 900.0)
    count = {"length": 3, "divide": 2, "atan2": 2, "minimum": 2, "maximum": 2}.get(name, 1)
    kinds = takes.get(name, (any_number,) * count)
    arguments = [data.draw(kind) for kind in kinds]
    if name == "divide" and arguments[1] and abs(arguments[1]) < 1e-200:
        arguments[1] = 0.0
    alone = function(*arguments)
    together = getattr(ARRAYS, name)(*(stacked([each]) for each in arguments))
    np.testing.assert_allclose(np.ravel(together), np.ravel(alone), rtol=1e-14)


@given(
    source=directions(),
    target=directions(),
    lengths=st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)),
)
def test_a_swing_meets_its_target_whatever_the_lengths(source, target, lengths):
    nothing, (size, other) = vectors.ZERO, lengths
    long = vectors.scale(source, size), vectors.scale(target, other)
    q = quaternions.normalize(FLOATS, quaternions.swing(FLOATS, *long))
    np.testing.assert_allclose(quaternions.rotate(q, source), target, atol=1e-12)
    np.testing.assert_allclose(q, quaternions.between(FLOATS, source, target), atol=1e-9)
    for pair in ((nothing, target), (source, nothing), (nothing, nothing)):
        w, *axis = quaternions.between(FLOATS, *pair)
        assert w > 0.0
        np.testing.assert_array_equal(axis, 0.0)


@given(source=directions(), tilt=st.sampled_from([0.0, 1e-15, 1e-13, 1e-9, 1e-6, 1e-3]))
def test_between_meets_what_is_opposite_or_nearly_so(source, tilt):
    x, y, z = source
    aside = vectors.perpendicular(FLOATS, source)
    opposite = vectors.add((-x, -y, -z), vectors.scale(aside, tilt))
    target = vectors.unit(FLOATS, opposite, source)
    q = quaternions.between(FLOATS, source, target, aside)
    np.testing.assert_allclose(sizes(q) @ sizes(q), 1.0, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(quaternions.rotate(q, source), target, rtol=0.0, atol=1e-15 * 4)


@given(system=POSITIVE, x=triples)
def test_a_positive_system_is_solved(system, x):
    xx, xy, xz, yy, yz, zz = system
    right = matrices.transform(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)), x)
    assert matrices.solve_positive(system, right) == pytest.approx(x, abs=1e-12)
    lower = (xx,), (xy, yy), (xz, yz, zz)
    assert matrices.solve_definite(lower, right) == pytest.approx(x, abs=1e-12)


def test_definite_systems_of_any_size_are_solved():
    rng = make_rng(15)
    for size in range(1, 8):
        root, x = rng.normal(size=(2 * size, size)), rng.normal(size=size)
        system = root.T @ root
        solved = matrices.solve_definite(system.tolist(), (system @ x).tolist())
        np.testing.assert_allclose(solved, x, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("order", angles.EULER_ORDERS)
@fewer_examples
@given(q=rotations(), reference=triples)
def test_angles_of_floats_make_their_rotation(order, q, reference):
    matrix = quaternions.to_matrix(q)
    found = angles.to_euler(FLOATS, matrix, order, reference)
    again = angles.from_euler(FLOATS, found, order)
    # Near gimbal lock the angles of a rounded matrix are uncertain.
    np.testing.assert_allclose(again, matrix, atol=1e-7)
    axis_angle = angles.to_axis_angle(FLOATS, q, (reference[0], 0.0, 0.6, 0.8))
    again = quaternions.to_matrix(angles.from_axis_angle(FLOATS, axis_angle))
    np.testing.assert_allclose(again, matrix, atol=1e-11)


def test_turns_are_read_from_matrices_of_half_turns_about_each_axis_too():
    halves = np.moveaxis(np.eye(4), -1, 0)[..., None]
    others = turns.normalize(make_rng(14).normal(size=(200, 4, 1)))
    turn = np.concatenate((halves, others)).repeat(2, axis=2)
    found = turns.from_matrices(turns.to_matrices(turn))
    sign = np.where(turn[:, :1] < 0.0, -1.0, 1.0)
    assert (found[:, 0] >= 0.0).all()
    np.testing.assert_allclose(found * sign, turn, atol=1e-14)


@pytest.mark.parametrize(
    ("many", "one"),
    [
        (turns.from_vectors, lambda v: quaternions.from_vector(FLOATS, v)),
        (turns.to_vectors, lambda q: quaternions.to_vector(FLOATS, q)),
        (turns.conjugate, quaternions.conjugate),
        (lambda v: arrays.cross(v, v[::-1]), None),
    ],
)
def test_functions_of_many_turns_agree_with_the_formulas_for_one(many, one):
    size = 4 if many in (turns.to_vectors, turns.conjugate) else 3
    drawn = make_rng(15).normal(size=(9, size, 40))
    drawn[0], drawn[1, 0] = 0.0, -1.0
    if size == 4:
        drawn[0, 0] = 1.0
        drawn = turns.normalize(drawn)
    results, others = many(drawn), drawn[::-1]
    for bone, chain in np.ndindex(9, 40):
        vector = tuple(drawn[bone, :, chain].tolist())
        other = tuple(others[bone, :, chain].tolist())
        expected = vectors.cross(vector, other) if one is None else one(vector)
        np.testing.assert_allclose(results[bone, :, chain], expected, atol=1e-14)


def test_an_inverse_undoes_a_matrix_and_is_zero_where_floats_have_none():
    a = ((0.0, 2.0, 0.5), (1.0, 0.0, 0.0), (0.0, 0.3, 1.0))
    undone = matrices.multiply(matrices.inverse(FLOATS, a), a)
    np.testing.assert_allclose(undone, matrices.IDENTITY, atol=1e-15)
    flat = ((0.0, 0.0, 1.0), (0.0, 2e-313, 0.0), (1.0, 0.0, 0.0))
    for m, matrix in ((FLOATS, flat), (ARRAYS, stacked([flat, a]))):
        assert not sizes(picked(matrices.inverse(m, matrix), 0)).any()
