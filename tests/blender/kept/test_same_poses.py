"""Same file, same frame, same pose as when it was recorded, in any frame order and process.

The file has every kind of chain: `kept_file` made it with Blender 4.2, and recorded the poses with
5.2. On one version the same live chains give equal poses to the last bit. On another version, or
beside other live chains, last digits decide how a straight chain turns, or which of several equal
poses is chosen.
"""

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties import settings
from tests.blender.kept import kept_file
from tests.blender.kept.kept_file import ONLY_TIPS, SINGLE_FRAMES, States
from tests.blender.setups import rigs
from tests.blender.setups.renders import render_frames
from tests.helpers import angles_between, make_rng

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

TOLERANCE = 1e-5
"""Radians, and units of length: chains here are at most a few units long."""
SOLVERS = {solver for solver, *_ in settings.SOLVERS}
SHUFFLED_FRAMES = SINGLE_FRAMES[::-1]
LAST_FRAME = slice(-1, None)
MAX_DIFFERENT_SHARE = 0.02
"""Share of the objects that may turn differently beside other live chains: last digits decide."""


@pytest.fixture(scope="module")
def shown(registered_addon: None) -> States:
    """The states in the running Blender, played once."""
    return kept_file.play()


@pytest.fixture(scope="module")
def kept() -> States:
    return kept_file.read_recorded()


def test_the_file_has_every_kind_and_each_moves_from_frame_to_frame(shown, kept):
    assert shown.keys() == kept.keys() > ONLY_TIPS.keys()
    assert len(kept) == 186
    assert {name.partition(" ")[0] for name in kept} > SOLVERS
    assert kept_file.FILE.stat().st_size < 1.5e6
    for name, rows in kept.items():
        for key in ("rotations", "tips"):
            moved = np.abs(np.diff(rows[key], axis=0)).max(axis=(1, 2))
            assert moved.min() > 0.005, name


def test_bones_turn_as_they_did_and_tips_and_residuals_are_as_they_were(shown, kept):
    errors = {}
    for name, rows in kept.items():
        # Chains without a history are played at every second recorded frame only.
        step = 2 if len(shown[name]["tips"]) == len(SINGLE_FRAMES) else 1
        one, other = shown[name], {key: values[::step] for key, values in rows.items()}
        errors |= {
            f"{name}, {key}": np.abs(one[key] - other[key]).max()
            for key in ("others", "tips", "misses")
            if key != "others" or name not in ONLY_TIPS
        }
        if name not in ONLY_TIPS:
            errors[name] = max_turn(one, other)
    assert {what: value for what, value in errors.items() if not value <= TOLERANCE} == {}


def max_turn(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> float:
    """Return the largest angle between the rotations of one bone in two states, radians."""
    return float(angles_between(one["rotations"], other["rotations"]).max())


def assert_equal_bits(states: States, shown: States, frames: slice = slice(None)) -> None:
    assert len(states) > 150
    different = [
        (name, key, np.abs(values - shown[name][key][frames]).max())
        for name, rows in states.items()
        for key, values in rows.items()
        if not np.array_equal(values, shown[name][key][frames])
    ]
    assert not different, (len(different), different[:20])


def test_shuffled_and_rendered_frames_are_equal_and_removed_chains_change_few_others(
    shown, tmp_path
):
    names = kept_file.open_file()
    assert_equal_bits(kept_file.read(names, SHUFFLED_FRAMES), shown)

    def read(depsgraph: bpy.types.Depsgraph) -> States:
        return {n: {"poses": rigs.pose(bpy.data.objects[n], depsgraph)[None]} for n in names}

    last = SINGLE_FRAMES[-1]
    rendered = render_frames(tmp_path, read, (last, last))[last]
    assert_equal_bits(rendered, shown, LAST_FRAME)
    chosen = [str(name) for name in make_rng(6).permutation(names)[: len(names) // 4]]
    bpy.data.batch_remove([bpy.data.objects[name] for name in names if name not in chosen])
    different = []
    for name, rows in kept_file.read(chosen, SINGLE_FRAMES[:1]).items():
        expected = {key: values[:1] for key, values in shown[name].items()}
        np.testing.assert_allclose(rows["misses"], expected["misses"], atol=TOLERANCE, err_msg=name)
        different += [] if max_turn(rows, expected) <= TOLERANCE or name in ONLY_TIPS else [name]
    assert len(different) <= MAX_DIFFERENT_SHARE * len(chosen), different


def test_a_second_process_is_equal_to_the_last_bit(shown, tmp_path):
    states = kept_file.read_elsewhere(SINGLE_FRAMES[-1:], tmp_path)
    assert_equal_bits(states, shown, LAST_FRAME)
