"""Random edits of a file: chains go on or say why they cannot, and nothing else moves."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.edits.random_run import Job, find, run

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

STEPS = 50
"""Of a file: about three seconds."""
FEW, MANY = range(4), range(4, 40)
UNDONE = ("undo", "key", "aim_at_own_bone", "move_target", "mute", "set_number")
"""Edits after which Blender may go down: keys and own targets, and much that is taken back."""


@pytest.fixture(autouse=True)
def without_handlers_of_rigify() -> None:
    """Rigify of Blender 5.2 leaves a handler behind when it is disabled, which fails on each load.

    What files print is searched for faults here, and other tests have used Rigify before.
    """
    handlers = bpy.app.handlers.load_post
    for handler in list(handlers):
        if handler.__module__.startswith("rigify"):
            handlers.remove(handler)


@pytest.mark.parametrize("seed", FEW)
def test_random_edits(seed):
    """What does not hold is told with its step; ``random_run`` makes it shorter."""
    finding = find(seed, Job((seed,), STEPS))
    assert finding is None, str(finding)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", MANY)
def test_many_random_edits(seed):
    finding = find(seed, Job((seed,), STEPS))
    assert finding is None, str(finding)


def test_blender_stays_up_when_much_is_undone():
    """In a process of its own, so that one that goes down is told as all else is."""
    found, count = run(Job((1, 2), 40, kinds=UNDONE))
    assert not found, "\n".join(map(str, found))
    assert count == 80


def test_a_process_that_goes_down_is_a_finding_and_the_next_file_goes_on():
    found, count = run(Job((1, 2), 3, kinds=("_go_down",)))
    assert [(each.seed, each.step) for each in found] == [(1, 1), (2, 1)]
    assert count == 2
