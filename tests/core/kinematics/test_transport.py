"""Turns carried along chains: each bone takes the shortest swing from the turn of its parent."""

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
    """Return a turn after the shortest swing to a direction; half a turn goes about the normal."""
    along, normal = rotation.rotate(carried, source), rotation.rotate(carried, NORMAL)
    hinge = vectors.reject(normal, along)
    hinge = vectors.unit(FLOATS, hinge, vectors.perpendicular(FLOATS, along))
    turn = np.array(quaternions.between(FLOATS, along, target, hinge))
    return rotation.normalize(rotation.multiply(turn, carried))


def swinging(rng, degrees):
    """Return turn, start and wanted directions of a chain whose bones swing so far, about any axes.

    Those that turn over do so exactly: their directions are along the axes, without rounding.
    """
    start = unit(rng.normal(size=(len(degrees), 3)))
    carried = first = rotation.normalize(rng.normal(size=4))
    if 180.0 in degrees:
        carried = first = np.array([1.0, 0.0, 0.0, 0.0])
        start = np.eye(3)[rng.integers(0, 3, len(degrees))]
    wanted = []
    for source, angle in zip(start, np.radians(degrees), strict=True):
        along = rotation.rotate(carried, source)
        aside = unit(np.cross(along, random_direction(rng)))
        turned = unit(np.cos(angle) * along + np.sin(angle) * aside)
        wanted.append(-along if angle == np.pi else turned)
        carried = swing(carried, source, wanted[-1])
    return first, start, np.array(wanted)


# In degrees. The product of the cosines of their halves may get as small as numbers get.
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
    # Beside one whose bones swing little.
    degrees = [0.3 * ANGLES["any"](rng, count), *(ANGLES[kind](rng, count) for _ in range(3))]
    problems = zip(*(swinging(rng, each) for each in degrees), strict=True)
    first, starts, wanted = (np.array(each) for each in problems)
    swings = compile_swings(starts, np.tile(NORMAL, (len(first), 1)))
    found = carry_rotation(first, swings, wanted)
    np.testing.assert_allclose(np.linalg.norm(found, axis=2), 1.0, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(rotation.rotate(found, starts), wanted, rtol=0.0, atol=EXACT)
    for row, turns in enumerate(found):
        # The nearer to half a turn, the less its axis is known.
        unsure = np.radians(180.0 - degrees[row]) + (degrees[row] == 180.0)
        for bone, before in enumerate((first[row], *turns[:-1])):
            expected = swing(before, starts[row, bone], wanted[row, bone])
            off = min(np.linalg.norm(turns[bone] - sign * expected) for sign in (1.0, -1.0))
            assert off <= EXACT / unsure[bone]
