"""What poles lack, as angles and as ways from their sides, and how both change with turns."""

import numpy as np
import pytest

from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.kinematics.aims import Poles
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from tests.core.limited_rigs import RIGS
from tests.helpers import make_rng

COUNT, STEP = 12, 1e-6


def poles_of(name, seed):
    """Return the trees of a rig, random turns (n, 4, B), and random poles."""
    rng, rig = make_rng(seed), RIGS[name]()
    compiled = compile_chains(rig.chains(COUNT))
    poses = np.array([rig.some_rotations(rng, 0.9) for _ in range(COUNT)])
    target, position = rng.normal(size=(2, 1, 3, COUNT))
    poles = Poles(compiled.limbs, target, position, np.zeros((1, COUNT)), np.ones(COUNT))
    return compiled.tree, compiled.tree.joints.inner(poses), poles


def posed(tree, turn):
    return tree.posed(tree.make_state(turn))


@pytest.mark.parametrize("by_ways", [False, True])
@pytest.mark.parametrize("name", ["arm", "offset_bones", "tail"])
def test_slopes_of_poles_are_those_of_differences(name, by_ways):
    tree, turn, poles = poles_of(name, 5)
    poles = poles.take_ways(posed(tree, turn)) if by_ways else poles
    past = poles.find_past(posed(tree, turn))
    # On either side of the quarter turn from which on the way leads back to the root.
    assert (np.abs(past) < 0.5 * np.pi).any()
    assert (np.abs(past) > 0.5 * np.pi).any()
    slopes = poles.find_slopes(posed(tree, turn))
    for bone in range(len(turn)):
        for axis in range(3):
            move = np.zeros((len(turn), 3, COUNT))
            move[bone, axis] = STEP
            ends = [
                poles.find_output(posed(tree, turns.multiply(turns.from_vectors(each), turn)))
                for each in (move, -move)
            ]
            rise = (ends[0] - ends[1]) / (2.0 * STEP)
            np.testing.assert_allclose(slopes[bone, :, axis], rise, rtol=1e-5, atol=1e-6)


def test_ways_are_sines_near_the_side_and_whole_bulges_behind_it():
    tree, turn, poles = poles_of("arm", 7)
    at = posed(tree, turn)
    ways, past = poles.take_ways(at).find_output(at), poles.find_past(at)
    is_near = np.abs(past) < 0.5 * np.pi
    np.testing.assert_allclose(ways, np.where(is_near, np.sin(past), np.sign(past)), atol=1e-12)
