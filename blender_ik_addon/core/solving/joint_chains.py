"""Solve chains and trees with joints: the records in, the records out."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..algebra import quaternions, rotation, turns
from ..algebra.arithmetic import ARRAYS, Array, Counts, Flags
from ..algebra.arrays import invert, norm
from ..algebra.nested import take_rows
from ..equilibrium.floor_points import compile_floor
from ..equilibrium.settling import avoid_full_extension
from ..kinematics.aims import Aims, Poles, Tips, pick_limbs
from ..kinematics.kinematic_tree import KinematicTree, measure_paths
from ..kinematics.posed import Posed, State
from ..kinematics.reach import REACH_TOLERANCE, is_soft, measure_reach, soften_target
from ..kinematics.task import (
    FINEST_TOLERANCE,
    Task,
    check_solver,
    make_array_task,
    relate_to_root,
    turn_to_flip,
    turns_tips,
)
from ..model.chains import Chains
from ..model.errors import SolverMismatchError
from ..model.goals import Goals
from ..model.options import SolveOptions, Solver
from ..model.records import join_records
from ..model.solutions import Solutions
from ..model.status import LIMITED, OUTWEIGHED, name_outcome
from .bone_rotations import drop_joints
from .compiled_chains import CompiledChains, compile_chains
from .float_chains import WarmStart, solve_joints_in_floats
from .free_chains import FLOAT_SOLVERS
from .goal_priorities import solve_by_priority
from .joint_positions import keep_starts, solve_positions
from .joint_run import Run
from .sweeps import SWEPT

TREE_SOLVERS = (Solver.NEWTON, Solver.FABRIK)
# Of a tree, targets farther than this many times the reach of their effector are drawn in to it:
# otherwise far targets would outweigh near ones. It is somewhat beyond the reach, where a straight
# limb is the one best pose; at the reach itself steps would approach it ever more slowly.
MAX_TARGET_SHARE = 1.05
# Share of the reach: a chain whose residual is this near to the least possible one is straight. The
# rest of a bend shrinks ever more slowly there.
STRETCHED = 1e-6
# Share of that least residual: limits and locks that cost no more do not hold a chain back.
SLIGHT_HOLD = 0.01


class MeasuredTargets(NamedTuple):
    """Targets of effectors, in the units of the chains and from their roots.

    Attributes:
        soft: Targets after soft distances, shape (E, 3, B).
        drawn_in: The same, drawn in to the reach, or out to the least one, shape (E, 3, B).
        distance: From the roots of the effectors' paths to the soft targets, shape (E, B).
        min_reach: Least distance of effectors from their roots, shape (E, B).
        max_reach: Greatest distance that lengths allow, shape (E, B).
        limited_reach: Greatest distance that ranges allow as well, as far as known, shape (E, B).
        shift: Distances that soft distances have moved targets by, shape (E, B), or None.
        is_too_far: Which are out of reach, shape (E, B).
        is_drawn_in: Which are drawn in, shape (E, B).
        is_limited: Which of these are drawn in farther, or out, because of ranges, shape (E, B).
    """

    soft: Array
    drawn_in: Array
    distance: Array
    min_reach: Array
    max_reach: Array
    limited_reach: Array
    shift: Array | None
    is_too_far: Flags
    is_drawn_in: Flags
    is_limited: Flags


def solve_joints(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Return the poses of chains with joints, or of trees; as ``solve_batch``."""
    compiled = compile_chains(chains)
    if chains.joints is None and not compiled.is_tree:
        solutions = solve_joints(compiled.unconstrained, goals, options)
        return drop_joints(chains, solutions, goals, options)
    if not compiled.is_tree:
        turns_tip = turns_tips(goals, options)
        check_solver(options.solver, chains.bone_count - turns_tip, turns_tip=turns_tip)
    elif options.solver not in TREE_SOLVERS:
        raise SolverMismatchError(
            "{solver} does not solve chains that share bones: choose NEWTON or FABRIK.",
            solver=options.solver,
        )
    float_chains = None
    is_sweep_only = options.solver in SWEPT and not options.use_finish
    if options.solver in FLOAT_SOLVERS and compiled.is_in_floats and not is_sweep_only:
        float_chains = compiled.near_float_chains if options.stays_near else compiled.float_chains
    if float_chains is None and len(chains) > 1:
        return _solve_joints_in_arrays(compiled, goals, options)
    done: list[tuple[Counts, Solutions]] = []
    others: list[tuple[Counts, WarmStart | None]] = [(np.arange(len(chains)), None)]
    if float_chains is not None:
        done, others = solve_joints_in_floats(float_chains, goals, options)
    done += [(rows, _solve_rows(compiled, goals, options, rows, start)) for rows, start in others]
    if len(done) == 1:
        return done[0][1]
    order = np.argsort(np.concatenate([rows for rows, _ in done]))
    return join_records([solutions for _, solutions in done]).take(order)


