"""Solve one chain or many for goals: the entry points of all solvers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..algebra.arithmetic import ARRAYS, FLOATS, Array
from ..algebra.arrays import norm
from ..algebra.nested import repeat_single
from ..algebra.quaternions import IDENTITY
from ..algebra.rotation import conjugate, multiply, power
from ..kinematics.compiled_bones import compile_bones
from ..kinematics.task import accept_distance, make_array_task, make_float_tasks, turns_tips
from ..model.chains import Chain, Chains
from ..model.errors import (
    InvalidChainError,
    InvalidGoalError,
    InvalidOptionError,
    SolverMismatchError,
)
from ..model.goals import Goal, Goals
from ..model.options import Lead, SolveOptions, Solver
from ..model.records import check_kind, check_shape
from ..model.solutions import Solution, Solutions
from ..model.status import BLENDED, EXTENDED, ITERATIONS_USED_UP, REACHED, Codes
from .bone_rotations import bone_rotations, turn_part_way
from .compiled_chains import compile_chains
from .dragging import Drag, drag_joints, drag_points
from .free_chains import FLOAT_SOLVERS, SolvedChain, join_solved, pose_chain, record_solved
from .joint_chains import solve_joints


def solve(chain: Chain, goal: Goal, options: SolveOptions | None = None) -> Solution:
    """Return the pose of a chain that brings its effector to a target.

    Args:
        chain: Start pose of a chain or tree, armature space.
        goal: Target, pole and tip rotation, armature space.
        options: Solver and settings; by default NEWTON.

    Returns:
        The solution. An unreachable target gives the closest pose, never an error. FOLLOW drags the
        whole chain from its start pose straight to the target: the root moves.

    Raises:
        SolverMismatchError: If TWO_BONE gets a chain of more or fewer than two segments (a tip bone
            that takes the target's rotation does not count), or if the solver solves no trees.
    """
    check_kind(chain, Chain, "chain", InvalidChainError)
    check_kind(goal, Goal, "goal", InvalidGoalError)
    return solve_batch(compile_chains(chain).chains, goal.as_batch(), options)[0]


def solve_batch(chains: Chains, goals: Goals, options: SolveOptions | None = None) -> Solutions:
    """Return the poses of chains that bring their effectors to their targets.

    Every chain's pose is the same, to rounding, as ``solve`` returns for it alone.

    Args:
        chains: Start poses; compiled on first use, so use the same record for all solves.
        goals: One for each chain.
        options: By default NEWTON.

    Raises:
        InvalidGoalError: If there are not as many goals as chains.
        SolverMismatchError: As ``solve``.
    """
    options = SolveOptions() if options is None else options
    check_kind(chains, Chains, "chains", InvalidChainError)
    check_kind(goals, Goals, "goals", InvalidGoalError)
    check_kind(options, SolveOptions, "options", InvalidOptionError)
    count, compiled = len(chains), compile_chains(chains)
    _check_goals(chains, goals)
    options.check_count(count)
    if options.solver is Solver.FOLLOW:
        return _drag_chains(chains, goals, options)
    forces_act = chains.forces is not None and options.solver is Solver.FORCE
    if chains.joints is not None or chains.topology is not None or forces_act:
        return solve_joints(chains, goals, options)
    has_tips = turns_tips(goals, options)
    has_weights = has_tips and options.orient_weight < 1.0
    can_be_in_floats = options.solver in FLOAT_SOLVERS and not has_weights
    is_in_floats = can_be_in_floats and compiled.is_in_floats
    # NumPy adds up the numbers of one chain in another order than those of several.
    rows = np.arange(count) if is_in_floats else repeat_single(np.arange(count), compiled.count)
    if len(rows) > count:
        pairs = compiled.take_cached(rows), goals.take(rows), options.take(rows)
        return solve_batch(*pairs).take(rows[:1])
    if has_weights:
        return _solve_weighted(chains, goals, options)
    solve_rows = _solve_in_floats if is_in_floats else _solve_in_arrays
    return solve_rows(chains, goals, options, has_tips=has_tips)


def _check_goals(chain: Chain, goal: Goal) -> None:
    """Raise if there is not one goal for each chain, and in trees one for each effector."""
    topology, expected = chain.topology, chain.joint_positions.shape[:-2]
    if topology is not None:
        expected = (*expected, len(topology.effector_bones))
    check_shape(
        goal.target_position.shape,
        (*expected, 3),
        "target positions",
        InvalidGoalError,
        "give one goal for each chain, in a tree one for each effector",
    )
    if goal.floor is not None and not all(0 <= b < chain.bone_count for b in goal.floor.bones):
        raise InvalidGoalError(
            "A point of the floor belongs to no bone: give it the index of a bone of the tree."
        )
    if goal.near_wxyz is not None:
        shape, bone_shape = goal.near_wxyz.shape[-2:], (chain.bone_count, 4)
        advice = "give one for each bone"
        check_shape(shape, bone_shape, "near rotations", InvalidGoalError, advice)


def _solve_in_floats(
    chains: Chains, goals: Goals, options: SolveOptions, *, has_tips: bool
) -> Solutions:
    """Solve chains one by one, in floats."""
    count, compiled = len(chains), compile_chains(chains)
    stems = compiled.float_stems if has_tips else (None,) * count
    inputs = zip(compiled.float_starts, stems, make_float_tasks(goals, options, count), strict=True)
    poses = [pose_chain(FLOATS, start, stem, task, options) for start, stem, task in inputs]
    return record_solved(join_solved(poses), goals.tip_rotation_wxyz if has_tips else None)


def _solve_in_arrays(
    chains: Chains, goals: Goals, options: SolveOptions, *, has_tips: bool
) -> Solutions:
    """Solve chains side by side."""
    count, compiled = len(chains), compile_chains(chains)
    stem, task = compiled.stem if has_tips else None, make_array_task(goals, options, count)
    pose = pose_chain(ARRAYS, compiled.start, stem, task, options)
    return record_solved(pose, goals.tip_rotation_wxyz if has_tips else None)


def _solve_weighted(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Solve chains whose tips take part of a rotation.

    First solve with free tips. Turn each tip part of the way from there to the goal rotation, and
    start the rest of the chain from a pose that is turned by the same share.
    """
    assert goals.tip_rotation_wxyz is not None
    solver = Solver.NEWTON if options.solver is Solver.TWO_BONE else options.solver
    goals_without = replace(goals, tip_rotation_wxyz=None)
    free = solve_batch(chains, goals_without, replace(options, solver=solver))
    turns, share = bone_rotations(chains, free), 1.0 - options.orient_weight
    remaining = multiply(goals.tip_rotation_wxyz, conjugate(turns[:, -1]))
    tip_rotations = multiply(power(remaining, options.orient_weight), turns[:, -1])
    start = chains.joint_positions
    points = turn_part_way(start, turns, share)
    points[:, -1] = points[:, -2] + start[:, -1] - start[:, -2]
    mixed = Chains(points, chains.bend_direction)
    compile_chains(mixed).count = compile_chains(chains).count
    tip_goals = replace(goals, tip_rotation_wxyz=tip_rotations)
    solutions = solve_batch(mixed, tip_goals, replace(options, orient_weight=1.0))
    turned = multiply(solutions.chain_rotation_wxyz, power(free.chain_rotation_wxyz, share))
    return replace(solutions, chain_rotation_wxyz=turned)


def _drag_chains(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Drag chains with FOLLOW, once, from their start poses straight to their targets.

    No chain is turned as a whole: every bone swings from its parent by the shortest rotation.
    Poles, flips, rotations of the tip and soft distances are for chains whose root does not move.
    """
    if chains.topology is not None:
        raise SolverMismatchError(
            "{solver} does not solve chains that share bones: choose NEWTON or FABRIK.",
            solver=options.solver,
        )
    if chains.joints is not None and chains.joints.unturned:
        raise SolverMismatchError(
            "Follow needs bones that turn with their parents: leave unturned out,"
            " or choose another solver."
        )
    targets, start, compiled = goals.target_position, chains.joint_positions, compile_chains(chains)
    is_in_floats = compiled.is_in_floats
    drag = Drag(options.lead, options.use_anchor, FLOATS if is_in_floats else ARRAYS)
    local: Array | None = None
    if chains.joints is None:
        dragged = drag_points(drag, start.transpose(1, 2, 0), targets.T, options.max_bend)
    else:
        pose, bones = compiled.start, compile_bones(compiled.tree, is_in_floats=is_in_floats)
        tip, goal = ((points - pose.root) / pose.unit for points in (start[:, -1].T, targets.T))
        points, turns = drag_joints(drag, bones, compiled.clamped_start, tip, goal)
        dragged, local = points * pose.unit + pose.root, compiled.tree.joints.to_rotations(turns)
    residuals = norm(dragged[-1 if options.lead is Lead.TIP else 0] - targets.T)
    size = np.abs(start).max(axis=(1, 2))
    accepted = accept_distance(ARRAYS, options.tolerance, size, tuple(targets.T))
    missed: Codes | np.int8 = BLENDED
    if options.use_anchor:
        # A drag may leave a gap within reach, too.
        anchor = start[:, 0 if options.lead is Lead.TIP else -1]
        is_far = norm((targets - anchor).T) > chains.max_reach
        missed = np.where(is_far, EXTENDED, ITERATIONS_USED_UP)
    codes = np.where(residuals <= accepted, REACHED, missed)
    return record_solved(SolvedChain(dragged, IDENTITY, residuals, 0, codes, local))
