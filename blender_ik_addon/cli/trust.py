"""Rights of this process, as options for the processes that it starts: these get no more."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import bpy

PROBE_NAME = "chain_ik_trust"
# Blender computes simple expressions and known functions itself; only Python reads attributes.
PROBE_EXPRESSION = "bpy.app.version[0] > 0"


def runs_scripts() -> bool:
    """Tell whether Blender runs scripted drivers now; other code of files has the same rights.

    Command line, preferences, excluded folders and the way the file was opened decide together,
    and Blender shows the result nowhere. So a test driver in a temporary scene finds out.
    """
    scene = bpy.data.scenes.new(PROBE_NAME)
    try:
        scene[PROBE_NAME] = 0.0
        scene.driver_add(f'["{PROBE_NAME}"]').driver.expression = PROBE_EXPRESSION
        view_layer = scene.view_layers[0]
        with _silent_stderr():
            view_layer.update()
        graph = view_layer.depsgraph
        evaluated = None if graph is None else graph.scene_eval
        return evaluated is not None and evaluated[PROBE_NAME] == 1.0
    finally:
        bpy.data.scenes.remove(scene)


def application_options() -> list[str]:
    """Return the options, before the file, that give an application the rights of this one."""
    options = []
    if bpy.app.factory_startup:
        options += ["--factory-startup", "--addons", __package__.rpartition(".")[0]]
    if not bpy.app.online_access:
        options.append("--offline-mode")
    return [*options, "--enable-autoexec" if runs_scripts() else "--disable-autoexec"]


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Suppress Blender's message about a driver that it does not run: the file has no such one."""
    sys.stderr.flush()
    descriptor = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(descriptor, 2)
        os.close(descriptor)
