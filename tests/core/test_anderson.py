"""Anderson acceleration: FABRIK's poses in far fewer iterations, and never a worse tip."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blender_ik_addon.core import anderson, fabrik
from tests.core.chains import random_frame, start_directions, uneven_lengths
from tests.helpers import make_rng

CAP = 600
NO_DAMPING = np.zeros(1)
# Chains of one test; the seeds are fixed.
CHAINS = 60


def plain_step(points, lengths, target, history):
    return fabrik.step(points, lengths, target, NO_DAMPING)[0], history


def chains_at(count, share, seed, pose="noisy", chains=CHAINS, ratio=1.0):
    """Return points, lengths of total 1 and targets at a share of the way to full reach."""
    rng = make_rng(seed)
    points, lengths = [], []
    for _ in range(chains):
        if pose == "noisy":
            directions = random_frame(rng)[0] + 0.3 * rng.normal(size=(count, 3))
        else:
            directions = start_directions(pose, count, rng) + 1e-2 * rng.normal(size=(count, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        own = uneven_lengths(count, ratio, rng)
        own /= own.sum()
        lengths.append(own)
        points.append(np.vstack((np.zeros(3), np.cumsum(own[:, None] * directions, axis=0))))
    lengths = np.stack(lengths, axis=-1)
    least = np.maximum(2.0 * lengths.max(axis=0) - 1.0, 0.0)
    target = rng.normal(size=(3, chains))
    target *= (least + (1.0 - least) * share) / np.linalg.norm(target, axis=0)
    return np.stack(points, axis=-1), lengths, target


def errors(points, target):
    return np.linalg.norm(target - points[-1], axis=0)


def solved(step, points, lengths, target, cap=CAP, tolerance=1e-6):
    """Return the first poses within tolerance, or the last, and iterations; as the loop does it."""
    result, used = points.copy(), np.full(points.shape[-1], cap)
    live, history = np.arange(points.shape[-1]), anderson.first_history(points)
    for iteration in range(cap + 1):
        is_there = errors(points, target[:, live]) <= tolerance
        result[..., live] = points
        used[live[is_there]] = iteration
        live = live[~is_there]
        if not live.size:
            break
        points, history = points[..., ~is_there], history[..., ~is_there]
        points, history = step(points, lengths[:, live], target[:, live], history)
    return result, used


def poses(points, lengths, target, iterations):
    """Return the poses after each of so many accelerated iterations."""
    history, found = anderson.first_history(points), []
    for _ in range(iterations):
        points, history = anderson.step(points, lengths, target, history)
        found.append(points)
    return np.stack(found)


def joint_distance(a, b):
    return np.linalg.norm(a - b, axis=-2).max(axis=-2)


@pytest.mark.parametrize(
    ("count", "share", "most"),
    [
        *[(4, 0.6, 4), (4, 0.9, 7), (4, 0.97, 9), (4, 0.99, 10)],
        *[(10, 0.6, 4), (10, 0.9, 8), (10, 0.97, 10), (10, 0.99, 11)],
        *[(30, 0.6, 6), (30, 0.9, 10), (30, 0.97, 12)],
    ],
)
def test_few_iterations_do(count, share, most):
    _, used = solved(anderson.step, *chains_at(count, share, 0))
    assert np.median(used) <= most
    assert used.max() < 40


@pytest.mark.parametrize("count", [3, 10, 30])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.97])
def test_the_pose_is_that_of_fabrik(count, share):
    case = chains_at(count, share, 1)
    accelerated, _ = solved(anderson.step, *case)
    plain, used = solved(plain_step, *case)
    assert used.max() < CAP
    distance = joint_distance(accelerated, plain)
    assert np.median(distance) < 0.015
    assert distance.max() < 0.05


@pytest.mark.parametrize("pose", ["random", "straight", "folded", "arc", "closed"])
@pytest.mark.parametrize(("count", "ratio"), [(2, 1.0), (3, 9.0), (5, 4.0), (10, 1.0)])
def test_whatever_fabrik_reaches_is_reached_in_no_more_iterations(pose, count, ratio):
    shares = make_rng(2).uniform(0.02, 0.995, CHAINS)
    case = chains_at(count, shares, 3, pose, ratio=ratio)
    _, used = solved(anderson.step, *case)
    _, plain = solved(plain_step, *case)
    assert np.all((used < CAP) | (plain == CAP))
    # Single chains may take a few more; on the whole it is a gain.
    assert np.all(used <= plain + 5)
    assert used.sum() < plain.sum()


def test_the_bend_stays_on_its_side():
    # About one chain in a hundred would be nearer on the other side.
    points, lengths, target = chains_at(2, 0.99, 4, chains=800)
    accelerated, _ = solved(anderson.step, points, lengths, target)
    plain, _ = solved(plain_step, points, lengths, target)
    assert joint_distance(accelerated, plain).max() < 1e-3


@given(
    count=st.integers(1, 12),
    pose=st.sampled_from(["noisy", "random", "straight", "folded", "arc", "closed"]),
    # Beyond 1: out of reach, which the loop never asks for.
    share=st.floats(0.0, 1.3),
    ratio=st.sampled_from([1.0, 9.0]),
    seed=st.integers(0, 10**6),
)
def test_the_tip_never_falls_behind_a_plain_sweep(count, pose, share, ratio, seed):
    points, lengths, target = chains_at(count, share, seed, pose, chains=4, ratio=ratio)
    history = anderson.first_history(points)
    for _ in range(15):
        swept, _ = plain_step(points, lengths, target, history)
        moved, history = anderson.step(points, lengths, target, history)
        assert np.isfinite(moved).all()
        assert np.isfinite(history).all()
        assert np.all(errors(moved, target) <= errors(swept, target) + 1e-15)
        assert np.all(errors(moved, target) <= errors(points, target) + 1e-15)
        present = np.linalg.norm(np.diff(moved, axis=0), axis=1)
        assert np.abs(present - lengths).max() <= 1e-14
        assert not moved[0].any()
        points = moved


@pytest.mark.parametrize("target", ["root", "inner joint", "tip", "beyond"])
def test_joints_that_meet_do_no_harm(target):
    joints = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    places = {
        "root": joints[0],
        "inner joint": joints[1] / 2,
        "tip": joints[3],
        "beyond": [9, 0, 0],
    }
    place = np.array(places[target], float)[:, None]
    for points in poses(joints[..., None], np.ones((3, 1)), place, 12):
        assert np.isfinite(points).all()
        assert np.linalg.norm(np.diff(points[..., 0], axis=0), axis=1) == pytest.approx(np.ones(3))


@pytest.mark.parametrize("count", [2, 5, 20])
def test_a_pose_at_rest_stays(count):
    points, lengths, target = chains_at(count, 0.7, 5)
    rest, _ = solved(plain_step, points, lengths, target, cap=2000, tolerance=1e-15)
    # What has not come to rest does not count.
    is_at_rest = errors(rest, target) <= 1e-15
    assert is_at_rest.sum() > CHAINS / 4
    moved = poses(rest, lengths, target, 20)[..., is_at_rest]
    assert joint_distance(moved, rest[..., is_at_rest]).max() <= 1e-12
    # A straight chain that points at a target out of reach is at rest too.
    straight = np.cumsum(np.vstack((np.zeros(CHAINS), lengths)), axis=0)[:, None] * [[1], [0], [0]]
    beyond = np.array([[2.0], [0.0], [0.0]]) * np.ones(CHAINS)
    assert joint_distance(poses(straight, lengths, beyond, 20), straight).max() <= 1e-12


@pytest.mark.parametrize("count", [2, 3, 10, 30])
@pytest.mark.parametrize("share", [0.3, 0.9, 0.97])
def test_chains_do_not_influence_each_other(count, share):
    points, lengths, target = chains_at(count, share, 6, chains=7)
    together = poses(points, lengths, target, 12)
    for chain in (0, 3, 6):
        own = slice(chain, chain + 1)
        alone = poses(points[..., own], lengths[:, own], target[:, own], 12)
        # Once there, the rest is rounding.
        is_on_its_way = np.abs(alone[:, -1] - target[:, own]).max(axis=(1, 2)) > 1e-10
        distance = np.abs(together[..., own] - alone)[is_on_its_way]
        assert distance.max() <= 1e-12


def test_chains_can_leave_the_batch_at_any_time():
    points, lengths, target = chains_at(6, 0.95, 7)
    history = anderson.first_history(points)
    kept = np.arange(CHAINS)
    everything = poses(points, lengths, target, 8)
    for iteration in range(8):
        points, history = anderson.step(points, lengths[:, kept], target[:, kept], history)
        assert np.abs(points - everything[iteration][..., kept]).max() <= 1e-12
        points, history = points[..., ::2], history[..., ::2]
        kept = kept[::2]


@pytest.mark.parametrize("exponent", [-40, -3, 10, 40])
def test_scaling_by_powers_of_two_is_exact(exponent):
    points, lengths, target = chains_at(5, 0.9, 8)
    scale = 2.0**exponent
    found = poses(scale * points, scale * lengths, scale * target, 6)
    np.testing.assert_array_equal(found, scale * poses(points, lengths, target, 6))


@given(
    count=st.integers(2, 12),
    share=st.floats(0.1, 0.97),
    seed=st.integers(0, 10**6),
)
def test_turning_everything_turns_the_pose(count, share, seed):
    points, lengths, target = chains_at(count, share, seed, chains=3)
    turn = random_frame(make_rng(seed))
    turned, _ = solved(anderson.step, turn @ points, lengths, turn @ target)
    plain, _ = solved(anderson.step, points, lengths, target)
    assert np.abs(turned - turn @ plain).max() <= 1e-9


def test_the_same_again_is_the_same():
    case = chains_at(8, 0.95, 9)
    np.testing.assert_array_equal(poses(*case, 10), poses(*case, 10))


def test_the_run_in_is_plain_fabrik():
    points, lengths, target = chains_at(8, 0.9, 10)
    expected = points
    for found in poses(points, lengths, target, anderson.RUN_IN):
        expected, _ = plain_step(expected, lengths, target, None)
        np.testing.assert_array_equal(found, expected)


def test_a_step_changes_none_of_its_arguments():
    points, lengths, target = chains_at(5, 0.9, 11)
    history = anderson.first_history(points)
    for _ in range(6):
        arguments = (points, lengths, target, history)
        before = [argument.copy() for argument in arguments]
        points, history = anderson.step(*arguments)
        for argument, copy in zip(arguments, before, strict=True):
            np.testing.assert_array_equal(argument, copy)
