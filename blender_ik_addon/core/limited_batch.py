"""Solve chains with joints: the records in, the records out."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from . import forced, rotation, turns
from .algebra.arithmetic import ARRAYS
from .kinematics.aims import Aims, Poles, Tips
from .kinematics.kinematic_tree import TURN
from .kinematics.reach import is_soft, measure_reach, soften_target
from .model.chains import Chain, Chains
from .model.goals import Goals
from .model.options import SolveOptions, Solver
from .model.solutions import Solutions
from .model.status import name_outcome
from .solving.compiled_chains import CompiledChains, compile_chains
from .solving.joint_positions import (
    Ask,
    ChainStart,
    Held,
    find_holds,
    find_slide_holds,
    find_tip_gaps,
    solve_positions,
)
from .solving.joint_run import Run
from .solving.sweeps import FEW as FEW_SWEPT
from .solving.sweeps import sweeps_of
from .solving.task import Task, accept_distance, ask_all, check_solver, relate_to_root
from .vectors import Array, Flags, norm

# A chain that is straight but for this share of its length is held back by nothing: what is left of
# a bend shrinks ever more slowly there.
STRAIGHT = 1e-6
# Targets that lie so little within the reach have been drawn in to it.
AT_REACH = 1e-12
NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


def solved(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Return the poses of chains with joints; as ``solve_batch``."""
    compiled = compile_chains(chains)
    if chains.joints is None:
        found = solved(compiled.unconstrained, goals, options)
        return without_joints(chains, found, goals, options)
    if len(chains) == 1:
        twice = np.zeros(2, dtype=np.int64)
        found = solved(compiled.twice, goals.take(twice), options.take(twice))
        return found.take(twice[:1])
    moved = _softened(compiled, goals, options) if is_soft(options.soft_distance) else None
    asked = goals.target_position if moved is None else moved.targets
    near, is_far = _within_reach(compiled, asked)
    # What is too far is met at full reach, where a chain is straight only if the gap is nothing.
    exact = options
    if is_far.any():
        exact = replace(options, tolerance=np.where(is_far, 0.0, options.tolerance))
    return _posed(compiled, goals, asked, near, exact, moved)


class _Moved(NamedTuple):
    """Targets (B, 3) moved by soft distances, by how much (B,), and which are out of reach (B,)."""

    targets: Array
    short: Array
    is_too_far: Flags


def _posed(
    chains: CompiledChains,
    goals: Goals,
    asked: Array,
    near: Array,
    options: SolveOptions,
    moved: _Moved | None,
) -> Solutions:
    """Solve for targets (B, 3) as asked for, and drawn in to the reach."""
    tips = goals.tip_rotation_wxyz
    has_tips = tips is not None and options.orient_weight > 0.0
    check_solver(options.solver, chains.chains.bone_count - has_tips)
    start, tree, solver = chains.start, chains.tree, options.solver
    if solver is Solver.TWO_BONE and chains.chains.bone_count != 2:
        solver = Solver.NEWTON
    task = relate_to_root(ARRAYS, start, tuple(near.T), ask_all(goals, options, len(near)))
    aim_at = (asked.T - start.root) / start.unit
    most = tree.longest
    least = np.where(tree.joints.is_unlimited, start.least, 0.0)
    is_too_far = norm(task.target) >= most * (1.0 - AT_REACH)
    aims = _make_aims(chains, task, tips.T if has_tips and tips is not None else None)
    effort = chains.effort if solver is Solver.FORCE else None
    if effort is not None:
        ends = tree.joints.is_unlimited, least, most
        task, aim_at = forced.off_the_ends(task, aim_at, effort, *ends)
    run = Run(
        tree=tree,
        target=task.target,
        tolerance=task.tolerance,
        iterations=np.array(task.iterations),
        is_fresh=np.ones_like(is_too_far),
        least_error=np.maximum(norm(aim_at) - most, 0.0),
        is_chain=True,
    )
    sweeps = sweeps_of(solver, is_few=chains.count <= FEW_SWEPT, is_alone=chains.count == 1)
    ask = Ask(
        run=run,
        asked=aim_at,
        standing=chains.clamped_states,
        start=ChainStart(start, chains.bend, task, sweeps, effort),
        solver=solver,
        aims=aims,
        tip_weight=options.orient_weight,
        use_finish=options.use_finish or sweeps is None,
    )
    return _recorded(chains, goals, options, solve_positions(ask), is_too_far, moved)


def _make_aims(chains: CompiledChains, task: Task, tip: Array | None) -> Aims | None:
    """Return what chains aim at besides positions: a side to bend to, a turn (4, B) of the tip."""
    start, tree, count = chains.start, chains.tree, chains.chains.bone_count
    poles = tips = None
    if task.pole is not None and count > 1:
        poles = Poles(
            limbs=(tuple(range(count)),),
            effectors=(0,),
            chord=start.chord[None],
            side=start.side[None],
            reach=start.reach[None],
            target=task.target[None],
            position=task.pole.position[None],
            angle=np.asarray(task.pole.angle)[None],
            sign=np.where(False if task.use_flip is None else task.use_flip, -1.0, 1.0)
            * np.ones_like(start.reach),
        )
    if tip is not None:
        tips = Tips((count - 1,), (0,), tip[None], chains.start_posed.whole[-1:])
    if poles is None and tips is None:
        return None
    return Aims(tree.topology, poles, tips, start.reach, np.ones((1, len(start.reach))))


