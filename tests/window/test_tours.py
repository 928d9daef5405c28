"""Tours in a window: work as users do it, from beginning to end, checked at every step.

tests/blender/gizmos, live, controls, keying, clips and body test the same parts without a window.
The pictures of a tour are in the folder of its name in out.
"""

from collections.abc import Callable

import pytest

from tests.window.application import ROOT, Run, complaints

# Module of the tour; window size in pixels (a small window is drawn faster); least number of
# pictures.
TOURS = {
    # Promise 8: install the zip, use all of it, disable it, end Blender.
    "window": ("tests.window.session", (1000, 640), 50),
    # Gizmos are dragged and clicked; one undo step reverts a drag.
    "gizmos": ("tests.window.gizmos", (1000, 640), 7),
    # One rig in two windows with other view layers, scenes and frames: both show the right pose.
    "two_windows": ("tests.window.two_windows", (480, 400), 0),
    # A day with a character: no pose jumps, Esc leaves no trace, and undo restores all.
    "workflow": ("tests.window.workflow", (1000, 560), 14),
    # A whole body: pinned feet stay during reach, undo and crouch.
    "whole_body": ("tests.window.whole_body", (1000, 560), 4),
}


@pytest.fixture(scope="module", params=TOURS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def process(name: str, play: Callable[..., Run]) -> Run:
    tour, size, _ = TOURS[name]
    return play(tour, ROOT / "out" / name, size)


def test_all_checks_of_the_tour_pass(name: str, process: Run):
    assert process.code == 0, process.tail()
    assert len(list((ROOT / "out" / name).glob("*.png"))) >= TOURS[name][2]


def test_the_console_has_no_complaints(process: Run):
    texts = complaints(process.console)
    assert not texts, "\n\n".join(texts)
