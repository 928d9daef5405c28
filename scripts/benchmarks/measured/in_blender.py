"""What all workers have in common that measure inside Blender."""

from __future__ import annotations

import sys
from typing import Callable

import bpy

from benchmarks import answering
from benchmarks.clocks import SECONDS, round_clocks
from common import blender_process


class InBlender:
    """A scene whose targets move. Public methods are the tasks of its worker."""

    seconds = SECONDS
    """How long a round of `moved` takes."""

    def versions(self) -> dict[str, str]:
        """Return what runs here."""
        return {**answering.python_versions(), "blender": bpy.app.version_string}

    def moved(self) -> dict[str, float]:
        """Return a round's times of an update after all targets have moved, in milliseconds."""
        return round_clocks(self.move_on, self.update, seconds=self.seconds)

    def move_on(self) -> None:
        """Move all targets a step."""
        raise NotImplementedError

    def update(self) -> None:
        """Have Blender evaluate the scene."""
        bpy.context.view_layer.update()


def answer(make: Callable[..., InBlender]) -> None:
    """Build what the command line says, and answer; the whole work of a process."""
    blender_process.run(lambda: answering.serve(make(*sys.argv[1:])))