def _solve_rows(
    chains: CompiledChains,
    goals: Goals,
    options: SolveOptions,
    rows: Counts,
    warm_start: WarmStart | None,
) -> Solutions:
    """Solve some rows side by side, from their warm start; a single row two times.

    NumPy adds up the numbers of one chain in another order than those of several.
    """
    all_rows = np.arange(len(rows))
    if len(rows) == 1:
        twice = np.zeros(2, dtype=np.int64)
        rows, warm_start = rows[twice], take_rows(warm_start, twice)
    inputs = compile_chains(chains.take_cached(rows)), goals.take(rows), options.take(rows)
    return _solve_joints_in_arrays(*inputs, warm_start, is_alone=len(all_rows) == 1).take(all_rows)


def _solve_joints_in_arrays(
    compiled: CompiledChains,
    goals: Goals,
    options: SolveOptions,
    warm_start: WarmStart | None = None,
    *,
    is_alone: bool = False,
) -> Solutions:
    """Solve chains or trees side by side; a single one two times."""
    targets = _find_targets(compiled, goals, options)
    run, full_target, task = _make_run(compiled, goals, options, targets)
    run = replace(run, is_alone=is_alone)
    forces = None
    if compiled.is_tree and (goals.priority is not None or compiled.topology.floats):
        priorities, floor = goals.priority or (1,) * len(run.tree.ends), goals.floor
        placement = compiled.start_posed, compiled.root, compiled.unit
        floor_points = None if floor is None else compile_floor(floor, *placement)
        hints = _turn_hints(compiled, run, goals)
        final, state, used, forces = solve_by_priority(run, priorities, hints, floor_points)
    else:
        final, state, used = solve_positions(compiled, run, full_target, task, options, warm_start)
    if options.keeps_start and not compiled.topology.floats:
        energy = compiled.potential_energy if options.solver is Solver.FORCE else None
        state = keep_starts(final, run.start, state, energy)
    # What presses chains against their limits are the targets beyond.
    if not compiled.is_tree and targets.is_limited.any():
        final = replace(final, target=np.where(targets.is_limited, full_target, final.target))
    is_open = final.find_open_effectors(state)
    solutions = _record(compiled, goals, options, targets, final, state, used, is_open)
    return solutions if forces is None else replace(solutions, forces=forces.T)


def _turn_hints(compiled: CompiledChains, run: Run, goals: Goals) -> Array:
    """Return where bones bend in the start poses of trees, as ``CompiledChains.hints``."""
    if goals.near_wxyz is None:
        return compiled.hints
    whole, inverse = run.start.posed.axes, invert(compiled.start_posed.axes)
    turned: Array = np.einsum("nijb,njkb,nkb->nib", whole, inverse, compiled.hints)
    return turned


