"""Solve many chains of one bone count at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import followed, limited_batch, rotation, single
from .batch_task import batch_task
from .chain import Goal, SolveOptions, Solver
from .chains import FEW, Chains, Goals, Solutions
from .errors import InvalidGoalError
from .positions import positioned
from .soft import is_soft, softened
from .solve import positioned_alone, solve
from .solving.sweeps import FEW as FEW_SWEPT
from .status_codes import STATUSES, status_codes
from .task import FINEST_TOLERANCE, check_solver
from .vectors import Array, Counts, Flags

NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


def solve_batch(chains: Chains, goals: Goals, options: SolveOptions | None = None) -> Solutions:
    """Return the poses of chains that bring their effectors to their targets.

    Every chain's pose is the same, to rounding, as ``solve`` gives for it alone.

    Args:
        chains: Start poses; compiled on first use, so keep the record from solve to solve.
        goals: One a chain.
        options: By default NEWTON; an influence or weight of rotation strictly between 0 and 1
            is solved chain by chain.

    Raises:
        InvalidGoalError: If there are not as many goals as chains.
        SolverMismatchError: As ``solve``.
    """
    options = options or SolveOptions()
    if len(goals.target_positions) != len(chains):
        raise InvalidGoalError(
            f"There are {len(goals.target_positions)} goals for {len(chains)} chains:"
            " give one goal a chain."
        )
    if options.solver is Solver.FOLLOW:
        return followed.solved(chains, goals, options)
    if chains.joints is not None or limited_batch.acts(chains, options):
        return limited_batch.solved(chains, goals, options)
    has_tips = goals.tip_rotations_wxyz is not None and options.orient_weight > 0.0
    if options.influence < 1.0 or (has_tips and options.orient_weight < 1.0):
        return _one_by_one(chains, goals, options)
    if not has_tips:
        check_solver(options.solver, chains.bone_count)
        solved = _positioned(chains, goals, goals.target_positions, options)
        return _recorded(chains, goals, options, solved, None)
    return _oriented(chains, goals, options)


@dataclass(frozen=True)
class _Solved:
    """Solved joints of B chains, armature space; as ``Positions``, one chain a row.

    ``short`` is how far the soft distance has moved targets toward the roots, shape (B,), or None.
    """

    joints: Array
    rotations_wxyz: Array
    iterations: Counts
    is_too_far: Flags
    is_too_near: Flags
    short: Array | None = None


def _oriented(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Turn the tip bones first and solve the rest of the chains for the tip bones' heads."""
    turns = goals.tip_rotations_wxyz
    assert turns is not None
    tips = chains.joint_positions[:, -1] - chains.joint_positions[:, -2]
    tips = rotation.rotate(turns, tips)
    if chains.bone_count == 1:
        count = len(chains)
        solved = _Solved(
            joints=chains.joint_positions[:, :1],
            rotations_wxyz=np.tile(NOT_TURNED, (count, 1)),
            iterations=np.zeros(count, dtype=np.int64),
            is_too_far=np.ones(count, dtype=np.bool_),
            is_too_near=np.zeros(count, dtype=np.bool_),
        )
    else:
        check_solver(options.solver, chains.bone_count - 1)
        rest = chains.without_tips
        solved = _positioned(rest, goals, goals.target_positions - tips, options)
    heads = solved.joints
    joints = np.concatenate((heads, heads[:, -1:] + tips[:, None]), axis=1)
    return _recorded(chains, goals, options, replace(solved, joints=joints), turns)


def _positioned(chains: Chains, goals: Goals, targets: Array, options: SolveOptions) -> _Solved:
    """Solve for positions: few chains one by one, many side by side."""
    if is_soft(options.soft_distance):
        return _softened(chains, goals, targets, options)
    if len(chains) <= FEW and options.solver in single.SOLVERS:
        return _few(chains, goals, targets, options)
    start, task = chains.start, batch_task(chains.start, goals, targets, options)
    solved = positioned(
        start,
        task,
        options.solver,
        is_few=chains.company <= FEW_SWEPT,
        use_finish=options.use_finish,
    )
    return _Solved(
        joints=(solved.points * start.unit + start.root).transpose(2, 0, 1),
        rotations_wxyz=solved.rotation_wxyz,
        iterations=solved.iterations,
        is_too_far=solved.is_too_far,
        is_too_near=solved.is_too_near,
    )


