"""Turns carried along chains: the same as shortest swings taken one after the other."""

import numpy as np
import pytest

from blender_ik_addon.core.algebra import quaternions, rotation, vectors
from blender_ik_addon.core.algebra.arithmetic import FLOATS
from blender_ik_addon.core.kinematics.transport import carry_rotation, compile_swings
from tests.core.chains import random_direction, unit
from tests.helpers import make_rng

COUNTS = (2, 17, 100)
EXACT = 1e-12
# Turns of a long chain with wide swings differ much for inputs that differ in the last digit.
# What such a change of the input makes of the reference, a result may be off as well.
LAST_DIGITS = 1e-15
SPREAD = 30.0
AXES = np.eye(3)
NORMAL = unit(np.array([0.3, -0.5, 0.7]))


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


def carried(*problems):
    """Return the turns (B, n, 4) of chains side by side."""
    first, start, wanted = (np.array(each) for each in zip(*problems, strict=True))
    swings = compile_swings(start, np.tile(NORMAL, (len(first), 1)))
    return carry_rotation(first, swings, wanted)


def distance(turns, expected):
    """Return how far unit quaternions are from others, row by row; q and -q are the same."""
    signs = np.where(np.sum(turns * expected, axis=1) < 0.0, -1.0, 1.0)
    return np.linalg.norm(turns - signs[:, None] * expected, axis=1)


def nearly_turned_over(rng, count):
    """Return a chain in which one bone all but turns over."""
    first, start, wanted = swinging(rng, count, 0.0, 60.0)
    turned = int(rng.integers(count))
    before = np.vstack((first, one_after_the_other(first, start, wanted)))[turned]
    along = rotation.rotate(before, start[turned])
    aside = unit(np.cross(along, random_direction(rng)))
    wanted[turned] = unit(-along + 10.0 ** -rng.integers(2, 10) * aside)
    return first, start, wanted


def assert_lays_bones(turns, problem):
    """Assert that turns are turns, and take start directions to the wanted ones."""
    _, start, wanted = problem
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(rotation.rotate(turns, start), wanted, rtol=0.0, atol=EXACT)


def find_unsure(problem, expected):
    """Return what a change of the last digits of the input makes of each turn, at most, so far."""
    unsure, (first, start, wanted) = np.zeros(len(expected)), problem
    for seed in range(2):
        moved = unit(wanted + LAST_DIGITS * make_rng(seed).normal(size=wanted.shape))
        unsure = np.maximum(unsure, distance(one_after_the_other(first, start, moved), expected))
    return np.maximum.accumulate(unsure)


PROBLEMS = {
    "any": lambda rng, count: swinging(rng, count, 0.0, 178.0),
    "wide": lambda rng, count: swinging(rng, count, 120.0, 150.0),
    "turned over": with_opposite_bones,
    "nearly turned over": nearly_turned_over,
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_bones_turn_as_by_shortest_swings_one_after_the_other(kind, count):
    problems = [PROBLEMS[kind](make_rng(100 * seed + count), count) for seed in range(2)]
    for problem, turns in zip(problems, carried(*problems), strict=True):
        expected = one_after_the_other(*problem)
        assert_lays_bones(turns, problem)
        is_sure = kind == "turned over"
        allowed = EXACT if is_sure else EXACT + SPREAD * find_unsure(problem, expected)
        assert np.all(distance(turns, expected) <= allowed)


@pytest.mark.parametrize("count", COUNTS)
def test_wide_turns_all_along_a_flat_chain_add_up(count):
    # The product of the cosines of their halves gets as small as numbers get, and smaller.
    for degrees in (*np.linspace(1.0, 179.0, 12), *np.linspace(144.0, 148.0, 21)):
        problem, expected = flat(count, degrees)
        (turns,) = carried(problem)
        assert_lays_bones(turns, problem)
        # Angles of hundreds of turns are known to fewer digits.
        assert np.all(distance(turns, expected) <= 1e-10)