def _find_targets(chains: CompiledChains, goals: Goals, options: SolveOptions) -> MeasuredTargets:
    """Return the targets after soft distances, and drawn in to the reach."""
    tree, unit = chains.tree, chains.unit
    target = (chains.by_effector(goals.target_position) - chains.root) / unit
    roots = chains.start_posed.heads[[path[0] for path in chains.topology.paths]]
    (least, most), shift = chains.reaches, None
    is_too_far: Flags = np.zeros(target[:, 0].shape, dtype=np.bool_)
    if is_soft(options.soft_distance) and not chains.topology.floats:
        soft_least, soft_most, tips = _find_soft_reach(chains, goals, options)
        soft_distance = options.soft_distance / unit
        softened = [
            soften_target(ARRAYS, *inputs, soft_distance)
            for inputs in zip(roots, target - tips, soft_most, soft_least, strict=True)
        ]
        moved, shift, is_too_far = (np.array(values) for values in zip(*softened, strict=True))
        target = moved + tips
    offset = target - roots
    distance, drawn_in = norm(offset), target
    is_drawn_in, limited, nearest = np.zeros_like(is_too_far), most, np.zeros_like(most)
    # Springs settle, and bare sweeps end, where they are pulled to.
    if tree.limited is not None and options.solver is not Solver.FORCE and options.use_finish:
        limited, nearest = most - tree.limited.lack, tree.limited.nearest[None]
    if chains.topology.floats:
        least, most = np.zeros_like(least), np.full_like(most, np.inf)
    elif tree.slide_room is not None:
        # Chains that slide reach farther by their slides, which are not known beforehand.
        least, most = np.zeros_like(least), tree.longest[None]
        limited = most
    else:
        limit = limited * (MAX_TARGET_SHARE if chains.is_tree else 1.0)
        end = np.where(distance < nearest, nearest, limit)
        share = end / np.maximum(distance, np.finfo(float).tiny)
        # Soft targets that are out of reach are at full reach up to rounding.
        is_soft_end = is_too_far & (distance >= limit * (1.0 - REACH_TOLERANCE))
        is_drawn_in = is_soft_end | (distance > limit) | (distance < nearest)
        drawn_in = np.where(is_drawn_in[:, None], roots + offset * share[:, None], target)
    is_too_far = is_too_far | (distance >= most * (1.0 - REACH_TOLERANCE))
    is_limited = is_drawn_in & ((distance < nearest) | (limited < most * (1.0 - REACH_TOLERANCE)))
    flags, reaches = (is_too_far, is_drawn_in, is_limited), (least, most, limited)
    return MeasuredTargets(target, drawn_in, distance, *reaches, shift, *flags)


def _find_soft_reach(
    chains: CompiledChains, goals: Goals, options: SolveOptions
) -> tuple[Array, Array, Array]:
    """Return least and greatest reach, (E, B), for soft distances, and tips (E, 3, B) left out.

    A tip bone that takes a rotation does not bend to its target.
    """
    tips, room, tip_rotation = np.zeros((1, 3, 1)), chains.tree.slide_room, goals.tip_rotation_wxyz
    if chains.is_tree:
        return *chains.start_reaches, tips
    lengths = chains.start.lengths
    if room is not None:
        # A slide lengthens the segment before its bone; that of the root bone, the way from the
        # root.
        lengths = lengths + np.concatenate((room[1:], room[:1]))
    if tip_rotation is not None and options.orient_weight == 1.0 and len(lengths) > 1:
        lengths, joints = lengths[:-1], chains.chains.joint_positions
        turned = rotation.rotate(tip_rotation, joints[:, -1] - joints[:, -2])
        tips = turned.T[None] / chains.unit
    far, near = measure_reach(lengths)
    return near[None], far[None], tips


