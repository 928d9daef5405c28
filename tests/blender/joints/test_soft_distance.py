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


@pytest.mark.parametrize("solver", ["TWO_BONE", "NEWTON"])
def test_a_parent_that_scales_unevenly_leaves_it_soft(solver):
    ob = rigs.make_rig(rigs.zigzag(3))
    ob.pose.bones["Bone.0"].scale = (1.0, 1.4, 1.0)
    target = rigs.make_empty()
    rigs.add_chain(
        ob, "Bone.2", target, solver=solver, chain_count=2, soft_distance=SOFT, tolerance=1e-6
    )
    rigs.updated()
    root = rigs.head(ob, "Bone.1")
    reached, bends = [], []
    distances = np.linspace(2.0, 3.0, 20)
    for distance in distances:
        target.location = root + distance * DIRECTION
        rigs.updated()
        reached.append(np.linalg.norm(rigs.tail(ob, "Bone.2") - root))
        elbow = rigs.head(ob, "Bone.2")
        segments = np.diff([root, elbow, rigs.tail(ob, "Bone.2")], axis=0)
        segments /= np.linalg.norm(segments, axis=1, keepdims=True)
        bends.append(np.arctan2(np.linalg.norm(np.cross(*segments)), segments[0] @ segments[1]))
    step = distances[1] - distances[0]
    assert np.diff(reached).min() >= -1e-5
    # The bound for bones of 1 and a zone of 0.2, and a quarter more for what the scale does.
    assert np.abs(np.diff(bends)).max() <= 1.25 * np.sqrt(2.0 / (2.0 * SOFT)) * step
