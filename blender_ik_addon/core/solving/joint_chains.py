"""Solve chains and trees with joints: the records in, the records out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..algebra import rotation, turns
from ..algebra.arithmetic import ARRAYS, Array, Counts, Flags
from ..algebra.arrays import norm
from ..equilibrium.settling import move_off_ends
from ..kinematics.aims import Aims, Poles, Tips
from ..kinematics.bones import Bones
from ..kinematics.compiled_bones import compile_bones
from ..kinematics.compiled_joints import put_rows_last
from ..kinematics.kinematic_tree import TURN
from ..kinematics.reach import is_soft, measure_reach, soften_target
from ..model.chains import Chains
from ..model.errors import SolverMismatchError
from ..model.goals import Goals
from ..model.options import SolveOptions, Solver
from ..model.solutions import Solutions
from ..model.status import LIMITED, OUTWEIGHED, name_outcome
from .compiled_chains import CompiledChains, compile_chains
from .joint_positions import (
    Ask,
    ChainStart,
    Held,
    find_holds,
    find_slide_holds,
    find_tip_gaps,
    solve_positions,
)
from .joint_run import Run
from .sweeps import SWEPT
from .task import FINEST_TOLERANCE, ask_all, check_solver, relate_to_root
from .unconstrained_start import StraightRuns

SOLVERS_OF_TREES = (Solver.NEWTON, Solver.FABRIK)
# Of a tree, targets farther than this many times the effector's reach are drawn in to it: what is
# far away would else outweigh what is near. Somewhat beyond the reach, where a straight limb is the
# one best pose; at the reach itself it would be approached ever more slowly.
FARTHEST = 1.05
# A chain that is straight but for this share of its length is held back by nothing: what is left of
# a bend shrinks ever more slowly there.
STRAIGHT = 1e-6
# Targets that lie so little within the reach have been drawn in to it.
AT_REACH = 1e-12
NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Wanted:
    """Targets of effectors, in the units of the chains and from their roots.

    Attributes:
        roots: Of the effectors' paths, shape (E, 3, B).
        target: As far as soft distances let them be, shape (E, 3, B).
        near: The same, drawn in to the reach, shape (E, 3, B).
        distance: From roots to targets, shape (E, B).
        least: How near effectors get to their roots, shape (E, B).
        most: How far they get, shape (E, B).
        short: How far soft distances have moved targets, shape (E, B); None where there are none.
        is_soft_far: Which targets stood out of reach before, shape (E, B).
    """

    roots: Array
    target: Array
    near: Array
    distance: Array
    least: Array
    most: Array
    short: Array | None
    is_soft_far: Flags

    @property
    def is_far(self) -> Flags:
        """Which targets are out of reach, shape (E, B)."""
        is_far: Flags = self.is_soft_far | (self.distance >= self.most * (1.0 - AT_REACH))
        return is_far


def solve_joints(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Return the poses of chains with joints, or of trees; as ``solve_batch``."""
    compiled = compile_chains(chains)
    if chains.joints is None and not compiled.is_tree:
        found = solve_joints(compiled.unconstrained, goals, options)
        return drop_joints(chains, found, goals, options)
    _check_fits(compiled, goals, options)
    if len(chains) == 1:
        twice = np.zeros(2, dtype=np.int64)
        found = solve_joints(compiled.twice, goals.take(twice), options.take(twice))
        return found.take(twice[:1])
    wanted = _find_wanted(compiled, goals, options)
    held = solve_positions(_ask(compiled, goals, options, wanted))
    return _record(compiled, goals, options, wanted, held)


def _check_fits(chains: CompiledChains, goals: Goals, options: SolveOptions) -> None:
    if not chains.is_tree:
        check_solver(options.solver, chains.chains.bone_count - _has_tips(goals, options))
    elif options.solver not in SOLVERS_OF_TREES:
        raise SolverMismatchError(
            f"{options.solver} does not solve chains that share bones: choose NEWTON or FABRIK."
        )


def _has_tips(goals: Goals, options: SolveOptions) -> bool:
    return goals.tip_rotation_wxyz is not None and options.orient_weight > 0.0


def _by_effector(chains: CompiledChains, values: Array) -> Array:
    """Return what is (B, ...) of chains, or (B, E, ...) of trees, as (E, ..., B)."""
    return put_rows_last(values if chains.is_tree else values[:, None])


