"""One chain solved by every solver and by Blender's IK constraint; nothing on the rig changes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...core import IKError, Solver
from ..planning.live_chain import LiveChain
from ..planning.start_channels import start_vector
from ..posing.outcome import Outcome
from ..reading.channels import Pose, read_pose
from ..reading.refusals import RigError
from ..reading.world import WorldMatrices
from ..tools import converting, pole_angles
from ..tools.lengths import is_visible, length_in_words
from ..tools.wording import outcome_in_words
from .stage import Stage, staged
from .trial import NOT_SOLVED, Attempt, Compared, Trial, copied

# Each solver, and whether Newton finishes what it leaves.
CONTENDERS = (
    (Solver.TWO_BONE, True),
    (Solver.NEWTON, True),
    (Solver.FABRIK, True),
    (Solver.FABRIK, False),
    (Solver.CCD, True),
    (Solver.CCD, False),
    (Solver.FORCE, True),
    (Solver.FOLLOW, True),
)
# A solve is timed so many times more, or until so many seconds have gone, and the quickest counts.
REPEATS, ENOUGH = 8, 0.1
FROM_PRESENT = "One drag from the present pose"


def compare(compared: Compared) -> list[Attempt]:
    """Return what every solver and Blender's constraint make of a chain, as it stands now.

    Raises:
        RigError: If no solver can solve it, with what to do first.
    """
    _check_shown(compared)
    trial = Trial(compared, Solver.NEWTON, use_finish=True)
    pose, skeleton = trial.pose, trial.live_chain.job.skeleton
    evaluated = compared.object.evaluated_get(compared.update.depsgraph)
    with staged(compared.object, evaluated, skeleton, pose) as stage:
        stage.show(pose)
        above = int(skeleton.parents[trial.driven.bones[0]])
        if above >= 0:
            stage.hang(pose.world, skeleton.names[above], pose.matrices[above])
        home = _home(trial, stage)
        found = [
            _attempt(compared, stage, home, solver, use_finish=use_finish)
            for solver, use_finish in CONTENDERS
        ]
        return [*found, _built_in(trial, stage, home)]


def _check_shown(compared: Compared) -> None:
    """Raise if the armature shows no pose that could be compared.

    Raises:
        RigError: With what to do first.
    """
    if compared.object.data.pose_position != "POSE":
        raise RigError("The armature shows its rest position: switch it to Pose Position first.")
    if not compared.object.evaluated_get(compared.update.depsgraph).is_evaluated:
        raise RigError("The armature is hidden, or not in this view layer: show it first.")


def _home(trial: Trial, stage: Stage) -> Pose | None:
    """Return the pose with the root where it is without the chain; None where nobody drags it."""
    job, pose = trial.live_chain.job, copied(trial.pose)
    if not any(bone.is_dragged for bone in job.spec.stored_pose):
        return None
    written, frame = job.plan.written, trial.compared.update.frame
    pose.note_others("location", written, start_vector(job, pose, frame, "location", None))
    stage.show(pose)
    there = read_pose(stage.evaluated)
    to_armature = np.linalg.inv(pose.world) @ there.world
    pose.matrices[written] = to_armature @ there.matrices[written]
    return pose


def _attempt(
    compared: Compared, stage: Stage, home: Pose | None, solver: Solver, *, use_finish: bool
) -> Attempt:
    """Return what a solver makes of the chain."""
    world = WorldMatrices(compared.update.depsgraph)
    try:
        trial = Trial(compared, solver, use_finish=use_finish, home=home)
        seconds = trial.solve(world)
        outcome = trial.batch.outcome(trial.row)
        if not isinstance(outcome, Outcome):
            raise RigError(outcome or NOT_SOLVED)
    except IKError as error:
        return Attempt(solver, use_finish, str(error))
    stage.show(trial.pose)
    spent = 0.0
    for _ in range(REPEATS):
        again = trial.solve_again(world)
        seconds, spent = min(seconds, again), spent + again
        if spent > ENOUGH:
            break
    said = outcome_in_words(outcome, compared.unit)
    status = f"{FROM_PRESENT}. {said}" if solver is Solver.FOLLOW else said
    return replace(trial.attempt(stage, status, seconds), iterations=outcome.iterations)


def _built_in(trial: Trial, stage: Stage, home: Pose | None) -> Attempt:
    """Return what Blender's IK constraint makes of the chain, with those that share its bones."""
    compared, owner = trial.compared, trial.compared.object
    try:
        converting.check_solver(owner)
        for each in trial.driven.live_chains:
            job = each.job
            converting.check_chain(job.skeleton, job.plan, job.spec, owner.pose.bones)
    except RigError as error:
        return Attempt(None, True, str(error))
    pose = copied(home or trial.pose)
    for each in trial.driven.live_chains:
        # A constraint has no other start than the pose without it.
        pose.note_written(each.job.plan.written, each.stored)
        if each.stretch is not None:
            pose.note_others("scale", each.job.plan.written, each.stretch.scale)
    stage.show(pose)
    without = stage.seconds()
    world = WorldMatrices(compared.update.depsgraph)
    for each in trial.driven.live_chains:
        _constrain(stage, each, pose, world)
    seconds = max(stage.seconds() - without, 0.0)
    found = replace(trial.attempt(stage, "Reached", seconds), solver=None)
    if (
        is_visible(found.residual, compared.unit)
        and found.residual > compared.spec.options.tolerance
    ):
        gap = length_in_words(found.residual, compared.unit)
        found = replace(found, status=f"{gap} left; the constraint does not tell why")
    return found


def _constrain(stage: Stage, live_chain: LiveChain, pose: Pose, world: WorldMatrices) -> None:
    """Give the bones of a stage the constraint that a chain would become."""
    job = live_chain.job
    spec = job.spec
    assert spec.target is not None
    constraint = stage.constrain(spec.bone)
    constraint.target = stage.goal(world.matrix(spec.target, "target"))
    angle = spec.pole_angle
    if spec.pole is not None:
        constraint.pole_target = stage.goal(world.matrix(spec.pole, "pole"))
        axes = pole_angles.axes_of_start(job, pose, pose.rotation[job.plan.written])
        flip = math.pi if spec.options.use_flip_bend else 0.0
        angle = pole_angles.angle_of_constraint(axes, angle, flip)
    may_grow = converting.may_grow(job.object, job.skeleton, job.plan)
    converting.take_settings(constraint, spec, job.plan, angle, may_grow=may_grow)
