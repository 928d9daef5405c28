"""Measure what happens once: opening a file, undo. A worker: a scene in one manner.

    python -m benchmarks.measured.blender_cold MANNER LAYOUT      a Python with the bpy module

Manners: chains (this project's, live), built-in (Blender's IK constraint), without (the same rigs,
no constraint, no extension).
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import bpy

from benchmarks import answering
from benchmarks.scenes import blender_scenes
from benchmarks.scenes.sizes import LAYOUTS
from common import blender_process

TASKS = ("versions", "opened", "undone")


class Cold:
    """The scene and the tasks of the worker."""

    def __init__(self, manner: str, layout: str) -> None:
        """Build and save it."""
        stage = blender_scenes.build(LAYOUTS[layout])
        if manner == "chains":
            import blender_ik_addon

            blender_ik_addon.register()
            blender_scenes.add_chains(stage)
        elif manner == "built-in":
            blender_scenes.add_builtin_constraints(stage)
        bpy.context.view_layer.update()
        self.file = str(Path(tempfile.mkdtemp(dir=bpy.app.tempdir)) / "scene.blend")
        bpy.ops.wm.save_as_mainfile(filepath=self.file)

    def versions(self) -> dict[str, str]:
        """Return what runs here."""
        return {**answering.python_versions(), "blender": bpy.app.version_string}

    def opened(self) -> dict[str, float]:
        """Return the milliseconds of opening the file until everything stands."""
        begin, begin_work = time.perf_counter(), time.process_time()
        bpy.ops.wm.open_mainfile(filepath=self.file)
        bpy.context.view_layer.update()
        return _passed(begin, begin_work)

    def undone(self) -> dict[str, float]:
        """Return the milliseconds of undoing a move of a target until everything stands."""
        target = bpy.data.objects["Target.0"]
        bpy.ops.ed.undo_push(message="before")
        target.location.z += 0.1
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="moved")
        begin, begin_work = time.perf_counter(), time.process_time()
        bpy.ops.ed.undo()
        bpy.context.view_layer.update()
        return _passed(begin, begin_work)


def _passed(begin: float, begin_work: float) -> dict[str, float]:
    return {
        "wall": 1e3 * (time.perf_counter() - begin),
        "work": 1e3 * (time.process_time() - begin_work),
    }


def main(manner: str, layout: str) -> None:
    """Build and answer."""
    cold = Cold(manner, layout)
    answering.serve({name: getattr(cold, name) for name in TASKS})


if __name__ == "__main__":
    blender_process.run(main, *sys.argv[1:])