def _by_chain(chains: CompiledChains, values: Array | Counts) -> Any:
    """Return numbers (E, B) as the records have them: (B,) of chains, (B, E) of trees."""
    return values.T.copy() if chains.is_tree else values[0]


def _find_wanted(chains: CompiledChains, goals: Goals, options: SolveOptions) -> Wanted:
    """Return the targets as far as soft distances let them be, and drawn in to the reach."""
    tree, unit = chains.tree, chains.unit
    target = (_by_effector(chains, goals.target_position) - chains.root) / unit
    roots = chains.start_posed.heads[[path[0] for path in chains.topology.paths]]
    (least, most), short, is_soft_far = chains.reaches, None, np.zeros(target[:, 0].shape, bool)
    if is_soft(options.soft_distance):
        soft, (least_soft, most_soft, tips) = (
            options.soft_distance / unit,
            _find_soft_reach(chains, goals, options),
        )
        moved = [
            soften_target(ARRAYS, *each, soft)
            for each in zip(roots, target - tips, most_soft, least_soft, strict=True)
        ]
        moved_target, short, is_soft_far = (np.array(each) for each in zip(*moved, strict=True))
        target = moved_target + tips
    offset = target - roots
    distance, near = norm(offset), target
    if tree.slide_room is not None:
        # Chains that slide reach farther by their slides, which nobody knows beforehand.
        least, most = np.zeros_like(least), tree.longest[None]
    else:
        farthest = most * (FARTHEST if chains.is_tree else 1.0)
        is_far = (distance > farthest)[:, None]
        share = farthest / np.maximum(distance, np.finfo(float).tiny)
        near = np.where(is_far, roots + offset * share[:, None], target)
    return Wanted(roots, target, near, distance, least, most, short, is_soft_far)


def _find_soft_reach(
    chains: CompiledChains, goals: Goals, options: SolveOptions
) -> tuple[Array, Array, Array]:
    """Return least and greatest reach, (E, B), for soft distances, without tips (E, 3, B).

    A tip bone that takes a rotation does not bend to its target.
    """
    least, most = chains.reaches
    tips, room = np.zeros((1, 3, 1)), chains.tree.slide_room
    if chains.is_tree:
        return least, most, tips
    lengths = chains.start.lengths
    if room is not None:
        # A slide makes the segment before its bone longer, that of the root the way from the root.
        lengths = lengths + np.concatenate((room[1:], room[:1]))
    turns_wxyz = goals.tip_rotation_wxyz
    if turns_wxyz is not None and options.orient_weight == 1.0 and len(lengths) > 1:
        lengths = lengths[:-1]
        joints = chains.chains.joint_positions
        tips = rotation.rotate(turns_wxyz, joints[:, -1] - joints[:, -2]).T[None] / chains.unit
    far, near = measure_reach(lengths)
    return near[None], far[None], tips


def _ask(chains: CompiledChains, goals: Goals, options: SolveOptions, wanted: Wanted) -> Ask:
    """Return what the solvers are asked for."""
    tree, unit, solver = chains.tree, chains.unit, options.solver
    asked, tolerance = wanted.near, options.tolerance
    lightest: float | Array = 1.0
    standing = chains.clamped_states
    weights = np.ones((1, 1))
    if chains.is_tree and goals.weight is not None:
        weights = _by_effector(chains, goals.weight)
    # The same weights are as good as none, and the tree stays as it is compiled.
    if (weights != weights[0]).any():
        roots = np.sqrt(weights / weights.max(axis=0))
        lightest = np.where(roots > 0.0, roots, 1.0).min(axis=0)
        tree = replace(tree, sqrt_weights=roots)
        standing = tree.make_state(chains.clamped_start)
    if not chains.is_tree:
        # What is too far is met at full reach, where a chain is straight only without any gap.
        asked = wanted.target
        is_moved = (wanted.near != wanted.target).any(axis=(0, 1))
        tolerance = np.where(is_moved, 0.0, tolerance)
    beyond = np.maximum(wanted.distance - wanted.most, 0.0)
    run = Run(
        tree=tree,
        target=tree.weigh(wanted.near),
        tolerance=np.maximum(tolerance / unit, FINEST_TOLERANCE * tree.reach) * lightest,
        iterations=np.array(np.broadcast_to(np.asarray(options.iterations), len(unit))),
        is_fresh=np.ones(len(unit), dtype=np.bool_),
        least_error=norm(tree.weigh(np.repeat(beyond[:, None], 3, axis=1)) / np.sqrt(3.0)),
        is_chain=not chains.is_tree,
    )
    aims = _make_aims(chains, goals, options, wanted, run)
    ask = Ask(
        run=run,
        asked=tree.weigh(asked),
        standing=standing,
        start=chains.straight_runs if chains.is_tree else StraightRuns(()),
        solver=solver,
        sweeps=_compile_sweeps(chains) if solver in SWEPT else None,
        aims=aims,
        tip_weight=options.orient_weight,
        use_finish=options.use_finish or solver not in (Solver.FABRIK, Solver.CCD),
    )
    return ask if chains.is_tree else _ask_chains(chains, goals, options, wanted, ask)


