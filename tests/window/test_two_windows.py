"""One rig in two windows with other view layers, scenes and frames: both show what is true.

Without a window tests/blender/live asks the same of view layers and scenes that scripts show.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.window.application import FOLDER, ROOT, Run, complaints

TOUR = ROOT / "scripts" / "window" / "two_windows_tour.py"
# Seconds; it takes less than one minute without a graphics card, as the windows are small.
LONGEST = 150.0
SIZE = (480, 400)


@pytest.fixture(scope="module")
def process(play: Callable[..., Run]) -> Run:
    return play(TOUR, FOLDER.parent / "two_windows", LONGEST, SIZE)


def test_status_pose_and_residual_are_those_of_each_window(process: Run):
    assert process.code == 0, process.tail()


def test_nobody_complains_in_the_console(process: Run):
    found = complaints(process.console)
    assert not found, "\n\n".join(found)
