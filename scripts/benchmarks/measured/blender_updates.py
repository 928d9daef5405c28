"""Measure Blender with one scene. A worker: one process poses one scene in one way.

    python -m benchmarks.measured.blender_updates MANNER LAYOUT      a Python with the bpy module

Manners: chains (this project's, live), built-in (Blender's IK constraint), floor (rotations that
are known already are written before the update, nothing is solved), handler (the same rotations are
written by a handler within the update, after the targets have been evaluated: what live chains
would cost if reading, solving and deciding took no time), unsolved (the same where objects carry
the settings of live chains and the targets are read, as any live solver has to: what live chains
would cost if solving and deciding took no time), memory (chains that are not live yet).
Separate processes: a rival is not slowed down by our handlers, nor by another scene's data.
"""

from __future__ import annotations

import gc
import os
import tempfile
import tracemalloc
from pathlib import Path
from typing import Callable

import bpy
import numpy as np
import numpy.typing as npt

import blender_ik_addon
from benchmarks.clocks import round_clocks
from benchmarks.measured import blender_stages
from benchmarks.measured.in_blender import InBlender, answer
from benchmarks.scenes import blender_scenes
from benchmarks.scenes.blender_scenes import TARGET_SETS, Array, Stage
from benchmarks.scenes.sizes import LAYOUTS
from blender_ik_addon import handlers

PLAYED_FRAMES = 50
ROTATION = "rotation_quaternion"
COUNTED_UPDATES = 3


class MissedError(Exception):
    """What is to be timed does not do its work, so its time says nothing."""


