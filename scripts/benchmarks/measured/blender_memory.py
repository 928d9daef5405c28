"""Measure what live chains keep in memory. A worker for a single question.

    python -m benchmarks.measured.blender_memory LAYOUT      a Python with the bpy module

The scene is the same before and after: chains are there, but live is off until Blender has
evaluated everything. What is counted is what updates leave behind, not what they need meanwhile.
"""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Callable

import bpy

import blender_ik_addon
from benchmarks import answering
from benchmarks.scenes import blender_scenes
from benchmarks.scenes.blender_scenes import Stage
from benchmarks.scenes.sizes import LAYOUTS
from common import blender_process

UPDATES = 3


def kept(stage: Stage, size: Callable[[], int]) -> float:
    """Return how much more there is after some live updates, in KB a chain.

    Args:
        stage: With chains that have never been solved.
        size: Tells how many bytes are in use.
    """
    bpy.context.scene.chain_ik.use_live = False
    _update(stage)
    before = size()
    bpy.context.scene.chain_ik.use_live = True
    _update(stage)
    if float(blender_scenes.residuals(stage).max()) > blender_scenes.allowed_residual(stage):
        raise RuntimeError("The chains do not follow their targets: no memory to measure.")
    return (size() - before) / 1024 / stage.layout.chains


def traced(stage: Stage) -> float:
    """Return what Python and NumPy keep, in KB a chain."""
    tracemalloc.start()
    return kept(stage, lambda: tracemalloc.get_traced_memory()[0])


def resident(stage: Stage) -> float:
    """Return by how much the process has grown, in KB a chain: Blender's own part included."""
    return kept(stage, _resident_bytes)


def _resident_bytes() -> int:
    """Return the process's resident memory; Linux tells it in pages."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _update(stage: Stage) -> None:
    for i in range(UPDATES):
        stage.move_targets(i)
        bpy.context.view_layer.update()
    gc.collect()


def main(layout: str) -> None:
    """Build and answer."""
    stage = blender_scenes.build(LAYOUTS[layout])
    blender_ik_addon.register()
    blender_scenes.add_chains(stage)
    answering.serve(
        {
            "versions": answering.python_versions,
            "traced": lambda: traced(stage),
            "resident": lambda: resident(stage),
        }
    )


if __name__ == "__main__":
    blender_process.run(main, sys.argv[1])
