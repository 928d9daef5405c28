"""Solve a chain for a goal: the entrance to every solver and the one result record."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from . import followed, limited_batch, single
from .bend import Pole
from .blend import blended, bone_rotations
from .chain import Chain, Goal, Solution, SolveOptions, Solver, Status
from .positions import positioned
from .rotation import conjugate, multiply, power, rotate
from .single import SingleTask
from .soft import eased_alone
from .start import Start
from .status_codes import status_alone
from .task import FINEST_TOLERANCE, Task, check_solver
from .vectors import Array

NO_ROTATION = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Outcome:
    """Solved positions of one chain, before influence.

    ``short`` is how far the soft distance has moved the target toward the root.
    """

    joints: Array
    chain_rotation: Array
    iterations: int
    is_too_far: bool
    is_too_near: bool
    short: float = 0.0


def solve(chain: Chain, goal: Goal, options: SolveOptions | None = None) -> Solution:
    """Return the pose of a chain that brings its effector to a target.

    Args:
        chain: Start pose, armature space.
        goal: Target, pole and tip rotation, armature space.
        options: Solver and settings; by default NEWTON.

    Returns:
        The solution. An unreachable target gives the closest pose, never an error. FOLLOW drags
        the whole chain from its start pose straight to the target: the root moves.

    Raises:
        SolverMismatchError: If TWO_BONE is asked for a chain of more or fewer than two segments
            (not counting a tip bone that takes the target's rotation).
    """
    options = options or SolveOptions()
    if options.solver is Solver.FOLLOW:
        return followed.solved_alone(chain, goal, options)
    if chain.joints is not None or limited_batch.acts(chain, options):
        return limited_batch.solved_alone(chain, goal, options)
    if goal.tip_rotation_wxyz is None or options.orient_weight == 0.0:
        return _recorded(chain, goal, options, positioned_alone(chain, goal, options), None)
    return _oriented(chain, goal, options, goal.tip_rotation_wxyz)


def _oriented(chain: Chain, goal: Goal, options: SolveOptions, tip_rotation: Array) -> Solution:
    """Turn the tip bone first and solve the rest of the chain for the tip bone's head.

    A tip that takes only part of the rotation stands between its place in a solve that leaves it
    free and the wanted one, and so does the pose that the rest of the chain starts from.
    """
    start, chain_turn = chain.joint_positions, NO_ROTATION
    if options.orient_weight < 1.0:
        solver = Solver.NEWTON if options.solver is Solver.TWO_BONE else options.solver
        free_options = replace(options, influence=1.0, solver=solver)
        free = solve(chain, replace(goal, tip_rotation_wxyz=None), free_options)
        present = bone_rotations(chain, free)[-1]
        way = power(multiply(tip_rotation, conjugate(present)), options.orient_weight)
        tip_rotation = multiply(way, present)
        share = 1.0 - options.orient_weight
        start, _ = blended(chain, free.joint_positions, free.chain_rotation_wxyz, None, share)
        chain_turn = power(free.chain_rotation_wxyz, share)
    tip_segment = rotate(tip_rotation, chain.joint_positions[-1] - chain.joint_positions[-2])
    if len(start) > 2:
        head_goal = replace(goal, target_position=goal.target_position - tip_segment)
        outcome = positioned_alone(Chain(start[:-1], chain.bend_direction), head_goal, options)
    else:
        outcome = Outcome(start[:-1], NO_ROTATION, 0, is_too_far=True, is_too_near=False)
    joints = np.vstack((outcome.joints, outcome.joints[-1] + tip_segment))
    chain_turn = multiply(outcome.chain_rotation, chain_turn)
    outcome = replace(outcome, joints=joints, chain_rotation=chain_turn)
    return _recorded(chain, goal, options, outcome, tip_rotation)


def positioned_alone(chain: Chain, goal: Goal, options: SolveOptions) -> Outcome:
    """Solve for the position alone."""
    if options.soft_distance:
        return _softened(chain, goal, options)
    check_solver(options.solver, len(chain.segment_lengths))
    finest = FINEST_TOLERANCE * chain.max_reach
    tolerance = max(float(options.tolerance), finest)
    if options.solver in single.SOLVERS:
        start = chain.single_start
        pole = None if goal.pole_position is None else tuple(goal.pole_position.tolist())
        task = SingleTask(
            target=tuple(goal.target_position.tolist()),
            pole=pole,
            pole_angle=goal.pole_angle,
            use_flip=bool(options.use_flip_bend),
            tolerance=tolerance / start.unit,
            iterations=int(options.iterations),
        )
        joints, turn, iterations, is_too_far, is_too_near = single.positioned(
            start, task, options.solver
        )
        return Outcome(joints, np.array(turn), iterations, is_too_far, is_too_near)
    batch = chain.start
    solved = positioned(
        batch,
        _task(batch, goal, options, tolerance),
        options.solver,
        use_finish=options.use_finish,
    )
    return Outcome(
        joints=solved.points[..., 0] * batch.unit[0] + chain.joint_positions[0],
        chain_rotation=solved.rotation_wxyz[0],
        iterations=int(solved.iterations[0]),
        is_too_far=bool(solved.is_too_far[0]),
        is_too_near=bool(solved.is_too_near[0]),
    )


def _softened(chain: Chain, goal: Goal, options: SolveOptions) -> Outcome:
    """Solve for the position that the soft distance leaves of a target."""
    start, root = chain.single_start, chain.joint_positions[0]
    offset = goal.target_position - root
    distance = math.sqrt(float(offset.dot(offset)))
    reach, least = start.reach * start.unit, start.least * start.unit
    near = eased_alone(distance, reach, least, float(options.soft_distance))
    if near < distance:
        goal = replace(goal, target_position=root + near / distance * offset)
    outcome = positioned_alone(chain, goal, replace(options, soft_distance=0.0))
    is_too_far = outcome.is_too_far or distance >= reach
    return replace(outcome, short=distance - near, is_too_far=is_too_far)


def _task(start: Start, goal: Goal, options: SolveOptions, tolerance: float) -> Task:
    """Return what is asked of one chain as a batch of one."""
    pole = None
    if goal.pole_position is not None:
        pole = Pole(
            is_set=np.array([True]),
            position=(goal.pole_position[:, None] - start.root) / start.unit,
            angle=np.array([goal.pole_angle]),
        )
    return Task(
        target=(goal.target_position[:, None] - start.root) / start.unit,
        pole=pole,
        use_flip=np.array([True]) if options.use_flip_bend else None,
        tolerance=tolerance / start.unit,
        iterations=np.array([int(options.iterations)]),
    )


def _recorded(
    chain: Chain,
    goal: Goal,
    options: SolveOptions,
    outcome: Outcome,
    tip_rotation: Array | None,
) -> Solution:
    """Blend by influence, measure the residual on what is returned, and name the outcome."""
    joints, chain_rotation, rotations = outcome.joints, outcome.chain_rotation, None
    if options.influence < 1.0:
        joints, rotations = blended(chain, joints, chain_rotation, tip_rotation, options.influence)
        chain_rotation = power(chain_rotation, options.influence)
        tip_rotation = None if tip_rotation is None else rotations[-1]
    x, y, z = (joints[-1] - goal.target_position).tolist()
    residual = math.sqrt(x * x + y * y + z * z)
    farthest = max(map(abs, goal.target_position.tolist()))
    accepted = float(options.tolerance) + FINEST_TOLERANCE * (chain.max_reach + farthest)
    status = status_alone(
        residual,
        accepted,
        is_too_far=outcome.is_too_far,
        is_too_near=outcome.is_too_near,
        short=outcome.short,
    )
    if options.influence < 1.0 and status is not Status.REACHED:
        status = Status.BLENDED
    return Solution(
        joints, chain_rotation, tip_rotation, residual, outcome.iterations, status, rotations
    )
