"""A whole body in the window: a hand dragged beyond reach, undone, saved and opened; feet stay.

Without a window tests/blender/body asks the same of many drags.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.window.application import FOLDER, ROOT, Run, complaints

TOUR = ROOT / "scripts" / "window" / "bodies" / "whole_body_tour.py"
# Seconds; it takes one minute without a graphics card, as the window is small.
LONGEST = 220.0
SIZE = (1000, 560)


@pytest.fixture(scope="module")
def process(play: Callable[..., Run]) -> Run:
    return play(TOUR, FOLDER.parent / "whole_body", LONGEST, SIZE)


def test_pinned_feet_stay_beyond_reach_undone_and_in_the_file_that_is_opened(process: Run):
    assert process.code == 0, process.tail()


def test_nobody_complains_in_the_console(process: Run):
    found = complaints(process.console)
    assert not found, "\n\n".join(found)
