"""Solve chains for goals: the entrance to every solver, for one chain and for many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .. import followed, limited_batch
from ..algebra.arithmetic import ARRAYS, FLOATS
from ..chain import Chain, Goal, Solution, SolveOptions, Solver
from ..chains import Chains, Goals, Solutions, stack_solutions
from ..errors import InvalidGoalError
from ..kinematics.reach import is_soft
from ..rotation import conjugate, multiply, power
from ..status_codes import STATUSES
from ..vectors import not_alone
from .bone_rotations import blended, bone_rotations
from .free_chains import FreeTask, pose_chain
from .free_positions import FLOAT_SOLVERS
from .sweeps import FEW as FEW_SWEPT


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
    if chain.joints is None and options.solver in FLOAT_SOLVERS:
        has_tip = goal.tip_rotation_wxyz is not None and options.orient_weight > 0.0
        if has_tip and options.orient_weight < 1.0:
            return _solve_weighted(chain, goal, options)
        rest = chain.rest_alone if has_tip else None
        pose = pose_chain(FLOATS, chain.start_alone, rest, _ask_one(goal, options, has_tip=has_tip))
        return Solution(
            pose.joints,
            np.array(pose.rotation),
            goal.tip_rotation_wxyz if has_tip else None,
            pose.residual,
            pose.iterations,
            STATUSES[pose.code],
        )
    return solve_batch(limited_batch.as_batch(chain), limited_batch.goal_as_batch(goal), options)[0]


def solve_batch(chains: Chains, goals: Goals, options: SolveOptions | None = None) -> Solutions:
    """Return the poses of chains that bring their effectors to their targets.

    Every chain's pose is the same, to rounding, as ``solve`` gives for it alone.

    Args:
        chains: Start poses; compiled on first use, so keep the record from solve to solve.
        goals: One a chain.
        options: By default NEWTON; a weight of rotation strictly between 0 and 1 is solved chain
            by chain.

    Raises:
        InvalidGoalError: If there are not as many goals as chains.
        SolverMismatchError: As ``solve``.
    """
    options = options or SolveOptions()
    count = len(chains)
    if len(goals.target_positions) != count:
        raise InvalidGoalError(
            f"There are {len(goals.target_positions)} goals for {count} chains:"
            " give one goal a chain."
        )
    if options.solver is Solver.FOLLOW:
        return followed.solved(chains, goals, options)
    if chains.joints is not None or limited_batch.acts(chains, options):
        return limited_batch.solved(chains, goals, options)
    has_tips = goals.tip_rotations_wxyz is not None and options.orient_weight > 0.0
    if has_tips and options.orient_weight < 1.0:
        each = zip(chains.one_by_one, goals.one_by_one, options.one_by_one(count), strict=True)
        return stack_solutions([_solve_weighted(*one) for one in each])
    if chains.is_few and options.solver in FLOAT_SOLVERS:
        return _solve_few(chains, goals, options, has_tips=has_tips)
    # NumPy adds up the numbers of one chain in another order than those of several.
    rows = not_alone(np.arange(count), chains.compiled_count)
    if len(rows) > count:
        some = solve_batch(chains.take(rows), goals.take(rows), options.take(rows))
        return some.take(rows[:1])
    rest = chains.without_tips.start if has_tips and chains.bone_count > 1 else None
    is_few = chains.compiled_count <= FEW_SWEPT
    task = _ask_all(goals, options, has_tips=has_tips, is_few=is_few)
    pose = pose_chain(ARRAYS, chains.start, rest, task)
    return Solutions(
        joint_positions=pose.joints.transpose(2, 0, 1),
        chain_rotations_wxyz=np.array([np.broadcast_to(x, count) for x in pose.rotation]).T,
        tip_rotations_wxyz=goals.tip_rotations_wxyz if has_tips else None,
        residuals=pose.residual,
        iterations=np.zeros(count, dtype=np.int64) + pose.iterations,
        status_codes=pose.code,
    )


def _solve_few(chains: Chains, goals: Goals, options: SolveOptions, *, has_tips: bool) -> Solutions:
    """Solve chains one by one, in floats."""
    tasks = _ask_each(goals, options, has_tips=has_tips)
    poses = [
        pose_chain(FLOATS, chain.start_alone, chain.rest_alone if has_tips else None, task)
        for chain, task in zip(chains.one_by_one, tasks, strict=True)
    ]
    count, bones = len(chains), chains.bone_count
    return Solutions(
        joint_positions=np.array([pose.joints for pose in poses]).reshape(count, bones + 1, 3),
        chain_rotations_wxyz=np.array([pose.rotation for pose in poses]).reshape(count, 4),
        tip_rotations_wxyz=goals.tip_rotations_wxyz if has_tips else None,
        residuals=np.array([pose.residual for pose in poses]),
        iterations=np.array([pose.iterations for pose in poses], dtype=np.int64),
        status_codes=np.array([pose.code for pose in poses], dtype=np.int8),
    )


def _ask_one(goal: Goal, options: SolveOptions, *, has_tip: bool) -> FreeTask:
    """Return what is asked of one chain, in floats."""
    pole, tip = goal.pole_position, goal.tip_rotation_wxyz if has_tip else None
    return FreeTask(
        solver=options.solver,
        target=goal.target_position.tolist(),
        pole=None if pole is None else pole.tolist(),
        pole_angle=goal.pole_angle,
        tip=None if tip is None else tip.tolist(),
        use_flip=True if options.use_flip_bend else None,
        tolerance=options.tolerance,
        iterations=options.iterations,
        soft_distance=options.soft_distance or None,
    )


def _ask_each(goals: Goals, options: SolveOptions, *, has_tips: bool) -> Iterator[FreeTask]:
    """Yield what is asked of each of a few chains, in floats."""
    count = len(goals.target_positions)
    for target, pole, angle, tip, flip, tolerance, cap, soft in zip(
        goals.target_positions.tolist(),
        _each(goals.pole_positions, count),
        _each(goals.pole_angles, count),
        _each(goals.tip_rotations_wxyz if has_tips else None, count),
        _each(options.use_flip_bend, count),
        _each(options.tolerance, count),
        _each(options.iterations, count),
        _each(options.soft_distance, count),
        strict=True,
    ):
        yield FreeTask(
            options.solver,
            target,
            pole,
            angle,
            tip,
            flip or None,
            tolerance,
            cap,
            soft or None,
        )


def _each(value: Any, count: int) -> list[Any]:
    """Return what may differ by chain as one for each."""
    return value.tolist() if isinstance(value, np.ndarray) else [value] * count


def _ask_all(goals: Goals, options: SolveOptions, *, has_tips: bool, is_few: bool) -> FreeTask:
    """Return what is asked of many chains, in arrays."""
    poles, tips, count = goals.pole_positions, goals.tip_rotations_wxyz, len(goals.target_positions)
    return FreeTask(
        solver=options.solver,
        target=goals.target_positions.T,
        pole=None if poles is None else poles.T,
        pole_angle=goals.pole_angles,
        tip=tips.T if has_tips and tips is not None else None,
        use_flip=options.use_flip_bend if np.any(options.use_flip_bend) else None,
        tolerance=options.tolerance,
        iterations=np.broadcast_to(np.asarray(options.iterations), count),
        soft_distance=options.soft_distance if is_soft(options.soft_distance) else None,
        use_finish=options.use_finish,
        is_few=is_few,
    )


def _solve_weighted(chain: Chain, goal: Goal, options: SolveOptions) -> Solution:
    """Solve one chain whose tip takes part of a rotation.

    It stands between its place in a solve that leaves it free and the wanted one, and so does the
    pose that the rest of the chain starts from.
    """
    assert goal.tip_rotation_wxyz is not None
    solver = Solver.NEWTON if options.solver is Solver.TWO_BONE else options.solver
    free_goal = replace(goal, tip_rotation_wxyz=None)
    free = solve(chain, free_goal, replace(options, solver=solver))
    present = bone_rotations(chain, free)[-1]
    left = multiply(goal.tip_rotation_wxyz, conjugate(present))
    tip = multiply(power(left, options.orient_weight), present)
    share = 1.0 - options.orient_weight
    turn = power(free.chain_rotation_wxyz, share)
    joints, _ = blended(chain, free.joint_positions, free.chain_rotation_wxyz, None, share)
    joints[-1] = joints[-2] + (chain.joint_positions[-1] - chain.joint_positions[-2])
    nearer = Chain(joints, chain.bend_direction)
    tip_goal = replace(goal, tip_rotation_wxyz=tip)
    solution = solve(nearer, tip_goal, replace(options, orient_weight=1.0))
    return replace(solution, chain_rotation_wxyz=multiply(solution.chain_rotation_wxyz, turn))