def _compile_sweeps(chains: CompiledChains) -> list[Bones]:
    """Return the bones that are swept; of one chain two times only one."""
    is_few = chains.are_alone(Solver.FABRIK)
    bones = compile_bones(chains.tree, is_few=is_few)
    return bones[:1] if chains.count == 1 else bones


def _ask_chains(
    chains: CompiledChains, goals: Goals, options: SolveOptions, wanted: Wanted, ask: Ask
) -> Ask:
    """Return what the solvers are asked for, with where chains start."""
    start, joints, solver = chains.start, chains.tree.joints, options.solver
    if solver is Solver.TWO_BONE and chains.chains.bone_count != 2:
        solver = Solver.NEWTON
    points = tuple(wanted.near[0] * chains.unit + chains.root)
    task = relate_to_root(ARRAYS, start, points, ask_all(goals, options, len(chains.unit)))
    task, asked = replace(task, target=wanted.near[0], tolerance=ask.run.tolerance), ask.asked
    energy = chains.potential_energy if solver is Solver.FORCE else None
    if energy is not None:
        least = np.where(joints.is_unlimited, start.least, 0.0)
        ends = joints.is_unlimited, least, chains.tree.longest
        task, asked = move_off_ends(task, asked, energy, *ends)
    return replace(
        ask,
        run=replace(
            ask.run,
            target=task.target,
            least_error=np.maximum(norm(asked) - chains.tree.longest, 0.0),
        ),
        asked=asked,
        start=ChainStart(start, chains.bend, task, energy),
        solver=solver,
    )


def _make_aims(
    chains: CompiledChains, goals: Goals, options: SolveOptions, wanted: Wanted, run: Run
) -> Aims | None:
    """Return what is aimed at besides positions: sides to bend to, turns of tip bones."""
    poles = _make_poles(chains, goals, options, wanted)
    tips = _make_tips(chains, goals) if _has_tips(goals, options) else None
    if poles is None and tips is None:
        return None
    weights, tree = run.tree.sqrt_weights, run.tree
    if weights is None:
        weights = np.ones((len(tree.ends), len(tree.reach)))
    return Aims(tree.topology, poles, tips, tree.reach, weights)


def _select(flags: Sequence[bool] | None, count: int) -> list[int]:
    return [e for e in range(count) if flags is None or flags[e]]


def _make_poles(
    chains: CompiledChains, goals: Goals, options: SolveOptions, wanted: Wanted
) -> Poles | None:
    if goals.pole_position is None:
        return None
    count, rows = wanted.distance.shape
    limbs = chains.limbs.take_effectors(_select(goals.has_pole, count))
    if not limbs.effectors:
        return None
    own = list(limbs.effectors)
    angles = np.broadcast_to(np.asarray(goals.pole_angle), goals.target_position.shape[:-1])
    return Poles(
        limbs=limbs,
        target=wanted.near[own],
        position=((_by_effector(chains, goals.pole_position) - chains.root) / chains.unit)[own],
        angle=_by_effector(chains, angles)[own],
        sign=np.where(np.broadcast_to(options.use_flip_bend, rows), -1.0, 1.0),
    )


