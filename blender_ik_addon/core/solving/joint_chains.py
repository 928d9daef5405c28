"""Solve chains and trees with joints: the records in, the records out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..algebra import quaternions, rotation, turns
from ..algebra.arithmetic import ARRAYS, Array, Counts, Flags
from ..algebra.arrays import invert, norm
from ..algebra.chains_first import apply, chains_first
from ..algebra.nested import take_rows
from ..descent.near_edges import NearEdges
from ..equilibrium.on_floor import compile_floor
from ..equilibrium.settling import move_off_ends
from ..kinematics.aims import Aims, Poles, Tips
from ..kinematics.compiled_joints import put_rows_last
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.limit_edges import ON_EDGE
from ..kinematics.posed import State
from ..kinematics.reach import is_soft, measure_reach, soften_target
from ..kinematics.task import (
    AT_REACH,
    FINEST_TOLERANCE,
    Task,
    ask_all,
    check_solver,
    relate_to_root,
    turn_to_flip,
)
from ..model.chains import Chains
from ..model.errors import SolverMismatchError
from ..model.goals import Goals
from ..model.options import SolveOptions, Solver
from ..model.records import join_records
from ..model.solutions import Solutions
from ..model.status import LIMITED, OUTWEIGHED, name_outcome
from .compiled_chains import CompiledChains, compile_chains
from .free_chains import FLOAT_SOLVERS
from .giving_way import give_way
from .joint_positions import keep_starts, solve_positions
from .joint_run import Run
from .lone_chains import Begun, solve_alone
from .sweeps import SWEPT

# A joint as near as this to an edge, in radians or sines, is held back by it: springs may leave it
# a little inside, and rounding would tell.
HOLDS_BACK = 1e-5
SOLVERS_OF_TREES = (Solver.NEWTON, Solver.FABRIK)
# Of a tree, targets farther than this many times the effector's reach are drawn in to it: what is
# far away would else outweigh what is near. Somewhat beyond the reach, where a straight limb is the
# one best pose; at the reach itself it would be approached ever more slowly.
FARTHEST = 1.05
# A chain that is straight but for this share of its length is held back by nothing: what is left of
# a bend shrinks ever more slowly there.
STRAIGHT = 1e-6


class Targets(NamedTuple):
    """Targets of effectors, in the units of the chains and from their roots.

    Attributes:
        asked: As far as soft distances let them be, shape (E, 3, B).
        near: The same, drawn in to the reach, shape (E, 3, B).
        distance: From the roots of the effectors' paths to targets as they stand, shape (E, B).
        least: How near effectors get to their roots, shape (E, B).
        most: How far they get, shape (E, B).
        short: How far soft distances have moved targets, shape (E, B); None where there are none.
        is_far: Which are out of reach, shape (E, B).
    """

    asked: Array
    near: Array
    distance: Array
    least: Array
    most: Array
    short: Array | None
    is_far: Flags


def solve_joints(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Return the poses of chains with joints, or of trees; as ``solve_batch``."""
    compiled = compile_chains(chains)
    if chains.joints is None and not compiled.is_tree:
        found = solve_joints(compiled.unconstrained, goals, options)
        return drop_joints(chains, found, goals, options)
    if not compiled.is_tree:
        turns_tip = _has_tips(goals, options)
        check_solver(options.solver, chains.bone_count - turns_tip, turns_tip=turns_tip)
    elif options.solver not in SOLVERS_OF_TREES:
        raise SolverMismatchError(
            f"{options.solver} does not solve chains that share bones: choose NEWTON or FABRIK."
        )
    lone = None
    is_bare = options.solver in SWEPT and not options.use_finish
    if options.solver in FLOAT_SOLVERS and compiled.is_in_floats and not is_bare:
        lone = compiled.each_lone_near if options.stays_near else compiled.each_lone
    if lone is None and len(chains) > 1:
        return _solve_together(compiled, goals, options)
    parts: list[tuple[Counts, Solutions]] = []
    left: list[tuple[Counts, Begun | None]] = [(np.arange(len(chains)), None)]
    if lone is not None:
        parts, left = solve_alone(lone, goals, options)
    parts += [(rows, _solve_some(compiled, goals, options, rows, begun)) for rows, begun in left]
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    return join_records([part for _, part in parts]).take(order)


