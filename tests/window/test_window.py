"""Promise 8 in a window: install the zip, use all of it, switch it off, without a complaint.

Each step is one test; its picture is in out/window.
"""

from __future__ import annotations

import pytest

from tests.window.application import FOLDER, Session, complaints
from tests.window.steps import REFUSED, STEPS


@pytest.mark.parametrize("step", STEPS)
def test_step(session: Session, step: str):
    result = session.results.get(step)
    assert result, f"Blender did not get to the end of this step.\n{session.process.tail()}"
    assert not result["sentence"], result["sentence"]


@pytest.mark.parametrize("step", ["start", *STEPS, "end"])
def test_nobody_complains_in_the_console(session: Session, step: str):
    assert step in session.console, session.process.tail()
    lines = session.console[step]
    refused = {line.removeprefix(REFUSED) for line in lines if line.startswith(REFUSED)}
    found = complaints([line for line in lines if line.removeprefix(REFUSED) not in refused])
    assert not found, "\n\n".join(found)


def test_every_step_leaves_a_picture(session: Session):
    assert not [name for name in session.results if not (FOLDER / f"{name}.png").is_file()]


def test_blender_ends_as_it_should(session: Session):
    assert session.process.code == 0, session.process.tail()