class Updates(InBlender):
    """One scene."""

    def __init__(self, manner: str, layout: str) -> None:
        """Build the scene and what poses it."""
        self.manner = manner
        self.stage: Stage = blender_scenes.build(LAYOUTS[layout])
        self.step, self.file = 0, ""
        self.known: list[list[npt.NDArray[np.float32]]] = []
        self.matrices = np.empty(0, np.float32)
        if manner in ("chains", "unsolved", "memory"):
            blender_ik_addon.register()
            bpy.context.scene.chain_ik.use_live = manner != "memory"
            blender_scenes.add_chains(self.stage)
            if manner == "unsolved":
                self._take_over()
        elif manner == "built-in":
            blender_scenes.add_builtin_constraints(self.stage)
        elif manner == "handler":
            bpy.app.handlers.depsgraph_update_post.append(self._on_update)
        self.buffers = [np.empty(4 * len(rig.pose.bones), np.float32) for rig in self._rigs]
        bpy.context.view_layer.update()

    @property
    def _rigs(self) -> list[bpy.types.Object]:
        return self.stage.armatures

    def update(self) -> None:
        """Have Blender evaluate the scene; what a floor knows already is written before."""
        if self.manner == "floor" and self.known:
            self._write()
        super().update()

    def load_rotations(self, path: str) -> None:
        """Take the rotations that `save_rotations` saved: from now on they are written."""
        self.known = [list(of_rigs) for of_rigs in np.load(path)]

    def save_rotations(self, path: str) -> None:
        """Save the rotations of all bones for every set of targets."""
        found = []
        for i in range(TARGET_SETS):
            self._move(i)
            bpy.context.view_layer.update()
            for rig, buffer in zip(self._rigs, self.buffers):
                rig.pose.bones.foreach_get(ROTATION, buffer)
            found.append(np.stack(self.buffers))
        np.save(path, np.stack(found))

    def check(self) -> dict[str, float]:
        """Visit every set of targets and tell how near the tips came.

        Raises:
            MissedError: If chains, or the rotations they gave, do not reach their targets.
        """
        found = []
        for i in range(TARGET_SETS):
            self._move(i)
            self.update()
            found.append(blender_scenes.residuals(self.stage))
        distances = np.concatenate(found)
        return {
            "reached": self._judge(distances),
            "worst": float(distances.max()) / self.stage.layout.bones,
        }

    def still(self) -> dict[str, float]:
        """Return the same where no target has moved and new rotations are written all the same."""
        return round_clocks(self._step_on, self.update)

    def idle(self) -> dict[str, float]:
        """Return the same after an object has moved that nothing depends on."""
        return round_clocks(self._move_unrelated, super().update)

    def key(self) -> None:
        """Key the targets, for `played`."""
        blender_scenes.key_targets(self.stage, PLAYED_FRAMES)

    def played(self) -> dict[str, float]:
        """Return a round's times of a frame of playback, in milliseconds."""
        figure = round_clocks(self._step_on, self._show_frame, most=PLAYED_FRAMES)
        self._judge(blender_scenes.residuals(self.stage))
        return figure

    def stages(self) -> dict[str, float]:
        """Return where the time of an update goes, in milliseconds by stage."""
        return blender_stages.stages(self.move_on, self.update)

    def opened(self) -> dict[str, float]:
        """Return the times of opening the scene's file until everything stands."""
        return round_clocks(self._save, self._open, most=1)

    def undone(self) -> dict[str, float]:
        """Return the times of undoing a move of a target until everything stands."""
        return round_clocks(self._move_one, self._undo, most=1)

    def traced(self) -> float:
        """Return what Python and NumPy keep of live updates, in KB a chain."""
        tracemalloc.start()
        return self._kept(lambda: tracemalloc.get_traced_memory()[0])

    def resident(self) -> float:
        """Return by how much the process has grown, in KB a chain: Blender's own part included."""
        return self._kept(_resident_bytes)

    def _kept(self, size: Callable[[], int]) -> float:
        """Return how much more is in use after some live updates than after the same before."""
        self._visit()
        before = size()
        bpy.context.scene.chain_ik.use_live = True
        self._visit()
        self._judge(blender_scenes.residuals(self.stage))
        return (size() - before) / 1024 / self.stage.layout.chains

    def _visit(self) -> None:
        for _ in range(COUNTED_UPDATES):
            self.move_on()
            self.update()
        gc.collect()

    def _save(self) -> None:
        if not self.file:
            self.file = str(Path(tempfile.mkdtemp(dir=bpy.app.tempdir)) / "scene.blend")
            bpy.ops.wm.save_as_mainfile(filepath=self.file)

    def _open(self) -> None:
        bpy.ops.wm.open_mainfile(filepath=self.file)
        super().update()

    def _move_one(self) -> None:
        bpy.ops.ed.undo_push(message="before")
        # By name: undo makes all objects anew.
        bpy.data.objects["Target.0"].location.z += 0.1
        super().update()
        bpy.ops.ed.undo_push(message="moved")

    def _undo(self) -> None:
        bpy.ops.ed.undo()
        super().update()

    def _show_frame(self) -> None:
        bpy.context.scene.frame_set(1 + self.step % PLAYED_FRAMES)

    def _take_over(self) -> None:
        """Have live chains store their settings, then write in their place."""
        bpy.context.view_layer.update()
        handlers.unregister()
        bpy.app.handlers.depsgraph_update_post.append(self._on_update_unsolved)

    def _on_update(self, *_arguments: object) -> None:
        if self.known:
            self._write()

    def _on_update_unsolved(self, _scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
        objects = depsgraph.objects
        matrices = np.empty(16 * len(objects), np.float32)
        objects.foreach_get("matrix_world", matrices)
        # What it writes itself must not have it write again.
        if self.known and not np.array_equal(matrices, self.matrices):
            self.matrices = matrices
            self._write()

    def _write(self) -> None:
        """Do what any solver in Python has to: read, write, tag."""
        for rig, buffer, known in zip(
            self._rigs, self.buffers, self.known[self.step % TARGET_SETS]
        ):
            bones = rig.pose.bones
            bones.foreach_get(ROTATION, buffer)
            bones.foreach_set(ROTATION, known)
            # The cheapest tag that has a pose evaluated, which our own writer uses, too.
            rig.update_tag(refresh={"OBJECT"})

    def _judge(self, distances: Array) -> float:
        """Return the share of tips that are near enough.

        Raises:
            MissedError: If one is not, and it is no rival's.
        """
        allowed = blender_scenes.allowed_residual(self.stage)
        missed = int(np.count_nonzero(distances > allowed))
        if missed and self.manner != "built-in":
            raise MissedError(
                f"{self.manner}: {missed} of {distances.size} tips are off by more than"
                f" {allowed:.2e}, the worst by {distances.max():.2e}"
            )
        return 1.0 - missed / distances.size

    def _step_on(self) -> None:
        self.step += 1

    def _move(self, index: int) -> None:
        self.step = index
        self.stage.move_targets(index)

    def move_on(self) -> None:
        """Move all targets to the next places."""
        self._move(self.step + 1)

    def _move_unrelated(self) -> None:
        self.step += 1
        self.stage.unrelated.location.x = 1.0 + self.step % 2


def _resident_bytes() -> int:
    """Return the process's resident memory; Linux tells it in pages."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    answer(Updates)