def _make_run(
    chains: CompiledChains, goals: Goals, options: SolveOptions, targets: MeasuredTargets
) -> tuple[Run, Array, Task | None]:
    """Return the run, targets of chains that are not drawn in to the reach, and their task."""
    tree, unit, turn = chains.tree, chains.unit, chains.clamped_start
    lightest: float | Array = 1.0
    if chains.is_tree and goals.weight is not None:
        weights = chains.by_effector(goals.weight)
        # Equal weights have no effect; then the tree stays as it is compiled.
        if (weights != weights[0]).any():
            sqrt_weights = np.sqrt(weights / weights.max(axis=0))
            lightest = np.where(sqrt_weights > 0.0, sqrt_weights, 1.0).min(axis=0)
            tree = replace(tree, sqrt_weights=sqrt_weights)
    if goals.near_wxyz is not None:
        turn = tree.joints.clamp_by_kind(tree.joints.to_turns(goals.near_wxyz))
        if goals.near_root is not None and tree.topology.floats:
            tree = tree.move((goals.near_root.T - chains.root) / (unit * tree.reach))
    is_compiled = tree is chains.tree and turn is chains.clamped_start
    states = chains.clamped_states if is_compiled else tree.make_state(turn)
    target, lack = tree.weigh(targets.soft), np.maximum(targets.distance - targets.max_reach, 0.0)
    run = Run(
        tree=tree,
        start=states,
        target=tree.weigh(targets.drawn_in),
        tolerance=np.maximum(options.tolerance / unit, FINEST_TOLERANCE * tree.reach) * lightest,
        iterations=np.array(np.broadcast_to(np.asarray(options.iterations), len(unit))),
        least_error=np.sqrt(np.square(lack * tree.sqrt_weights).sum(axis=0)),
        is_chain=not chains.is_tree,
        aims=_make_aims(chains, goals, options, targets.drawn_in, tree),
    )
    if chains.is_tree:
        return run, target, None
    # A target that is too far is met at full reach, where a chain is straight only without any gap.
    is_drawn_in = targets.is_drawn_in.any(axis=0)
    tolerance = np.where(is_drawn_in, FINEST_TOLERANCE * tree.reach, run.tolerance)
    start, points = chains.start, tuple(run.target * unit + chains.root)
    task = relate_to_root(ARRAYS, start, points, make_array_task(goals, options, len(unit)))
    task = replace(task, target=run.target, tolerance=tolerance)
    energy = chains.potential_energy if options.solver is Solver.FORCE else None
    if energy is not None:
        is_unlimited = tree.joints.is_unlimited
        ends = np.where(is_unlimited, start.least, 0.0), targets.max_reach[0]
        is_softened = (
            np.zeros_like(is_drawn_in) if targets.shift is None else targets.shift[0] > 0.0
        )
        task, target = avoid_full_extension(task, target, energy, is_unlimited, is_softened, *ends)
    distance = norm(target)
    least_error = np.maximum(distance - targets.limited_reach[0], tree.least_reach - distance)
    run = replace(run, target=task.target, tolerance=tolerance, least_error=least_error.clip(0.0))
    return run, target, task


def _make_aims(
    chains: CompiledChains, goals: Goals, options: SolveOptions, targets: Array, tree: KinematicTree
) -> Aims | None:
    """Return the aims besides positions: sides to bend to and turns of tip bones, or None."""
    tips = _make_tips(chains, goals, options)
    poles = _make_poles(chains, goals, options, targets, tips)
    if poles is None and tips is None:
        return None
    return Aims(tree.topology, poles, tips, tree.reach, tree.sqrt_weights)


def _make_tips(chains: CompiledChains, goals: Goals, options: SolveOptions) -> Tips | None:
    """Return the rotations that tips should take, or None."""
    if goals.tip_rotation_wxyz is None or not turns_tips(goals, options):
        return None
    tip_bones, has_tip, posed = (
        chains.topology.effector_bones,
        goals.has_tip_rotation,
        chains.start_posed,
    )
    ends = [end for end in range(len(tip_bones)) if has_tip is None or has_tip[end]]
    if not ends:
        return None
    bones = [tip_bones[end] for end in ends]
    turn, arm = (
        chains.by_effector(goals.tip_rotation_wxyz)[ends],
        posed.tips[ends] - posed.heads[bones],
    )
    return Tips(tuple(bones), tuple(ends), turn, invert(posed.axes[bones]), arm)


def _make_poles(
    chains: CompiledChains, goals: Goals, options: SolveOptions, targets: Array, tips: Tips | None
) -> Poles | None:
    """Return the poles of the limbs that bend to some, or None."""
    if goals.pole_position is None:
        return None
    turned, rows = () if tips is None else tips.effectors, targets.shape[-1]
    has_pole = (True,) * len(targets) if goals.has_pole is None else goals.has_pole
    limbs = pick_limbs(
        (chains.limbs, [flag and e not in turned for e, flag in enumerate(has_pole)]),
        (chains.stem_limbs, [flag and e in turned for e, flag in enumerate(has_pole)]),
    )
    ends = list(limbs.effectors)
    if not ends:
        return None
    angles = np.broadcast_to(np.asarray(goals.pole_angle), goals.target_position.shape[:-1])
    position = (chains.by_effector(goals.pole_position) - chains.root) / chains.unit
    flip, sign = np.broadcast_to(options.use_flip_bend, rows), np.ones(rows)
    if options.keeps_start:
        angles = turn_to_flip(angles.T, flip).T
    else:
        sign = np.where(flip, -1.0, 1.0)
    angle = chains.by_effector(angles)[ends]
    poles = Poles(limbs, targets[ends], position[ends], angle, sign, options.keeps_start)
    return poles if tips is None else poles.end_before(tips)