def _solve_some(
    chains: CompiledChains, goals: Goals, options: SolveOptions, rows: Counts, begun: Begun | None
) -> Solutions:
    """Solve some rows side by side, from where floats have brought them.

    NumPy adds up the numbers of one chain in another order than those of several: a single row is
    solved two times.
    """
    own = np.arange(len(rows))
    if len(rows) == 1:
        twice = np.zeros(2, dtype=np.int64)
        rows, begun = rows[twice], take_rows(begun, twice)
    some = compile_chains(chains.some(rows)), goals.take(rows), options.take(rows)
    return _solve_together(*some, begun, is_alone=len(own) == 1).take(own)


def _solve_together(
    compiled: CompiledChains,
    goals: Goals,
    options: SolveOptions,
    begun: Begun | None = None,
    *,
    is_alone: bool = False,
) -> Solutions:
    """Solve chains or trees side by side; a single one two times."""
    targets = _find_targets(compiled, goals, options)
    run, asked, task = _ask(compiled, goals, options, targets)
    run = replace(run, is_alone=is_alone)
    forces = None
    if compiled.is_tree and (goals.priority is not None or compiled.topology.floats):
        priorities, floor = goals.priority or (1,) * len(run.tree.ends), goals.floor
        placed = compiled.start_posed, compiled.root, compiled.unit
        points = None if floor is None else compile_floor(floor, *placed)
        hints = _turn_hints(compiled, run, goals)
        last, state, used, forces = give_way(run, priorities, hints, points)
    else:
        last, state, used = solve_positions(compiled, run, asked, task, options, begun)
    if options.keeps_start and not compiled.topology.floats:
        energy = compiled.potential_energy if options.solver is Solver.FORCE else None
        state = keep_starts(last, run.start, state, energy)
    is_open = run.find_open_effectors(state)
    found = _record(compiled, goals, options, targets, last, state, used, is_open)
    return found if forces is None else replace(found, forces=forces.T)


def _turn_hints(compiled: CompiledChains, run: Run, goals: Goals) -> Array:
    """Return where bones bend in the poses that trees begin in, as ``CompiledChains.hints``."""
    if goals.near_wxyz is None:
        return compiled.hints
    whole, back = run.start.posed.whole, invert(compiled.start_posed.whole)
    turned: Array = np.einsum("nijb,njkb,nkb->nib", whole, back, compiled.hints)
    return turned


def _has_tips(goals: Goals, options: SolveOptions) -> bool:
    return goals.tip_rotation_wxyz is not None and options.orient_weight > 0.0


def _by_effector(chains: CompiledChains, values: Array) -> Array:
    """Return what is (B, ...) of chains, or (B, E, ...) of trees, as (E, ..., B)."""
    return put_rows_last(values if chains.is_tree else values[:, None])


def _by_chain(chains: CompiledChains, values: Array | Counts) -> Any:
    """Return numbers (E, B) as the records have them: (B,) of chains, (B, E) of trees."""
    return values.T.copy() if chains.is_tree else values[0]


