"""Solve chains with joints: the records in, the records out."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from . import limited, rotation, turns
from .algebra.arithmetic import ARRAYS
from .batch_task import batch_task
from .chain import Chain, Goal, Solution, SolveOptions, Solver
from .chains import Chains, Goals, Solutions
from .kinematics.reach import is_soft, measure_reach, soften_target
from .limited import Held
from .solving.sweeps import FEW as FEW_SWEPT
from .solving.sweeps import sweeps_of
from .status_codes import (
    EXTENDED,
    FOLDED,
    ITERATIONS_USED_UP,
    LIMITED,
    REACHED,
    soften_outcome,
)
from .task import FINEST_TOLERANCE, check_solver
from .vectors import Array, Flags, norm

# A chain that is straight but for this share of its length is held back by nothing: what is left of
# a bend shrinks ever more slowly there.
STRAIGHT = 1e-6
NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


def solved_alone(chain: Chain, goal: Goal, options: SolveOptions) -> Solution:
    """Return the pose of one chain with joints; as ``solve``."""
    return solved(as_batch(chain), goal_as_batch(goal), options)[0]


def as_batch(chain: Chain) -> Chains:
    """Return a chain as a batch of one; made on first use, so that it stays compiled."""
    known: Chains | None = chain.__dict__.get("as_batch")
    if known is None:
        bend = chain.bend_direction
        known = chain.__dict__["as_batch"] = Chains(
            chain.joint_positions[None],
            None if bend is None else bend[None],
            None if chain.joints is None else chain.joints.as_batch(),
            None if chain.forces is None else chain.forces.as_batch(),
        )
    return known


def goal_as_batch(goal: Goal) -> Goals:
    """Return the goal of one chain as goals."""
    pole, tip = goal.pole_position, goal.tip_rotation_wxyz
    return Goals(
        target_positions=goal.target_position[None],
        pole_positions=None if pole is None else pole[None],
        pole_angles=goal.pole_angle,
        tip_rotations_wxyz=None if tip is None else tip[None],
    )


def solved(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Return the poses of chains with joints; as ``solve_batch``."""
    if chains.joints is None:
        return without_joints(chains, solved(chains.freed, goals, options), goals, options)
    if len(chains) == 1:
        twice = np.zeros(2, dtype=np.int64)
        found = solved(chains.twice, goals.take(twice), options.take(twice))
        return found.take(twice[:1])
    moved = _softened(chains, goals, options) if is_soft(options.soft_distance) else None
    asked = goals.target_positions if moved is None else moved.targets
    near, is_far = _within_reach(chains, asked)
    # What is too far is met at full reach, where a chain is straight only if the gap is nothing.
    exact = options
    if is_far.any():
        exact = replace(options, tolerance=np.where(is_far, 0.0, options.tolerance))
    return _posed(chains, goals, asked, near, exact, moved)


class _Moved(NamedTuple):
    """Targets (B, 3) moved by soft distances, by how much (B,), and which are out of reach (B,)."""

    targets: Array
    short: Array
    is_too_far: Flags


def _posed(
    chains: Chains,
    goals: Goals,
    asked: Array,
    near: Array,
    options: SolveOptions,
    moved: _Moved | None,
) -> Solutions:
    """Solve for targets (B, 3) as asked for, and drawn in to the reach."""
    tips = goals.tip_rotations_wxyz
    has_tips = tips is not None and options.orient_weight > 0.0
    check_solver(options.solver, chains.bone_count - has_tips)
    start, jointed = chains.start, chains.jointed
    fits = options.solver is not Solver.TWO_BONE or chains.bone_count == 2
    held = limited.positioned(
        start,
        jointed,
        chains.natural,
        chains.start_turns,
        chains.standing,
        batch_task(start, goals, near, options),
        options.solver if fits else Solver.NEWTON,
        (asked.T - start.root) / start.unit,
        tips.T if has_tips and tips is not None else None,
        options.orient_weight,
        chains.potential_energy if options.solver is Solver.FORCE else None,
        sweeps=sweeps_of(
            options.solver,
            is_few=chains.compiled_count <= FEW_SWEPT,
            is_alone=chains.compiled_count == 1,
        ),
        use_finish=options.use_finish or options.solver not in ("FABRIK", "CCD"),
    )
    return _recorded(chains, goals, options, held, moved)


def _softened(chains: Chains, goals: Goals, options: SolveOptions) -> _Moved:
    """Return what the soft distances leave of targets; tips that take a rotation count for it."""
    start, room = chains.start, chains.jointed.slide_room
    lengths, joints = start.lengths, chains.joint_positions
    if room is not None:
        # A slide makes the segment before its bone longer, that of the root the way from the root.
        lengths = lengths + np.concatenate((room[1:], room[:1]))
    tips, turns_wxyz = np.zeros_like(goals.target_positions), goals.tip_rotations_wxyz
    if turns_wxyz is not None and options.orient_weight == 1.0 and len(lengths) > 1:
        lengths = lengths[:-1]
        tips = rotation.rotate(turns_wxyz, joints[:, -1] - joints[:, -2])
    most, least = (size * start.unit for size in measure_reach(lengths))
    heads, soft = (goals.target_positions - tips).T, options.soft_distance
    moved = soften_target(ARRAYS, start.root, heads, most, least, soft)
    return _Moved(np.array(moved.target).T + tips, moved.short, moved.is_too_far)


