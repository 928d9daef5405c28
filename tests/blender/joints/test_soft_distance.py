"""Soft distance on a rig: measured in world space, in every path that a chain may take."""

import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.helpers import assert_positions_close

pytestmark = pytest.mark.slow

SOFT = 0.2
SHARES = (0.8, 0.95, 0.999, 1.05, 1.6)
DIRECTION = np.array([0.36, 0.48, 0.8])
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")
OBJECT_SCALES = ((1.0, 1.0, 1.0), (0.01, 0.01, 0.01), (100.0, 100.0, 100.0))


def eased(distance, reach, soft=SOFT):
    """Return how far from the root the effector shall be."""
    first = reach - soft
    if distance <= first:
        return distance
    return first + soft * (1.0 - np.exp((first - distance) / soft))


def reach_of(ob, bones):
    """Return the length of a chain, world space."""
    return float(sum(np.linalg.norm(rigs.tail(ob, each) - rigs.head(ob, each)) for each in bones))


def names_of(count):
    return [f"Bone.{i}" for i in range(count)]


def assert_soft(ob, chain, target, bones, reach, soft=SOFT, direction=DIRECTION, miss=1e-5):
    """Check that the effector stops where it shall for a row of targets, and what is told of it."""
    root = rigs.head(ob, bones[0])
    for share in SHARES:
        distance = share * reach
        target.location = root + distance * direction
        rigs.updated()
        near = eased(distance, reach, soft)
        tail = rigs.tail(ob, bones[-1])
        assert_positions_close(tail, root + near * direction, miss * reach)
        assert chain.residual == pytest.approx(distance - near, abs=miss * reach)
        if near == distance:
            assert chain.status.startswith("Reached"), chain.status
        elif distance < reach:
            assert "short of the target by the soft distance" in chain.status
        else:
            assert chain.status.startswith("Out of reach"), chain.status


@pytest.mark.parametrize("scale", OBJECT_SCALES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_effector_stops_where_the_formula_says_at_any_size(solver, scale):
    count = 2 if solver == "TWO_BONE" else 4
    ob = rigs.make_rig(rigs.zigzag(count))
    ob.scale = scale
    target = rigs.make_empty()
    settings = {"soft_distance": SOFT * scale[0], "tolerance": 1e-6 * scale[0]}
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", target, solver=solver, **settings)
    rigs.updated()
    reach = reach_of(ob, names_of(count))
    assert_soft(ob, chain, target, names_of(count), reach, SOFT * scale[0])
