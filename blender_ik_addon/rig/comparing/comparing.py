"""Solve one chain by every solver, without changes to the rig."""

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
from ...core.model.message import Message, joined
from ..batches.carry import pose_bones
from ..planning.checks import check_scale
from ..planning.planned_rig import Specs
from ..reading.bone_joints import read_joints
from ..reading.chain_plan import joints_in
from ..reading.channels import Pose, read_pose
from ..reading.refusals import RigError, pose_problem
from ..reading.skeleton import fingerprint
from ..reading.spaces import transform_point
from ..reading.spec import ChainSpec
from ..reading.update import Update
from ..reading.world import WorldMatrices, array_of
from ..tools.lengths import length_unit
from ..tools.trial_solve import Trial
from ..tools.wording import outcome_in_words
from ..trees.shared_bones import TREE_SOLVERS

# Solvers, None for Blender's IK constraint, and whether Newton finishes their results.
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
FROM_PRESENT = Message("One drag from the present pose")
# Largest count of repeats of a timing, and the seconds after which it ends.
MAX_REPEATS, MAX_SECONDS = 8, 0.1
NO_JOINTS = np.empty((0, 3))


class Attempt(NamedTuple):
    """The result of one solver for a chain; numbers are -1 without a pose.

    Attributes:
        status: One sentence: the outcome, or why the solver cannot solve this chain.
        residual: Distance from effector to target on its pose, in scene units.
        iterations: Count of iterations; -1 also if it is unknown.
        milliseconds: Time of the solve.
        joints: Joints of the pose, world space, shape (m + 1, 3); (0, 3) without a pose.
    """

    status: Message
    residual: float = -1.0
    iterations: int = -1
    milliseconds: float = -1.0
    joints: Array = NO_JOINTS


class ComparisonChain(NamedTuple):
    """A chain on which solvers are compared, as it is at one moment.

    Attributes:
        update: The graph after its last evaluation.
        object: The original armature object.
        specs: Settings by index: of the chain, always with settings for Force, and of the chains
            that are solved together with it.
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
        """Raise if the armature shows no pose to compare.

        Raises:
            RigError: With one sentence that says what to do first.
        """
        if self.object.data.is_editmode:
            raise RigError("Leave edit mode: chains work on the pose.")
        if problem := pose_problem(self.object, self.update.depsgraph):
            raise RigError(problem)
        # A target has no place in the space of an armature with a scale of zero.
        check_scale(self.object, array_of(self.evaluated.matrix_world))

    def input_key(self) -> tuple[object, ...]:
        """Return all inputs of a comparison, without references to Blender's data."""
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
        """Return the settings of all chains, with another solver for the compared chain."""
        spec = self.specs[self.chain]
        options = replace(spec.options, solver=solver, use_finish=use_finish)
        force = spec.force if solver is Solver.FORCE else None
        return {**self.specs, self.chain: replace(spec, options=options, force=force)}


def solve(compared: ComparisonChain, solver: Solver, *, use_finish: bool) -> Attempt:
    """Return the attempt of a solver.

    Raises:
        IKError: If it cannot solve the chain.
    """
    world = WorldMatrices(compared.update.depsgraph)
    trial = build_trial(compared, solver, use_finish=use_finish)
    milliseconds = measure_quickest(lambda: trial.solve(world), trial.start_again)
    pose_bones(trial.state, trial.driven.bones)
    outcome, pose = trial.outcome(), trial.state.pose
    said = outcome_in_words(outcome, length_unit(compared.update.scene))
    return Attempt(
        joined(". ", (FROM_PRESENT, said)) if solver is Solver.FOLLOW else said,
        outcome.residual,
        outcome.iterations,
        milliseconds,
        transform_point(pose.world, joints_in(trial.live_chain.plan, pose.matrices)),
    )


def build_trial(compared: ComparisonChain, solver: Solver, *, use_finish: bool = True) -> Trial:
    """Return an unsolved trial of a chain with a solver.

    The root starts where it is without the chain: Follow and bodies move it.

    Raises:
        RigError: If the solver cannot solve the chain.
    """
    home, (update, owner, specs, chain) = None, compared
    if solver is not Solver.FOLLOW and any(bone.is_dragged for bone in specs[chain].stored_pose):
        # Some solvers do not move the body of a chain back to where it was.
        home = _find_home(
            Trial(update, owner, compared.specs_with(Solver.NEWTON), chain), update.frame
        )
    requested = compared.specs_with(solver, use_finish=use_finish)
    trial = Trial(update, owner, requested, chain, home)
    if trial.refused and solver not in TREE_SOLVERS:
        other, text = next(iter(trial.refused.items()))
        raise RigError(
            "With this solver, chain '{name}' is not solved: {text}",
            name=specs[other].name,
            text=text,
        )
    return trial


def _find_home(trial: Trial, frame: float) -> Pose:
    """Return the pose of a trial with the locations of bones without its chain."""
    chain, state = trial.live_chain, trial.state
    state.pose.note("location", chain.plan.written, state.without(chain, frame, "location"))
    pose_bones(state, trial.driven.bones)
    return state.pose


def measure_quickest(work: Callable[[], object], prepare: Callable[[], object]) -> float:
    """Return the shortest time of repeated runs of a function, in milliseconds.

    Args:
        work: The function; it is repeated only while that is cheap.
        prepare: Function to call before each run, which is not timed.
    """
    timer = Timer(work, prepare)
    times = [timer.timeit(1)]
    while len(times) <= MAX_REPEATS and sum(times) <= MAX_SECONDS:
        times.append(timer.timeit(1))
    return 1e3 * min(times)
