"""One chain solved by every solver; nothing on the rig changes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from timeit import Timer
from typing import NamedTuple, cast

import bpy
import numpy as np

from ...core import Solver
from ...core.algebra.arithmetic import Array
from ..batches.rig_state import Specs
from ..clips.hung import turned_under
from ..planning.checks import check_scale
from ..reading.bone_joints import read_joints
from ..reading.chain_plan import joints_in
from ..reading.channels import Pose, matrices_of, read_pose
from ..reading.refusals import RigError
from ..reading.skeleton import fingerprint
from ..reading.spaces import transform_point
from ..reading.spec import ChainSpec
from ..reading.update import Update
from ..reading.world import WorldMatrices, array_of
from ..tools.lengths import length_unit
from ..tools.trial import Trial
from ..tools.wording import outcome_in_words
from ..trees.shared_bones import SOLVERS as SOLVERS_OF_TREES

# Each solver, None for Blender's IK constraint, and whether Newton finishes what it leaves.
CONTENDERS = (
    (Solver.TWO_BONE, True),
    (Solver.NEWTON, True),
    (Solver.FABRIK, True),
    (Solver.FABRIK, False),
    (Solver.CCD, True),
    (Solver.CCD, False),
    (Solver.FORCE, True),
    (Solver.FOLLOW, True),
    (None, True),
)
FROM_PRESENT = "One drag from the present pose"
# The most repeats, and the seconds after which there are no more.
REPEATS, ENOUGH = 8, 0.1
NO_JOINTS = np.empty((0, 3))


class Attempt(NamedTuple):
    """What one solver makes of a chain; numbers are -1 where there is no pose.

    Attributes:
        status: One sentence: how it ended, or why it cannot solve this chain.
        residual: From effector to target on its pose, in scene units.
        iterations: How many it took; -1 also if unknown.
        milliseconds: How long the solve takes.
        joints: Of that pose, world space, shape (m + 1, 3); (0, 3) without a pose.
    """

    status: str
    residual: float = -1.0
    iterations: int = -1
    milliseconds: float = -1.0
    joints: Array = NO_JOINTS


class Compared(NamedTuple):
    """A chain to compare solvers on, as it is at one moment: what a trial of it reads.

    Attributes:
        update: The graph as it was evaluated last.
        object: The original armature object.
        specs: The settings of the chain, with those for Force whatever its solver, and of the
            chains solved together with it, by index.
        chain: Index of the chain.
    """

    update: Update
    object: bpy.types.Object
    specs: dict[int, ChainSpec]
    chain: int

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
        world, joints = WorldMatrices(self.update.depsgraph), read_joints(self.object)
        arrays = [*vars(read_pose(self.evaluated)).values()]
        arrays += [joints.is_locked, joints.low, joints.high, joints.stiffness]
        for anchor in [anchor for spec in self.specs.values() for anchor in spec.anchors]:
            # A chain reports a missing target itself.
            with suppress(RigError):
                arrays.append(world.matrix(anchor, "target"))
        bones = fingerprint(cast(bpy.types.Armature, self.object.data))
        settings = self.update.frame, self.chain, repr(self.specs), bones
        return (*settings, *[array.tobytes() for array in arrays])

    def specs_with(self, solver: Solver, *, use_finish: bool = True) -> Specs:
        """Return the settings of all chains, those of the compared one with another solver."""
        own = self.specs[self.chain]
        options = replace(own.options, solver=solver, use_finish=use_finish)
        force = own.force if solver is Solver.FORCE else None
        return {**self.specs, self.chain: replace(own, options=options, force=force)}


def solve(compared: Compared, solver: Solver, *, use_finish: bool) -> Attempt:
    """Return the attempt of a solver.

    Raises:
        IKError: If it cannot solve the chain.
    """
    world = WorldMatrices(compared.update.depsgraph)
    trial = tried(compared, solver, use_finish=use_finish)
    milliseconds = quickest(lambda: trial.solve(world), trial.start_again)
    _pose_bones(trial)
    outcome, pose = trial.outcome(), trial.state.pose
    said = outcome_in_words(outcome, length_unit(compared.update.scene))
    return Attempt(
        f"{FROM_PRESENT}. {said}" if solver is Solver.FOLLOW else said,
        outcome.residual,
        -1 if outcome.iterations is None else outcome.iterations,
        milliseconds,
        transform_point(pose.world, joints_in(trial.live_chain.plan, pose.matrices)),
    )


def tried(compared: Compared, solver: Solver, *, use_finish: bool = True) -> Trial:
    """Return a chain as it is with a solver, still to be solved.

    It starts with the root where that is without the chain: Follow and bodies move it.

    Raises:
        RigError: If that cannot solve it.
    """
    home, (update, owner, specs, chain) = None, compared
    if solver is not Solver.FOLLOW and any(bone.is_dragged for bone in specs[chain].stored_pose):
        # Some solvers leave the body of a chain as it is, and do not know where it was.
        home = _home(Trial(update, owner, compared.specs_with(Solver.NEWTON), chain), update.frame)
    wanted = compared.specs_with(solver, use_finish=use_finish)
    trial = Trial(update, owner, wanted, chain, home)
    if trial.refused and solver not in SOLVERS_OF_TREES:
        other, text = next(iter(trial.refused.items()))
        raise RigError(f"Then chain '{specs[other].name}' stands still: {text}")
    return trial


def _home(trial: Trial, frame: float) -> Pose:
    """Return the pose of a trial with the locations that bones have without its chain."""
    chain, state = trial.live_chain, trial.state
    state.pose.note("location", chain.plan.written, state.without(chain, frame, "location"))
    _pose_bones(trial)
    return state.pose


def _pose_bones(trial: Trial) -> None:
    """Put the bones of a trial where their channels put them under their parents."""
    skeleton, pose = trial.driven.skeleton, trial.state.pose
    rotations = matrices_of(pose.rotation, pose.modes)
    for bone in trial.driven.bones.tolist():
        parent, row = int(skeleton.parents[bone]), np.array([bone])
        above = np.eye(4) if parent < 0 else pose.matrices[parent]
        turned = turned_under(skeleton, bone, above[None], rotations[row], pose.scale[row])
        head = skeleton.heads(row, pose.location[row])
        pose.matrices[bone, :3, :3] = turned[0]
        pose.matrices[bone, :3, 3] = transform_point(above, head)[0]


def quickest(work: Callable[[], object], before: Callable[[], object]) -> float:
    """Return the shortest time of several runs of some work, in milliseconds.

    Args:
        work: It is repeated only while that is cheap.
        before: What has to be done before each run; its time does not count.
    """
    timer = Timer(work, before)
    times = [timer.timeit(1)]
    while len(times) <= REPEATS and sum(times) <= ENOUGH:
        times.append(timer.timeit(1))
    return 1e3 * min(times)