def _recorded(
    chains: Chains, goals: Goals, options: SolveOptions, held: Held, moved: _Moved | None
) -> Solutions:
    """Measure the residuals on what is returned, and name the outcomes."""
    start, state = chains.start, held.state
    posed = chains.jointed.posed(state)
    joints = (posed.points * start.unit + start.root).transpose(2, 0, 1)
    residuals = norm((joints[:, -1] - goals.target_positions).T)
    accepted = options.tolerance + _rounding(chains, goals)
    # With iterations left it is the joints that lead no nearer, by their limits or their locks.
    has_holds = held.holds.any(axis=(0, 1))
    if held.slide_holds is not None:
        has_holds |= held.slide_holds.any(axis=0)
    is_held = held.is_open & (has_holds | (held.iterations < options.iterations))
    is_held &= ~_is_straight(chains, goals, residuals)
    is_folded = ~has_holds & _is_too_near(chains, goals)
    is_too_far = held.is_too_far if moved is None else held.is_too_far | moved.is_too_far
    codes = np.select(
        [residuals <= accepted, is_folded, is_held, is_too_far],
        [REACHED, FOLDED, LIMITED, EXTENDED],
        ITERATIONS_USED_UP,
    )
    if moved is not None:
        codes = soften_outcome(ARRAYS, codes, residuals, moved.short, accepted)
    return Solutions(
        joint_positions=joints,
        chain_rotations_wxyz=np.tile(NOT_TURNED, (len(chains), 1)),
        tip_rotations_wxyz=None,
        residuals=residuals,
        iterations=held.iterations,
        status_codes=codes,
        local_rotations_wxyz=chains.jointed.outer(turns.normalised(state[:-1, :4])),
        slides=(state[:-1, 4] * start.unit).T,
        holds=np.moveaxis(held.holds, -1, 0),
        tip_gaps=held.tip_gap,
        slide_holds=None if held.slide_holds is None else held.slide_holds.T,
    )


def _is_straight(chains: Chains, goals: Goals, residuals: Array) -> Flags:
    """Tell which chains end as near to targets out of reach as straight ones do, shape (B,)."""
    start = chains.start
    reach = start.reach * start.unit
    beyond = norm(goals.target_positions.T - start.root) - reach
    is_straight: Flags = (beyond > 0.0) & (np.abs(residuals - beyond) <= STRAIGHT * reach)
    return is_straight


def _is_too_near(chains: Chains, goals: Goals) -> Flags:
    """Tell which targets lie nearer to the roots than chains fold, shape (B,)."""
    if chains.jointed.has_slides:
        return np.zeros(len(chains), dtype=np.bool_)
    distance = norm(goals.target_positions.T - chains.start.root)
    is_too_near: Flags = distance < chains.start.least * chains.start.unit
    return is_too_near


def _within_reach(chains: Chains, targets: Array) -> tuple[Array, Flags]:
    """Return targets (B, 3) drawn in to where straight chains end, and which have been.

    Chains that slide reach farther by their slides, which nobody knows beforehand.
    """
    if chains.jointed.has_slides:
        return targets, np.zeros(len(targets), dtype=np.bool_)
    root, reach = chains.start.root.T, chains.start.reach * chains.start.unit
    way = targets - root
    distance = norm(way.T)
    is_far = distance > reach
    if not is_far.any():
        return targets, is_far
    share = np.where(is_far, reach / np.where(is_far, distance, 1.0), 1.0)
    near: Array = np.where(is_far[:, None], root + way * share[:, None], targets)
    return near, is_far


def _rounding(chains: Chains, goals: Goals) -> Array:
    """Return what float64 leaves of distances, shape (B,)."""
    reach = chains.start.reach * chains.start.unit
    rounding: Array = FINEST_TOLERANCE * (reach + np.abs(goals.target_positions).max(axis=1))
    return rounding


def acts(chain: Chain | Chains, options: SolveOptions) -> bool:
    """Tell whether forces act on a chain, so that it needs joints."""
    return chain.forces is not None and options.solver is Solver.FORCE


def without_joints(
    chains: Chains, found: Solutions, goals: Goals, options: SolveOptions
) -> Solutions:
    """Return solutions of chains that had to be given joints as those of chains without."""
    assert chains.freed.joints is not None
    assert found.local_rotations_wxyz is not None
    offsets = rotation.quaternion_from_matrix(chains.freed.joints.offsets)
    local = found.local_rotations_wxyz
    at_rest, posed, turned = offsets[:, 0], offsets[:, 0], []
    for bone in range(chains.bone_count):
        if bone:
            at_rest = rotation.multiply(at_rest, offsets[:, bone])
            posed = rotation.multiply(posed, offsets[:, bone])
        posed = rotation.multiply(posed, local[:, bone])
        turned.append(rotation.multiply(posed, rotation.conjugate(at_rest)))
    rotations = rotation.normalised(np.stack(turned, axis=1))
    has_tips = goals.tip_rotations_wxyz is not None and options.orient_weight > 0.0
    return replace(
        found,
        tip_rotations_wxyz=rotations[:, -1] if has_tips else None,
        blended_rotations_wxyz=rotations,
        local_rotations_wxyz=None,
        slides=None,
        holds=None,
        tip_gaps=None,
    )