def _make_tips(chains: CompiledChains, goals: Goals) -> Tips | None:
    assert goals.tip_rotation_wxyz is not None
    carriers = chains.topology.effector_bones
    effectors = _select(goals.has_tip_rotation, len(carriers))
    bones = tuple(carriers[e] for e in effectors)
    turned = _by_effector(chains, goals.tip_rotation_wxyz)[effectors]
    whole = chains.start_posed.whole[list(bones)]
    return Tips(bones, tuple(effectors), turned, whole) if effectors else None


def _record(
    chains: CompiledChains, goals: Goals, options: SolveOptions, wanted: Wanted, held: Held
) -> Solutions:
    """Measure the residuals on what is returned, and name the outcomes."""
    tree, state, unit = held.run.tree, held.state, chains.unit
    posed = tree.posed(state)
    points = posed.points * unit + chains.root
    targets = _by_effector(chains, goals.target_position)
    residuals = norm(points[chains.chains.bone_count :] - targets)
    farthest = np.moveaxis(targets, 1, 0).reshape(3 * len(targets), -1)
    size = tree.reach * unit + np.abs(farthest).max(axis=0)
    accepted = options.tolerance + FINEST_TOLERANCE * size
    holds, slide_holds = find_holds(held), find_slide_holds(held)
    codes = _name_outcomes(chains, options, wanted, held, (residuals, accepted, holds, slide_holds))
    return Solutions(
        joint_positions=np.moveaxis(points, -1, 0),
        chain_rotation_wxyz=np.tile(NOT_TURNED, (len(unit), 1)),
        tip_rotation_wxyz=None,
        residual=_by_chain(chains, residuals),
        iterations=held.iterations,
        status_code=_by_chain(chains, codes),
        local_rotations_wxyz=tree.joints.outer(turns.normalize(state[:-1, :TURN])),
        slides=(state[:-1, TURN] * unit).T,
        holds=np.moveaxis(holds, -1, 0),
        tip_gap=_by_chain(chains, find_tip_gaps(held)),
        slide_holds=None if slide_holds is None else slide_holds.T,
    )


def _name_outcomes(
    chains: CompiledChains,
    options: SolveOptions,
    wanted: Wanted,
    held: Held,
    found: tuple[Array, Array, Flags, Flags | None],
) -> Counts:
    """Return indices into ``STATUSES``, shape (E, B).

    Args:
        chains: The chains.
        options: As asked for.
        wanted: Their targets.
        held: What has been solved.
        found: Residuals and accepted ones, in the unit of the chains' points, and what holds turns
            (n, 3, B) and slides (n, B).
    """
    residuals, accepted, holds, slide_holds = found
    unit, topology = chains.unit, chains.topology
    is_held = (holds.any(axis=1)[:, None] & topology.moves[:, :, None]).any(axis=0)
    if slide_holds is not None:
        is_held |= slide_holds.any(axis=0)
    # Soft distances have moved targets, but not what is in reach.
    short = None if wanted.short is None else wanted.short * unit
    distance = wanted.distance + (0.0 if wanted.short is None else wanted.short)
    beyond = (distance - wanted.most) * unit
    size = STRAIGHT * wanted.most * unit
    is_straight = (beyond > 0.0) & (np.abs(residuals - beyond) <= size)
    # With iterations left it is the joints that lead no nearer, by their limits or their locks, or
    # in a tree other effectors.
    is_done = held.iterations < options.iterations
    codes: Counts = name_outcome(
        ARRAYS,
        residuals,
        accepted,
        wanted.is_far & (is_straight | (not chains.is_tree)),
        ~is_held & (distance < wanted.least),
        is_limited=held.is_open & (is_held | is_done) & ~is_straight,
        short=short,
    )
    if len(codes) > 1:
        codes = np.where((codes == LIMITED) & ~is_held, OUTWEIGHED, codes)
    return codes


def drop_joints(chains: Chains, found: Solutions, goals: Goals, options: SolveOptions) -> Solutions:
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
    rotations = rotation.normalize(np.stack(turned, axis=1))
    return replace(
        found,
        tip_rotation_wxyz=rotations[:, -1] if _has_tips(goals, options) else None,
        blended_rotations_wxyz=rotations,
        local_rotations_wxyz=None,
        slides=None,
        holds=None,
        tip_gap=0.0,
    )
