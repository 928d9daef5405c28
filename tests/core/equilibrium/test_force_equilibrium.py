"""FORCE finds the pose of least potential energy that meets the target."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon import core
from blender_ik_addon.core.algebra import rotation
from tests.core.chains import pole_error_degrees, unit
from tests.core.equilibrium.energies import arc, energy_of, make_forces
from tests.core.limited_rigs import K, at_rest, make_rig, targets_of
from tests.helpers import make_rng

ENERGY_ROUNDING = 1e-9
DOWN = (0.0, 0.0, -1.0)
FORCE = core.SolveOptions(core.Solver.FORCE)


def force(chain, target, length):
    options = replace(FORCE, tolerance=1e-7 * length)
    return core.solve(chain, core.Goal(target), options)


def free_case(seed):
    """Return a chain without limits, its rig and start, and a target that it reaches."""
    rng = make_rng(seed)
    count = int(rng.integers(3, 7))
    rig = make_rig([(K.BALL, ())] * count, rng.uniform(0.7, 1.4, count), astray=0.2, seed=seed)
    start = rig.random_pose(rng, 0.3)
    forces = core.Forces(
        stiffness=rng.uniform(0.05, 2.0, count),
        masses=rng.uniform(0.0, 1.0, count),
        gravity=np.array(DOWN) * rng.uniform(0.2, 2.0),
        comfort_low=-rng.uniform(0.0, 0.3, (count, 3)) * (seed % 2),
        comfort_high=rng.uniform(0.0, 0.3, (count, 3)) * (seed % 2),
    )
    chain = replace(rig.chain(start), forces=forces)
    return rig, start, chain, unit(rng.normal(size=3)) * rig.length * rng.uniform(0.3, 0.85)


# The least energies, by ``energy_of``, that SciPy's SLSQP finds from poses close to the solution.
FREE = (0.76842798222, -1.38922303544, -0.89437652464, -2.65423570774)
HINGES = (-0.84892608075, -0.33408001795, 0.98435420133, 1.25158743423)


@pytest.mark.parametrize(("seed", "least"), [*enumerate(FREE)])
def test_scipy_finds_no_pose_of_less_energy(seed, least):
    rig, start, chain, target = free_case(seed)
    solution = force(chain, target, rig.length)
    assert solution.status is core.Status.REACHED
    energy = energy_of(rig, solution.local_rotations_wxyz, chain.forces, start)
    assert energy == pytest.approx(least, abs=ENERGY_ROUNDING)


def test_chains_with_poles_come_to_rest_in_few_steps():
    """Springs and weight that pull the bend to the other side do not move it off its pole."""
    steps = []
    for seed in range(14):
        rig, _, chain, target = free_case(seed)
        pole = make_rng(seed).normal(size=3) * rig.length
        solution = core.solve(chain, core.Goal(target, pole), FORCE)
        assert solution.status is core.Status.REACHED
        assert np.radians(pole_error_degrees(solution.joint_positions, target, pole)) < 1e-4
        steps.append(solution.iterations)
    assert np.median(steps) <= 12
    assert np.mean(np.array(steps) > 40) <= 0.15


def test_rounding_of_held_outputs_refuses_no_step():
    """At the end of a descent a step saves less than the rounding error of the held outputs."""
    steps = []
    for seed in range(0, 48, 2):
        _, _, chain, target = free_case(seed)
        drawn = chain.forces
        forces = make_forces(drawn.stiffness, drawn.masses, drawn.gravity)
        plain = replace(chain, forces=forces)
        steps.append(core.solve(plain, core.Goal(target), FORCE).iterations)
    assert max(steps) <= 11


@pytest.mark.parametrize(("seed", "least"), [*enumerate(HINGES)])
def test_scipy_finds_no_pose_of_limited_hinges_of_less_energy(seed, least):
    rng, count = make_rng(seed), 6
    bones = [(K.HINGE_X if i % 2 else K.HINGE_Z, ((-40, 40),)) for i in range(count)]
    rig = make_rig(bones, rng.uniform(0.7, 1.4, count))
    # Springs so weak that the weight presses joints against their limits.
    forces = make_forces(
        np.full(count, 0.02), rng.uniform(0.2, 1.0, count), rng.normal(size=3), comfort=0.7
    )
    chain = replace(rig.chain(), forces=forces)
    solution = force(chain, targets_of(rig, 1, rng, 0.6)[0], rig.length)
    assert solution.status is core.Status.REACHED
    energy = energy_of(rig, solution.local_rotations_wxyz, forces, at_rest(count))
    assert energy == pytest.approx(least, abs=ENERGY_ROUNDING)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_limb_hangs_as_low_as_its_task_allows_wherever_it_was_bent(side):
    # An arch bent straight up balances on a ridge: only the curvature shows that it can fall.
    joints = np.array([[0.0, 0, 0], [0.5, 0, side * 0.3], [1.0, 0, 0]])
    chain = core.Chain(joints, forces=make_forces(np.zeros(2), np.ones(2), DOWN))
    solution = force(chain, [0.8, 0, 0], 1.0)
    assert solution.status is core.Status.REACHED
    length = np.hypot(0.5, 0.3)
    np.testing.assert_allclose(
        solution.joint_positions[1], [0.4, 0, -np.sqrt(length**2 - 0.16)], atol=1e-6
    )


def test_a_heavy_rope_hangs_as_a_catenary_does():
    count = 40
    chain = core.Chain(arc(count), forces=make_forces(np.zeros(count), np.ones(count), DOWN))
    solution = force(chain, [0.6, 0, 0], 1.0)
    joints = solution.joint_positions
    # Links of equal length and weight: from link to link the slope grows by the same amount.
    segments = np.diff(joints, axis=0)
    along, up = np.hypot(segments[:, 0], segments[:, 1]), segments[:, 2]
    np.testing.assert_allclose(np.diff(up / along), np.diff(up / along).mean(), atol=1e-4)
    assert joints[:, 2].min() < -0.3
    turned = rotation.rotate(
        core.bone_rotations(chain, solution), np.diff(chain.joint_positions, axis=0)
    )
    np.testing.assert_allclose(turned, segments, atol=1e-9)


def test_a_pole_that_cannot_be_met_loses_nothing_while_the_chain_settles():
    rng, count = make_rng(3), 120
    root, others = ((-30, 30), (-20, 20), (-30, 30)), ((-52, 63), (-20, 20), (-40, 46))
    bones = [(K.BALL, root), *[(K.BALL, others)] * 4]
    rig = make_rig(bones, rng.uniform(0.5, 1.5, 5))
    chains, forces = rig.chains(count), make_forces(np.ones((count, 5)))
    pulled = replace(chains, forces=forces)
    targets, poles = targets_of(rig, count, rng), 2.0 * rig.length * rng.normal(size=(count, 3))
    ends = [
        core.solve_batch(batch, core.Goals(targets, poles), core.SolveOptions(solver))
        for batch, solver in ((chains, core.Solver.NEWTON), (pulled, core.Solver.FORCE))
    ]
    is_reached = np.all([end.residual < 1e-4 * rig.length for end in ends], axis=0)
    pole_errors = [[*map(pole_error_degrees, end.joint_positions, targets, poles)] for end in ends]
    before, after = np.array(pole_errors)
    unmet = is_reached & (before > 10.0)
    assert unmet.sum() >= 3
    assert (after - before)[unmet].max() <= 1.0
    rest = at_rest(5)
    energies = [
        np.array([energy_of(rig, x, forces.take(0), rest) for x in end.local_rotations_wxyz])
        for end in ends
    ]
    assert np.median((energies[1] / energies[0])[unmet]) < 0.95


def test_the_last_bone_does_not_roll_about_within_its_comfort_while_the_target_moves():
    """No force but a spring turns it: it rolled by up to 7.6 degrees from pose to pose."""
    rig = make_rig([(K.BALL, ((-40, 40), (-180, 180), (-40, 40)))] * 5, astray=0.1, seed=9)
    comfort = np.radians(np.linspace(6.0, 26.0, 5))[:, None]
    forces = make_forces(np.linspace(2.5, 0.6, 5), np.full(5, 0.3), comfort=comfort)
    chain, rng, rolls = replace(rig.chain(), forces=forces), make_rng(9), []
    start, along = (share * rig.length * unit(rng.normal(size=3)) for share in (0.7, 0.002))
    for step in range(40):
        w, _, y, _ = force(chain, start + step * along, rig.length).local_rotations_wxyz[-1]
        rolls.append(2.0 * np.degrees(np.arctan2(y, w)))
    assert np.abs(np.diff(rolls)).max() < 1.0
