"""FORCE takes the pose of least energy of those in which chains with comfort can settle."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon import core
from tests.core.equilibrium.energies import energy_of, make_forces, many
from tests.core.limited_rigs import K, make_rig
from tests.helpers import make_rng

OPTIONS = core.SolveOptions(solver=core.Solver.FORCE, tolerance=1e-7)
# The share of the energy that another end pose must save; the rounding error of a settled chain.
MIN_SAVING, ROUNDING = 1e-3, 1e-7


def snake(count):
    """Return the rig of a snake of hinges at right angles, and its chain with forces."""
    lengths = np.full(count, 1.0 / count)
    bones = [((K.HINGE_X, K.HINGE_Z)[i % 2], ()) for i in range(count)]
    rig = make_rig(bones, lengths, bends=[(2, 2.0 * (-1) ** i) for i in range(count)])
    # The same values as in creatures/snake.json.
    middles = (np.arange(count) + 0.5) / count
    forces = make_forces(
        np.interp(middles, [0.0, 0.15, 0.7, 1.0], [0.4, 0.15, 0.1, 0.05]),
        np.interp(middles, np.linspace(0.0, 1.0, 5), [0.6, 1.2, 1.4, 1.0, 0.5]) / count,
        [0.0, 0.0, -0.1],
        np.radians([8.0, 0.0, 18.0]),
    )
    return rig, replace(rig.chain(), forces=forces)


def settled_nearby(rig, chain, goal, start=None):
    """Return the pose near a start pose in which a chain settles."""
    forces = replace(chain.forces, optimum_wxyz=chain.joints.start_wxyz)
    moved = rig.chain(chain.joints.start_wxyz if start is None else start)
    return core.solve(replace(moved, forces=forces), goal, OPTIONS)


def goal_at(angle):
    place = 0.45 * np.cos(angle), 0.45 * np.sin(angle), 0.2 + 0.13 * np.sin(2.0 * angle)
    return core.Goal(np.array(place))


def find_energy(rig, chain, solution):
    return energy_of(rig, solution.local_rotations_wxyz, chain.forces, chain.joints.start_wxyz)


@pytest.mark.slow
def test_other_starts_rarely_find_an_end_of_less_energy_and_the_nearest_one_never_does():
    rig, chain = snake(20)
    rng, saved, is_least = make_rng(1), [], []
    for frame in (16, 24, 43, 47, 50):
        goal = goal_at(2.0 * np.pi / 60.0 * frame)
        solution = core.solve(chain, goal, OPTIONS)
        assert solution.status is core.Status.REACHED
        starts = [chain.joints.start_wxyz, *(rig.random_pose(rng, 0.5) for _ in range(5))]
        others = [settled_nearby(rig, chain, goal, start) for start in starts]
        energies = [
            find_energy(rig, chain, end) for end in others if end.status is core.Status.REACHED
        ]
        least, energy = min(energies), find_energy(rig, chain, solution)
        is_least.append(energy <= least + MIN_SAVING * abs(least) + ROUNDING)
        assert energy <= energies[0] + MIN_SAVING * abs(least) + ROUNDING
        saved.append(energies[0] - energy)
    assert sum(is_least) >= 4
    assert max(saved) > 100.0 * MIN_SAVING * abs(least)


def test_a_chain_that_stays_near_its_start_stays_in_the_pose_that_it_has_settled_in():
    rig, chain = snake(10)
    goal = goal_at(1.0)
    for seed in range(4):
        start = rig.random_pose(make_rng(seed), 0.5)
        once = settled_nearby(rig, chain, goal, start)
        again = settled_nearby(rig, chain, goal, once.local_rotations_wxyz)
        np.testing.assert_allclose(again.joint_positions, once.joint_positions, atol=1e-5)


def test_of_ends_with_the_same_energy_the_nearest_is_taken():
    # Without weight a pose and its mirror images have the same energy.
    lengths = np.full(6, 1.0 / 6.0)
    rig = make_rig([(K.BALL, ())] * 6, lengths, bends=[(0, 10.0)] * 6)
    forces = make_forces(np.ones(6), np.zeros(6), np.zeros(3), comfort=0.2)
    chain = replace(rig.chain(), forces=forces)
    goal = core.Goal(0.8 * chain.joint_positions[-1])
    solution, nearby = core.solve(chain, goal, OPTIONS), settled_nearby(rig, chain, goal)
    assert find_energy(rig, chain, solution) <= find_energy(rig, chain, nearby) + ROUNDING
    np.testing.assert_allclose(solution.joint_positions, nearby.joint_positions, atol=1e-4)


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
    assert [solution.status for solution in together] == [core.Status.REACHED, core.Status.LIMITED]
    np.testing.assert_allclose(together[1].residual, alone.residual, atol=1e-6)
    np.testing.assert_allclose(together[1].joint_positions, alone.joint_positions, atol=1e-5)
