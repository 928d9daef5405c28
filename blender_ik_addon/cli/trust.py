"""What this process may do, said to those that it starts: none of them may do more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import bpy

NAME = "chain_ik_trust"
# Blender computes simple expressions and known functions by itself; it leaves attributes to Python.
EXPRESSION = "bpy.app.version[0] > 0"


def runs_scripts() -> bool:
    """Tell whether Blender runs scripted drivers now; it treats the other code of files alike.

    Command line, preferences, excluded folders and how the file was opened decide that together,
    and Blender tells the result nowhere. So a driver of our own tries it, in a scene of its own.
    """
    scene = bpy.data.scenes.new(NAME)
    try:
        scene[NAME] = 0.0
        scene.driver_add(f'["{NAME}"]').driver.expression = EXPRESSION
        view_layer = scene.view_layers[0]
        with _silent_stderr():
            view_layer.update()
        graph = view_layer.depsgraph
        shown = None if graph is None else graph.scene_eval
        return shown is not None and shown[NAME] == 1.0
    finally:
        bpy.data.scenes.remove(scene)


def application_options() -> list[str]:
    """Return the options of an application that may do what this one may, for before the file."""
    options = []
    if bpy.app.factory_startup:
        options += ["--factory-startup", "--addons", __package__.rpartition(".")[0]]
    if not bpy.app.online_access:
        options.append("--offline-mode")
    return [*options, "--enable-autoexec" if runs_scripts() else "--disable-autoexec"]


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Leave out what Blender tells of a driver that it does not run: no file has this one."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
