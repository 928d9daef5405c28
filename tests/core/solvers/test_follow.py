"""FOLLOW: lengths, moves of joints, frame rate, limits, covariance, and its use in ``solve``."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon import core
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.algebra.arithmetic import FLOATS
from blender_ik_addon.core.solvers.follow import MAX_AHEAD
from blender_ik_addon.core.solving import compiled_chains, dragging
from tests.core.chains import POSES, lengths_of, random_frame, start_joints, uneven_lengths, unit
from tests.core.limited_rigs import RIGS
from tests.helpers import make_rng, vector_angles

SEEDS = st.integers(0, 2**16)
LEADS = st.sampled_from(list(core.Lead))
BENDS = st.sampled_from([None, 0.0, 0.3, 0.8, 1.5, 2.8])


def follow(points, path, lead=core.Lead.TIP, max_bend=None):
    """Drag chains (n + 1, 3, B) along a path (f, 3, B)."""
    bend = np.pi if max_bend is None else max_bend
    for place in path:
        points = dragging.drag_points(dragging.Drag(lead, m=FLOATS), points, place, bend)
    return points


def chains_of(seed, count=6, size=4, ratio=3.0):
    """Return start poses of different kinds, shape (n + 1, 3, B)."""
    rng = make_rng(seed)
    kinds = [POSES[i % len(POSES)] for i in range(size)]
    joints = [start_joints(kind, uneven_lengths(count, ratio, rng), rng) for kind in kinds]
    return np.stack(joints, axis=-1)


def arc(count=10, size=1):
    """Return slightly bent chains of unit segments, shape (n + 1, 3, B)."""
    angles = np.linspace(0.0, 1.5, count)
    steps = np.stack([np.cos(angles), np.sin(angles), 0.2 * np.sin(2.0 * angles)], axis=1)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    joints = np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))
    return np.repeat(joints[:, :, None], size, axis=-1)


def led(points, lead):
    return points[-1 if lead is core.Lead.TIP else 0]


def walk(points, lead, rng, step, number):
    """Yield positions of the led end: a random walk in steps of a length (B,)."""
    place, course = led(points, lead), rng.normal(size=(3, points.shape[-1]))
    for _ in range(number):
        course = course + 0.3 * rng.normal(size=course.shape)
        place = place + step * course / np.linalg.norm(course, axis=0)
        yield place


@given(SEEDS, LEADS, BENDS, st.integers(1, 12), st.sampled_from([1e-3, 0.3, 5.0, 1e4]))
@settings(max_examples=12)
def test_lengths_and_bends_are_kept_and_the_led_end_is_where_it_shall_be(
    seed, lead, bend, count, size
):
    points = chains_of(seed, count, ratio=30.0)
    lengths = lengths_of(points)
    shares = make_rng(seed).uniform(0.5, 2.0, count - 1)
    limits = np.full(count - 1, np.pi) if bend is None else np.minimum(bend * shares, np.pi)
    for place in walk(points, lead, make_rng(seed + 1), size, 4):
        points = follow(points, place[None], lead, None if bend is None else limits)
        assert np.isfinite(points).all()
        scale = 1.0 + np.abs(points).max()
        np.testing.assert_allclose(lengths_of(points), lengths, atol=1e-14 * scale, rtol=1e-9)
        np.testing.assert_array_equal(led(points, lead), place)
        segments = np.diff(points, axis=0).swapaxes(1, -1)
        bends = vector_angles(segments[1:], segments[:-1])
        assert size >= 1e3 or (bends <= limits[:, None] + 1e-7).all()


@given(SEEDS, LEADS, BENDS)
@settings(max_examples=12)
def test_no_joint_runs_more_than_a_twentieth_farther_than_the_led_end(seed, lead, bend):
    points = chains_of(seed)
    points = follow(points, led(points, lead)[None], lead, bend)
    share = dragging.MAX_STEP_SHARE * (dragging.LIMITED_STEP_FACTOR if bend is not None else 1.0)
    step = 0.999 * share * lengths_of(points).min(axis=0)
    most = 1.0 if bend is None else MAX_AHEAD
    for place in walk(points, lead, make_rng(seed + 1), step, 40):
        moved = follow(points, place[None], lead, bend)
        ahead = np.linalg.norm(moved - points, axis=1) / step
        assert ahead.max() <= most + 1e-9
        points = moved


def turning(points, lead, is_pushed):
    """Return a smooth path of the led end as a function of the time in seconds."""
    start, chord = led(points, lead), led(points, lead) - points[0 if lead is core.Lead.TIP else -1]
    along = chord / np.linalg.norm(chord, axis=0) * (-1.0 if is_pushed else 1.0)

    def at(time):
        swing = np.array([np.sin(5.0 * time), 1.0 - np.cos(4.0 * time), 0.5 * np.sin(7.0 * time)])
        return start + 4.0 * time * along + swing[:, None]

    return at


@pytest.mark.parametrize("lead", core.Lead)
@pytest.mark.parametrize("bend", [None, 0.5])
@pytest.mark.parametrize("is_pushed", [False, True])
def test_half_the_frame_rate_gives_the_same_path(lead, bend, is_pushed):
    points = arc()
    at, reach = turning(points, lead, is_pushed), lengths_of(points).sum()
    fine = coarse = points
    for frame in range(1, 49):
        fine = follow(fine, at(frame / 48.0)[None], lead, bend)
        if frame % 2 == 0:
            coarse = follow(coarse, at(frame / 48.0)[None], lead, bend)
            assert np.linalg.norm(fine - coarse, axis=1).max() < 0.02 * reach


def test_a_single_segment_runs_on_the_exact_tractrix():
    points = np.array([[[0.0], [-2.0], [0.0]], [[0.0], [0.0], [0.0]]])
    for distance in (0.5, 3.0, 11.0):
        moved = follow(points, np.array([[[distance], [0.0], [0.0]]]))
        half_angle = np.arctan(np.exp(-distance / 2.0))
        expected = [distance - 2.0 * np.cos(2.0 * half_angle), -2.0 * np.sin(2.0 * half_angle), 0.0]
        np.testing.assert_allclose(moved[0, :, 0], expected, atol=1e-12)


@given(SEEDS, LEADS, st.sampled_from([None, 0.8]), st.booleans())
@settings(max_examples=10)
def test_moved_mirrored_or_scaled_the_answer_goes_along(seed, lead, bend, is_mirrored):
    rng = make_rng(seed)
    points = arc(size=2) + 0.01 * rng.normal(size=(11, 3, 2))
    path = np.array(list(walk(points, lead, rng, 0.4, 6)))
    frame = random_frame(rng)
    if is_mirrored:
        frame[:, 0] *= -1.0
    shift = rng.normal(size=(3, 1))
    for scale in (0.01, 1.0, 100.0):

        def moved(array, scale=scale):
            return scale * np.einsum("ij,fjb->fib", frame, array) + scale * shift

        there = follow(moved(points), moved(path), lead, bend)
        np.testing.assert_allclose(
            there, moved(follow(points, path, lead, bend)), atol=1e-9 * scale
        )


def test_the_root_leads_as_the_tip_of_the_reversed_chain_does():
    # A chain that is folded onto itself may unfold in any direction, so leave it out.
    points = chains_of(3)[..., [kind != "folded" for kind in POSES[:4]]]
    path = np.array(list(walk(points, core.Lead.ROOT, make_rng(4), 0.4, 6)))
    limits = np.linspace(0.4, 2.0, 5)
    by_root = follow(points, path, core.Lead.ROOT, limits)
    by_tip = follow(points[::-1], path, core.Lead.TIP, limits[::-1])
    np.testing.assert_allclose(by_root, by_tip[::-1], atol=1e-12)


@pytest.mark.parametrize("lead", core.Lead)
def test_solve_drags_once_and_its_bone_rotations_give_its_joints(lead):
    joints = arc()[:, :, 0]
    target = led(joints, lead) + np.array([0.5, 1.0, -0.7])
    options = core.SolveOptions(solver="FOLLOW", lead=lead, max_bend=0.6)
    chain = core.Chain(joints)
    solution = core.solve(chain, core.Goal(target), options)
    dragged = follow(joints[:, :, None], target[None, :, None], lead, 0.6)[:, :, 0]
    np.testing.assert_array_equal(solution.joint_positions, dragged)
    assert solution.status is core.Status.REACHED
    root = dragged[0]
    segments = rotation.rotate(core.bone_rotations(chain, solution), np.diff(joints, axis=0))
    posed = np.vstack((root, root + np.cumsum(segments, axis=0)))
    np.testing.assert_allclose(posed, solution.joint_positions, atol=1e-12)
    off = np.linalg.norm(led(solution.joint_positions, lead) - target)
    assert solution.residual == pytest.approx(off, abs=1e-12)


@pytest.mark.parametrize("bend", [None, 0.8])
@pytest.mark.parametrize("has_limits", [False, True])
@pytest.mark.parametrize("lead", core.Lead)
def test_chains_one_by_one_and_in_a_batch_are_the_same(lead, has_limits, bend, monkeypatch):
    rig, rng = RIGS["arm"](), make_rng(5)
    chains = rig.chains(4) if has_limits else core.Chains(np.moveaxis(chains_of(5), -1, 0))
    # Moves of different lengths take different numbers of steps.
    moves = np.array([0.0, 1e-3, 0.2, 6.0])[:, None] * unit(rng.normal(size=(4, 3)))
    targets = chains.joint_positions[:, -1 if lead is core.Lead.TIP else 0] + moves
    options = core.SolveOptions(
        core.Solver.FOLLOW, lead=lead, max_bend=np.pi if bend is None else bend
    )
    singles = [chains.take(np.array([row])) for row in range(4)]
    alone = [
        core.solve_batch(one, core.Goals(targets[[row]]), options)
        for row, one in enumerate(singles)
    ]
    assert compiled_chains.MAX_CHAINS_IN_FLOATS > 0
    monkeypatch.setattr(compiled_chains, "MAX_CHAINS_IN_FLOATS", 0)
    together = core.solve_batch(chains, core.Goals(targets), options)
    expected = np.array([solutions.joint_positions[0] for solutions in alone])
    assert np.abs(together.joint_positions - expected).max() <= 1e-9 * rig.length


@pytest.mark.parametrize("name", ["arm", "tail", "ten_hinges", "mixed_lengths"])
def test_a_chain_with_its_root_anchored_stays_in_its_ranges_and_its_root_stays(name):
    rig, rng, chain = RIGS[name](), make_rng(3), RIGS[name]().chain()
    root, target = chain.joint_positions[0], chain.joint_positions[-1]
    for _ in range(6):
        target = target + 0.25 * rig.length * rng.uniform(-1.0, 1.0, 3)
        solution = core.solve(
            chain, core.Goal(target), core.SolveOptions(core.Solver.FOLLOW, use_anchor=True)
        )
        assert np.linalg.norm(solution.joint_positions[0] - root) <= 1e-9 * rig.length
        # Sines of half angles resolve ranges worst near half a turn.
        assert rig.violations(solution.local_rotations_wxyz).max() <= 1e-6
        moved = rig.joints(solution.local_rotations_wxyz)
        chain = replace(chain, joint_positions=solution.joint_positions, joints=moved)


@pytest.mark.parametrize("lead", core.Lead)
@pytest.mark.parametrize("share", [0.7, 1.5])
def test_an_anchored_chain_is_extended_only_where_the_target_is_out_of_reach(lead, share):
    points = np.array([(0.0, 0.2 * (bone % 2), float(bone)) for bone in range(5)])
    chain = core.Chain(points)
    anchor = points[0 if lead is core.Lead.TIP else -1]
    target = anchor + share * chain.max_reach * np.array([0.6, 0.8, 0.0])
    options = core.SolveOptions(core.Solver.FOLLOW, lead=lead, use_anchor=True, max_bend=0.2)
    solution = core.solve(chain, core.Goal(target), options)
    assert solution.residual > 0.1
    is_far = share > 1.0
    assert (solution.status is core.Status.EXTENDED) == is_far
