"""Same file, same frame: the same poses as when it was made, in any order, in whatever process.

The file has every kind of chain: `kept_file` made it, with Blender 4.2, and noted the poses, with
5.2. For the same live chains on one version, equal is to the last bit. Turns of chains that are
straight, or that several ends are open to, are made of last digits on another version, or with
others live.
"""

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties import settings
from tests.blender.kept import kept_file
from tests.blender.kept.kept_file import APART, ONLY_TIPS, Seen
from tests.blender.setups import rigs
from tests.blender.setups.renders import render_frames
from tests.helpers import angles_between, make_rng

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

CLOSE = 1e-5
"""Radians, and units of length: no chain here is longer than a few."""
SOLVERS = {solver for solver, *_ in settings.SOLVERS}
SHUFFLED = APART[::-1]
LAST = slice(-1, None)
MOST_OTHERS = 0.02
"""So many of the objects may turn otherwise where others are live: the last digit chooses."""


@pytest.fixture(scope="module")
def shown(registered_addon: None) -> Seen:
    """What the running Blender shows, played once."""
    return kept_file.play()


@pytest.fixture(scope="module")
def kept() -> Seen:
    return kept_file.recorded()


def test_the_file_has_every_kind_and_each_moves_from_frame_to_frame(shown, kept):
    assert shown.keys() == kept.keys() > ONLY_TIPS.keys()
    assert len(kept) == 186
    assert {name.partition(" ")[0] for name in kept} > SOLVERS
    assert kept_file.FILE.stat().st_size < 1.5e6
    for name, rows in kept.items():
        for key in ("rotations", "tips"):
            moved = np.abs(np.diff(rows[key], axis=0)).max(axis=(1, 2))
            assert moved.min() > 0.005, name


def test_bones_turn_and_tips_stand_as_they_did_and_are_said_to_miss_as_much(shown, kept):
    off = {}
    for name, rows in kept.items():
        # Not all frames that are kept are played of every chain.
        step = 2 if len(shown[name]["tips"]) == len(APART) else 1
        one, other = shown[name], {key: values[::step] for key, values in rows.items()}
        off |= {
            f"{name}, {key}": np.abs(one[key] - other[key]).max()
            for key in ("others", "tips", "misses")
            if key != "others" or name not in ONLY_TIPS
        }
        if name not in ONLY_TIPS:
            off[name] = turned(one, other)
    assert {what: value for what, value in off.items() if not value <= CLOSE} == {}


def turned(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """Return the greatest angle between bones, radians."""
    return float(angles_between(one["rotations"], other["rotations"]).max())


def assert_equal_to_the_last_bit(found: Seen, shown: Seen, frames: slice = slice(None)) -> None:
    assert len(found) > 150
    apart = [
        (name, key, np.abs(values - shown[name][key][frames]).max())
        for name, rows in found.items()
        for key, values in rows.items()
        if not np.array_equal(values, shown[name][key][frames])
    ]
    assert not apart, (len(apart), apart[:20])


def test_shuffled_and_rendered_frames_are_equal_and_few_others_live_make_no_difference(
    shown, tmp_path
):
    names = kept_file.open_file()
    assert_equal_to_the_last_bit(kept_file.seen(names, SHUFFLED), shown)

    def read(depsgraph: bpy.types.Depsgraph) -> Seen:
        return {n: {"poses": rigs.pose(bpy.data.objects[n], depsgraph)[None]} for n in names}

    last = APART[-1]
    found = render_frames(tmp_path, read, (last, last))[last]
    assert_equal_to_the_last_bit(found, shown, LAST)
    left = [str(name) for name in make_rng(6).permutation(names)[: len(names) // 4]]
    bpy.data.batch_remove([bpy.data.objects[name] for name in names if name not in left])
    apart = []
    for name, rows in kept_file.seen(left, APART[:1]).items():
        beside = {key: values[:1] for key, values in shown[name].items()}
        np.testing.assert_allclose(rows["misses"], beside["misses"], atol=CLOSE, err_msg=name)
        apart += [] if turned(rows, beside) <= CLOSE or name in ONLY_TIPS else [name]
    assert len(apart) <= MOST_OTHERS * len(left), apart


def test_a_second_process_is_equal_to_the_last_bit(shown, tmp_path):
    found = kept_file.seen_elsewhere(APART[-1:], tmp_path)
    assert_equal_to_the_last_bit(found, shown, LAST)
