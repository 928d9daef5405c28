"""A temporary scene with the bones of a chain and its goals, in which poses are evaluated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ...core.algebra.arithmetic import Array
from ..batches.changes import OtherChannels
from ..live.live import memory
from ..live.writer import write_others, write_rotation
from ..reading.channels import MODE_NAMES, Pose
from ..reading.skeleton import Skeleton

NAME = "Chain IK Compare"
# Rounding of pose matrices in float32, as a share of their largest entry.
SAME_MATRIX = 1e-5
# The most repeats, and the seconds after which there are no more.
REPEATS, ENOUGH = 8, 0.1
# The settings of bones that Blender's constraint uses.
_RANGES = ("lock_ik", "use_ik_limit", "ik_min", "ik_max", "ik_stiffness")
_OF_BONES = ("ik_stretch", *[f"{name}_{axis}" for name in _RANGES for axis in "xyz"])


@dataclass(frozen=True)
class Stage:
    """A hidden copy of a rig: the bones of an armature, without constraints, drivers and keys.

    Attributes:
        scene: The temporary scene.
        rig: An armature object with the same bones and the same world matrix.
    """

    scene: bpy.types.Scene
    rig: bpy.types.Object

    @property
    def evaluated(self) -> bpy.types.Object:
        """The rig as it was evaluated last."""
        return self.rig.evaluated_get(self._graph())

    def evaluate(self) -> float:
        """Evaluate the rig; return how many seconds that has taken."""
        self.rig.update_tag()
        graph, begun = self._graph(), time.perf_counter()
        graph.update()
        return time.perf_counter() - begun

    def seconds(self) -> float:
        """Return how long an evaluation takes."""
        # The first one builds what later ones use.
        self.evaluate()
        return quickest(self.evaluate(), self.evaluate)

    def show(self, pose: Pose) -> None:
        """Give the bones the channels of a pose, and evaluate it."""
        every = np.arange(len(pose.modes))
        others = {name: getattr(pose, name) for name in ("location", "scale")}
        write_others(self.rig, {name: OtherChannels(every, each) for name, each in others.items()})
        write_rotation(self.rig, every, pose.modes, pose.rotation)
        self.evaluate()

    def goal(self, matrix: Array) -> bpy.types.Object:
        """Return a new empty with a world matrix (4, 4), which may be sheared."""
        goal = bpy.data.objects.new(NAME, None)
        self.place(goal, matrix)
        return goal

    def hang(self, world: Array, bone: str, matrix: Array) -> None:
        """Move the whole rig so that a bone is where the original rig has it.

        There, constraints may have moved the bone, which this rig does not have.

        Args:
            world: World matrix of the original rig, shape (4, 4).
            bone: The parent of the chain.
            matrix: Its pose matrix there, shape (4, 4).
        """
        there = np.array(self.evaluated.pose.bones[bone].matrix, dtype=np.float64)
        if np.abs(there - matrix).max() > SAME_MATRIX * np.abs(matrix).max():
            self.place(self.rig, world @ matrix @ np.linalg.inv(there))

    def place(self, placed: bpy.types.Object, matrix: Array) -> None:
        """Give an object any world matrix, also one that its own channels could not hold."""
        if placed.parent is None:
            self.scene.collection.objects.link(placed)
            placed.parent = self.scene.objects[0]
        placed.matrix_parent_inverse = Matrix(matrix.tolist())

    def _graph(self) -> bpy.types.Depsgraph:
        view_layer = self.scene.view_layers[0]
        if view_layer.depsgraph is None:
            view_layer.update()
        assert view_layer.depsgraph is not None
        return view_layer.depsgraph


@contextmanager
def staged(
    armature_object: bpy.types.Object, evaluated: bpy.types.Object, skeleton: Skeleton, pose: Pose
) -> Iterator[Stage]:
    """Yield a stage with the bones of an armature object, and remove all of it afterwards.

    Args:
        armature_object: The original object.
        evaluated: The same, evaluated.
        skeleton: Its bones.
        pose: Its evaluated pose.
    """
    scene = bpy.data.scenes.new(NAME)
    try:
        origin, rig = (bpy.data.objects.new(NAME, data) for data in (None, armature_object.data))
        scene.collection.objects.link(origin)
        stage = Stage(scene, rig)
        stage.place(rig, pose.world)
        # It has no pose before its first evaluation.
        stage.evaluate()
        for name, mode in zip(skeleton.names, pose.modes.tolist(), strict=True):
            bone, shown = rig.pose.bones[name], evaluated.pose.bones[name]
            bone.rotation_mode = MODE_NAMES[mode]
            for setting in _OF_BONES:
                setattr(bone, setting, getattr(shown, setting))
        yield stage
    finally:
        _remove(scene)


def _remove(scene: bpy.types.Scene) -> None:
    """Remove a scene with its objects, and what handlers have noted of it."""
    for known in [key for key in memory.graphs if key[0] == scene.session_uid]:
        del memory.graphs[known]
    for each in list(scene.objects):
        bpy.data.objects.remove(each)
    bpy.data.scenes.remove(scene)


def quickest(first: float, again: Callable[[], float]) -> float:
    """Return the shortest time of several runs, in seconds; repeated only while that is cheap.

    Args:
        first: The time of the first run.
        again: Runs it once more and returns the time of that.
    """
    least = spent = first
    for _ in range(REPEATS):
        if spent > ENOUGH:
            break
        seconds = again()
        least, spent = min(least, seconds), spent + seconds
    return least
