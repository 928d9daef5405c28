"""A full Blender for the tests: the zip that it builds, and what a session in its window told."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.window.application import FOLDER, ROOT, Run, Session, run, screen
from tests.window.steps import MARK, RESULTS

# Seconds after which a process is killed.
LONGEST_BUILD, LONGEST_SESSION = 60.0, 240.0
# A script, the folder for its pictures, the size of the window in pixels, and words for the script.
Play = Callable[..., Run]


@pytest.fixture(scope="session")
def blender() -> str:
    """The program that BLENDER names; the test command also looks on the path."""
    named = os.environ.get("BLENDER", "")
    if not named:
        pytest.skip("the variable BLENDER names no full Blender")
    found = shutil.which(named)
    assert found, f"BLENDER={named} is not a program"
    return os.path.abspath(found)


@pytest.fixture(scope="session")
def built_zip(blender: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, built by that Blender."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, str(ROOT / "scripts" / "build_extension.py"), "--output"]
    variables = {"BLENDER": blender, "BLENDER_USER_RESOURCES": str(folder / "user")}
    built = run([*command, str(folder)], LONGEST_BUILD, folder / "console.txt", **variables)
    assert built.code == 0, built.tail()
    (zip_path,) = folder.glob("chain_ik-*.zip")
    return zip_path


@pytest.fixture(scope="session")
def play(blender: str, built_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Run a script in Blender's window, in a fresh profile, with a folder for its pictures."""

    def run_script(script: Path, folder: Path, size: tuple[int, int], *words: str) -> Run:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        geometry = ["--window-geometry", "0", "0", *map(str, size)]
        start = [blender, "--factory-startup", "--enable-event-simulate", *geometry]
        command = [*start, "--python", str(script), "--", str(built_zip), str(folder), *words]
        profile = str(tmp_path_factory.mktemp("profile"))
        with screen(blender, tmp_path_factory.mktemp("display")) as display:
            if display is None:
                pytest.skip("no display: set DISPLAY, or install Xvfb")
            variables = {**display, "BLENDER_USER_RESOURCES": profile}
            return run(command, LONGEST_SESSION, folder / "console.txt", **variables)

    return run_script


@pytest.fixture(scope="session")
def session(play: Play) -> Session:
    """The whole session in the window."""
    process = play(ROOT / "tests" / "window" / "session.py", FOLDER, (1000, 640))
    return Session(process, read_results(), read_steps(process.console))


def read_results() -> dict[str, dict[str, object]]:
    """Return the line of each step that came to its end."""
    path = FOLDER / RESULTS
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {result["name"]: result for result in map(json.loads, lines)}


def read_steps(console: list[str]) -> dict[str, list[str]]:
    """Return what was printed in each step, in "start" what came before the first."""
    found: dict[str, list[str]] = {"start": []}
    name = "start"
    for line in console:
        if line.startswith(MARK):
            name = line.removeprefix(MARK)
            found[name] = []
        else:
            found[name].append(line)
    return found
