"""Springs to the start, and goals that pull, compared with differences of their energy."""

import numpy as np
import pytest

from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.algebra.chains_first import chains_first, turn_by
from blender_ik_addon.core.descent.bone_rows import BoneRows
from blender_ik_addon.core.descent.posed_rows import PosedRows
from blender_ik_addon.core.equilibrium.goal_pulls import GoalLoads, GoalPulls, measure_pulls
from blender_ik_addon.core.equilibrium.start_springs import StartRows, compile_springs
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from tests.core.bodies import Array, make_person
from tests.helpers import make_rng

PERSON = make_person()
COUNT = len(PERSON.names)


@pytest.mark.parametrize("forces", [[], [100.0, 1000.0]])
def test_springs_to_the_start_and_goals_pull_as_differences_of_their_energy_show(forces):
    """Derived for this project: a turn by an angle a costs 4 - 4 cos(a / 2), a gap its force."""
    rng, step = make_rng(8), 1e-4
    tree = compile_chains(PERSON.chain).tree
    bones = BoneRows(tree, np.zeros((COUNT, 1)))
    start = turns.from_vectors(0.4 * rng.normal(size=(COUNT, 3, 1)))
    start[0, :, 0] = 1.0, 0.0, 0.0, 0.0
    goals = np.repeat(np.eye(3), 3, axis=1)[: len(forces)]
    springs = 20.0 * rng.random(tree.row_count) * bool(forces)
    loads = GoalLoads(compile_springs(tree, start), *rng.normal(size=(2, 3, 1)))
    loads = loads._replace(target=rng.normal(size=(tree.row_count, 1)))
    energy = measure_pulls(bones, loads, GoalPulls(springs, np.array(forces), goals))
    turn = chains_first(turns.multiply(turns.from_vectors(rng.normal(size=(COUNT, 3, 1))), start))
    turn[:, 0] = 1.0, 0.0, 0.0, 0.0
    place = 0.3 * rng.normal(size=(1, 3))

    def pose(move: Array) -> PosedRows:
        # ``apply_move`` would clamp the turns.
        turned = turn_by(turn, move)
        turned[:, 0] = turn[:, 0]
        return bones.pose(turned, place=place + move[:, 0])

    def measure(move: Array) -> float:
        posed = pose(move)
        return float(energy(posed, bones.find_output(posed)).total[0])

    still = pose(np.zeros((1, COUNT, 3)))
    slope, curve = energy(still, bones.find_output(still)).derive(bones.find_jacobian(still))
    whole = curve(np.zeros((1, tree.row_count)))[0]
    for move in rng.normal(size=(6, 1, COUNT, 3)):
        ahead, here, behind = (measure(share * step * move) for share in (1.0, 0.0, -1.0))
        flat = move.ravel()
        np.testing.assert_allclose((ahead - behind) / (2.0 * step), slope[0] @ flat, rtol=1e-5)
        bent = (ahead - 2.0 * here + behind) / step**2
        np.testing.assert_allclose(bent, flat @ whole @ flat, rtol=1e-3)


def test_a_turn_and_its_other_quaternion_cost_the_same_and_none_costs_nothing():
    tree = compile_chains(PERSON.chain).tree
    bones = BoneRows(tree, np.zeros((COUNT, 1)))
    turn = chains_first(turns.from_vectors(make_rng(9).normal(size=(COUNT, 3, 1))))
    turn[:, 0] = 1.0, 0.0, 0.0, 0.0
    at, rest = np.moveaxis(turn, 0, -1), np.zeros((3, 1))
    for sign in (1.0, -1.0):
        springs = StartRows(bones, compile_springs(tree, sign * at), rest)
        posed = bones.pose(turn, place=np.zeros((1, 3)))
        assert abs(springs.measure(posed).total[0]) < 1e-12
