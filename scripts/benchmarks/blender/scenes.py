"""Scenes in Blender whose rigs follow targets, and their timed tasks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

import blender_ik_addon
from benchmarks.core.cases import Array
from benchmarks.workers import serve, time_round
from common import blender_process
from examples.parts.rigs import add_chain_data, add_empty

WITHOUT_CHAINS = ("built-in", "bare")
# Most sets of places that a check visits, and seconds after which it stops.
CHECKED_SETS, CHECKED_SECONDS = 8, 2.0


class LimbTarget(NamedTuple):
    """An armature object, a tip bone's name, and the object or pose bone that its end follows.

    The end is "tail" or "head".
    """

    rig: bpy.types.Object
    tip: str
    target: Any
    end: str = "tail"


class Scene:
    """A scene whose targets move. Public methods are the tasks of its worker.

    Attributes:
        manner: How the rigs are posed; "built-in" is Blender's IK constraint, alone in its process.
        places: Locations of all targets, in the space of each target, shape (sets, limbs, 3).
        allowed: Greatest distance of tip and target that counts as reached.
        length: Length of a limb.
    """

    # Number of keyed frames, and index of the limb that is dragged alone.
    frames, dragged_limb = 50, 0

    def __init__(self, manner: str) -> None:
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        self.manner, self.step, self.is_keyed = manner, 0, False
        self.limbs: list[LimbTarget] = []
        self.places: Array = np.zeros((1, 0, 3))
        self.allowed = self.length = 1.0
        if manner not in WITHOUT_CHAINS:
            blender_ik_addon.register()

    def check(self) -> dict[str, float]:
        """Visit sets of places and return the facts; raise an error if a chain is not solved."""
        gaps: list[float] = []
        start = time.perf_counter()
        for visited in range(min(CHECKED_SETS, len(self.places))):
            if visited and time.perf_counter() - start > CHECKED_SECONDS:
                break
            self.advance()
            self.update()
            gaps += [find_gap(limb) for limb in self.limbs]
        for rig in {limb.rig for limb in self.limbs if self.manner not in WITHOUT_CHAINS}:
            for chain in rig.chain_ik.chains:
                if not chain.mute and chain.residual < 0.0:
                    # The time of this chain would be meaningless.
                    raise ValueError(f"{chain.name}: {chain.status}")
        reached = float(np.mean(np.array(gaps) <= self.allowed))
        return {"reached": reached, "worst": max(gaps) / self.length}

    def moved(self) -> float:
        return time_round(self.advance, self.update)

    def dragged(self) -> float:
        return time_round(lambda: self.advance((self.dragged_limb,)), self.update)

    def idle(self) -> float:
        """Return milliseconds of an update after a move of an object that nothing depends on."""
        unrelated = add_empty("Unrelated", (0.0, 0.0, 0.0), 1.0)

        def move() -> None:
            unrelated.location.x += 1.0

        bpy.context.view_layer.update()
        return time_round(move, bpy.context.view_layer.update)

    def played(self) -> float:
        """Return milliseconds of a frame of playback; the first call keys the targets."""
        self.key()
        show = bpy.context.scene.frame_set
        return time_round(self.count, lambda: show(1 + self.step % self.frames))

    def opened(self) -> float:
        """Return milliseconds of opening the scene's file until everything is posed."""
        file = f"{bpy.app.tempdir}scene.blend"
        bpy.ops.wm.save_as_mainfile(filepath=file)

        def reopen() -> None:
            bpy.ops.wm.open_mainfile(filepath=file)
            bpy.context.view_layer.update()

        return time_round(lambda: None, reopen, max_repeats=1)

    def undone(self) -> float:
        """Return milliseconds of undoing a target's move until everything is posed."""

        def move() -> None:
            bpy.ops.ed.undo_push(message="before")
            # By name, since undo replaces all objects.
            bpy.data.objects["Target 0"].location.z += 0.1
            bpy.context.view_layer.update()
            bpy.ops.ed.undo_push(message="moved")

        def undo() -> None:
            bpy.ops.ed.undo()
            bpy.context.view_layer.update()

        return time_round(move, undo, max_repeats=1)

    def key(self) -> None:
        """Key the targets at all frames, only once."""
        for frame in range(1, self.frames + 1) if not self.is_keyed else ():
            self.advance()
            for limb in self.limbs:
                limb.target.keyframe_insert("location", frame=frame)
        self.is_keyed = True

    def count(self) -> None:
        self.step += 1

    def advance(self, indices: Sequence[int] = ()) -> None:
        """Move targets, by their indices or all of them, to their next places."""
        self.count()
        self.move(indices or range(len(self.limbs)))

    def move(self, indices: Sequence[int]) -> None:
        places = self.places[self.step % len(self.places)].tolist()
        for index in indices:
            self.limbs[index].target.location = places[index]

    def update(self) -> None:
        bpy.context.view_layer.update()


def find_gap(limb: LimbTarget) -> float:
    """Return the distance between a tip and its target in Blender's evaluated data."""
    graph = bpy.context.view_layer.depsgraph
    evaluated_rig = limb.rig.evaluated_get(graph)
    owner = limb.target.id_data.evaluated_get(graph)
    end = evaluated_rig.matrix_world @ getattr(evaluated_rig.pose.bones[limb.tip], limb.end)
    if isinstance(limb.target, bpy.types.Object):
        return (end - owner.matrix_world.translation).length
    return (end - owner.matrix_world @ owner.pose.bones[limb.target.name].head).length


def follow(
    rig: bpy.types.Object, tip: str, target: bpy.types.Object, solver: str, count: int = 0
) -> Any:
    """Make ``count`` bones up to a tip, or all, follow a target; return the chain or constraint.

    The solver "built-in" is Blender's own constraint, with its default of 500 iterations.
    """
    if solver != "built-in":
        return add_chain_data(rig, tip, tip, target, solver=solver, chain_count=count)
    constraint = rig.pose.bones[tip].constraints.new("IK")
    constraint.chain_count, constraint.target = count, target
    return constraint


def copy_rig(rig: bpy.types.Object) -> bpy.types.Object:
    """Return a copy with its own armature data, since rigs of different characters share none."""
    copy = rig.copy()
    copy.data = rig.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    return copy


def run_worker(make: Callable[..., Scene]) -> None:
    """Build the scene from the command line's arguments and answer requests until the end."""
    blender_process.run(lambda: serve(make(*sys.argv[1:])))
