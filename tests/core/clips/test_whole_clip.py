"""Clips improved as a whole: the goals of each frame are met, jumps and shaking are removed."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon import core
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.clips.jumps import find_largest_turns, find_path
from blender_ik_addon.core.clips.second_differences import make_bands
from blender_ik_addon.core.clips.whole_clip import accelerates_more, acceleration, improve
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations
from tests.core.chains import Array
from tests.helpers import assert_rotations_close, make_rng

pytestmark = pytest.mark.slow

FRAMES, BONES = 240, 6
# The largest distance to a target, in lengths of the chain.
TARGETS = 1e-5
# The largest turn of a joint in a frame, in radians, divided by the largest step of the target in a
# frame, in lengths of the chain.
LARGEST_TURN = 5.0
NOTHING_FIXED = np.zeros(FRAMES, dtype=np.bool_)


@dataclass(frozen=True)
class LimbClip:
    """A clip of bones of equal length, along Y at rest, whose end follows targets."""

    targets: Array
    bones: int
    kinds: tuple[core.JointKind, ...] = ()
    limit: float = np.inf

    @property
    def is_held(self):
        return bool(self.kinds)

    def joints(self, local):
        """Return heads and ends, shape (F, n + 1, 3), and the bones' axes (F, n, 3, 3)."""
        frames = np.empty((*local.shape[:2], 3, 3))
        points, frame = [np.zeros((len(local), 3))], np.eye(3)
        for bone in range(self.bones):
            frame = frame @ rotation.matrix_from_quaternion(local[:, bone])
            frames[:, bone] = frame
            points.append(points[-1] + frame[..., 1] / self.bones)
        return np.stack(points, axis=1), frames

    def measure(self, local):
        points, frames = self.joints(local)
        levers = points[:, -1:] - points[:, :-1]
        rates = np.cross(np.swapaxes(frames, -1, -2), levers[:, :, None])
        return points[:, -1] - self.targets, rates.transpose(0, 3, 1, 2)

    def hold(self, local):
        if not self.kinds:
            return local
        limits = np.full((*local.shape[:2], 3), self.limit)
        return clamp_rotations(self.kinds, local, -limits, limits)

    def take(self, frames):
        return replace(self, targets=self.targets[frames])


def rest(frames: int, bones: int) -> Array:
    """Return identity rotations, shape (F, n, 4)."""
    return np.tile((1.0, 0.0, 0.0, 0.0), (frames, bones, 1))


def smooth_path(rng: np.random.Generator, frames: int) -> Array:
    """Return points (F, 3) on a smooth random path, at distances of 1/3 to 0.9 of the reach."""
    turn = np.linspace(0.0, 2.0 * np.pi, frames)
    waves = rng.normal(size=(4, 2, 3)) / np.arange(1, 5)[:, None, None]
    phases = np.arange(1, 5)[:, None] * turn
    path = np.einsum("wf,wi->fi", np.cos(phases), waves[:, 0])
    path = path + np.einsum("wf,wi->fi", np.sin(phases), waves[:, 1])
    size = np.linalg.norm(path, axis=1, keepdims=True)
    least, most = 1.0 / 3.0, 0.9
    return path / size * (least + (most - least) * np.tanh(size / size.mean()) ** 2)


def solved(targets: Array, bones: int, solver: core.Solver, joints=None) -> Array:
    """Return the local rotations that a solver finds, every frame from the same start."""
    points = np.zeros((len(targets), bones + 1, 3))
    points[:, :, 1] = np.linspace(0.0, 1.0, bones + 1)
    side = np.tile((0.0, 0.0, 1.0), (len(targets), 1))
    chains = core.Chains(points, side, joints)
    options = core.SolveOptions(solver=solver, tolerance=1e-7, iterations=500)
    solutions = core.solve_batch(chains, core.Goals(targets), options)
    if joints is not None:
        return solutions.local_rotations_wxyz
    rotations = core.bone_rotations(chains, solutions)
    parents = np.concatenate((rest(len(targets), 1), rotations[:, :-1]), axis=1)
    return rotation.multiply(rotation.conjugate(parents), rotations)


def met(clip, local):
    """Return the clip with the targets that these poses reach."""
    return replace(clip, targets=clip.joints(local)[0][:, -1])