def _find_targets(chains: CompiledChains, goals: Goals, options: SolveOptions) -> Targets:
    """Return the targets as far as soft distances let them be, and drawn in to the reach."""
    tree, unit = chains.tree, chains.unit
    target = (_by_effector(chains, goals.target_position) - chains.root) / unit
    roots = chains.start_posed.heads[[path[0] for path in chains.topology.paths]]
    (least, most), short = chains.reaches, None
    is_far: Flags = np.zeros(target[:, 0].shape, dtype=np.bool_)
    if is_soft(options.soft_distance) and not chains.topology.floats:
        soft_least, soft_most, tips = _find_soft_reach(chains, goals, options)
        soft = options.soft_distance / unit
        moved = [
            soften_target(ARRAYS, *each, soft)
            for each in zip(roots, target - tips, soft_most, soft_least, strict=True)
        ]
        moved_target, short, is_far = (np.array(each) for each in zip(*moved, strict=True))
        target = moved_target + tips
    offset = target - roots
    distance, near = norm(offset), target
    if chains.topology.floats:
        least, most = np.zeros_like(least), np.full_like(most, np.inf)
    elif tree.slide_room is not None:
        # Chains that slide reach farther by their slides, which nobody knows beforehand.
        least, most = np.zeros_like(least), tree.longest[None]
    else:
        farthest = most * (FARTHEST if chains.is_tree else 1.0)
        share = farthest / np.maximum(distance, np.finfo(float).tiny)
        near = np.where((distance > farthest)[:, None], roots + offset * share[:, None], target)
    is_far = is_far | (distance >= most * (1.0 - AT_REACH))
    return Targets(target, near, distance, least, most, short, is_far)


def _find_soft_reach(
    chains: CompiledChains, goals: Goals, options: SolveOptions
) -> tuple[Array, Array, Array]:
    """Return least and greatest reach, (E, B), for soft distances, without tips (E, 3, B).

    A tip bone that takes a rotation does not bend to its target.
    """
    tips, room, wanted = np.zeros((1, 3, 1)), chains.tree.slide_room, goals.tip_rotation_wxyz
    if chains.is_tree:
        return *chains.reaches, tips
    lengths = chains.start.lengths
    if room is not None:
        # A slide makes the segment before its bone longer, that of the root the way from the root.
        lengths = lengths + np.concatenate((room[1:], room[:1]))
    if wanted is not None and options.orient_weight == 1.0 and len(lengths) > 1:
        lengths, joints = lengths[:-1], chains.chains.joint_positions
        turned = rotation.rotate(wanted, joints[:, -1] - joints[:, -2])
        tips = turned.T[None] / chains.unit
    far, near = measure_reach(lengths)
    return near[None], far[None], tips


def _ask(
    chains: CompiledChains, goals: Goals, options: SolveOptions, targets: Targets
) -> tuple[Run, Array, Task | None]:
    """Return what is asked, targets of chains where nothing draws them in, and their task."""
    tree, unit, turn = chains.tree, chains.unit, chains.clamped_start
    lightest: float | Array = 1.0
    if chains.is_tree and goals.weight is not None:
        weights = _by_effector(chains, goals.weight)
        # The same weights are as good as none, and the tree stays as it is compiled.
        if (weights != weights[0]).any():
            roots = np.sqrt(weights / weights.max(axis=0))
            lightest = np.where(roots > 0.0, roots, 1.0).min(axis=0)
            tree = replace(tree, sqrt_weights=roots)
    if goals.near_wxyz is not None:
        turn = tree.joints.begun(tree.joints.inner(goals.near_wxyz))
        if goals.near_root is not None and tree.topology.floats:
            tree = tree.move((goals.near_root.T - chains.root) / (unit * tree.reach))
    is_compiled = tree is chains.tree and turn is chains.clamped_start
    states = chains.clamped_states if is_compiled else tree.make_state(turn)
    asked, beyond = tree.weigh(targets.asked), np.maximum(targets.distance - targets.most, 0.0)
    run = Run(
        tree=tree,
        start=states,
        target=tree.weigh(targets.near),
        tolerance=np.maximum(options.tolerance / unit, FINEST_TOLERANCE * tree.reach) * lightest,
        iterations=np.array(np.broadcast_to(np.asarray(options.iterations), len(unit))),
        least_error=np.sqrt(np.square(beyond * tree.sqrt_weights).sum(axis=0)),
        is_chain=not chains.is_tree,
        aims=_make_aims(chains, goals, options, targets.near, tree),
    )
    if chains.is_tree:
        return run, asked, None
    # What is too far is met at full reach, where a chain is straight only without any gap.
    is_moved = (run.target != asked).any(axis=0)
    tolerance = np.where(is_moved, FINEST_TOLERANCE * tree.reach, run.tolerance)
    start, points = chains.start, tuple(run.target * unit + chains.root)
    task = relate_to_root(ARRAYS, start, points, ask_all(goals, options, len(unit)))
    task = replace(task, target=run.target, tolerance=tolerance)
    energy = chains.potential_energy if options.solver is Solver.FORCE else None
    if energy is not None:
        is_unlimited = tree.joints.is_unlimited
        least = np.where(is_unlimited, start.least, 0.0)
        task, asked = move_off_ends(task, asked, energy, is_unlimited, least, tree.longest)
    least_error = np.maximum(norm(asked) - tree.longest, 0.0)
    run = replace(run, target=task.target, tolerance=tolerance, least_error=least_error)
    return run, asked, task


