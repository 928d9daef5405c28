"""Rotations carried along chains: each bone takes the shortest swing from its parent."""

import numpy as np
import pytest

from blender_ik_addon.core.algebra import quaternions, rotation, vectors
from blender_ik_addon.core.algebra.arithmetic import FLOATS
from blender_ik_addon.core.kinematics.transport import carry_rotation, compile_swings
from tests.core.chains import random_direction, unit
from tests.helpers import make_rng

EXACT = 1e-12
NORMAL = unit(np.array([0.3, -0.5, 0.7]))


def swing(carried, source, target):
    """Return a rotation after the shortest swing to a direction; half turns use the normal."""
    along, normal = rotation.rotate(carried, source), rotation.rotate(carried, NORMAL)
    hinge = vectors.reject(normal, along)
    hinge = vectors.unit(FLOATS, hinge, vectors.perpendicular(FLOATS, along))
    turn = np.array(quaternions.between(FLOATS, along, target, hinge))
    return rotation.normalize(rotation.multiply(turn, carried))


def swinging(rng, degrees):
    """Return rotation, start and goal directions of a chain with bones that swing by these degrees.

    The axes are random. Half turns are exact: their directions are along axes, without rounding.
    """
    start = unit(rng.normal(size=(len(degrees), 3)))
    carried = first = rotation.normalize(rng.normal(size=4))
    if 180.0 in degrees:
        carried = first = np.array([1.0, 0.0, 0.0, 0.0])
        start = np.eye(3)[rng.integers(0, 3, len(degrees))]
    goals = []
    for source, angle in zip(start, np.radians(degrees), strict=True):
        along = rotation.rotate(carried, source)
        aside = unit(np.cross(along, random_direction(rng)))
        turned = unit(np.cos(angle) * along + np.sin(angle) * aside)
        goals.append(-along if angle == np.pi else turned)
        carried = swing(carried, source, goals[-1])
    return first, start, np.array(goals)


# In degrees. The product of the cosines of the half angles may underflow.
ANGLES = {
    "any": lambda rng, count: rng.uniform(0.0, 178.0, count),
    "wide": lambda rng, count: rng.uniform(120.0, 150.0, count),
    "nearly turned over": lambda rng, count: 180.0 - 10.0 ** -rng.integers(0, 5, count),
    "turned over": lambda rng, count: np.where(np.arange(count) % 4, 0.0, 180.0),
}


@pytest.mark.parametrize("count", [2, 17, 100])
@pytest.mark.parametrize("kind", ANGLES)
def test_each_bone_takes_the_shortest_swing_from_its_parent(kind, count):
    rng = make_rng(count)
    # The first chain has small swings.
    degrees = [0.3 * ANGLES["any"](rng, count), *(ANGLES[kind](rng, count) for _ in range(3))]
    problems = zip(*(swinging(rng, angles) for angles in degrees), strict=True)
    first, starts, goals = (np.array(column) for column in problems)
    swings = compile_swings(starts, np.tile(NORMAL, (len(first), 1)))
    rotations = carry_rotation(first, swings, goals)
    np.testing.assert_allclose(np.linalg.norm(rotations, axis=2), 1.0, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(rotation.rotate(rotations, starts), goals, rtol=0.0, atol=EXACT)
    for row, turns in enumerate(rotations):
        # The nearer a swing is to half a turn, the less certain is its axis.
        uncertainty = np.radians(180.0 - degrees[row]) + (degrees[row] == 180.0)
        for bone, before in enumerate((first[row], *turns[:-1])):
            expected = swing(before, starts[row, bone], goals[row, bone])
            off = min(np.linalg.norm(turns[bone] - sign * expected) for sign in (1.0, -1.0))
            assert off <= EXACT / uncertainty[bone]