def clip_of(solver, seed, frames=FRAMES):
    """Return a clip, and the poses of a solver that meet its targets."""
    targets = smooth_path(make_rng(seed), frames)
    local = solved(targets, BONES, solver)
    return met(LimbClip(targets, BONES), local), local


def largest_step(clip):
    return np.linalg.norm(np.diff(clip.targets, axis=0), axis=1).max()


@pytest.mark.parametrize(
    ("solver", "seed"), [(core.Solver.NEWTON, 2), (core.Solver.FABRIK, 1), (core.Solver.CCD, 2)]
)
def test_joints_turn_no_farther_than_the_target_justifies(solver, seed):
    clip, local = clip_of(solver, seed)
    start = rest(FRAMES, BONES)
    improved = improve(clip, start, local, NOTHING_FIXED, 0.5)
    assert find_largest_turns(local).max() > LARGEST_TURN * largest_step(clip), "nothing to better"
    assert find_largest_turns(improved.local).max() <= LARGEST_TURN * largest_step(clip)
    assert np.abs(clip.measure(improved.local)[0]).max() <= TARGETS
    assert acceleration(improved.local) < acceleration(local)


def test_without_smoothness_only_frames_around_jumps_move():
    clip, local = clip_of(core.Solver.NEWTON, 2)
    start = rest(FRAMES, BONES)
    improved = improve(clip, start, local, NOTHING_FIXED, 0.0)
    is_near_jump = find_path(clip, start, local, NOTHING_FIXED, 0.0).is_near_jump
    assert 0 < is_near_jump.sum() < FRAMES // 4
    assert np.array_equal(improved.local[~is_near_jump], local[~is_near_jump])
    assert improved.is_moved.any()
    assert np.array_equal(improved.is_moved, (improved.local != local).any(axis=(1, 2)))


def test_what_goals_require_is_no_jump():
    """A limb that is nearly straight turns fast where its target moves slowly."""
    reach = np.linspace(0.97, 0.9999, 12)
    reach = np.concatenate((reach, reach[::-1]))
    half = np.arccos(reach)
    turns = np.zeros((len(reach), 2, 3))
    turns[..., 0] = np.stack((half, -2.0 * half), axis=1)
    local = rotation.quaternion_from_vector(turns)
    clip = met(LimbClip(np.zeros((len(reach), 3)), 2), local)
    assert find_largest_turns(local).max() > 10.0 * largest_step(clip)
    start, nothing_fixed = rest(len(reach), 2), np.zeros(len(reach), dtype=np.bool_)
    assert not find_path(clip, start, local, nothing_fixed, 1.0).is_near_jump.any()
    improved = improve(clip, start, local, nothing_fixed, 0.0)
    assert not improved.is_moved.any()
    assert not improved.jumps.size


def test_what_is_keyed_is_not_smoothed_away():
    rng = make_rng(3)
    shaking = rotation.normalize(rest(FRAMES, BONES) + 0.1 * rng.normal(size=(FRAMES, BONES, 4)))
    clip = met(LimbClip(np.zeros((FRAMES, 3)), BONES), shaking)
    improved = improve(clip, shaking, shaking, NOTHING_FIXED, 1.0)
    assert_rotations_close(improved.local, shaking, 1e-6)


# Short clips of three bones, for properties of random clips.
SHORT, LIMIT = 24, 1.2


def short_clip(seed, solver, *, is_limited=False):
    """Return a random clip, and the poses of a solver that meet its targets."""
    targets = smooth_path(make_rng(seed), SHORT)
    kinds = (core.JointKind.BALL,) * 3 if is_limited else ()
    joints = None
    if is_limited:
        free, limits = np.tile(np.eye(3), (SHORT, 3, 1, 1)), np.full((SHORT, 3, 3), LIMIT)
        joints = core.Joints(kinds, free, rest(SHORT, 3), -limits, limits)
    local = solved(targets, 3, solver, joints)
    clip = LimbClip(targets, 3, kinds, LIMIT if is_limited else np.inf)
    return met(clip, local), local


