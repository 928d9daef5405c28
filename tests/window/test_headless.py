"""A real Blender without a window: install the zip, switch it on, solve, bake, switch it off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.window.application import ROOT, Run, complaints, run

SESSION = ROOT / "tests" / "blender" / "package" / "package_session.py"
MARK = "CHAIN_IK_SESSION "
LONGEST = 180.0
# Metres. Blender stores float32; a solve accepts 1e-5.
REACHED = 2e-5


@pytest.fixture(scope="module")
def process(blender: str, built_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("headless")
    start = [blender, "--background", "--factory-startup", "--python-exit-code", "1", "--python"]
    command = [*start, str(SESSION), "--", str(built_zip)]
    variables = {"BLENDER_USER_RESOURCES": str(folder / "user")}
    return run(command, LONGEST, folder / "console.txt", **variables)


@pytest.fixture
def seen(process: Run) -> dict[str, object]:
    told = [line.removeprefix(MARK) for line in process.console if line.startswith(MARK)]
    assert process.code == 0, process.tail()
    assert len(told) == 1, process.tail()
    return json.loads(told[0])


def test_the_zip_is_installed_and_switched_on(seen):
    assert seen["enabled"]


def test_a_chain_reaches_its_target(seen):
    assert seen["distance"] <= REACHED, seen["status"]


def test_what_is_baked_plays_without_the_chain(seen):
    assert seen["is_muted"]
    assert seen["baked_distance"] <= REACHED


def test_switched_off_it_leaves_nothing_behind(seen):
    assert seen["left_behind"] == {}
    assert not seen["left_translations"]


def test_nobody_complains_in_the_console(process):
    found = complaints([line for line in process.console if not line.startswith(MARK)])
    assert not found, "\n\n".join(found)
