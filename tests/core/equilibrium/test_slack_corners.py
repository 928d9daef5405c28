"""Of the poses that chains with comfort can settle in, FORCE takes the one of least effort."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon import core
from tests.core.equilibrium.energies import energy_of, make_forces, many
from tests.core.limited_rigs import K, make_rig
from tests.helpers import make_rng

OPTIONS = core.SolveOptions(solver=core.Solver.FORCE, tolerance=1e-7)
# Share of an effort that another end has to save; and what is left when a chain rests.
WORTH, ROUNDING = 1e-3, 1e-7


def snake(count):
    """Return the rig of a snake of hinges at right angles, and the chain with what acts on it."""
    lengths = np.full(count, 1.0 / count)
    bones = [((K.HINGE_X, K.HINGE_Z)[i % 2], ()) for i in range(count)]
    rig = make_rig(bones, lengths, bends=[(2, 2.0 * (-1) ** i) for i in range(count)])
    # As creatures/snake.json.
    middles = (np.arange(count) + 0.5) / count
    forces = make_forces(
        np.interp(middles, [0.0, 0.15, 0.7, 1.0], [0.4, 0.15, 0.1, 0.05]),
        np.interp(middles, np.linspace(0.0, 1.0, 5), [0.6, 1.2, 1.4, 1.0, 0.5]) / count,
        [0.0, 0.0, -0.1],
        np.radians([8.0, 0.0, 18.0]),
    )
    return rig, replace(rig.chain(), forces=forces)


def settled_nearby(rig, chain, goal, start=None):
    """Return where a chain settles that is on its way from a start pose: it stays near that."""
    forces = replace(chain.forces, optimum_wxyz=chain.joints.start_wxyz)
    begun = rig.chain(chain.joints.start_wxyz if start is None else start)
    return core.solve(replace(begun, forces=forces), goal, OPTIONS)


def around(angle):
    place = 0.45 * np.cos(angle), 0.45 * np.sin(angle), 0.2 + 0.13 * np.sin(2.0 * angle)
    return core.Goal(np.array(place))


def effort(rig, chain, solution):
    return energy_of(rig, solution.local_rotations_wxyz, chain.forces, chain.joints.start_wxyz)


@pytest.mark.slow
def test_hardly_an_end_that_other_starts_lead_to_costs_less_and_the_one_nearby_never_does():
    rig, chain = snake(20)
    rng, saved, is_least = make_rng(1), [], []
    for frame in (16, 24, 43, 47, 50):
        goal = around(2.0 * np.pi / 60.0 * frame)
        found = core.solve(chain, goal, OPTIONS)
        assert found.status is core.Status.REACHED
        starts = [chain.joints.start_wxyz, *(rig.some_rotations(rng, 0.5) for _ in range(5))]
        others = [settled_nearby(rig, chain, goal, start) for start in starts]
        arrived = [
            effort(rig, chain, other) for other in others if other.status is core.Status.REACHED
        ]
        least, own = min(arrived), effort(rig, chain, found)
        is_least.append(own <= least + WORTH * abs(least) + ROUNDING)
        assert own <= arrived[0] + WORTH * abs(least) + ROUNDING
        saved.append(arrived[0] - own)
    assert sum(is_least) >= 4
    assert max(saved) > 100.0 * WORTH * abs(least)


def test_a_chain_on_its_way_stays_in_the_end_that_it_has_come_to():
    rig, chain = snake(10)
    goal = around(1.0)
    for seed in range(4):
        start = rig.some_rotations(make_rng(seed), 0.5)
        once = settled_nearby(rig, chain, goal, start)
        again = settled_nearby(rig, chain, goal, once.local_rotations_wxyz)
        np.testing.assert_allclose(again.joint_positions, once.joint_positions, atol=1e-5)


def test_ends_that_cost_the_same_leave_the_one_nearby():
    # Without weight the mirror images of a pose are as good as it.
    lengths = np.full(6, 1.0 / 6.0)
    rig = make_rig([(K.BALL, ())] * 6, lengths, bends=[(0, 10.0)] * 6)
    forces = make_forces(np.ones(6), np.zeros(6), np.zeros(3), comfort=0.2)
    chain = replace(rig.chain(), forces=forces)
    goal = core.Goal(0.8 * chain.joint_positions[-1])
    found, nearby = core.solve(chain, goal, OPTIONS), settled_nearby(rig, chain, goal)
    assert effort(rig, chain, found) <= effort(rig, chain, nearby) + ROUNDING
    np.testing.assert_allclose(found.joint_positions, nearby.joint_positions, atol=1e-4)


def test_a_chain_that_limits_hold_back_is_not_moved_by_one_beside_it_that_may_choose():
    lengths = np.full(4, 0.25)
    limits = [(-50, 60), (-90, 90), (-70, 45)]
    rig = make_rig([(K.BALL, limits)] * 4, lengths, bends=[(0, 20.0)] * 4)
    forces = make_forces(np.ones(4), np.full(4, 0.3), [0.0, 0.0, -1.0], comfort=0.2)
    chain = replace(rig.chain(), forces=forces)
    tip = chain.joint_positions[-1]
    targets = np.array([0.9 * tip, -0.9 * tip])
    chains = many(chain.joint_positions, forces, 2, chain.joints)
    together = core.solve_batch(chains, core.Goals(targets), OPTIONS)
    alone = core.solve(chain, core.Goal(targets[1]), OPTIONS)
    assert [each.status for each in together] == [core.Status.REACHED, core.Status.LIMITED]
    np.testing.assert_allclose(together[1].residual, alone.residual, atol=1e-6)
    np.testing.assert_allclose(together[1].joint_positions, alone.joint_positions, atol=1e-5)
