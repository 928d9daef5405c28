"""Slopes and curvatures of the potential energy agree with its differences."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import Chains
from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.algebra.chains_first import chains_first
from blender_ik_addon.core.descent.bone_rows import BoneRows
from blender_ik_addon.core.equilibrium import target_springs
from blender_ik_addon.core.equilibrium.potential_energy import EnergyRows
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from tests.core.equilibrium.energies import make_forces, many
from tests.core.equilibrium.test_force_robust import random_forces, random_starts
from tests.core.limited_rigs import RIGS, K, make_rig
from tests.helpers import make_rng

COUNT = 3
STEP = 1e-4


class Case:
    """Chains in random poses with random forces on their effectors, and their energy."""

    def __init__(self, name, unturned=()):
        rng, self.rig = make_rng(3), RIGS[name]()
        starts = random_starts(self.rig, COUNT, rng)
        joints = replace(starts.joints, unturned=unturned)
        self.forces = random_forces(rng, COUNT, len(joints.kinds))
        # With stiffer springs the differences would be only rounding.
        self.forces.__dict__["stiffness"] = rng.uniform(0.1, 2.0, self.forces.stiffness.shape)
        chains = Chains(starts.joint_positions, joints=joints, forces=self.forces)
        compiled = compile_chains(chains)
        self.tree, self.energy = compiled.tree, compiled.potential_energy
        poses = np.array([self.rig.random_pose(rng, 0.9) for _ in range(COUNT)])
        self.turn = self.tree.joints.to_turns(poses)
        self.force = rng.normal(size=(3, COUNT))

    def at(self, turn):
        bones = BoneRows(self.tree, np.zeros((len(turn), COUNT)))
        posed = bones.pose(chains_first(turn))
        jacobian = bones.find_jacobian(posed)
        return EnergyRows(bones, self.energy).measure(posed), jacobian, posed

    def total(self, move):
        at, _, posed = self.at(turns.multiply(turns.from_vectors(move), self.turn))
        return at.total - np.sum(self.force * posed.points[:, -1].T, axis=0)


def assert_derivatives(total, slope, curved, tolerance):
    """Compare slopes (B, m), curvatures (B, m, m) of a function of turns with differences."""
    size = slope.shape[1]
    moves = STEP * np.eye(size).reshape(size, -1, 3, 1) * np.ones(COUNT)
    for a in range(size):
        rise = (total(moves[a]) - total(-moves[a])) / (2.0 * STEP)
        np.testing.assert_allclose(slope[:, a], rise, rtol=tolerance, atol=tolerance)
        for b in range(a, size):
            both, across = moves[a] + moves[b], moves[a] - moves[b]
            bend = (total(both) - total(across) - total(-across) + total(-both)) / (4.0 * STEP**2)
            close = {"rtol": 10.0 * tolerance, "atol": 100.0 * tolerance}
            np.testing.assert_allclose(curved[:, a, b], bend, **close)


@pytest.mark.parametrize(
    ("name", "unturned"), [("mixed_lengths", ()), ("bent_rest", ()), ("offset_bones", (1,))]
)
def test_slopes_and_curvatures_are_those_of_differences(name, unturned):
    case = Case(name, unturned)
    at, jacobian, _ = case.at(case.turn)
    slope, curve = at.derive(jacobian)
    slope = slope - np.einsum("kb,bkm->bm", case.force, jacobian)
    assert_derivatives(case.total, slope, curve(case.force.T), 1e-5)


@pytest.mark.parametrize("name", ["arm", "offset_bones"])
def test_slopes_and_curvatures_of_the_pulled_energy_are_those_of_differences(name):
    case = Case(name)
    bones = BoneRows(case.tree, np.zeros((len(case.turn), COUNT)))
    # In multiples of the pull, so that differences keep their digits.
    measure, pull = (
        target_springs.PULLED.measure(bones, (case.energy, case.force)),
        target_springs.PULL,
    )

    def at(move):
        turned = turns.multiply(turns.from_vectors(move), case.turn)
        posed = bones.pose(chains_first(turned))
        return measure(posed, bones.find_output(posed))

    still = np.zeros((len(case.turn), 3, COUNT))
    slope, curve = at(still).derive(case.at(case.turn)[1])
    curved = curve(np.zeros((COUNT, 3)))
    assert_derivatives(lambda move: at(move).total / pull, slope / pull, curved / pull, 1e-4)


def test_resistance_grows_to_ten_times_toward_a_hard_limit():
    rig = make_rig([(K.HINGE_X, ((-60, 60),))])
    forces = make_forces([1.0], comfort=np.radians(20.0))
    chain = rig.chain()
    compiled = compile_chains(many(chain.joint_positions, forces, 1, chain.joints))

    def resistance(degrees):
        turn = turns.from_vectors(np.array([[[np.radians(degrees)], [0.0], [0.0]]]))
        bones = BoneRows(compiled.tree, np.zeros((1, 1)))
        energy = EnergyRows(bones, compiled.potential_energy)
        posed = bones.pose(chains_first(turn))
        slope, _ = energy.measure(posed).derive(bones.find_jacobian(posed))
        return slope[0, 0] / np.radians(max(degrees - 20.0, 1e-9))

    assert resistance(10.0) == 0.0
    assert resistance(20.5) == pytest.approx(1.0, rel=0.01)
    assert resistance(60.0) == pytest.approx(10.0)
    steps = [resistance(degrees) for degrees in range(21, 61)]
    assert (np.diff(steps) > 0.0).all()
