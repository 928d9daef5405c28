"""Random edits of a file: chains go on or say why they cannot, and nothing else moves."""

from __future__ import annotations

import bpy
import hypothesis
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis.stateful import run_state_machine_as_test

from tests.blender.edits.random_edits import RandomEdits

# Thorough: thousands of updates, left out of the quick subset.
pytestmark = [pytest.mark.slow, pytest.mark.oldest]

STEPS, EXAMPLES = 50, 5
FEW, MANY = range(8), range(8, 40)


@pytest.fixture(autouse=True)
def without_handlers_of_rigify() -> None:
    """Rigify of Blender 5.2 leaves a handler behind when it is disabled, which fails on each load.

    What files print is searched for faults here, and other tests have used Rigify before.
    """
    handlers = bpy.app.handlers.load_post
    for handler in list(handlers):
        if handler.__module__.startswith("rigify"):
            handlers.remove(handler)


def edit_at_random(seed: int) -> None:
    """Carry out a few files' worth of edits; a failure tells the shortest way to it.

    ``RandomEdits`` asserts after every single one, in ``_look`` and ``carry_out``.
    """
    settings = hypothesis.settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    machine = hypothesis.seed(seed)(type("Edits", (RandomEdits,), {}))
    run_state_machine_as_test(machine, settings=settings)


@pytest.mark.parametrize("seed", FEW)
def test_random_edits(seed):
    edit_at_random(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", MANY)
def test_many_random_edits(seed):
    edit_at_random(seed)
