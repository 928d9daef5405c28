"""A chain to compare solvers on, as it is at one moment."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import cast

import bpy

from ...core import Solver
from ..batches.rig_state import Specs
from ..planning.checks import check_scale
from ..reading.bone_joints import read_joints
from ..reading.channels import read_pose
from ..reading.refusals import RigError
from ..reading.skeleton import fingerprint
from ..reading.spec import ChainSpec, ForceSpec
from ..reading.update import Update
from ..reading.world import WorldMatrices, array_of
from ..tools.lengths import LengthUnit


@dataclass(frozen=True)
class Compared:
    """A chain to compare solvers on.

    Attributes:
        update: The graph as it was evaluated last.
        object: The original armature object.
        index: Of the chain.
        specs: The settings of the chain and of those solved together with it, by index.
        force: The settings of the chain for the solver Force.
        unit: How the scene shows lengths.
    """

    update: Update
    object: bpy.types.Object
    index: int
    specs: dict[int, ChainSpec]
    force: ForceSpec
    unit: LengthUnit

    @property
    def spec(self) -> ChainSpec:
        """The settings of the chain."""
        return self.specs[self.index]

    @property
    def evaluated(self) -> bpy.types.Object:
        """The evaluated armature object."""
        return self.object.evaluated_get(self.update.depsgraph)

    def check(self) -> None:
        """Raise if the armature shows no pose that could be compared.

        Raises:
            RigError: With what to do first.
        """
        armature, evaluated = self.object.data, self.evaluated
        if armature.is_editmode:
            raise RigError("Leave edit mode: chains work on the pose.")
        if armature.pose_position != "POSE":
            raise RigError(
                "The armature shows its rest position: switch it to Pose Position first."
            )
        if not evaluated.is_evaluated:
            raise RigError("The armature is hidden, or not in this view layer: show it first.")
        # The target cannot be brought into the space of one that is flat.
        check_scale(self.object, array_of(evaluated.matrix_world))

    def likeness(self) -> tuple[object, ...]:
        """Return all that a comparison depends on, without references to Blender's data."""
        pose, world = read_pose(self.evaluated), WorldMatrices(self.update.depsgraph)
        joints, followed = read_joints(self.object), []
        for spec in self.specs.values():
            for anchor, word in ((spec.target, "target"), (spec.pole, "pole")):
                # A chain reports a missing target itself.
                with suppress(RigError):
                    if anchor is not None:
                        followed.append(world.matrix(anchor, word).tobytes())
        settings = repr(self.specs), repr(self.force), self.unit
        arrays = [getattr(pose, each.name) for each in fields(pose)]
        arrays += [joints.is_locked, joints.low, joints.high, joints.stiffness]
        bones = fingerprint(cast(bpy.types.Armature, self.object.data))
        return (
            *(self.update.frame, self.index, *settings, bones, *followed),
            *[array.tobytes() for array in arrays],
        )

    def specs_with(self, solver: Solver, *, use_finish: bool) -> Specs:
        """Return the settings of all chains, those of the compared one with another solver."""
        options = replace(self.spec.options, solver=solver, use_finish=use_finish)
        force = self.force if solver is Solver.FORCE else None
        return {**self.specs, self.index: replace(self.spec, options=options, force=force)}
