"""A full Blender for the tests, the zip that it builds, and tours that are played in its window."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.window.application import ROOT, Run, run, screen

# Seconds after which a process is killed.
LONGEST_BUILD, LONGEST_SESSION = 60.0, 240.0
# Takes a tour, the folder for its pictures, and the size of the window in pixels.
Play = Callable[[str, Path, "tuple[int, int]"], Run]


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
    """Play a tour in Blender's window, in a fresh profile, with a folder for its pictures."""

    def play_tour(tour: str, folder: Path, size: tuple[int, int]) -> Run:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        geometry = ["--window-geometry", "0", "0", *map(str, size)]
        start = [blender, "--factory-startup", "--enable-event-simulate", *geometry, "--python"]
        script = str(ROOT / "scripts" / "window" / "play.py")
        command = [*start, script, "--", str(built_zip), str(folder), tour]
        profile = str(tmp_path_factory.mktemp("profile"))
        with screen(blender, tmp_path_factory.mktemp("display")) as display:
            if display is None:
                pytest.skip("no display: set DISPLAY, or install Xvfb")
            variables = {**display, "BLENDER_USER_RESOURCES": profile}
            return run(command, LONGEST_SESSION, folder / "console.txt", **variables)

    return play_tour
