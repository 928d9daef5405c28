"""Solve many chains of one bone count at once."""

from __future__ import annotations

import numpy as np

from . import rotation
from .chain import Goal, Solution, SolveOptions, Solver, Status
from .chains import STATUSES, Chains, Goals, Solutions
from .errors import InvalidGoalError
from .bend import Pole
from .positions import Positions, positioned
from .solve import FINEST_TOLERANCE, check_solver, solve
from .start import Start
from .task import Task
from .vectors import Array, Flags

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
    has_tips = goals.tip_rotations_wxyz is not None and options.orient_weight > 0.0
    if options.influence < 1.0 or (has_tips and options.orient_weight < 1.0):
        return _one_by_one(chains, goals, options)
    if not has_tips:
        check_solver(options.solver, chains.bone_count)
        solved = _positioned(chains.start, goals, goals.target_positions, options)
        return _recorded(chains, goals, options, solved, _joints(chains.start, solved), None)
    return _oriented(chains, goals, options)


def _oriented(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Turn the tip bones first and solve the rest of the chains for the tip bones' heads."""
    turns = goals.tip_rotations_wxyz
    assert turns is not None
    tips = chains.joint_positions[:, -1] - chains.joint_positions[:, -2]
    tips = rotation.rotate(turns, tips)
    if chains.bone_count == 1:
        count = len(chains)
        solved = Positions(
            points=np.zeros((1, 3, count)),
            rotation_wxyz=np.tile(NOT_TURNED, (count, 1)),
            iterations=np.zeros(count, dtype=np.int64),
            is_too_far=np.ones(count, dtype=np.bool_),
            is_too_near=np.zeros(count, dtype=np.bool_),
        )
        heads = chains.joint_positions[:, :1]
    else:
        check_solver(options.solver, chains.bone_count - 1)
        start = chains.without_tips.start
        solved = _positioned(start, goals, goals.target_positions - tips, options)
        heads = _joints(start, solved)
    joints = np.concatenate((heads, heads[:, -1:] + tips[:, None]), axis=1)
    return _recorded(chains, goals, options, solved, joints, turns)


def _positioned(start: Start, goals: Goals, targets: Array, options: SolveOptions) -> Positions:
    count = len(targets)
    pole = None
    if goals.pole_positions is not None:
        pole = Pole(
            is_set=np.ones(count, dtype=np.bool_),
            position=(goals.pole_positions.T - start.root) / start.unit,
            angle=np.broadcast_to(np.asarray(goals.pole_angles, dtype=np.float64), count),
        )
    use_flip: Flags | None = None
    if np.any(options.use_flip_bend):
        use_flip = np.broadcast_to(np.asarray(options.use_flip_bend), count)
    task = Task(
        target=(targets.T - start.root) / start.unit,
        pole=pole,
        use_flip=use_flip,
        tolerance=np.maximum(options.tolerance / start.unit, FINEST_TOLERANCE * start.reach),
        iterations=np.broadcast_to(np.asarray(options.iterations), count),
    )
    return positioned(start, task, options.solver, use_acceleration=options.use_acceleration)


def _joints(start: Start, solved: Positions) -> Array:
    joints: Array = (solved.points * start.unit + start.root).transpose(2, 0, 1)
    return joints


def _recorded(
    chains: Chains,
    goals: Goals,
    options: SolveOptions,
    solved: Positions,
    joints: Array,
    tip_rotations: Array | None,
) -> Solutions:
    """Measure the residuals on what is returned, and name the outcomes."""
    off = joints[:, -1] - goals.target_positions
    residuals = np.sqrt(off[:, 0] ** 2 + off[:, 1] ** 2 + off[:, 2] ** 2)
    reach = chains.start.reach * chains.start.unit
    rounding = FINEST_TOLERANCE * (reach + np.abs(goals.target_positions).max(axis=1))
    codes = np.select(
        [residuals <= options.tolerance + rounding, solved.is_too_far, solved.is_too_near],
        [STATUSES.index(s) for s in (Status.REACHED, Status.EXTENDED, Status.FOLDED)],
        STATUSES.index(Status.ITERATIONS_USED_UP),
    )
    return Solutions(
        joint_positions=joints,
        chain_rotations_wxyz=solved.rotation_wxyz,
        tip_rotations_wxyz=tip_rotations,
        residuals=residuals,
        iterations=solved.iterations,
        status_codes=codes.astype(np.int8),
    )


def _one_by_one(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Solve chains that stop part of the way; what that is depends on more than their targets."""
    solutions = [
        solve(chain, _goal(goals, i), _options(options, i))
        for i, chain in enumerate(chains.one_by_one)
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


def _goal(goals: Goals, i: int) -> Goal:
    poles, tips = goals.pole_positions, goals.tip_rotations_wxyz
    return Goal(
        target_position=goals.target_positions[i],
        pole_position=None if poles is None else poles[i],
        pole_angle=float(np.broadcast_to(goals.pole_angles, len(goals.target_positions))[i]),
        tip_rotation_wxyz=None if tips is None else tips[i],
    )


def _options(options: SolveOptions, i: int) -> SolveOptions:
    def of_chain(value: object) -> object:
        return value[i].item() if isinstance(value, np.ndarray) else value

    return SolveOptions(**{name: of_chain(value) for name, value in vars(options).items()})
