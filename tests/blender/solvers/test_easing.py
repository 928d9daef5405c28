"""Chains that ease toward their targets do so alike at any frame rate, and come to rest there."""

import numpy as np
import pytest

from blender_ik_addon.core import (
    Chain,
    Goal,
    SolveOptions,
    Solver,
    Status,
    bone_rotations,
    solve,
)
from blender_ik_addon.rig.reading.spec import Easing
from tests.blender.solvers.gradual import advance, move
from tests.core.equilibrium.energies import make_forces
from tests.core.limited_rigs import RIGS, targets_of
from tests.helpers import make_rng

OPTIONS = SolveOptions(solver=Solver.FORCE, tolerance=1e-6)
EASINGS = [Easing(0.2), Easing(0.4, 1.5), Easing(0.0, 2.0), Easing(0.05)]
# Promised are 0.02; half a frame of delay would be 0.01.
SAME_MOTION = 0.005
FIRST, SECOND = np.array([0.3, 0.5, -0.2]), np.array([-0.4, 0.1, 0.6])


def neck(count=8):
    angles = np.arange(count) * 0.1
    steps = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1) / count
    forces = make_forces(np.geomspace(4.0, 0.5, count), np.full(count, 0.2), [0.0, 0.0, -1.0])
    return Chain(np.vstack((np.zeros(3), np.cumsum(steps, axis=0))), forces=forces)


def moving(seconds):
    return FIRST + (SECOND - FIRST) * (0.5 - 0.5 * np.cos(np.pi * min(seconds, 1.5) / 1.5))


def still(_seconds):
    return SECOND


def motion(chain, target, easing, rate, seconds, options=OPTIONS):
    """Return the solutions frame by frame, the first one at no time."""
    frames = range(round(seconds * rate) + 1)
    targets = np.array([target(frame / rate) for frame in frames])
    return move(chain, targets, options, easing, 1.0 / rate)


def joints_of(solutions):
    return np.array([solution.joint_positions for solution in solutions])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "easing"), [(still, EASINGS[0]), *((moving, easing) for easing in EASINGS)]
)
def test_24_and_120_frames_a_second_show_the_same_motion(easing, target):
    slow = joints_of(motion(neck(), target, easing, 24, 2.0))
    fast = joints_of(motion(neck(), target, easing, 120, 2.0))[::5]
    way = np.linalg.norm(np.diff(fast, axis=0), axis=2).sum(axis=0).max()
    assert way > 0.3
    assert np.linalg.norm(slow - fast, axis=2).max() <= SAME_MOTION * way


@pytest.mark.slow
@pytest.mark.parametrize("easing", EASINGS)
def test_a_target_that_stands_still_is_reached_and_nothing_trembles(easing):
    chain = neck()
    solutions = motion(chain, still, easing, 24, 6.0)
    speeds = np.linalg.norm(np.diff(joints_of(solutions), axis=0), axis=2).max(axis=1)
    assert speeds[5 * 24 :].max() < 1e-6
    assert solutions[-1].residual < 1e-5
    at_once = solve(chain, Goal(SECOND), OPTIONS)
    np.testing.assert_allclose(solutions[-1].joint_positions, at_once.joint_positions, atol=1e-5)


@pytest.mark.slow
def test_what_has_arrived_stands_exactly():
    solutions = motion(neck(), still, Easing(0.1), 24, 4.0)
    assert solutions[-1].status is Status.REACHED
    np.testing.assert_array_equal(solutions[-1].joint_positions, solutions[-2].joint_positions)


@pytest.mark.slow
@pytest.mark.parametrize("easing", EASINGS)
def test_no_joint_overshoots_or_turns_back(easing):
    chain = neck()
    solutions = motion(chain, still, easing, 30, 3.0)
    wanted = bone_angles(chain, solutions, solve(chain, Goal(SECOND), OPTIONS))
    # An angle near zero is told no better from a cosine.
    assert (np.diff(wanted, axis=0) <= 1e-7).all()


def bone_angles(chain, solutions, last):
    """Return how far each bone's turn from its parent's is from where it goes, frame by frame."""

    def local(solution):
        turns = bone_rotations(chain, solution)
        before = np.vstack(([[1.0, 0, 0, 0]], turns[:-1])) * [1, -1, -1, -1]
        w = before[:, 0] * turns[:, 0] - np.sum(before[:, 1:] * turns[:, 1:], axis=1)
        v = before[:, :1] * turns[:, 1:] + turns[:, :1] * before[:, 1:]
        return np.column_stack((w, v + np.cross(before[:, 1:], turns[:, 1:])))

    end = local(last)
    cosines = [np.abs(np.sum(local(solution) * end, axis=1)) for solution in solutions]
    return 2.0 * np.arccos(np.clip(np.array(cosines), 0.0, 1.0))


@pytest.mark.parametrize("name", ["arm", "ten_hinges", "mixed_lengths"])
def test_limits_are_kept_on_the_way_and_turns_are_no_faster_than_told(name):
    rig, rng = RIGS[name](), make_rng(1)
    chain = rig.chain()
    forces = make_forces(np.ones(len(rig.kinds)), np.ones(len(rig.kinds)), [0.0, -1.0, 0.0])
    chain = Chain(chain.joint_positions, joints=chain.joints, forces=forces)
    before, fastest = None, 3.0
    targets = np.repeat(targets_of(rig, 3, rng), 12, axis=0)
    for solution in move(chain, targets, OPTIONS, Easing(0.1, fastest), 1 / 24):
        local = solution.local_rotations_wxyz
        assert rig.violations(local).max() <= 1e-6
        if before is not None:
            cosine = np.abs(np.sum(local * before, axis=1))
            assert 2.0 * np.arccos(np.clip(cosine, 0, 1)).max() <= fastest / 24 * 1.01
        before = local


def test_a_long_time_is_no_long_wait():
    solution, _ = advance(neck(), Goal(SECOND), OPTIONS, Easing(), None, 1e9)
    assert solution.status is Status.REACHED


def test_no_time_moves_nothing():
    chain = neck()
    _, history = advance(chain, Goal(FIRST), OPTIONS, Easing(), None, 0.3)
    stands, after = advance(chain, Goal(SECOND), OPTIONS, Easing(), history, 0.0)
    np.testing.assert_array_equal(after.rotations_wxyz, history.rotations_wxyz)
    assert stands.status is Status.BLENDED
