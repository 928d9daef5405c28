"""What Blender's IK constraint makes of a chain, on a rig in a temporary scene."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ...core import IKError, Solver
from ...core.algebra.arithmetic import Array
from ..live.live import memory
from ..live.writer import write_property, write_rotation
from ..planning.order import PlannedChain
from ..reading.chain_plan import shown_joints
from ..reading.channels import MODE_NAMES, Pose
from ..reading.world import WorldMatrices, array_of
from ..tools import converting, pole_angles
from ..tools.lengths import is_visible, length_in_words
from ..tools.trial import Trial
from .compared import Compared
from .comparing import Attempt, quickest, tried

NAME = "Chain IK Compare"
# Rounding of pose matrices in float32, as a share of their largest entry.
SAME_MATRIX = 1e-5
# The settings of bones that Blender's constraint uses.
_RANGES = ("lock_ik", "use_ik_limit", "ik_min", "ik_max", "ik_stiffness")
_OF_BONES = ("ik_stretch", *[f"{name}_{axis}" for name in _RANGES for axis in "xyz"])


def constrain(compared: Compared, home: Pose | None) -> Attempt:
    """Return the attempt of Blender's IK constraint, with those of chains that share its bones."""
    trial = tried(compared, Solver.NEWTON)
    try:
        return _constrained(compared, trial, (home or trial.state.pose).copy())
    except IKError as error:
        return Attempt(None, True, str(error))


def _constrained(compared: Compared, trial: Trial, pose: Pose) -> Attempt:
    """Return the attempt in a pose, which is changed.

    Raises:
        IKError: If there is no such constraint.
    """
    owner, chains, own = compared.object, trial.driven.live_chains, trial.live_chain
    converting.check_solver(owner)
    for each in chains:
        converting.check_chain(each.plan, each.spec, owner.pose.bones)
        # A constraint always starts from the pose without it.
        pose.note("channels", each.plan.written, each.stored)
        if each.stretch is not None:
            pose.note("scale", each.plan.written, each.stretch.scale)
    world = WorldMatrices(compared.update.depsgraph)
    with _staged(compared, trial) as stage:
        stage.show(pose)
        without = stage.seconds()
        for each in chains:
            _add(stage, each, pose, world)
        milliseconds = 1e3 * max(stage.seconds() - without, 0.0)
        joints = shown_joints(stage.evaluated, own.plan)
    target = compared.spec.target
    assert target is not None
    residual = float(np.linalg.norm(joints[-1] - world.matrix(target, "target")[:3, 3]))
    status = "Reached"
    if is_visible(residual, compared.unit) and residual > compared.spec.options.tolerance:
        gap = length_in_words(residual, compared.unit)
        status = f"{gap} left; the constraint does not tell why"
    return Attempt(None, True, status, residual, None, milliseconds, joints)


def _add(stage: _Stage, chain: PlannedChain, pose: Pose, world: WorldMatrices) -> None:
    """Give the bones of a stage the constraint that a chain would become."""
    spec = chain.spec
    assert spec.target is not None
    constraint = stage.rig.pose.bones[spec.bone].constraints.new("IK")
    constraint.target = stage.goal(world.matrix(spec.target, "target"))
    angle = spec.pole_angle
    if spec.pole is not None:
        constraint.pole_target = stage.goal(world.matrix(spec.pole, "pole"))
        axes = pole_angles.root_axes(chain, pose, pose.rotation[chain.plan.written])
        flips = bool(spec.options.use_flip_bend)
        angle = pole_angles.angle_of_constraint(axes, angle, flips=flips)
    converting.take_settings(constraint, chain, angle)


@dataclass(frozen=True)
class _Stage:
    """A hidden copy of a rig: the bones of an armature, without constraints, drivers and keys.

    Attributes:
        scene: The temporary scene.
        rig: An armature object with the same bones and the same world matrix.
        graph: Evaluates it.
    """

    scene: bpy.types.Scene
    rig: bpy.types.Object
    graph: bpy.types.Depsgraph

    @property
    def evaluated(self) -> bpy.types.Object:
        """The rig as it was evaluated last."""
        return self.rig.evaluated_get(self.graph)

    def evaluate(self) -> float:
        """Evaluate the rig; return how many seconds that has taken."""
        self.rig.update_tag()
        begun = time.perf_counter()
        self.graph.update()
        return time.perf_counter() - begun

    def seconds(self) -> float:
        """Return how long an evaluation takes."""
        # The first one builds what later ones use.
        self.evaluate()
        return quickest(self.evaluate(), self.evaluate)

    def show(self, pose: Pose) -> None:
        """Give the bones the channels of a pose, and evaluate it."""
        every = np.arange(len(pose.modes))
        for name in ("location", "scale"):
            write_property(self.rig, name, every, getattr(pose, name))
        write_rotation(self.rig, every, pose.modes, pose.rotation)
        self.evaluate()

    def goal(self, matrix: Array) -> bpy.types.Object:
        """Return a new empty with a world matrix (4, 4), which may be sheared."""
        goal = bpy.data.objects.new(NAME, None)
        self.place(goal, matrix)
        return goal

    def place(self, placed: bpy.types.Object, matrix: Array) -> None:
        """Give an object any world matrix, also one that its own channels could not hold."""
        if placed.parent is None:
            self.scene.collection.objects.link(placed)
            placed.parent = self.scene.objects[0]
        placed.matrix_parent_inverse = Matrix(matrix.tolist())

    def hang(self, pose: Pose, bone: int) -> None:
        """Move the whole rig so that a bone is where a pose of the original rig has it.

        There, constraints may have moved the bone, which this rig does not have.
        """
        there, matrix = array_of(self.evaluated.pose.bones[bone].matrix), pose.matrices[bone]
        if np.abs(there - matrix).max() > SAME_MATRIX * np.abs(matrix).max():
            self.place(self.rig, pose.world @ matrix @ np.linalg.inv(there))


@contextmanager
def _staged(compared: Compared, trial: Trial) -> Iterator[_Stage]:
    """Yield a stage on which the rig has its evaluated pose; all of it is removed afterwards."""
    scene, pose = bpy.data.scenes.new(NAME), trial.state.pose
    try:
        origin, rig = (bpy.data.objects.new(NAME, data) for data in (None, compared.object.data))
        scene.collection.objects.link(origin)
        scene.view_layers[0].update()
        graph = scene.view_layers[0].depsgraph
        assert graph is not None
        stage = _Stage(scene, rig, graph)
        stage.place(rig, pose.world)
        # It has no pose before its first evaluation.
        stage.evaluate()
        bones = zip(rig.pose.bones, compared.evaluated.pose.bones, strict=True)
        for (bone, shown), mode in zip(bones, pose.modes.tolist(), strict=True):
            bone.rotation_mode = MODE_NAMES[mode]
            for setting in _OF_BONES:
                setattr(bone, setting, getattr(shown, setting))
        stage.show(pose)
        above = int(trial.driven.skeleton.parents[trial.driven.bones[0]])
        if above >= 0:
            stage.hang(pose, above)
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
