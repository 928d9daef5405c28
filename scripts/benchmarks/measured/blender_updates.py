"""Measure whole updates inside Blender. A worker: one process poses one scene in one way.

    python -m benchmarks.measured.blender_updates MANNER LAYOUT      a Python with the bpy module

Manners: chains (this project's, live), built-in (Blender's IK constraint), floor (rotations that
are known already are written before the update, nothing is solved), handler (the same rotations are
written by a handler within the update, after the targets have been evaluated: what live chains
would cost if reading, solving and deciding took no time), unsolved (the same where objects carry
the settings of live chains and the targets are read, as any live solver has to: what live chains
would cost if solving and deciding took no time).
Separate processes: a rival is not slowed down by our handlers, nor by another scene's data.
"""

from __future__ import annotations

import sys
from typing import Callable

import bpy
import numpy as np
import numpy.typing as npt

from benchmarks import answering
from benchmarks.clocks import round_milliseconds
from benchmarks.measured import blender_stages
from benchmarks.scenes import blender_scenes
from benchmarks.scenes.blender_scenes import TARGET_SETS, Array, Stage
from benchmarks.scenes.sizes import LAYOUTS
from common import blender_process

PLAYED_FRAMES = 50
ROTATION = "rotation_quaternion"
TASKS = (
    "versions",
    "save_rotations",
    "load_rotations",
    "check",
    "moved",
    "still",
    "idle",
    "key",
    "played",
    "stages",
)


class MissedError(Exception):
    """What is to be timed does not do its work, so its time says nothing."""


class Updates:
    """One scene and the tasks of the worker."""

    def __init__(self, manner: str, layout: str) -> None:
        """Build the scene and what poses it."""
        self.manner = manner
        self.stage: Stage = blender_scenes.build(LAYOUTS[layout])
        self.step = 0
        self.known: list[list[npt.NDArray[np.float32]]] = []
        self.matrices = np.empty(0, np.float32)
        if manner in ("chains", "unsolved"):
            # Here, so that Blender runs without a trace of it for the others.
            import blender_ik_addon

            blender_ik_addon.register()
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

    @property
    def _update(self) -> Callable[[], object]:
        is_floor = self.manner == "floor"
        return self._write_and_update if is_floor else bpy.context.view_layer.update

    def versions(self) -> dict[str, str]:
        """Return what runs here."""
        return {**answering.python_versions(), "blender": bpy.app.version_string}

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
            self._update()
            found.append(blender_scenes.residuals(self.stage))
        distances = np.concatenate(found)
        return {
            "reached": self._judge(distances),
            "worst": float(distances.max()) / self.stage.layout.bones,
        }

    def moved(self) -> float:
        """Return a round's time of an update after all targets have moved, in milliseconds."""
        return round_milliseconds(self._move_on, self._update)

    def still(self) -> float:
        """Return the same where no target has moved and new rotations are written all the same."""
        return round_milliseconds(self._step_on, self._update)

    def idle(self) -> float:
        """Return the same after an object has moved that nothing depends on."""
        return round_milliseconds(self._move_unrelated, bpy.context.view_layer.update)

    def key(self) -> None:
        """Key the targets, for `played`."""
        blender_scenes.key_targets(self.stage, PLAYED_FRAMES)

    def played(self) -> float:
        """Return a round's time of a frame of playback, in milliseconds."""
        figure = round_milliseconds(self._step_on, self._show_frame, most=PLAYED_FRAMES)
        self._judge(blender_scenes.residuals(self.stage))
        return figure

    def stages(self) -> dict[str, float]:
        """Return where the time of an update goes, in milliseconds by stage."""
        return blender_stages.stages(self._move_on, self._update)

    def _show_frame(self) -> None:
        bpy.context.scene.frame_set(1 + self.step % PLAYED_FRAMES)

    def _take_over(self) -> None:
        """Have live chains store their settings, then write in their place."""
        from blender_ik_addon import handlers

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

    def _write_and_update(self) -> None:
        self._write()
        bpy.context.view_layer.update()

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

    def _move_on(self) -> None:
        self._move(self.step + 1)

    def _move_unrelated(self) -> None:
        self.step += 1
        self.stage.unrelated.location.x = 1.0 + self.step % 2


def main(manner: str, layout: str) -> None:
    """Build and answer."""
    updates = Updates(manner, layout)
    answering.serve({name: getattr(updates, name) for name in TASKS})


if __name__ == "__main__":
    blender_process.run(main, *sys.argv[1:])