@settings(max_examples=8)
@given(
    st.integers(0, 10**6),
    st.sampled_from([core.Solver.NEWTON, core.Solver.FABRIK, core.Solver.CCD]),
    st.floats(0.0, 1.0),
    st.booleans(),
)
def test_goals_are_met_what_is_fixed_stays_and_no_clip_gets_rougher(
    seed, solver, smoothness, is_limited
):
    clip, local = short_clip(seed, solver, is_limited=is_limited)
    is_fixed = make_rng(seed).random(SHORT) < 0.4 * (seed % 2)
    found = improve(clip, rest(SHORT, 3), local, is_fixed, smoothness)
    assert np.abs(clip.measure(found.local)[0]).max() <= TARGETS
    assert_rotations_close(clip.hold(found.local), found.local, 1e-7)
    assert not accelerates_more(found.local, local)
    assert np.array_equal(found.local[is_fixed], local[is_fixed])
    assert not found.is_moved[is_fixed].any()


# The clips have almost no constraints, so their results depend on where the improvement stops.
@settings(max_examples=6)
@given(
    st.integers(0, 10**6),
    st.floats(0.0, 0.7),
    st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3),
)
def test_a_clip_that_is_turned_as_a_whole_is_bettered_alike(seed, smoothness, turn):
    clip, local = short_clip(seed, core.Solver.NEWTON)
    start, whole = rest(SHORT, 3), rotation.quaternion_from_vector(np.array(turn))
    turned, keyed = local.copy(), start.copy()
    for poses in (turned, keyed):
        poses[:, 0] = rotation.multiply(whole, poses[:, 0])
    fixed = NOTHING_FIXED[:SHORT]
    found = improve(clip, start, local, fixed, smoothness)
    other = improve(met(clip, turned), keyed, turned, fixed, smoothness)
    expected = found.local.copy()
    expected[:, 0] = rotation.multiply(whole, expected[:, 0])
    assert_rotations_close(other.local, expected, 1e-4)


def elbow(frames, side):
    """Return rotations of two hinges, bent to sides (F,), with the end at 1.2 bones along Y."""
    half = np.arccos(0.6)
    angles = np.stack((side * half, -2.0 * side * half), axis=1)
    about_x = np.zeros((frames, 2, 3))
    about_x[..., 0] = angles
    return rotation.quaternion_from_vector(about_x)


HINGED = LimbClip(np.tile((0.0, 0.6, 0.0), (60, 1)), 2, (core.JointKind.HINGE_X,) * 2, np.pi)
FREE = replace(HINGED, kinds=(), limit=np.inf)


def test_a_jump_that_joints_force_is_reported_with_its_frame():
    side = np.where(np.arange(60) < 30, 1.0, -1.0)
    improved = improve(HINGED, rest(60, 2), elbow(60, side), NOTHING_FIXED[:60], 0.5)
    assert improved.jumps.tolist() == [30]


def test_a_jump_of_an_elbow_about_its_chord_becomes_a_smooth_turn():
    local, turn = elbow(60, np.ones(60)), np.radians(170.0)
    local[30:, 0] = rotation.multiply((np.cos(turn / 2), 0.0, np.sin(turn / 2), 0.0), local[30:, 0])
    improved = improve(FREE, rest(60, 2), local, NOTHING_FIXED[:60], 0.5)
    assert find_largest_turns(local).max() > 2.0
    assert improved.jumps.size == 0
    assert find_largest_turns(improved.local).max() < 0.15
    assert np.abs(FREE.measure(improved.local)[0]).max() <= TARGETS


def test_a_short_pop_is_removed():
    side = np.ones(60)
    side[30:33] = -1.0
    improved = improve(HINGED, rest(60, 2), elbow(60, side), NOTHING_FIXED[:60], 0.0)
    assert improved.jumps.size == 0
    assert_rotations_close(improved.local, elbow(60, np.ones(60)), 1e-6)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_clips_too_short_to_smooth_do_not_change(frames):
    clip, local = clip_of(core.Solver.NEWTON, 1, frames)
    improved = improve(clip, rest(frames, BONES), local, np.zeros(frames, dtype=np.bool_), 0.5)
    assert np.abs(clip.measure(improved.local)[0]).max() <= TARGETS
    if frames < 3:
        assert not improved.is_moved.any()


@pytest.mark.parametrize("frames", [3, 4, 10])
def test_accelerations_are_weighted_as_the_square_of_second_differences(frames):
    second, (on, one, two) = np.diff(np.eye(frames), n=2, axis=0), make_bands(frames)
    upper = np.diag(one[:-1], 1) + np.diag(two[:-2], 2)
    np.testing.assert_allclose(np.diag(on) + upper + upper.T, second.T @ second)
