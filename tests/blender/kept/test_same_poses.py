"""A file with every kind of chain shows the poses that it showed when it was made.

`kept_file` made the file, with Blender 4.2, and noted the poses, with 5.2.
"""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.properties import settings
from tests.blender.kept import kept_file
from tests.blender.kept.kept_file import ONLY_TIPS

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

CLOSE = 1e-5
"""Radians, and units of length: no chain here is longer than a few."""
SOLVERS = {solver for solver, *_ in settings.SOLVERS}
Poses = dict[str, dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def shown(registered_addon: None) -> Poses:
    """What the running Blender shows, played once."""
    return kept_file.play()


@pytest.fixture(scope="module")
def kept() -> Poses:
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


def test_bones_turn_as_they_did(shown, kept):
    off = {}
    for name in kept.keys() - ONLY_TIPS.keys():
        one, other = _both(shown, kept, name, "rotations")
        chords = [np.linalg.norm(one - sign * other, axis=-1) for sign in (1.0, -1.0)]
        # Half the angle, as quaternions have it.
        off[name] = 2.0 * np.minimum(*chords).max()
        off[f"{name}, others"] = _difference(shown, kept, name, "others")
    assert _too_far(off) == {}


def test_tips_stand_where_they_stood_and_are_said_to_miss_as_much(shown, kept):
    off = {
        f"{name}, {key}": _difference(shown, kept, name, key)
        for name in kept
        for key in ("tips", "misses")
    }
    assert _too_far(off) == {}


def _both(shown: Poses, kept: Poses, name: str, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the same frames: not all that are kept are played of every chain."""
    one, other = shown[name][key], kept[name][key]
    other = other[:: 2 if len(one) == len(kept_file.APART) else 1]
    assert one.shape == other.shape
    return one, other


def _difference(shown: Poses, kept: Poses, name: str, key: str) -> float:
    one, other = _both(shown, kept, name, key)
    return float(np.abs(one - other).max())


def _too_far(off: dict[str, float]) -> dict[str, float]:
    """Return what is off by more than is allowed, or by what is no number."""
    return {name: value for name, value in off.items() if not value <= CLOSE}
