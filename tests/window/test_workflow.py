"""A character's controls all day long: crouch, kick, walk, a box, FK and IK, bake; undo and redo.

Without a window tests/blender/controls and tests/blender/keying ask the same of each by itself.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.window.application import FOLDER, ROOT, Run, complaints

TOUR = ROOT / "scripts" / "window" / "workflow_tour.py"
# Seconds; it takes one minute of a processor without a graphics card, as the window is small.
LONGEST = 220.0
SIZE = (1000, 560)


@pytest.fixture(scope="module")
def process(play: Callable[..., Run]) -> Run:
    return play(TOUR, FOLDER.parent / "workflow", LONGEST, SIZE)


def test_no_chain_misses_nothing_pops_and_undo_gives_all_back(process: Run):
    assert process.code == 0, process.tail()


def test_nobody_complains_in_the_console(process: Run):
    found = complaints(process.console)
    assert not found, "\n\n".join(found)
