"""Scenes in Blender whose rigs follow targets, and what is timed in them."""

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
from examples.parts.rigs import add_empty, hang_chain

WITHOUT_CHAINS = ("built-in", "bare")
# So many sets of places are visited to see what is reached, as long as there is time.
CHECKED_SETS, CHECKED_SECONDS = 8, 2.0


class Limb(NamedTuple):
    """An armature object, the name of a tip bone, what its end follows: an object or a pose bone.

    The end is "tail" or "head".
    """

    rig: bpy.types.Object
    tip: str
    target: Any
    end: str = "tail"


class Scene:
    """A scene whose targets move. Public methods are the tasks of its worker.

    Attributes:
        manner: Who poses the rigs: "built-in" is Blender's IK constraint, alone in its process.
        places: Of all targets, in their own space, shape (sets, limbs, 3).
        allowed: The distance of tip and target at which it is reached.
        length: Of a limb.
    """

    # How many frames are keyed, and which limb is dragged alone.
    frames, led = 50, 0

    def __init__(self, manner: str) -> None:
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        self.manner, self.step, self.is_keyed = manner, 0, False
        self.limbs: list[Limb] = []
        self.places: Array = np.zeros((1, 0, 3))
        self.allowed = self.length = 1.0
        if manner not in WITHOUT_CHAINS:
            blender_ik_addon.register()

    def check(self) -> dict[str, float]:
        """Visit sets of places and tell how near tips come; one that is not solved is an error."""
        gaps: list[float] = []
        begin = time.perf_counter()
        for visited in range(min(CHECKED_SETS, len(self.places))):
            if visited and time.perf_counter() - begin > CHECKED_SECONDS:
                break
            self.move_on()
            self.update()
            gaps += [find_gap(limb) for limb in self.limbs]
        for rig in {limb.rig for limb in self.limbs if self.manner not in WITHOUT_CHAINS}:
            for chain in rig.chain_ik.chains:
                if not chain.mute and chain.residual < 0.0:
                    # Its time says nothing.
                    raise ValueError(f"{chain.name}: {chain.status}")
        reached = float(np.mean(np.array(gaps) <= self.allowed))
        return {"reached": reached, "worst": max(gaps) / self.length}

    def moved(self) -> float:
        return time_round(self.move_on, self.update)

    def dragged(self) -> float:
        return time_round(lambda: self.move_on((self.led,)), self.update)

    def idle(self) -> float:
        """Return the times of an update after an object has moved that nothing depends on."""
        unrelated = add_empty("Unrelated", (0.0, 0.0, 0.0), 1.0)

        def move() -> None:
            unrelated.location.x += 1.0

        bpy.context.view_layer.update()
        return time_round(move, bpy.context.view_layer.update)

    def played(self) -> float:
        """Return the times of a frame of playback; the first call keys the targets."""
        self.key()
        show = bpy.context.scene.frame_set
        return time_round(self.count, lambda: show(1 + self.step % self.frames))

    def opened(self) -> float:
        """Return the times of opening the scene's file until everything is posed."""
        file = f"{bpy.app.tempdir}scene.blend"
        bpy.ops.wm.save_as_mainfile(filepath=file)

        def reopen() -> None:
            bpy.ops.wm.open_mainfile(filepath=file)
            bpy.context.view_layer.update()

        return time_round(lambda: None, reopen, most=1)

    def undone(self) -> float:
        """Return the times of undoing a move of a target until everything is posed."""

        def move() -> None:
            bpy.ops.ed.undo_push(message="before")
            # By name: undo makes all objects anew.
            bpy.data.objects["Target 0"].location.z += 0.1
            bpy.context.view_layer.update()
            bpy.ops.ed.undo_push(message="moved")

        def undo() -> None:
            bpy.ops.ed.undo()
            bpy.context.view_layer.update()

        return time_round(move, undo, most=1)

    def key(self) -> None:
        """Key the targets at all frames, once."""
        for frame in range(1, self.frames + 1) if not self.is_keyed else ():
            self.move_on()
            for limb in self.limbs:
                limb.target.keyframe_insert("location", frame=frame)
        self.is_keyed = True

    def count(self) -> None:
        self.step += 1

    def move_on(self, numbers: Sequence[int] = ()) -> None:
        """Move targets to their next places: some by their numbers, else all."""
        self.count()
        self.move(numbers or range(len(self.limbs)))

    def move(self, numbers: Sequence[int]) -> None:
        places = self.places[self.step % len(self.places)].tolist()
        for number in numbers:
            self.limbs[number].target.location = places[number]

    def update(self) -> None:
        bpy.context.view_layer.update()


def find_gap(limb: Limb) -> float:
    """Return the distance between a tip and its target, as Blender has evaluated them."""
    graph = bpy.context.view_layer.depsgraph
    posed = limb.rig.evaluated_get(graph)
    owner = limb.target.id_data.evaluated_get(graph)
    end = posed.matrix_world @ getattr(posed.pose.bones[limb.tip], limb.end)
    if isinstance(limb.target, bpy.types.Object):
        return (end - owner.matrix_world.translation).length
    return (end - owner.matrix_world @ owner.pose.bones[limb.target.name].head).length


def follow(
    rig: bpy.types.Object, tip: str, target: bpy.types.Object, solver: str, count: int = 0
) -> Any:
    """Have so many bones up to a tip, or all, follow a target, and return what holds settings.

    The solver "built-in" is Blender's own constraint, with its default of 500 iterations.
    """
    if solver != "built-in":
        return hang_chain(rig, tip, tip, target, solver=solver, chain_count=count)
    constraint = rig.pose.bones[tip].constraints.new("IK")
    constraint.chain_count, constraint.target = count, target
    return constraint


def copy_rig(rig: bpy.types.Object) -> bpy.types.Object:
    """Return a copy with armature data of its own: rigs of different characters share none."""
    copy = rig.copy()
    copy.data = rig.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    return copy


def answer(make: Callable[..., Scene]) -> None:
    """Build what the command line says, and answer; the whole work of a process."""
    blender_process.run(lambda: serve(make(*sys.argv[1:])))
