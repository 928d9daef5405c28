"""Play a tour in Blender's window: install the zip, use it by mouse and keys, check each step.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/play.py -- dist/chain_ik-<version>.zip out/interface interface

Tours are the files in scripts/window/tours, and modules like tests.window.session. A tour writes
its pictures into the folder. If a check fails, it prints a sentence and the exit code is 1. With
the word "fine" at the end, pictures are as smooth as in the documentation.

Needs an X screen (1600 x 900 is right; it may be virtual), the program `import` of ImageMagick, and
an empty folder for Blender's user files, so that the user's own Blender stays unchanged.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

# Blender does not add the folder of a script to the path.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import bpy

from window.driver import ROUNDS, SMOOTH_ROUNDS, Session, play


def steps(zip_path: str, folder: str, name: str, *words: str) -> Session:
    """Yield the steps of a tour, after its import: an error in either ends Blender."""
    module = importlib.import_module(name if "." in name else f"window.tours.{name}")
    tour = module.Steps(Path(zip_path).resolve(), Path(folder).resolve())
    tour.is_fine = "fine" in words
    tour.folder.mkdir(parents=True, exist_ok=True)
    yield from tour.steps()


arguments = sys.argv[sys.argv.index("--") + 1 :]
if not bpy.app.use_event_simulate or "BLENDER_USER_RESOURCES" not in os.environ:
    sys.exit("Start Blender with --enable-event-simulate, and BLENDER_USER_RESOURCES set.")
play(steps(*arguments), SMOOTH_ROUNDS if "fine" in arguments else ROUNDS)
