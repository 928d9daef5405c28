"""Random edits of a file: chains continue or say why they cannot, and nothing else moves."""

import bpy
import pytest

from tests.blender.edits import random_checks as checks
from tests.blender.edits.kinds.random_round_trips import round_trip
from tests.blender.edits.random_edits import RandomEdits
from tests.blender.edits.random_run import Job, edit_file, run

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

STEPS = 50
QUICK_SEEDS = (0, 2, 3, 4)
"""Seeds of files that take three seconds; some of the others take thirty."""
OTHER_SEEDS = sorted({*range(40)} - {*QUICK_SEEDS})
BODY_EDITS = ("body", "move_target", "mute_chain", "set_frame", "add_chain", "undo", "rename_bone")
"""Edits of whole bodies, and edits that move and change these."""
UNDO_EDITS = ("undo", "key", "aim_at_own_bone", "move_target", "mute", "set_number")
"""Edits after which Blender may crash: keys, targets in the same rig, and many undo steps."""


@pytest.fixture(autouse=True)
def without_handlers_of_rigify() -> None:
    """Remove a handler that Rigify of Blender 5.2 leaves when disabled; it fails at each load.

    These tests search printed text for faults, and earlier tests have used Rigify.
    """
    handlers = bpy.app.handlers.load_post
    for handler in list(handlers):
        if handler.__module__.startswith("rigify"):
            handlers.remove(handler)


@pytest.mark.parametrize(
    "job",
    [
        *(Job((seed,), STEPS) for seed in QUICK_SEEDS),
        Job((0,), STEPS // 2, kinds=BODY_EDITS),
        *(pytest.param(Job((seed,), STEPS), marks=pytest.mark.exhaustive) for seed in OTHER_SEEDS),
    ],
    ids=str,
)
def test_random_edits(job):
    """A finding names its step; ``random_run`` shrinks it."""
    finding = edit_file(job.seeds[0], job)
    assert finding is None, str(finding)


@pytest.mark.parametrize(
    "job",
    [
        Job((3,), STEPS, kinds=UNDO_EDITS),
        # New bones, then undo back into edit mode with view layers that do not have them yet.
        Job((301236,), 75, (9, 10, 58, 70, 73, 74, 75)),
    ],
    ids=str,
)
def test_blender_stays_up_when_much_is_undone(job):
    """A separate process, so that a crash is reported like other findings."""
    findings, count = run(job)
    assert not findings, "\n".join(map(str, findings))
    assert count == len(job.only or range(job.steps))


def test_a_process_that_crashes_is_a_finding_and_the_next_file_follows():
    findings, count = run(Job((1, 2), 3, kinds=("_go_down",)))
    assert [(finding.seed, finding.step) for finding in findings] == [(1, 1), (2, 1)]
    assert count == 2


def test_a_solved_chain_that_does_not_come_back_from_mute_is_a_finding():
    machine = RandomEdits(0)
    machine.make_rigs()
    try:
        assert checks.restless_rigs() == set(), "rigs are left out of the checks"
        with pytest.raises(AssertionError, match="moved by mute"), round_trip("mute", True):
            bpy.data.objects["Other"].chain_ik.chains[0].mute = True
    finally:
        machine.close()
