"""A file with every kind of chain shows the poses that it showed when it was made.

`kept_file` made the file, with Blender 4.2, and noted the poses, with 5.2.
"""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.properties import settings
from tests.blender.kept import kept_file
from tests.blender.kept.kept_bonds import BONDS
from tests.blender.kept.kept_kinds import KINDS

# The file is played once, whatever is looked at.
pytestmark = [pytest.mark.slow, pytest.mark.oldest, pytest.mark.every_case]

ALL = {**KINDS, **BONDS}
CLOSE = 1e-5
"""Radians, and units of length: no chain here is longer than a few."""
SOLVERS = {solver for solver, *_ in settings.SOLVERS}


@pytest.fixture(scope="module")
def shown(registered_addon: None) -> dict[str, dict[str, np.ndarray]]:
    """What the running Blender shows, played once."""
    return kept_file.play()


@pytest.fixture(scope="module")
def kept() -> dict[str, dict[str, np.ndarray]]:
    return kept_file.recorded()


def test_the_file_has_every_kind(shown, kept):
    assert shown.keys() == kept.keys() == ALL.keys()
    assert {kind.solver for kind in KINDS.values()} == SOLVERS
    assert kept_file.FILE.stat().st_size < 1.5e6


@pytest.mark.parametrize("name", [name for name, kind in ALL.items() if not kind.only_tips])
def test_bones_turn_as_they_did(shown, kept, name):
    one, other = shown[name]["rotations"], kept[name]["rotations"]
    assert one.shape == other.shape
    chords = np.minimum(np.linalg.norm(one - other, axis=-1), np.linalg.norm(one + other, axis=-1))
    # Half the angle, as quaternions have it.
    assert np.all(2.0 * chords <= CLOSE), f"{2.0 * chords.max():.2e} rad off"
    np.testing.assert_allclose(shown[name]["others"], kept[name]["others"], atol=CLOSE)


@pytest.mark.parametrize("name", ALL)
def test_tips_stand_where_they_stood_and_are_said_to_miss_as_much(shown, kept, name):
    for key in ("tips", "misses"):
        np.testing.assert_allclose(shown[name][key], kept[name][key], rtol=0.0, atol=CLOSE)


@pytest.mark.parametrize("name", ALL)
def test_every_kind_moves_from_frame_to_frame(kept, name):
    """Else it would prove nothing that a pose is the same."""
    for key in ("rotations", "tips"):
        assert np.abs(np.diff(kept[name][key], axis=0)).max(axis=(1, 2)).min() > 0.005
