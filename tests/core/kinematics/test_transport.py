"""Turns carried along chains: the same as shortest swings taken one after the other."""

import numpy as np
import pytest

from blender_ik_addon.core.algebra import quaternions, rotation, vectors
from blender_ik_addon.core.algebra.arithmetic import FLOATS
from blender_ik_addon.core.kinematics.transport import carry_rotation, compile_swings
from tests.core.chains import random_direction, unit
from tests.helpers import make_rng

COUNTS = (1, 2, 15, 16, 17, 33, 100, 300)
EXACT = 1e-12
# Turns of a long chain with wide swings differ much for inputs that differ in the last digit.
# What such a change of the input makes of the reference, a result may be off as well.
LAST_DIGITS = 1e-15
SPREAD = 30.0
# In degrees.
SWINGS = {"small": (0.0, 60.0), "any": (0.0, 178.0), "wide": (120.0, 150.0)}
AXES = np.eye(3)
NORMAL = unit(np.array([0.3, -0.5, 0.7]))
LAYOUTS = ((1, 0), (4, 2), (9, 8))


def shortest(source, target, normal):
    """Return the shortest rotation between directions; half a turn goes about the normal."""
    hinge = vectors.unit(
        FLOATS, vectors.reject(normal, source), vectors.perpendicular(FLOATS, source)
    )
    return np.array(quaternions.between(FLOATS, source, target, hinge))


def one_after_the_other(first, start, wanted):
    """Return the turns of the bones of one chain by shortest rotations from bone to bone."""
    turns, carried = [], first
    for source, target in zip(start, wanted, strict=True):
        swing = shortest(rotation.rotate(carried, source), target, rotation.rotate(carried, NORMAL))
        carried = rotation.normalize(rotation.multiply(swing, carried))
        turns.append(carried)
    return np.array(turns)


def random_turn(rng):
    """Return a unit quaternion."""
    return rotation.normalize(rng.normal(size=4))


def swinging(rng, count, low, high):
    """Return turn, start and wanted directions of a chain whose bones swing by low to high degrees.

    About any axes across the bones.
    """
    first, start = random_turn(rng), unit(rng.normal(size=(count, 3)))
    carried, wanted = first, []
    for source in start:
        along = rotation.rotate(carried, source)
        aside = unit(np.cross(along, random_direction(rng)))
        angle = np.radians(rng.uniform(low, high))
        wanted.append(unit(np.cos(angle) * along + np.sin(angle) * aside))
        swing = shortest(along, wanted[-1], rotation.rotate(carried, NORMAL))
        carried = rotation.normalize(rotation.multiply(swing, carried))
    return first, start, np.array(wanted)


def unrelated(rng, count):
    """Return turn, start and wanted directions that have nothing to do with each other."""
    return random_turn(rng), *unit(rng.normal(size=(2, count, 3)))


def flat(count, degrees):
    """Return a chain along X whose bones swing on about Z, each by as much, and its turns."""
    angles = np.radians(degrees) * np.arange(1, count + 1)
    zero = np.zeros(count)
    wanted = np.column_stack((np.cos(angles), np.sin(angles), zero))
    turns = np.column_stack((np.cos(0.5 * angles), zero, zero, np.sin(0.5 * angles)))
    return (np.array([1.0, 0.0, 0.0, 0.0]), np.tile(AXES[0], (count, 1)), wanted), turns


def with_opposite_bones(rng, count, every=4):
    """Return a chain in which some bones turn over, exactly: along the axes, without rounding."""
    first, start = np.array([1.0, 0.0, 0.0, 0.0]), AXES[rng.integers(0, 3, count)]
    carried, wanted = first, []
    for i, source in enumerate(start):
        along = rotation.rotate(carried, source)
        wanted.append(-along if i % every == 0 else along)
        swing = shortest(along, wanted[-1], rotation.rotate(carried, NORMAL))
        carried = rotation.normalize(rotation.multiply(swing, carried))
    return first, start, np.array(wanted)


def side_by_side(first, start, wanted):
    """Return the turns (B, n, 4) of chains."""
    swings = compile_swings(start, np.tile(NORMAL, (len(first), 1)))
    return carry_rotation(first, swings, wanted)


def alone(problem):
    """Return the turns of one chain, a batch of one."""
    return side_by_side(*(np.array(each)[None] for each in problem))[0]


def beside_others(problem, count=5, row=2):
    """Return the turns of one chain that is solved among others."""
    others = [unrelated(make_rng(i), len(problem[1])) for i in range(count)]
    others[row] = problem
    return side_by_side(*(np.array(each) for each in zip(*others, strict=True)))[row]


WAYS = {"alone": alone, "beside others": beside_others}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def distance(turns, expected):
    """Return how far unit quaternions are from others, row by row; q and -q are the same."""
    signs = np.where(np.sum(turns * expected, axis=1) < 0.0, -1.0, 1.0)
    return np.linalg.norm(turns - signs[:, None] * expected, axis=1)


def assert_lays_bones(turns, problem):
    """Assert that turns are turns, and take start directions to the wanted ones."""
    _, start, wanted = problem
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(rotation.rotate(turns, start), wanted, rtol=0.0, atol=EXACT)


