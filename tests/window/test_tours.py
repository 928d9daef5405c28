"""What people do in a window, from one end to the other, checked at each step by a tour.

Without a window tests/blender/gizmos, live, controls, keying, clips and body ask the same of each
part by itself. The pictures of a tour are in out and its name.
"""

from collections.abc import Callable

import pytest

from tests.window.application import ROOT, Run, complaints

# The tour, the size of the window in pixels, as what is small is drawn sooner, and the fewest
# pictures.
TOURS = {
    # Promise 8: install the zip, use all of it, switch it off, end Blender.
    "window": ("tests.window.session", (1000, 640), 50),
    # Gizmos, dragged and clicked; each drag is undone in one step.
    "gizmos": ("tests.window.gizmos", (1000, 640), 7),
    # One rig in two windows with other view layers, scenes and frames: both show what is true.
    "two_windows": ("tests.window.two_windows", (480, 400), 0),
    # A day with a character: nothing pops, Esc leaves nothing, and undo restores all.
    "workflow": ("tests.window.workflow", (1000, 560), 14),
    # A whole body: pinned feet stay beyond reach, undone, and where it crouches.
    "whole_body": ("tests.window.whole_body", (1000, 560), 4),
}


@pytest.fixture(scope="module", params=TOURS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def process(name: str, play: Callable[..., Run]) -> Run:
    tour, size, _ = TOURS[name]
    return play(tour, ROOT / "out" / name, size)


def test_the_tour_finds_all_as_it_should_be(name: str, process: Run):
    assert process.code == 0, process.tail()
    assert len(list((ROOT / "out" / name).glob("*.png"))) >= TOURS[name][2]


def test_nobody_complains_in_the_console(process: Run):
    found = complaints(process.console)
    assert not found, "\n\n".join(found)
