"""Same file, same frame: the same poses, whatever was visited before, in whatever process.

The file with every kind of chain has hundreds of them: all solvers that have no history, with
limits, poles, trees, slides and stretch. For the same live chains on one version, equal is to the
last bit. With others live, or on another version, turns are equal to 1e-6 radians where a chain has
taken as many iterations; else both are as near to their targets, and such chains are counted.
Turns of chains that are straight, or that several ends are open to, are made of last digits there.
"""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
import pytest

from tests.blender.kept import kept_file
from tests.blender.kept.kept_file import ONLY_TIPS
from tests.blender.setups import rigs
from tests.blender.setups.renders import render_frames
from tests.blender.solvers import same_again
from tests.blender.solvers.same_again import Seen
from tests.helpers import make_rng

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

FRAMES = (2, 5)
SHUFFLED = (5, 2)
WHAT = ("rotations", "iterations", "misses")
CLOSE = 1e-6
"""Radians."""
LONGEST = 16.0
"""No chain is longer; positions are told in shares of it."""
MOST_OTHERS = 0.02
"""So many of the objects may take other numbers of iterations."""


@pytest.fixture(scope="module")
def played(registered_addon: None) -> Seen:
    """What playing in order shows, once."""
    return same_again.seen(same_again.open_file(), FRAMES)


def assert_equal_to_the_last_bit(found: Seen, expected: Seen) -> None:
    assert found
    apart = [key for key, value in found.items() if not np.array_equal(value, expected[key])]
    assert not apart, (
        len(apart),
        len(found),
        [(key, np.abs(np.subtract(found[key], expected[key])).max()) for key in apart[:20]],
    )


def test_shuffled_and_rendered_frames_are_equal_to_the_last_bit(played, tmp_path):
    names = same_again.open_file()
    chains = [chain for name in names for chain in bpy.data.objects[name].chain_ik.chains]
    assert {chain.solver for chain in chains} == {"TWO_BONE", "FABRIK", "CCD", "NEWTON", "FORCE"}
    assert any(chain.use_stretch for chain in chains)
    assert any(chain.pole_target for chain in chains)
    assert any(joint.use_slide for chain in chains for joint in chain.joints)
    assert len(chains) > 150
    poses = [[played[f"{frame} {name} poses"] for frame in FRAMES] for name in names]
    assert min(np.ptp(each, axis=0).max() for each in poses) > 0.005, "something rests"
    assert_equal_to_the_last_bit(same_again.seen(names, SHUFFLED), played)

    def read(depsgraph):
        return {name: rigs.pose(bpy.data.objects[name], depsgraph) for name in names}

    found = {
        f"{frame} {name} poses": pose
        for frame, poses in render_frames(tmp_path, read, (5, 5)).items()
        for name, pose in poses.items()
    }
    assert_equal_to_the_last_bit(found, played)


def test_a_second_process_is_equal_to_the_last_bit(played, tmp_path):
    found = same_again.seen_elsewhere(kept_file.FILE, SHUFFLED[:1], tmp_path)
    assert_equal_to_the_last_bit(found, played)


def assert_alike(found: Seen, expected: Seen, names: Sequence[str], frames: Sequence[int]) -> int:
    """Check what another set of live chains, or another version, shows.

    Returns:
        How many objects have taken other numbers of iterations, over all frames.
    """
    others = 0
    for key in [f"{frame} {name}" for frame in frames for name in names]:
        one, other = ({what: seen[f"{key} {what}"] for what in WHAT} for seen in (found, expected))
        if np.array_equal(one["iterations"], other["iterations"]):
            turn = same_again.turns_between(one["rotations"], other["rotations"]).max()
            assert turn <= CLOSE or _says_little(key), f"{key}: {turn:.2e} rad"
        else:
            others += 1
        # Of what is as near to its target, or as far: which is what counts where turns differ.
        np.testing.assert_allclose(
            one["misses"], other["misses"], rtol=0.0, atol=LONGEST * CLOSE, err_msg=key
        )
    return others


def _says_little(key: str) -> bool:
    """Return whether turns of an object are made of last digits: straight ones, several ends."""
    return key.split(" ", 1)[1] in ONLY_TIPS


def test_without_other_live_chains_the_rest_shows_the_same(played):
    names = same_again.open_file()
    left = {str(name) for name in make_rng(6).permutation(names)[: len(names) // 4]}
    kept = same_again.open_file(muted=set(names) - left)
    assert set(kept) == left
    others = assert_alike(same_again.seen(kept, SHUFFLED[:1]), played, kept, SHUFFLED[:1])
    assert others <= MOST_OTHERS * len(kept)


def test_every_version_shows_what_the_newest_did(played):
    expected = same_again.recorded()
    names = same_again.open_file()
    assert {key for key in expected if key.endswith("misses")} == {
        f"{same_again.SOLVED_FRAME} {name} misses" for name in names
    }
    others = assert_alike(played, expected, names, [same_again.SOLVED_FRAME])
    assert others <= MOST_OTHERS * len(names), others
