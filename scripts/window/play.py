"""Play a tour in Blender's window: install the zip, use it with mouse and keys, check every step.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/play.py -- dist/chain_ik-<version>.zip out/workflow workflow

The names of the tours are those of the files in scripts/window/tours. A tour leaves its pictures in
the folder; the exit code is 1, after a sentence, if something is not as it should be. With the word
"fine" behind its name the pictures are as smooth as those of the documentation.

Needs an X screen (1600 x 900 is right; a virtual one will do), the program `import` of
ImageMagick, and an empty folder for Blender's user files, so that nobody's own Blender is changed.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

# Blender puts the folder of a script that it runs on no path.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from window.driver import ROUNDS, SMOOTH_ROUNDS, Session, play, read_arguments


def steps(zip_path: str, folder: str, name: str, *words: str) -> Session:
    """Yield the steps of a tour. Its import is part of them: what fails in them ends Blender."""
    tour = importlib.import_module(f"window.tours.{name}").Steps(Path(zip_path), Path(folder))
    tour.is_fine = "fine" in words
    yield from tour.steps()


if __name__ == "__main__":
    arguments = read_arguments("the zip, a folder for pictures, a tour")
    play(steps(*arguments), SMOOTH_ROUNDS if "fine" in arguments else ROUNDS)
