"""Solve a chain by Blender's IK constraint, on a rig in a temporary scene."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from ...core.algebra.arithmetic import Array
from ...core.model.message import Message
from ..live.live import memory
from ..live.writer import write_property, write_rotation
from ..planning.live_chain import LiveChain
from ..reading.chain_plan import shown_joints
from ..reading.channels import Pose
from ..reading.world import WorldMatrices, array_of
from ..tools import converting, pole_angles
from ..tools.lengths import is_visible, length_in_words, length_unit
from ..tools.trial_solve import Trial
from .comparing import Attempt, measure_quickest

TEMPORARY_NAME = "Chain IK Compare"
# Rounding of pose matrices in float32, as a share of their largest entry.
MATRIX_ROUNDING = 1e-5
# The settings of bones that Blender's constraint uses.
_OF_AXES = ("lock_ik", "use_ik_limit", "ik_min", "ik_max", "ik_stiffness")
_OF_BONES = (
    "rotation_mode",
    "ik_stretch",
    *[f"{name}_{axis}" for name in _OF_AXES for axis in "xyz"],
)


def solve_by_constraint(trial: Trial) -> Attempt:
    """Return the attempt of Blender's IK constraint, with constraints for chains that share bones.

    Raises:
        IKError: If there is no such constraint.
    """
    chains, owner, pose = trial.driven.live_chains, trial.state.object, trial.state.pose
    converting.check_solver(owner)
    for live_chain in chains:
        converting.check_chain(live_chain.plan, live_chain.spec, owner.pose.bones)
        # A constraint always starts from the pose without it.
        pose.note("channels", live_chain.plan.written, live_chain.stored)
        if live_chain.stretch is not None:
            pose.note("scale", live_chain.plan.written, live_chain.stretch.scale)
    depsgraph = trial.update.depsgraph
    world = WorldMatrices(depsgraph)
    with _temporary_scene() as scene:
        stage = _Stage(scene, owner.evaluated_get(depsgraph), pose)
        parent = int(trial.driven.skeleton.parents[trial.driven.bones[0]])
        if parent >= 0:
            stage.align_bone(pose, parent)
        without = stage.milliseconds()
        for live_chain in chains:
            _add_constraint(stage, live_chain, pose, world)
        milliseconds = max(stage.milliseconds() - without, 0.0)
        joints = shown_joints(stage.evaluated, trial.live_chain.plan)
    spec, unit = trial.live_chain.spec, length_unit(trial.update.scene)
    assert spec.target is not None
    residual = float(np.linalg.norm(joints[-1] - world.matrix(spec.target, "target")[:3, 3]))
    status = Message("Reached")
    if is_visible(residual, unit) and residual > spec.options.tolerance:
        gap = length_in_words(residual, unit)
        status = Message("{gap} left; the constraint gives no reason", gap=gap)
    return Attempt(status, residual, -1, milliseconds, joints)


def _add_constraint(stage: _Stage, chain: LiveChain, pose: Pose, world: WorldMatrices) -> None:
    """Add the constraint to which a chain would be converted to the bones of a stage."""
    spec = chain.spec
    assert spec.target is not None
    constraint = stage.rig.pose.bones[spec.bone].constraints.new("IK")
    constraint.target = stage.add(None, world.matrix(spec.target, "target"))
    angle = spec.pole_angle
    if spec.pole is not None:
        constraint.pole_target = stage.add(None, world.matrix(spec.pole, "pole"))
        axes = pole_angles.root_axes(chain, pose, chain.stored)
        flips = bool(spec.options.use_flip_bend)
        angle = pole_angles.angle_of_constraint(axes, angle, flips=flips)
    converting.take_settings(constraint, chain, angle)


class _Stage:
    """A hidden copy of a rig: the bones of an armature, without constraints, drivers and keys.

    Attributes:
        rig: An armature object with the same bones and the same world matrix.
    """

    def __init__(self, scene: bpy.types.Scene, shown: bpy.types.Object, pose: Pose) -> None:
        """Fill a scene with an evaluated armature object in a pose."""
        layer = scene.view_layers[0]
        self._scene, self._origin = scene, bpy.data.objects.new(TEMPORARY_NAME, None)
        scene.collection.objects.link(self._origin)
        layer.update()
        self._graph = cast(bpy.types.Depsgraph, layer.depsgraph)
        self.rig = self.add(shown.original.data, pose.world)
        # It has no pose before its first evaluation.
        self._evaluate()
        for bone, original in zip(self.rig.pose.bones, shown.pose.bones, strict=True):
            for setting in _OF_BONES:
                setattr(bone, setting, getattr(original, setting))
        rows = np.arange(len(pose.modes))
        for name in ("location", "scale"):
            write_property(self.rig, name, rows, getattr(pose, name))
        write_rotation(self.rig, rows, pose.modes, pose.rotation)
        self._evaluate()

    def add(self, data: bpy.types.ID | None, matrix: Array) -> bpy.types.Object:
        """Return a new object with any world matrix, also one that no channels can have."""
        added = bpy.data.objects.new(TEMPORARY_NAME, data)
        self._scene.collection.objects.link(added)
        added.parent, added.matrix_parent_inverse = self._origin, Matrix(matrix.tolist())
        return added

    @property
    def evaluated(self) -> bpy.types.Object:
        """The rig after its last evaluation."""
        return self.rig.evaluated_get(self._graph)

    def _evaluate(self) -> None:
        self.rig.update_tag()
        self._graph.update()

    def milliseconds(self) -> float:
        """Return the time of an evaluation."""
        # The first evaluation builds data that later ones use.
        self._evaluate()
        return measure_quickest(self._graph.update, self.rig.update_tag)

    def align_bone(self, pose: Pose, bone: int) -> None:
        """Move the whole rig so that a bone has its place in a pose of the original rig.

        There, constraints that this rig does not have may have moved the bone.
        """
        present, matrix = array_of(self.evaluated.pose.bones[bone].matrix), pose.matrices[bone]
        if np.abs(present - matrix).max() > MATRIX_ROUNDING * np.abs(matrix).max():
            aligned = pose.world @ matrix @ np.linalg.inv(present)
            self.rig.matrix_parent_inverse = Matrix(aligned.tolist())


@contextmanager
def _temporary_scene() -> Iterator[bpy.types.Scene]:
    """Yield a scene that is removed afterwards, with its objects and its cached graphs."""
    scene = bpy.data.scenes.new(TEMPORARY_NAME)
    try:
        yield scene
    finally:
        for removed in [key for key in memory.graphs if key[0] == scene.session_uid]:
            del memory.graphs[removed]
        for owner in list(scene.objects):
            bpy.data.objects.remove(owner)
        bpy.data.scenes.remove(scene)
