"""Solve one chain by every solver, without changes to the rig."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from timeit import Timer
from typing import NamedTuple

import numpy as np

from ...core import Solver
from ...core.algebra.arithmetic import Array
from ...core.model.message import Message, joined
from ..batches.carry import pose_bones
from ..planning.planned_rig import Specs
from ..reading.bone_joints import read_joints
from ..reading.chain_plan import joints_in
from ..reading.channels import Pose
from ..reading.refusals import RigError
from ..reading.spaces import transform_point
from ..reading.spec import ChainSpec, names_of_chains
from ..reading.world import WorldMatrices
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
# Largest count of runs of a timing, and the seconds after which it ends.
MAX_RUNS, MAX_SECONDS = 9, 0.1
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


def with_solver(
    specs: Mapping[int, ChainSpec], index: int, solver: Solver, *, use_finish: bool = True
) -> Specs:
    """Return the settings of chains by index, with another solver for one of them."""
    spec = specs[index]
    options = replace(spec.options, solver=solver, use_finish=use_finish)
    force = spec.force if solver is Solver.FORCE else None
    return {**specs, index: replace(spec, options=options, force=force)}


def inputs_of(trial: Trial) -> tuple[object, ...]:
    """Return all inputs of an unsolved trial but its settings, without references to Blender."""
    state, world = trial.state, WorldMatrices(trial.update.depsgraph)
    joints = read_joints(state.object)
    arrays = [getattr(state.pose, field.name) for field in fields(state.pose)]
    arrays += [joints.is_locked, joints.low, joints.high, joints.stiffness]
    for anchor in [anchor for chain in state.compiled.live_chains for anchor in chain.anchors]:
        # A chain reports a missing target itself.
        with suppress(RigError):
            arrays.append(world.matrix(anchor, "target"))
    bones = state.bones.skeleton.fingerprint
    return trial.update.frame, bones, *[array.tobytes() for array in arrays]


def find_home(trial: Trial) -> Pose:
    """Return the pose of an unsolved trial, with the root of its chain where it is without it.

    Follow and bodies move the root, and some solvers do not move it back.
    """
    chain, state = trial.live_chain, trial.state
    if any(bone.is_dragged for bone in chain.spec.stored_pose):
        locations = state.without(chain, trial.update.frame, "location")
        state.pose.note("location", chain.plan.written, locations)
        pose_bones(state, trial.driven.bones)
    return state.pose


def solve(trial: Trial) -> Attempt:
    """Return the attempt of a trial's solver; raise an ``IKError`` if it cannot solve the chain."""
    solver, state = trial.live_chain.spec.options.solver, trial.state
    if trial.refused and solver not in TREE_SOLVERS:
        other, text = next(iter(trial.refused.items()))
        raise RigError(
            "With this solver, chain '{name}' is not solved: {text}",
            name=names_of_chains(state.object)[other],
            text=text,
        )
    world = WorldMatrices(trial.update.depsgraph)
    milliseconds = measure_quickest(lambda: trial.solve(world), trial.start_again)
    pose_bones(state, trial.driven.bones)
    outcome, pose = trial.outcome(), state.pose
    said = outcome_in_words(outcome, length_unit(trial.update.scene))
    return Attempt(
        joined(". ", (FROM_PRESENT, said)) if solver is Solver.FOLLOW else said,
        outcome.residual,
        outcome.iterations,
        milliseconds,
        transform_point(pose.world, joints_in(trial.live_chain.plan, pose.matrices)),
    )


def measure_quickest(work: Callable[[], object], prepare: Callable[[], object]) -> float:
    """Return the shortest time of repeated runs of a function, in milliseconds.

    Args:
        work: The function; it is repeated only while that is cheap.
        prepare: Function to call before each run, which is not timed.
    """
    timer, times = Timer(work, prepare), list[float]()
    while len(times) < MAX_RUNS and sum(times) <= MAX_SECONDS:
        times.append(timer.timeit(1))
    return 1e3 * min(times)