def assert_swings(turns, problem):
    """Assert that turns are those of the reference, as far as the last digits of input tell."""
    assert_lays_bones(turns, problem)
    expected = one_after_the_other(*problem)
    unsure = np.zeros(len(expected))
    for seed in range(2):
        rng, (first, start, wanted) = make_rng(seed), problem
        moved = unit(wanted + LAST_DIGITS * rng.normal(size=wanted.shape))
        unsure = np.maximum(unsure, distance(one_after_the_other(first, start, moved), expected))
    allowed = EXACT + SPREAD * np.maximum.accumulate(unsure)
    assert np.all(distance(turns, expected) <= allowed)


@ways
@pytest.mark.parametrize("count", COUNTS)
def test_small_swings_are_exact(way, count):
    for seed in range(2):
        problem = swinging(make_rng(seed), count, *SWINGS["small"])
        turns = way(problem)
        assert_lays_bones(turns, problem)
        assert np.all(distance(turns, one_after_the_other(*problem)) <= EXACT)


@ways
@pytest.mark.parametrize("count", COUNTS)
def test_directions_at_random_are_swung_to_one_after_the_other(way, count):
    for seed in range(2):
        problem = unrelated(make_rng(seed), count)
        assert_swings(way(problem), problem)


@pytest.mark.slow
@ways
@pytest.mark.parametrize("swings", ["any", "wide"])
@pytest.mark.parametrize("count", COUNTS)
def test_wide_swings_are_taken_one_after_the_other(way, count, swings):
    for seed in range(2):
        problem = swinging(make_rng(seed), count, *SWINGS[swings])
        assert_swings(way(problem), problem)


@pytest.mark.slow
@ways
@pytest.mark.parametrize("from_opposite", [1e-2, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("count", COUNTS)
def test_a_bone_that_nearly_turns_over_swings_the_short_way(way, count, from_opposite):
    rng = make_rng(count)
    first, start, wanted = swinging(rng, count, *SWINGS["small"])
    turned = int(rng.integers(count))
    before = np.vstack((first, one_after_the_other(first, start, wanted)))[turned]
    along = rotation.rotate(before, start[turned])
    aside = unit(np.cross(along, random_direction(rng)))
    wanted[turned] = unit(-along + from_opposite * aside)
    problem = first, start, wanted
    assert_swings(way(problem), problem)


@ways
@pytest.mark.parametrize("count", COUNTS)
def test_bones_that_turn_over_exactly_do_as_shortest_rotations_do(way, count):
    for seed in range(2):
        problem = with_opposite_bones(make_rng(seed), count)
        turns = way(problem)
        assert_lays_bones(turns, problem)
        assert np.all(distance(turns, one_after_the_other(*problem)) <= EXACT)


@ways
@pytest.mark.parametrize("count", COUNTS)
def test_bones_that_stay_turn_with_the_chain(way, count):
    for seed in range(2):
        rng = make_rng(seed)
        first, start = random_turn(rng), unit(rng.normal(size=(count, 3)))
        problem = first, start, rotation.rotate(first, start)
        turns = way(problem)
        assert_lays_bones(turns, problem)
        assert np.all(distance(turns, np.tile(first, (count, 1))) <= EXACT)
        same = rotation.normalize(np.array([1.0, 0.0, 0.0, 0.0])), start, start
        assert np.all(distance(way(same), np.tile(same[0], (count, 1))) <= EXACT)


@ways
@pytest.mark.parametrize("count", COUNTS)
def test_wide_turns_all_along_a_flat_chain_add_up(way, count):
    # The product of the cosines of their halves gets as small as numbers get, and smaller.
    for degrees in (*np.linspace(1.0, 179.0, 12), *np.linspace(144.0, 148.0, 21)):
        problem, expected = flat(count, degrees)
        turns = way(problem)
        assert_lays_bones(turns, problem)
        # Angles of hundreds of turns are known to fewer digits.
        assert np.all(distance(turns, expected) <= 1e-10)


@pytest.mark.slow
@ways
@pytest.mark.parametrize("low", [90.0, 150.0, 170.0])
@pytest.mark.parametrize("count", COUNTS)
def test_wide_turns_about_any_axes_lay_the_bones(way, count, low):
    for seed in range(3):
        problem = swinging(make_rng(seed), count, low, 178.0)
        assert_lays_bones(way(problem), problem)


@pytest.mark.slow
@pytest.mark.parametrize(("chains", "row"), LAYOUTS)
@pytest.mark.parametrize("count", COUNTS)
def test_a_chain_does_not_notice_those_beside_it(count, chains, row):
    hard = [
        swinging(make_rng(1), count, *SWINGS["small"]),
        with_opposite_bones(make_rng(2), count),
        swinging(make_rng(3), count, *SWINGS["any"]),
    ]
    for problem in hard:
        assert_swings(beside_others(problem, chains, row), problem)


def test_no_chains_have_no_turns():
    none = side_by_side(np.empty((0, 4)), np.empty((0, 3, 3)), np.empty((0, 3, 3)))
    assert none.shape == (0, 3, 4)


def test_nothing_that_is_given_is_changed():
    for count in (3, 40):
        problem = unrelated(make_rng(count), count)
        before = [array.copy() for array in problem]
        alone(problem)
        beside_others(problem)
        for array, copy in zip(problem, before, strict=True):
            np.testing.assert_array_equal(array, copy)
