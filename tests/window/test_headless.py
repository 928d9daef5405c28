"""A real Blender without a window: install the zip, switch it on, solve, bake, switch it off."""

from __future__ import annotations

import json
from pathlib import Path

from tests.window.application import ROOT, complaints, run

SESSION = ROOT / "tests" / "blender" / "package" / "package_session.py"
MARK = "CHAIN_IK_SESSION "
LONGEST = 180.0
# Metres. Blender stores float32; a solve accepts 1e-5.
REACHED = 2e-5


def test_the_zip_works_and_leaves_nothing_behind(blender: str, built_zip: Path, tmp_path: Path):
    start = [blender, "--background", "--factory-startup", "--python-exit-code", "1", "--python"]
    command = [*start, str(SESSION), "--", str(built_zip)]
    variables = {"BLENDER_USER_RESOURCES": str(tmp_path / "user")}
    process = run(command, LONGEST, tmp_path / "console.txt", **variables)
    assert process.code == 0, process.tail()
    (line,) = (each for each in process.console if each.startswith(MARK))
    seen = json.loads(line.removeprefix(MARK))
    assert seen["enabled"]
    assert seen["distance"] <= REACHED, seen["status"]
    assert seen["is_muted"]
    assert seen["baked_distance"] <= REACHED
    assert seen["left_behind"] == {}
    assert not seen["left_translations"]
    found = complaints([each for each in process.console if each != line])
    assert not found, "\n\n".join(found)