def _softened(chains: Chains, goals: Goals, targets: Array, options: SolveOptions) -> _Solved:
    """Solve for the positions that the soft distances leave of targets."""
    start = chains.start
    reach, least = start.reach * start.unit, start.least * start.unit
    moved, short, is_too_far = softened(start.root, targets.T, reach, least, options.soft_distance)
    solved = _positioned(chains, goals, moved.T, replace(options, soft_distance=0.0))
    return replace(solved, short=short, is_too_far=solved.is_too_far | is_too_far)


def _few(chains: Chains, goals: Goals, targets: Array, options: SolveOptions) -> _Solved:
    found = [
        positioned_alone(chain, replaced, _options(options, i))
        for i, (chain, replaced) in enumerate(
            zip(chains.one_by_one, _goals(goals, targets), strict=True)
        )
    ]
    count, joints = len(found), chains.bone_count + 1
    return _Solved(
        joints=np.array([each.joints for each in found]).reshape(count, joints, 3),
        rotations_wxyz=np.array([each.chain_rotation for each in found]).reshape(count, 4),
        iterations=np.array([each.iterations for each in found], dtype=np.int64),
        is_too_far=np.array([each.is_too_far for each in found], dtype=np.bool_),
        is_too_near=np.array([each.is_too_near for each in found], dtype=np.bool_),
    )


def _recorded(
    chains: Chains,
    goals: Goals,
    options: SolveOptions,
    solved: _Solved,
    tip_rotations: Array | None,
) -> Solutions:
    """Measure the residuals on what is returned, and name the outcomes."""
    joints = solved.joints
    off = joints[:, -1] - goals.target_positions
    residuals = np.sqrt(off[:, 0] ** 2 + off[:, 1] ** 2 + off[:, 2] ** 2)
    reach = chains.start.reach * chains.start.unit
    rounding = FINEST_TOLERANCE * (reach + np.abs(goals.target_positions).max(axis=1))
    codes = status_codes(
        residuals,
        options.tolerance + rounding,
        solved.is_too_far,
        solved.is_too_near,
        solved.short,
    )
    return Solutions(
        joint_positions=joints,
        chain_rotations_wxyz=solved.rotations_wxyz,
        tip_rotations_wxyz=tip_rotations,
        residuals=residuals,
        iterations=solved.iterations,
        status_codes=codes,
    )


def _one_by_one(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Solve chains that stop part of the way; what that is depends on more than their targets."""
    single_goals = _goals(goals, goals.target_positions)
    solutions = [
        solve(chain, goal, _options(options, i))
        for i, (chain, goal) in enumerate(zip(chains.one_by_one, single_goals, strict=True))
    ]
    tips = [s.tip_rotation_wxyz for s in solutions if s.tip_rotation_wxyz is not None]
    blended = [s.blended_rotations_wxyz for s in solutions if s.blended_rotations_wxyz is not None]
    return Solutions(
        joint_positions=np.array([s.joint_positions for s in solutions]),
        chain_rotations_wxyz=np.array([s.chain_rotation_wxyz for s in solutions]),
        tip_rotations_wxyz=np.array(tips) if tips else None,
        residuals=np.array([s.residual for s in solutions]),
        iterations=np.array([s.iterations for s in solutions]),
        status_codes=np.array([STATUSES.index(s.status) for s in solutions], dtype=np.int8),
        blended_rotations_wxyz=np.array(blended) if blended else None,
    )


def _goals(goals: Goals, targets: Array) -> list[Goal]:
    """Return goals one by one, with the given targets."""
    count = len(targets)
    poles, tips = goals.pole_positions, goals.tip_rotations_wxyz
    angles = np.broadcast_to(goals.pole_angles, count).tolist()
    return [
        Goal(
            target_position=targets[i],
            pole_position=None if poles is None else poles[i],
            pole_angle=angles[i],
            tip_rotation_wxyz=None if tips is None else tips[i],
        )
        for i in range(count)
    ]


def _options(options: SolveOptions, i: int) -> SolveOptions:
    """Return the options of one chain."""
    tolerance, cap, flip = options.tolerance, options.iterations, options.use_flip_bend
    soft = options.soft_distance
    return replace(
        options,
        tolerance=float(tolerance[i]) if isinstance(tolerance, np.ndarray) else tolerance,
        iterations=int(cap[i]) if isinstance(cap, np.ndarray) else cap,
        use_flip_bend=bool(flip[i]) if isinstance(flip, np.ndarray) else flip,
        soft_distance=float(soft[i]) if isinstance(soft, np.ndarray) else soft,
    )
