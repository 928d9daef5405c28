"""Every gizmo dragged in a window, by mouse and keys; the pictures are in out/gizmos.

Without a window tests/blender/gizmos asks the same of each by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.window.application import FOLDER, ROOT, Run, complaints

TOUR = ROOT / "scripts" / "window" / "gizmo_tour.py"
PICTURES = FOLDER.parent / "gizmos"
# Seconds; it takes two minutes without a graphics card.
LONGEST = 240.0


@pytest.fixture(scope="module")
def process(play: Callable[[Path, Path, float], Run]) -> Run:
    return play(TOUR, PICTURES, LONGEST)


def test_every_gizmo_does_what_it_should(process: Run):
    assert process.code == 0, process.tail()
    assert len(list(PICTURES.glob("*.png"))) > 10


def test_nobody_complains_in_the_console(process: Run):
    found = complaints(process.console)
    assert not found, "\n\n".join(found)
