"""Soft distance on a rig: measured in world space, in every path that a chain may take."""

import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.helpers import assert_positions_close

pytestmark = pytest.mark.slow

SOFT = 0.2
DIRECTION = np.array([0.36, 0.48, 0.8])
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")
OBJECT_SCALES = ((1.0, 1.0, 1.0), (0.01, 0.01, 0.01), (100.0, 100.0, 100.0))


def eased(distance, reach, soft):
    """Return how far from the root the effector shall be."""
    first = reach - soft
    if distance <= first:
        return distance
    return first + soft * (1.0 - np.exp((first - distance) / soft))


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
    reach, root, tip = count * scale[0], rigs.head(ob, "Bone.0"), f"Bone.{count - 1}"
    for distance in np.multiply((0.8, 0.95, 0.999, 1.05, 1.6), reach):
        target.location = root + distance * DIRECTION
        rigs.updated()
        near = eased(distance, reach, SOFT * scale[0])
        assert_positions_close(rigs.tail(ob, tip), root + near * DIRECTION, 1e-5 * reach)
        assert chain.residual == pytest.approx(distance - near, abs=1e-5 * reach)
        if near == distance:
            assert chain.status.startswith("Reached"), chain.status
        elif distance < reach:
            assert "short of the target by the soft distance" in chain.status
        else:
            assert chain.status.startswith("Out of reach"), chain.status
