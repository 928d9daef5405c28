"""Fixtures of window tests: a full Blender, the zip that it builds, and a player of tours."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.window.application import ROOT, Run, run, screen

# Seconds after which a process is killed.
BUILD_TIMEOUT, SESSION_TIMEOUT = 60.0, 240.0
# Arguments of a player: a tour, the folder for its pictures, and the size of the window, pixels.
Play = Callable[[str, Path, "tuple[int, int]"], Run]


@pytest.fixture(scope="session")
def blender() -> str:
    """The program that the variable BLENDER names; it may be a name on the path."""
    name = os.environ.get("BLENDER", "")
    if not name:
        pytest.skip("the variable BLENDER names no full Blender")
    program = shutil.which(name)
    assert program, f"BLENDER={name} is not a program"
    return os.path.abspath(program)


@pytest.fixture(scope="session")
def built_zip(blender: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip of the extension, built by that Blender."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, str(ROOT / "scripts" / "build_extension.py"), "--output"]
    variables = {"BLENDER": blender, "BLENDER_USER_RESOURCES": str(folder / "user")}
    built = run([*command, str(folder)], BUILD_TIMEOUT, folder / "console.txt", **variables)
    assert built.code == 0, built.tail()
    (zip_path,) = folder.glob("chain_ik-*.zip")
    return zip_path


@pytest.fixture(scope="session")
def play(blender: str, built_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """A function that plays a tour in Blender's window with a new profile."""

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
            return run(command, SESSION_TIMEOUT, folder / "console.txt", **variables)

    return play_tour
