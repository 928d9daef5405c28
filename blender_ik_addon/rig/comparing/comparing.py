"""One chain solved by every solver and by Blender's IK constraint; nothing on the rig changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ...core import IKError, Lead, Solver
from ..planning.live_chain import LiveChain
from ..planning.start_channels import start_vector
from ..posing.outcome import Outcome
from ..reading.channels import Pose, read_pose
from ..reading.refusals import RigError
from ..reading.world import WorldMatrices
from ..tools import converting, pole_angles
from ..tools.lengths import is_visible, length_in_words
from ..tools.wording import outcome_in_words
from .compared import Compared
from .stage import Stage, quickest, staged
from .trial import NOT_SOLVED, Attempt, Trial

# Each solver, and whether Newton finishes what FABRIK or CCD leave.
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
FROM_PRESENT = "One drag from the present pose"


def find_home(compared: Compared) -> Pose | None:
    """Return the pose with the root where it is without the chain; None if Follow has not moved it.

    Raises:
        RigError: If no solver can solve the chain, with what to do first.
    """
    trial = Trial(compared, Solver.NEWTON, use_finish=True)
    job, pose = trial.live_chain.job, trial.pose.copy()
    if not any(bone.is_dragged for bone in job.spec.stored_pose):
        return None
    written, frame = job.plan.written, compared.update.frame
    with _on_stage(trial) as stage:
        pose.note("location", written, start_vector(job, pose, frame, "location", None))
        stage.show(pose)
        there = read_pose(stage.evaluated)
    to_armature = np.linalg.inv(pose.world) @ there.world
    pose.matrices[written] = to_armature @ there.matrices[written]
    return pose


def solve(compared: Compared, home: Pose | None, solver: Solver, *, use_finish: bool) -> Attempt:
    """Return the attempt of a solver, with the pose that it finds, still to be evaluated."""
    world = WorldMatrices(compared.update.depsgraph)
    try:
        trial = Trial(compared, solver, use_finish=use_finish, home=home)
        seconds = trial.solve(world)
        outcome = trial.batch.outcome(trial.row)
        if not isinstance(outcome, Outcome):
            raise RigError(outcome or NOT_SOLVED)
    except IKError as error:
        return Attempt(solver, use_finish, str(error))
    pose = trial.pose.copy()
    milliseconds = 1e3 * quickest(seconds, lambda: trial.solve_again(world))
    said = outcome_in_words(outcome, compared.unit)
    status = f"{FROM_PRESENT}. {said}" if solver is Solver.FOLLOW else said
    job = trial.live_chain.job
    return Attempt(
        *(solver, use_finish, status),
        iterations=outcome.iterations,
        milliseconds=milliseconds,
        pose=pose,
        plan=job.plan,
        is_led=job.spec.is_dragged and job.spec.options.lead is Lead.ROOT,
    )


def show(compared: Compared, home: Pose | None, found: Sequence[Attempt]) -> list[Attempt]:
    """Return the attempts of solvers on poses that Blender has evaluated, its constraint's last.

    Args:
        compared: The chain, which has not changed since they solved it.
        home: From ``find_home``.
        found: From ``solve``, one for each solver.
    """
    trial = Trial(compared, Solver.NEWTON, use_finish=True)
    with _on_stage(trial) as stage:
        shown = []
        for each in found:
            if each.pose is not None:
                stage.show(each.pose)
                each = _measured(trial, stage, each)
            shown.append(each)
        try:
            return [*shown, _built_in(trial, stage, home)]
        except IKError as error:
            return [*shown, Attempt(None, True, str(error))]


@contextmanager
def _on_stage(trial: Trial) -> Iterator[Stage]:
    """Yield a stage on which the rig has its evaluated pose."""
    compared, pose, skeleton = trial.compared, trial.pose, trial.live_chain.job.skeleton
    with staged(compared.object, compared.evaluated, skeleton, pose) as stage:
        stage.show(pose)
        above = int(skeleton.parents[trial.driven.bones[0]])
        if above >= 0:
            stage.hang(pose.world, skeleton.names[above], pose.matrices[above])
        yield stage


def _measured(trial: Trial, stage: Stage, attempt: Attempt) -> Attempt:
    """Return an attempt with joints and residual measured on a stage."""
    compared = trial.compared
    target = compared.spec.target
    assert target is not None
    job = trial.live_chain.job
    joints = converting.shown_joints(stage.evaluated, job.skeleton, attempt.plan or job.plan)
    there = WorldMatrices(compared.update.depsgraph).matrix(target, "target")[:3, 3]
    residual = float(np.linalg.norm(joints[0 if attempt.is_led else -1] - there))
    return replace(attempt, residual=residual, joints=joints)


def _built_in(trial: Trial, stage: Stage, home: Pose | None) -> Attempt:
    """Return the attempt of Blender's IK constraint, with those of chains that share its bones.

    Raises:
        IKError: If there is no such constraint.
    """
    compared, owner = trial.compared, trial.compared.object
    converting.check_solver(owner)
    for each in trial.driven.live_chains:
        job = each.job
        converting.check_chain(job.skeleton, job.plan, job.spec, owner.pose.bones)
    pose = (home or trial.pose).copy()
    for each in trial.driven.live_chains:
        # A constraint always starts from the pose without it.
        pose.note("channels", each.job.plan.written, each.stored)
        if each.stretch is not None:
            pose.note("scale", each.job.plan.written, each.stretch.scale)
    stage.show(pose)
    without = stage.seconds()
    world = WorldMatrices(compared.update.depsgraph)
    for each in trial.driven.live_chains:
        _constrain(stage, each, pose, world)
    milliseconds = 1e3 * max(stage.seconds() - without, 0.0)
    found = _measured(trial, stage, Attempt(None, True, "Reached", milliseconds=milliseconds))
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
    constraint = stage.rig.pose.bones[spec.bone].constraints.new("IK")
    constraint.target = stage.goal(world.matrix(spec.target, "target"))
    angle = spec.pole_angle
    if spec.pole is not None:
        constraint.pole_target = stage.goal(world.matrix(spec.pole, "pole"))
        axes = pole_angles.root_axes(job, pose, pose.rotation[job.plan.written])
        flip = math.pi if spec.options.use_flip_bend else 0.0
        angle = pole_angles.angle_of_constraint(axes, angle, flip)
    may_grow = converting.may_grow(job.object, job.skeleton, job.plan)
    converting.take_settings(constraint, spec, job.plan, angle, may_grow=may_grow)