def _make_aims(
    chains: CompiledChains, goals: Goals, options: SolveOptions, near: Array, tree: KinematicTree
) -> Aims | None:
    """Return what is aimed at besides positions: sides to bend to, turns of tip bones."""
    poles, tips, (count, _, rows) = None, None, near.shape
    if goals.pole_position is not None:
        limbs = chains.limbs.take_effectors(goals.has_pole)
        own = list(limbs.effectors)
        angles = np.broadcast_to(np.asarray(goals.pole_angle), goals.target_position.shape[:-1])
        position = (_by_effector(chains, goals.pole_position) - chains.root) / chains.unit
        flip, sign = np.broadcast_to(options.use_flip_bend, rows), np.ones(rows)
        if options.keeps_start:
            angles = turn_to_flip(angles.T, flip).T
        else:
            sign = np.where(flip, -1.0, 1.0)
        if own:
            angle = _by_effector(chains, angles)[own]
            poles = Poles(limbs, near[own], position[own], angle, sign, options.keeps_start)
    if goals.tip_rotation_wxyz is not None and options.orient_weight > 0.0:
        has_tip, on = goals.has_tip_rotation, chains.topology.effector_bones
        own = [effector for effector in range(count) if has_tip is None or has_tip[effector]]
        if own:
            bones = tuple(on[effector] for effector in own)
            turn = _by_effector(chains, goals.tip_rotation_wxyz)[own]
            back = invert(chains.start_posed.whole[list(bones)])
            tips = Tips(bones, tuple(own), turn, back)
    if poles is None and tips is None:
        return None
    return Aims(tree.topology, poles, tips, tree.reach, tree.sqrt_weights)


