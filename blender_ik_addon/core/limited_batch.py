"""Solve chains with joints: the records in, the records out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import limited, reach, rotation, turns
from .chain import Chain, Goal, Solution, SolveOptions, Solver, Status
from .chains import STATUSES, Chains, Goals, Solutions, softened_codes
from .limited import Held
from .soft import is_soft, softened
from .task import FINEST_TOLERANCE, batch_task, check_solver
from .vectors import Array, Flags, norm

NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


def solved_alone(chain: Chain, goal: Goal, options: SolveOptions) -> Solution:
    """Return the pose of one chain with joints; as ``solve``."""
    bend, pole, tip = chain.bend_direction, goal.pole_position, goal.tip_rotation_wxyz
    chains = Chains(
        chain.joint_positions[None],
        None if bend is None else bend[None],
        None if chain.joints is None else chain.joints.as_batch(),
    )
    goals = Goals(
        target_positions=goal.target_position[None],
        pole_positions=None if pole is None else pole[None],
        pole_angles=goal.pole_angle,
        tip_rotations_wxyz=None if tip is None else tip[None],
    )
    return solved(chains, goals, options)[0]


def solved(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Return the poses of chains with joints; as ``solve_batch``."""
    assert chains.joints is not None
    has_tips = goals.tip_rotations_wxyz is not None and options.orient_weight > 0.0
    check_solver(options.solver, chains.bone_count - has_tips)
    start, jointed = chains.start, chains.jointed
    start_turn = np.moveaxis(chains.joints.start_wxyz, 0, -1)
    tips = goals.tip_rotations_wxyz
    moved = _softened(chains, goals, options) if is_soft(options.soft_distance) else None
    targets = goals.target_positions if moved is None else moved.targets
    task = batch_task(start, goals, targets, options)
    fits = options.solver is not Solver.TWO_BONE or chains.bone_count == 2
    held = limited.positioned(
        start,
        jointed,
        start_turn,
        task,
        options.solver if fits else Solver.NEWTON,
        tips.T if has_tips and tips is not None else None,
        options.orient_weight,
    )
    if options.influence < 1.0:
        held = limited.part_of(held, jointed, start_turn, options.influence)
    return _recorded(chains, goals, options, held, moved)


class _Moved(NamedTuple):
    """Targets (B, 3) moved by soft distances, by how much (B,), and which are out of reach (B,)."""

    targets: Array
    short: Array
    is_too_far: Flags


def _softened(chains: Chains, goals: Goals, options: SolveOptions) -> _Moved:
    """Return what the soft distances leave of targets; tips that take a rotation count for it."""
    start, slides = chains.start, np.abs(chains.jointed.slide_high)
    lengths, joints = start.lengths + slides, chains.joint_positions
    tips, turns_wxyz = np.zeros_like(goals.target_positions), goals.tip_rotations_wxyz
    if turns_wxyz is not None and options.orient_weight == 1.0 and len(lengths) > 1:
        lengths = lengths[:-1]
        tips = rotation.rotate(turns_wxyz, joints[:, -1] - joints[:, -2])
    most = lengths.sum(axis=0) * start.unit
    least = reach.min_reach(lengths) * start.unit
    heads = (goals.target_positions - tips).T
    moved, short, is_too_far = softened(start.root, heads, most, least, options.soft_distance)
    return _Moved(moved.T + tips, short, is_too_far)


def _recorded(
    chains: Chains, goals: Goals, options: SolveOptions, held: Held, moved: _Moved | None
) -> Solutions:
    """Measure the residuals on what is returned, and name the outcomes."""
    start, state = chains.start, held.state
    posed = chains.jointed.posed(state)
    joints = (posed.points * start.unit + start.root).transpose(2, 0, 1)
    residuals = norm((joints[:, -1] - goals.target_positions).T)
    length = start.reach * start.unit
    rounding = FINEST_TOLERANCE * (length + np.abs(goals.target_positions).max(axis=1))
    accepted = options.tolerance + rounding
    is_held = held.holds.any(axis=(0, 1))
    is_too_far = held.is_too_far if moved is None else held.is_too_far | moved.is_too_far
    is_blended = np.full(len(chains), options.influence < 1.0)
    codes = np.select(
        [residuals <= accepted, is_blended, is_too_far, is_held],
        [
            STATUSES.index(each)
            for each in (Status.REACHED, Status.BLENDED, Status.EXTENDED, Status.LIMITED)
        ],
        STATUSES.index(Status.ITERATIONS_USED_UP),
    )
    if moved is not None:
        codes = softened_codes(codes, residuals, moved.short, accepted)
    return Solutions(
        joint_positions=joints,
        chain_rotations_wxyz=np.tile(NOT_TURNED, (len(chains), 1)),
        tip_rotations_wxyz=None,
        residuals=residuals,
        iterations=held.iterations,
        status_codes=codes.astype(np.int8),
        local_rotations_wxyz=_rows(turns.normalised(state[:-1, :4])),
        slides=(state[:-1, 4] * start.unit).T,
        holds=np.moveaxis(held.holds, -1, 0),
        tip_gaps=held.tip_gap,
    )


def _rows(turn: Array) -> Array:
    return np.ascontiguousarray(np.moveaxis(turn, -1, 0))