def _softened(chains: CompiledChains, goals: Goals, options: SolveOptions) -> _Moved:
    """Return what the soft distances leave of targets; tips that take a rotation count for it."""
    start, room = chains.start, chains.tree.slide_room
    lengths, joints = start.lengths, chains.chains.joint_positions
    if room is not None:
        # A slide makes the segment before its bone longer, that of the root the way from the root.
        lengths = lengths + np.concatenate((room[1:], room[:1]))
    tips, turns_wxyz = np.zeros_like(goals.target_position), goals.tip_rotation_wxyz
    if turns_wxyz is not None and options.orient_weight == 1.0 and len(lengths) > 1:
        lengths = lengths[:-1]
        tips = rotation.rotate(turns_wxyz, joints[:, -1] - joints[:, -2])
    most, least = (size * start.unit for size in measure_reach(lengths))
    heads, soft = (goals.target_position - tips).T, options.soft_distance
    moved = soften_target(ARRAYS, start.root, heads, most, least, soft)
    return _Moved(np.array(moved.target).T + tips, moved.short, moved.is_too_far)


def _recorded(
    chains: CompiledChains,
    goals: Goals,
    options: SolveOptions,
    held: Held,
    is_too_far: Flags,
    moved: _Moved | None,
) -> Solutions:
    """Measure the residuals on what is returned, and name the outcomes."""
    start, state = chains.start, held.state
    posed = chains.tree.posed(state)
    joints = (posed.points * start.unit + start.root).transpose(2, 0, 1)
    residuals = norm((joints[:, -1] - goals.target_position).T)
    reach = start.reach * start.unit
    accepted = accept_distance(ARRAYS, options.tolerance, reach, tuple(goals.target_position.T))
    # With iterations left it is the joints that lead no nearer, by their limits or their locks.
    holds, slide_holds = find_holds(held), find_slide_holds(held)
    has_holds = holds.any(axis=(0, 1))
    if slide_holds is not None:
        has_holds |= slide_holds.any(axis=0)
    is_held = held.is_open[0] & (has_holds | (held.iterations < options.iterations))
    is_held &= ~_is_straight(chains, goals, residuals)
    is_folded = ~has_holds & _is_too_near(chains, goals)
    is_too_far = is_too_far if moved is None else is_too_far | moved.is_too_far
    short = None if moved is None else moved.short
    codes = name_outcome(
        ARRAYS, residuals, accepted, is_too_far, is_folded, is_limited=is_held, short=short
    )
    return Solutions(
        joint_positions=joints,
        chain_rotation_wxyz=np.tile(NOT_TURNED, (len(goals.target_position), 1)),
        tip_rotation_wxyz=None,
        residual=residuals,
        iterations=held.iterations,
        status_code=codes,
        local_rotations_wxyz=chains.tree.joints.outer(turns.normalised(state[:-1, :TURN])),
        slides=(state[:-1, TURN] * start.unit).T,
        holds=np.moveaxis(holds, -1, 0),
        tip_gap=find_tip_gaps(held)[0],
        slide_holds=None if slide_holds is None else slide_holds.T,
    )


def _is_straight(chains: CompiledChains, goals: Goals, residuals: Array) -> Flags:
    """Tell which chains end as near to targets out of reach as straight ones do, shape (B,)."""
    start = chains.start
    reach = start.reach * start.unit
    beyond = norm(goals.target_position.T - start.root) - reach
    is_straight: Flags = (beyond > 0.0) & (np.abs(residuals - beyond) <= STRAIGHT * reach)
    return is_straight


def _is_too_near(chains: CompiledChains, goals: Goals) -> Flags:
    """Tell which targets lie nearer to the roots than chains fold, shape (B,)."""
    if chains.tree.slide_axes is not None:
        return np.zeros(len(goals.target_position), dtype=np.bool_)
    distance = norm(goals.target_position.T - chains.start.root)
    is_too_near: Flags = distance < chains.start.least * chains.start.unit
    return is_too_near


def _within_reach(chains: CompiledChains, targets: Array) -> tuple[Array, Flags]:
    """Return targets (B, 3) drawn in to where straight chains end, and which have been.

    Chains that slide reach farther by their slides, which nobody knows beforehand.
    """
    if chains.tree.slide_axes is not None:
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


def acts(chain: Chain, options: SolveOptions) -> bool:
    """Tell whether forces act on a chain, so that it needs joints."""
    return chain.forces is not None and options.solver is Solver.FORCE


def without_joints(
    chains: Chains, found: Solutions, goals: Goals, options: SolveOptions
) -> Solutions:
    """Return solutions of chains that had to be given joints as those of chains without."""
    joints = compile_chains(chains).unconstrained.joints
    assert joints is not None
    assert found.local_rotations_wxyz is not None
    offsets = rotation.quaternion_from_matrix(joints.offsets)
    local = found.local_rotations_wxyz
    at_rest, posed, turned = offsets[:, 0], offsets[:, 0], []
    for bone in range(chains.bone_count):
        if bone:
            at_rest = rotation.multiply(at_rest, offsets[:, bone])
            posed = rotation.multiply(posed, offsets[:, bone])
        posed = rotation.multiply(posed, local[:, bone])
        turned.append(rotation.multiply(posed, rotation.conjugate(at_rest)))
    rotations = rotation.normalised(np.stack(turned, axis=1))
    has_tips = goals.tip_rotation_wxyz is not None and options.orient_weight > 0.0
    return replace(
        found,
        tip_rotation_wxyz=rotations[:, -1] if has_tips else None,
        blended_rotations_wxyz=rotations,
        local_rotations_wxyz=None,
        slides=None,
        holds=None,
        tip_gap=0.0,
    )