def _record(
    chains: CompiledChains,
    goals: Goals,
    options: SolveOptions,
    targets: MeasuredTargets,
    run: Run,
    state: State,
    used: Counts,
    is_open: Flags,
) -> Solutions:
    """Measure the residuals on the returned joints, and name the outcomes.

    ``is_open`` flags effectors that are not where free joints would bring them, shape (E, B).
    """
    tree, unit, posed = run.tree, chains.unit, state.posed
    points = posed.points * unit + chains.root
    target_positions = chains.by_effector(goals.target_position)
    residuals = norm(points[chains.chains.bone_count :] - target_positions)
    size = tree.reach * unit + np.abs(target_positions).max(axis=(0, 1))
    holds = run.find_holds(state)
    is_held = (holds.edges.any(axis=2).T[:, None] & chains.topology.is_on_path[:, :, None]).any(0)
    if holds.slides is not None:
        is_held |= holds.slides.any(axis=0)
    is_stretched, is_too_far, is_too_near = _judge_reach(
        run.tree, targets, posed, residuals / unit, is_held
    )
    shift = targets.shift
    if shift is not None:
        shift = np.where(is_stretched, np.maximum(shift * unit, residuals), shift * unit)
    # With iterations left, it is limits, locks or other effectors that stop the joints. Without,
    # these do where no turn inside of the ranges brings the effector nearer.
    is_done = used < options.iterations
    is_final = is_done | holds.is_stationary
    codes: Counts = name_outcome(
        ARRAYS,
        residuals,
        options.tolerance + FINEST_TOLERANCE * size,
        is_too_far & (is_stretched | (run.is_chain & is_final)),
        ~is_held & is_too_near,
        is_limited=is_open & (is_done | (is_held & is_final)) & ~is_stretched,
        short=shift,
    )
    if len(codes) > 1:
        codes = np.where((codes == LIMITED) & ~is_held, OUTWEIGHED, codes)
    gaps = np.zeros_like(residuals)
    if run.aims is not None and run.aims.tips is not None:
        gaps[list(run.aims.tips.effectors)] = norm(run.aims.tips.find_rotation_errors(posed))
    return Solutions(
        joint_positions=np.moveaxis(points, -1, 0),
        chain_rotation_wxyz=np.tile(quaternions.IDENTITY, (len(unit), 1)),
        tip_rotation_wxyz=None,
        residual=chains.by_chain(residuals),
        iterations=used,
        status_code=chains.by_chain(codes),
        local_rotations_wxyz=tree.joints.to_rotations(turns.normalize(state.turn)),
        slides=(state.slide * unit).T,
        holds=holds.edges,
        tip_gap=chains.by_chain(gaps),
        slide_holds=None if holds.slides is None else holds.slides.T,
    )


def _judge_reach(
    tree: KinematicTree, targets: MeasuredTargets, posed: Posed, residual: Array, is_held: Flags
) -> tuple[Flags, Flags, Flags]:
    """Return which effectors are stretched, which targets are too far, and which too near.

    Args:
        tree: The chains or trees.
        targets: Their targets.
        posed: Their solved poses.
        residual: Distances left, in units of the chains, shape (E, B).
        is_held: Which effectors limits hold back, shape (E, B).
    """
    distance, most, is_too_far = targets.distance, targets.max_reach, targets.is_too_far
    if targets.shift is not None:
        # Soft distances have moved targets, but not what is in reach.
        distance = distance + targets.shift
    lack = distance - most
    slight = STRETCHED * most
    if len(lack) == 1:
        slight = slight + SLIGHT_HOLD * np.maximum(lack, 0.0)
    is_stretched = (lack > 0.0) & (np.abs(residual - lack) <= slight)
    if tree.joints.is_rigid or tree.topology.floats:
        return is_stretched, is_too_far, distance < targets.min_reach
    # Turns change the lengths of these bones: what counts is the reach in the pose.
    least, most = measure_paths(tree.topology, posed.heads, posed.tips)
    span = norm(posed.tips - posed.heads[[path[0] for path in tree.topology.paths]])
    is_rigid = tree.joints.are_rigid
    is_straight = ~(is_rigid | is_held) & (span >= (1.0 - STRETCHED) * most)
    is_too_near = distance < np.where(is_rigid, targets.min_reach, least)
    return is_stretched | is_straight, is_too_far | is_straight, is_too_near
