"""What holds of any clip that is bettered as a whole."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from blender_ik_addon.core import JointKind, Solver
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.clips.branches import find_path
from blender_ik_addon.core.clips.whole_clip import accelerates_more, better
from tests.core.clips.limb_clips import LimbClip, limited_joints, met, rest, smooth_path, solved
from tests.helpers import assert_rotations_close, make_rng

FRAMES, BONES = 24, 3
# In lengths of the chain.
TARGETS = 1e-5
NOTHING_FIXED = np.zeros(FRAMES, dtype=np.bool_)
LIMIT = 1.2

seeds = st.integers(0, 10**6)
solvers = st.sampled_from([Solver.NEWTON, Solver.FABRIK, Solver.CCD])
smoothnesses = st.floats(0.0, 1.0)


def clip_of(seed, solver, *, is_limited=False):
    """Return a random clip that frames met one by one, and their poses."""
    targets = smooth_path(make_rng(seed), FRAMES)
    kinds = (JointKind.BALL,) * BONES if is_limited else ()
    joints = limited_joints(FRAMES, kinds, LIMIT) if is_limited else None
    local = solved(targets, BONES, solver, joints)
    clip = LimbClip(targets, BONES, kinds, LIMIT if is_limited else np.inf)
    return met(clip, local), local


@given(seeds, solvers, smoothnesses, st.booleans())
def test_goals_are_met_and_no_clip_gets_rougher(seed, solver, smoothness, is_limited):
    clip, local = clip_of(seed, solver, is_limited=is_limited)
    found = better(clip, rest(FRAMES, BONES), local, NOTHING_FIXED, smoothness)
    assert np.abs(clip.measure(found.local)[0]).max() <= TARGETS
    assert_rotations_close(clip.hold(found.local), found.local, 1e-7)
    assert not accelerates_more(found.local, local)


@given(seeds, smoothnesses)
def test_what_is_fixed_stays(seed, smoothness):
    clip, local = clip_of(seed, Solver.NEWTON)
    is_fixed = make_rng(seed).random(FRAMES) < 0.4
    found = better(clip, rest(FRAMES, BONES), local, is_fixed, smoothness)
    assert np.array_equal(found.local[is_fixed], local[is_fixed])
    assert not found.is_moved[is_fixed].any()


@given(seeds, solvers)
def test_without_smoothness_nothing_moves_away_from_jumps(seed, solver):
    clip, local = clip_of(seed, solver)
    start = rest(FRAMES, BONES)
    found = better(clip, start, local, NOTHING_FIXED, 0.0)
    is_anew = find_path(clip, start, local, NOTHING_FIXED).is_anew
    if not is_anew.any():
        assert np.array_equal(found.local, local)


# With hardly anything that holds them, how far clips come is told by where they stop.
@given(seeds, st.floats(0.0, 0.7), st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3))
def test_a_clip_that_is_turned_as_a_whole_is_bettered_alike(seed, smoothness, turn):
    clip, local = clip_of(seed, Solver.NEWTON)
    start, whole = rest(FRAMES, BONES), rotation.quaternion_from_vector(np.array(turn))
    turned, keyed = local.copy(), start.copy()
    for poses in (turned, keyed):
        poses[:, 0] = rotation.multiply(whole, poses[:, 0])
    found = better(clip, start, local, NOTHING_FIXED, smoothness)
    other = better(met(clip, turned), keyed, turned, NOTHING_FIXED, smoothness)
    expected = found.local.copy()
    expected[:, 0] = rotation.multiply(whole, expected[:, 0])
    assert_rotations_close(other.local, expected, 1e-4)
