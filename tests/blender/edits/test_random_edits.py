"""Random edits of a file: chains go on or say why they cannot, and nothing else moves."""

import bpy
import pytest

from tests.blender.edits import random_checks as checks
from tests.blender.edits.kinds.random_round_trips import round_trip
from tests.blender.edits.random_edits import RandomEdits
from tests.blender.edits.random_run import Job, find, run

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

STEPS = 50
FEW = (0, 2, 3, 4)
"""Files that take three seconds each; among the others are some that take thirty."""
MANY = sorted({*range(40)} - {*FEW})
BODIES = ("body", "move_target", "mute_chain", "set_frame", "add_chain", "undo", "rename_bone")
"""Edits of whole bodies, and what moves and changes these."""
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


@pytest.mark.parametrize(
    "job",
    [
        *(Job((seed,), STEPS) for seed in FEW),
        Job((0,), STEPS // 2, kinds=BODIES),
        *(pytest.param(Job((seed,), STEPS), marks=pytest.mark.exhaustive) for seed in MANY),
    ],
    ids=str,
)
def test_random_edits(job):
    """What does not hold is told with its step; ``random_run`` makes it shorter."""
    finding = find(job.seeds[0], job)
    assert finding is None, str(finding)


def test_blender_stays_up_when_much_is_undone():
    """In a process of its own, so that one that goes down is told as all else is."""
    found, count = run(Job((3,), STEPS, kinds=UNDONE))
    assert not found, "\n".join(map(str, found))
    assert count == STEPS


def test_a_process_that_goes_down_is_a_finding_and_the_next_file_goes_on():
    found, count = run(Job((1, 2), 3, kinds=("_go_down",)))
    assert [(each.seed, each.step) for each in found] == [(1, 1), (2, 1)]
    assert count == 2


def test_a_solved_chain_that_does_not_come_back_from_mute_is_a_finding():
    machine = RandomEdits(0)
    machine.make_rigs()
    try:
        assert checks.without_rest() == set(), "rigs are left out of the checks"
        with pytest.raises(AssertionError, match="moved by mute"), round_trip("mute", True):
            bpy.data.objects["Other"].chain_ik.chains[0].mute = True
    finally:
        machine.close()
