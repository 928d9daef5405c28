"""What poles lack, and how it changes with turns."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.algebra.chains_first import chains_first
from blender_ik_addon.core.descent.bone_rows import BoneRows
from blender_ik_addon.core.kinematics.aims import Aims, Poles
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from tests.core.limited_rigs import RIGS
from tests.helpers import make_rng

COUNT, STEP, LONG_STEP = 24, 1e-6, 1e-4


def poles_of(name, seed):
    """Return the trees of a rig, random turns (n, 4, B), and random poles."""
    rng, rig = make_rng(seed), RIGS[name]()
    compiled = compile_chains(rig.chains(COUNT))
    poses = np.array([rig.some_rotations(rng, 0.9) for _ in range(COUNT)])
    target, position = rng.normal(size=(2, 1, 3, COUNT))
    poles = Poles(compiled.limbs, target, position, np.zeros((1, COUNT)), np.ones(COUNT))
    return compiled.tree, compiled.tree.joints.inner(poses), poles


def posed(tree, turn):
    return tree.pose(turn)


@pytest.mark.parametrize("name", ["arm", "offset_bones", "tail"])
def test_slopes_of_poles_are_those_of_differences(name):
    tree, turn, poles = poles_of(name, 5)
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
                poles.find_past(posed(tree, turns.multiply(turns.from_vectors(each), turn)))
                for each in (move, -move)
            ]
            rise = (ends[0] - ends[1]) / (2.0 * STEP)
            np.testing.assert_allclose(slopes[bone, :, axis], rise, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["arm", "offset_bones", "tail"])
def test_poles_curve_as_differences_do(name):
    """The second derivatives of the work of forces on effectors and poles, along moves."""
    tree, turn, poles = poles_of(name, 6)
    tree = replace(tree, aims=Aims(tree.topology, poles, None, tree.reach, tree.sqrt_weights))
    rows, rng = BoneRows(tree, np.zeros((len(turn), COUNT))), make_rng(6)
    force, move = rng.normal(size=(COUNT, 4)), rng.normal(size=(len(turn), 3, COUNT))

    def work_after(share):
        turned = turns.multiply(turns.from_vectors(share * move), turn)
        return (force * rows.find_output(rows.pose(chains_first(turned)))).sum(axis=1)

    at = rows.pose(chains_first(turn))
    curved = rows.curve_outputs(at, force, rows.find_jacobian(at))
    way = chains_first(move).reshape(COUNT, -1)
    along = np.einsum("bi,bij,bj->b", way, curved, way)
    before, here, after = (work_after(share) for share in (-LONG_STEP, 0.0, LONG_STEP))
    rise = (2.0 * here - before - after) / LONG_STEP**2
    assert (np.abs(along - rise) <= 1e-3 * (1.0 + np.abs(rise))).all()