def _record(
    chains: CompiledChains,
    goals: Goals,
    options: SolveOptions,
    wanted: Targets,
    run: Run,
    state: State,
    used: Counts,
    is_open: Flags,
) -> Solutions:
    """Measure the residuals on what is returned, and name the outcomes.

    ``is_open`` tells which effectors are not where free joints would bring them, shape (E, B).
    """
    tree, unit, posed = run.tree, chains.unit, state.posed
    points = posed.points * unit + chains.root
    targets = _by_effector(chains, goals.target_position)
    residuals = norm(points[chains.chains.bone_count :] - targets)
    size = tree.reach * unit + np.abs(targets).max(axis=(0, 1))
    holds, slide_holds = _find_holds(run, state)
    is_held = (holds.any(axis=2).T[:, None] & chains.topology.moves[:, :, None]).any(axis=0)
    if slide_holds is not None:
        is_held |= slide_holds.any(axis=0)
    short, distance = wanted.short, wanted.distance
    if short is not None:
        # Soft distances have moved targets, but not what is in reach.
        short, distance = short * unit, distance + short
    beyond = (distance - wanted.most) * unit
    is_straight = (beyond > 0.0) & (np.abs(residuals - beyond) <= STRAIGHT * wanted.most * unit)
    # With iterations left it is the joints that lead no nearer, by their limits or their locks, or
    # in a tree other effectors.
    is_done = used < options.iterations
    codes: Counts = name_outcome(
        ARRAYS,
        residuals,
        options.tolerance + FINEST_TOLERANCE * size,
        wanted.is_far & (is_straight | run.is_chain),
        ~is_held & (distance < wanted.least),
        is_limited=is_open & (is_held | is_done) & ~is_straight,
        short=short,
    )
    if len(codes) > 1:
        codes = np.where((codes == LIMITED) & ~is_held, OUTWEIGHED, codes)
    gaps = np.zeros_like(residuals)
    if run.aims is not None and run.aims.tips is not None:
        gaps[list(run.aims.tips.effectors)] = norm(run.aims.tips.find_turns_past(posed))
    return Solutions(
        joint_positions=np.moveaxis(points, -1, 0),
        chain_rotation_wxyz=np.tile(quaternions.IDENTITY, (len(unit), 1)),
        tip_rotation_wxyz=None,
        residual=_by_chain(chains, residuals),
        iterations=used,
        status_code=_by_chain(chains, codes),
        local_rotations_wxyz=tree.joints.outer(turns.normalize(state.turn)),
        slides=(state.slide * unit).T,
        holds=holds,
        tip_gap=_by_chain(chains, gaps),
        slide_holds=None if slide_holds is None else slide_holds.T,
    )


def _find_holds(run: Run, state: State) -> tuple[Flags, Flags | None]:
    """Return what pulls toward targets press against, none at targets.

    Returns:
        Edges of ranges, shape (B, n, 3); ends of slides, shape (n, B), None if none slides.
    """
    tree, joints, slide = run.tree, run.tree.joints, state.slide
    posed, is_open = state.posed, run.find_open_effectors(state)
    error = (tree.unweigh(run.target) - posed.tips) * is_open[:, None]
    pressed: Flags = np.zeros((slide.shape[-1], len(slide), 3), dtype=np.bool_)
    if is_open.any() and joints.has_edges:
        pull = np.einsum("nkcb,kb->bnc", tree.find_jacobian(posed), tree.weigh(error))
        edges = NearEdges(joints.rows, chains_first(state.turn), HOLDS_BACK)
        if edges.has_any:
            press = apply(edges.normals, apply(edges.free, pull))
            pressed = edges.is_near & (press > 0.0)
    if tree.slide_axes is None:
        return pressed, None
    along = np.einsum("nib,ib->nb", tree.slide_effects(posed), error[0])
    stopped = (along > 0.0) & (slide >= joints.slide_high - ON_EDGE)
    stopped |= (along < 0.0) & (slide <= joints.slide_low + ON_EDGE)
    return pressed, stopped & (joints.slide_high > joints.slide_low)


def drop_joints(chains: Chains, found: Solutions, goals: Goals, options: SolveOptions) -> Solutions:
    """Return solutions of chains that had to be given joints as those of chains without."""
    assert found.local_rotations_wxyz is not None
    joined = compile_chains(compile_chains(chains).unconstrained)
    tree, start = joined.tree, joined.start_posed.whole
    posed = tree.pose(tree.joints.inner(found.local_rotations_wxyz)).whole
    turned = turns.from_matrices(np.einsum("nijb,nkjb->nikb", posed, start))
    rotations = np.ascontiguousarray(np.moveaxis(turned, -1, 0))
    return replace(
        found,
        tip_rotation_wxyz=rotations[:, -1] if _has_tips(goals, options) else None,
        blended_rotations_wxyz=rotations,
        local_rotations_wxyz=None,
        slides=None,
        holds=None,
        tip_gap=0.0,
    )
