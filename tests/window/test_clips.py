"""A recorded clip in the window: planted and baked, stopped with Esc, undone in one step each.

Without a window tests/blender/clips asks how feet stand and how smoothly joints move.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.window.application import FOLDER, ROOT, Run, complaints

TOUR = ROOT / "scripts" / "window" / "clip_tour.py"
# Seconds.
LONGEST = 220.0
SIZE = (1000, 560)


@pytest.fixture(scope="module")
def process(play: Callable[..., Run]) -> Run:
    return play(TOUR, FOLDER.parent / "clips", LONGEST, SIZE)


def test_feet_stand_esc_leaves_nothing_and_one_undo_gives_all_back(process: Run):
    assert process.code == 0, process.tail()


def test_nobody_complains_in_the_console(process: Run):
    found = complaints(process.console)
    assert not found, "\n\n".join(found)
