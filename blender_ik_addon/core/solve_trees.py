"""Solve trees for the goals of their effectors: the entrance, and the record of what came out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import turns
from .algebra.arithmetic import ARRAYS
from .kinematics.aims import Aims, Poles, Tips
from .kinematics.kinematic_tree import TURN
from .kinematics.reach import is_soft, soften_target
from .model.errors import InvalidGoalError, SolverMismatchError
from .model.options import SolveOptions, Solver
from .model.status import STATUSES, Status
from .solving.joint_positions import Ask, Held, find_holds, find_tip_gaps, solve_positions
from .solving.joint_run import Run
from .solving.task import FINEST_TOLERANCE
from .tree import Tree
from .tree_goals import TreeGoals
from .tree_solutions import TreeSolution, TreeSolutions
from .trees import Trees
from .vectors import Array, Counts, Flags, norm

SOLVERS = (Solver.NEWTON, Solver.FABRIK)
"""Those that solve trees."""
# Targets farther than this many times the effector's reach are drawn in to it: what is far away
# would else outweigh what is near. Somewhat beyond the reach, where a straight limb is the one best
# pose; at the reach itself it would be approached ever more slowly.
FARTHEST = 1.05
# An effector that gets so near to its whole reach, as a share, hangs on a straight limb.
STRAIGHT = 1e-9


def solve_tree(tree: Tree, goals: TreeGoals, options: SolveOptions | None = None) -> TreeSolution:
    """Return the pose of a tree that brings its effectors to their targets, all together.

    Args:
        tree: Start pose, armature space; compiled on first use, so keep the record.
        goals: One an effector.
        options: NEWTON or FABRIK, and settings; by default NEWTON.

    Returns:
        The solution. Where not all targets can be met it is the pose whose sum of weight times
        squared distance is least, or the least found inside of limits; never an error.

    Raises:
        InvalidGoalError: If there are not as many goals as effectors.
        SolverMismatchError: If another solver is asked for.
    """
    if goals.target_positions.ndim != 2:
        raise InvalidGoalError("The goals are those of many trees: give solve_trees the trees.")
    return solve_trees(tree.as_trees, goals.as_batch, options)[0]


def solve_trees(
    trees: Trees, goals: TreeGoals, options: SolveOptions | None = None
) -> TreeSolutions:
    """Return the poses of trees that bring their effectors to their targets.

    Args:
        trees: Start poses; compiled on first use, so keep the record from solve to solve.
        goals: Of all of the trees: with B as leading axis.
        options: As for ``solve_tree``.

    Raises:
        InvalidGoalError: If there are not as many goals as effectors of trees.
        SolverMismatchError: If another solver than NEWTON or FABRIK is asked for.
    """
    options = options or SolveOptions()
    if options.solver not in SOLVERS:
        raise SolverMismatchError(
            f"{options.solver} does not solve chains that share bones: choose NEWTON or FABRIK."
        )
    wanted = trees.effector_positions.shape
    if goals.target_positions.shape != wanted:
        raise InvalidGoalError(
            f"The target positions of these trees need shape {wanted}, not"
            f" {goals.target_positions.shape}: give one goal an effector."
        )
    asked = _find_asked(trees, goals, options)
    ask = Ask(
        run=asked.run,
        asked=asked.run.target,
        standing=trees.standing,
        start=trees.straight_runs,
        solver=options.solver,
        aims=_make_aims(trees, goals, options, asked),
        tip_weight=options.orient_weight,
        use_finish=options.use_finish or options.solver is not Solver.FABRIK,
    )
    return _record(trees, goals, options, asked, solve_positions(ask))


@dataclass(frozen=True)
class _Asked:
    """What is asked of trees, in their units.

    Attributes:
        run: For the solvers, with the weights of the goals.
        target: Shape (E, 3, B).
        is_too_far: Which targets were drawn in to the effectors' reach, shape (E, B).
        is_too_near: Which lie nearer than effectors get to their roots, shape (E, B).
        short: How far the soft distance has moved targets, shape (E, B).
        most: The effectors' own reach, shape (E, B).
    """

    run: Run
    target: Array
    is_too_far: Flags
    is_too_near: Flags
    short: Array
    most: Array


def _find_asked(trees: Trees, goals: TreeGoals, options: SolveOptions) -> _Asked:
    tree, start_posed, unit, root = trees.compiled
    target = (np.moveaxis(goals.target_positions, 0, -1) - root) / unit
    assert goals.weights is not None
    weights = np.moveaxis(goals.weights, 0, -1)
    pull = np.sqrt(weights / weights.max(axis=0))
    roots = start_posed.heads[[path[0] for path in tree.topology.paths]]
    least, most = trees.reaches
    short, is_too_far = np.zeros_like(most), np.zeros(most.shape, dtype=np.bool_)
    if is_soft(options.soft_distance):
        soft = options.soft_distance / unit
        for e in range(len(target)):
            target[e], short[e], is_too_far[e] = soften_target(
                ARRAYS, roots[e], target[e], most[e], least[e], soft
            )
    way = target - roots
    distance = norm(way)
    is_far = distance > most
    share = np.minimum(FARTHEST * most / np.maximum(distance, np.finfo(float).tiny), 1.0)
    target = roots + way * share[:, None]
    finest = np.maximum(options.tolerance / unit, FINEST_TOLERANCE * tree.reach)
    lightest = np.where(pull > 0.0, pull, 1.0).min(axis=0)
    tree = replace(tree, sqrt_weights=None if (pull == 1.0).all() else pull)
    run = Run(
        tree=tree,
        target=tree.weigh(target),
        tolerance=finest * lightest,
        iterations=np.array(np.broadcast_to(np.asarray(options.iterations), len(trees))),
        is_fresh=np.ones(len(trees), dtype=np.bool_),
        least_error=norm(pull * np.maximum(distance - most, 0.0)),
        is_chain=False,
    )
    is_near = (distance < least) & (least > 0.0)
    return _Asked(run, target, is_far | is_too_far, is_near, short, most)


def _make_aims(trees: Trees, goals: TreeGoals, options: SolveOptions, asked: _Asked) -> Aims | None:
    poles = _poles(trees, goals, options, asked)
    tips = _tips(trees, goals, asked) if options.orient_weight > 0.0 else None
    if poles is None and tips is None:
        return None
    tree = asked.run.tree
    weights = tree.sqrt_weights
    if weights is None:
        weights = np.ones((len(tree.ends), len(trees)))
    return Aims(tree.topology, poles, tips, tree.reach, weights)


def _poles(trees: Trees, goals: TreeGoals, options: SolveOptions, asked: _Asked) -> Poles | None:
    if goals.pole_positions is None or goals.has_poles is None:
        return None
    starts = trees.limb_starts
    wanted = np.flatnonzero(goals.has_poles).tolist()
    effectors = tuple(e for e in wanted if starts[e] is not None)
    if not effectors:
        return None
    limbs = [start for start in (starts[e] for e in effectors) if start is not None]
    _, _, unit, root = trees.compiled
    rows = list(effectors)
    angles = np.broadcast_to(goals.pole_angles, goals.target_positions.shape[:-1])
    return Poles(
        limbs=tuple(trees.limbs[e] for e in effectors),
        effectors=effectors,
        chord=np.array([start.chord for start in limbs]),
        side=np.array([start.side for start in limbs]),
        reach=np.array([start.reach * start.unit for start in limbs]),
        target=asked.target[rows],
        position=((np.moveaxis(goals.pole_positions, 0, -1) - root) / unit)[rows],
        angle=np.array(np.moveaxis(angles, 0, -1)[rows]),
        sign=np.where(np.broadcast_to(options.use_flip_bend, len(trees)), -1.0, 1.0),
    )


def _tips(trees: Trees, goals: TreeGoals, asked: _Asked) -> Tips | None:
    if goals.tip_rotations_wxyz is None or goals.has_tip_rotations is None:
        return None
    effectors = tuple(np.flatnonzero(goals.has_tip_rotations).tolist())
    if not effectors:
        return None
    bones = tuple(asked.run.tree.topology.effector_bones[e] for e in effectors)
    turn = np.moveaxis(goals.tip_rotations_wxyz, 0, -1)[list(effectors)]
    whole = trees.start_posed.whole
    return Tips(bones, effectors, np.array(turn), whole[list(bones)])


def _record(
    trees: Trees, goals: TreeGoals, options: SolveOptions, asked: _Asked, held: Held
) -> TreeSolutions:
    """Measure the residuals on what is returned, and name the outcomes."""
    _, _, unit, root = trees.compiled
    tree, turn = held.run.tree, held.state[:-1, :TURN]
    posed = tree.posed(held.state)
    tips = posed.tips * unit + root
    targets = np.moveaxis(goals.target_positions, 0, -1)
    residuals = norm(targets - tips)
    size = tree.reach * unit + np.abs(targets).max(axis=(0, 1))
    accepted = options.tolerance + FINEST_TOLERANCE * size
    holds = find_holds(held)
    roots = posed.heads[[path[0] for path in tree.topology.paths]]
    is_short = (asked.short > 0.0) & (residuals <= asked.short * unit + accepted)
    outcomes = _Outcomes(
        is_reached=residuals <= accepted,
        is_open=held.is_open,
        is_held=np.einsum("ncb,ne->eb", holds, tree.topology.moves) > 0,
        is_straight=norm(posed.tips - roots) >= (1.0 - STRAIGHT) * asked.most,
        is_short=is_short,
        is_done=held.iterations < asked.run.iterations,
    )
    codes = _codes(outcomes, asked)
    return TreeSolutions(
        head_positions=np.moveaxis(posed.heads * unit + root, -1, 0),
        effector_positions=np.moveaxis(tips, -1, 0),
        local_rotations_wxyz=tree.joints.outer(turns.normalised(turn)),
        residuals=residuals.T,
        status_codes=codes.T.astype(np.int8),
        iterations=held.iterations,
        holds=np.moveaxis(holds, -1, 0),
        tip_gaps=find_tip_gaps(held).T,
    )


@dataclass(frozen=True)
class _Outcomes:
    """How solves ended, by effector (E, B), ``is_done`` within the caps, by tree (B,)."""

    is_reached: Flags
    is_open: Flags
    is_held: Flags
    is_straight: Flags
    is_short: Flags
    is_done: Flags


def _codes(found: _Outcomes, asked: _Asked) -> Counts:
    """Return indices into ``STATUSES``, shape (E, B)."""
    is_open, shape = found.is_open, found.is_open.shape
    # With iterations left it is other effectors that pull, or a lock where there are none.
    pulled = Status.OUTWEIGHED if len(is_open) > 1 else Status.LIMITED
    cases = [
        (Status.REACHED, found.is_reached),
        (Status.EXTENDED, asked.is_too_far & found.is_straight),
        (Status.FOLDED, asked.is_too_near & np.full(shape, asked.run.tree.joints.is_free)),
        (Status.LIMITED, is_open & found.is_held),
        (Status.SOFTENED, ~is_open & found.is_short),
        (pulled, is_open & found.is_done),
    ]
    codes: Counts = np.select(
        [case for _, case in cases],
        [STATUSES.index(status) for status, _ in cases],
        STATUSES.index(Status.ITERATIONS_USED_UP),
    )
    return codes
