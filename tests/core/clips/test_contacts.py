"""Contacts of feet, found in walks whose contacts are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from blender_ik_addon.core.clips.contacts import Planted, find_contacts, lowest_around, runs
from tests.core.clips import walks

# Constants were tuned on 0 to 7.
HELD_OUT = range(100, 108)


def f1(found: np.ndarray, truth: np.ndarray) -> float:
    """Return the harmonic mean of how many are right of what is found, and found of what is."""
    return 2.0 * np.sum(found & truth) / (found.sum() + truth.sum())


@pytest.mark.parametrize(("rate", "spoil"), walks.CASES)
def test_what_stands_is_found_in_spoiled_walks(rate, spoil):
    found, truth = [], []
    for seed in HELD_OUT:
        walk = walks.walk(seed, rate)
        for paths, stands in zip(walks.spoiled(walk, spoil, seed), walk.stands, strict=True):
            kinds = walks.kinds_of(paths, rate)
            found.append(np.stack((kinds & Planted.HEEL, kinds & Planted.TOE)) > 0)
            truth.append(stands)
    found, truth = np.concatenate(found, axis=1), np.concatenate(truth, axis=1)
    scores = [f1(*each) for each in zip(found, truth, strict=True)]
    scores.append(f1(found.any(axis=0), truth.any(axis=0)))
    assert scores[2] >= 0.97, scores
    assert min(scores) >= 0.93, scores


@pytest.mark.parametrize("lift", [0.3, 0.6])
def test_a_foot_that_is_held_up_does_not_stand(lift):
    walk = walks.walk(1, 30)
    raised = walk.paths[0] + [0.0, 0.0, lift]
    lowest = lowest_around(walk.paths[1, ..., 2].min(axis=0), 30)
    assert not find_contacts(*raised, lowest, 30, walks.HEIGHT).any()


def test_feet_stand_on_stairs():
    walk = walks.walk(1, 60)
    climbed = walk.paths.copy()
    for foot, stands in zip(climbed, walk.stands.any(axis=1), strict=True):
        for number, (start, end) in enumerate(runs(stands)):
            up = np.linspace(0.0, 0.17, end - start) * (not stands[start])
            foot[:, start:end, 2] += 0.17 * (number // 2) + up
    lowest = lowest_around(climbed[..., 2].min(axis=(0, 1)), 60)
    kinds = [find_contacts(*foot, lowest, 60, walks.HEIGHT) for foot in climbed]
    for found, stands in zip(kinds, walk.stands.any(axis=1), strict=True):
        assert f1(found > 0, stands) >= 0.97


def test_a_contact_at_either_end_of_a_clip_is_found():
    walk = walks.walk(3, 60)
    stands = walk.stands[0].any(axis=0)
    start, end = (list(runs(stands))[i][0] + 12 for i in (2 + stands[0], 6 + stands[0]))
    assert not stands[start] or stands[start - 5]
    kinds = walks.kinds_of(walk.paths[0][:, start:end], 60)
    assert (kinds > 0)[[0, -1]].tolist() == stands[[start, end - 1]].tolist()


clips = arrays(
    np.float64,
    st.tuples(st.just(2), st.integers(1, 40), st.just(3)),
    elements=st.floats(-1e3, 1e3, width=32),
)


@settings(max_examples=40)
@given(clips, st.sampled_from(walks.RATES), st.floats(0.01, 100.0))
def test_any_clip_has_contacts_of_some_length(paths, rate, height):
    lowest = lowest_around(paths[..., 2].min(axis=0), rate)
    kinds = find_contacts(*paths, lowest, rate, height)
    assert kinds.shape == (paths.shape[1],)
    assert set(kinds.tolist()) <= set(Planted)
    for bit in (Planted.HEEL, Planted.TOE):
        stands = (kinds & bit) > 0
        assert all(end - start > 0.08 * rate for start, end in runs(stands) if stands[start])


@settings(max_examples=40)
@given(clips)
def test_a_larger_body_has_the_same_contacts(paths):
    lowest = lowest_around(paths[..., 2].min(axis=0), 30)
    kinds = find_contacts(*paths, lowest, 30, 1.8)
    np.testing.assert_array_equal(find_contacts(*paths * 2.0, lowest * 2.0, 30, 3.6), kinds)
