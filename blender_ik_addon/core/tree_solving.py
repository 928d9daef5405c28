"""The poses of trees for their targets: sweeps, NEWTON to finish, the best compromise, new starts.

NEWTON turns the joints from the start pose, as little as it takes; FABRIK sweeps first, and NEWTON
finishes what it leaves open. Where the targets cannot all be met the pose settles where the
weighted errors are least; limited trees look for a better one from a few other poses, always the
same ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import restarts, tree_fabrik, tree_newton, tree_settling, turns
from .branched import TURN, Branched
from .chain import Solver
from .jointed import AIM_TOLERANCE, AIM_WEIGHTS, ENOUGH_TO_AIM, NEAR
from .solvers.newton_directions import FIRST_DAMPING
from .solving.iteration import Method, Work, swept
from .solving.sweeps import MOST_SWEEPS
from .tree_aims import TreeAims
from .tree_start import StraightRun, off_the_line
from .vectors import Array, Counts, Flags, norm, taken

# NEWTON halves errors at the least, near full reach; what leaves more in a window does not arrive.
SLOW = 0.5
# A compromise from which a window takes no more than this share is as good as the best.
STANDSTILL = 1.0 - 1e-6
# Iterations from one start, and for the compromise.
ENOUGH, ENOUGH_TO_SETTLE = 60, 50
# New starts of a limited tree that has not arrived, and iterations for each.
STARTS, ENOUGH_ANEW = 4, 20
# A new start that does not arrive either replaces the first try only if it comes nearer by this
# share of the reach: else poses would jump about for nothing.
WORTH_A_JUMP = 0.02


def _is_slow(error: Array, window_error: Array, _work: Work, _used: Counts) -> Flags:
    slow: Flags = error > SLOW * window_error
    return slow


def _stands_still(error: Array, window_error: Array, _work: Work, _used: Counts) -> Flags:
    still: Flags = error > STANDSTILL * window_error
    return still


NEWTON = Method(tree_newton.step, is_damped=True, is_hopeless=_is_slow)
AIMING = Method(tree_newton.step, is_damped=True, is_hopeless=_stands_still)
SETTLING = Method(tree_settling.step, is_damped=True, is_hopeless=_stands_still)
SWEEPS = {Solver.FABRIK: Method(tree_fabrik.step)}


@dataclass(frozen=True)
class TreeTask:
    """What is asked of B trees, in the units of their start poses, from their first heads.

    Attributes:
        target: Within the effectors' own reach, shape (E, 3, B).
        tolerance: Of the weighted errors together, shape (B,).
        iterations: Caps, shape (B,).
        is_near: Which trees have all targets within the effectors' own reach, shape (B,).
    """

    target: Array
    tolerance: Array
    iterations: Counts
    is_near: Flags

    def take(self, trees: Counts) -> TreeTask:
        """Return what is asked of some of the trees."""
        return TreeTask(
            taken(self.target, trees),
            self.tolerance[trees],
            self.iterations[trees],
            self.is_near[trees],
        )


def positioned(
    tree: Branched,
    runs: tuple[StraightRun, ...],
    turn: Array,
    task: TreeTask,
    solver: Solver,
    aims: TreeAims | None = None,
    tip_weight: float = 1.0,
    *,
    use_finish: bool = True,
) -> tuple[Array, Counts]:
    """Return the turns (n, 4, B) that bring the effectors of trees to their targets.

    Args:
        tree: The trees, without aims.
        runs: Their straight runs.
        turn: Of their start poses, as far as the joints allow, shape (n, 4, B).
        task: What is asked for.
        solver: NEWTON or FABRIK.
        aims: What else is aimed at.
        tip_weight: Share of the wanted turns of tips to take.
        use_finish: Whether NEWTON finishes what FABRIK leaves open.

    Returns:
        The turns, and the iterations used, shape (B,).
    """
    state = standing = tree.state(turn)
    run = _Run(tree, task)
    is_fresh = run.is_open(state)
    run = replace(run, is_fresh=is_fresh)
    used = np.zeros_like(task.iterations)
    sweeps = SWEEPS.get(solver)
    if is_fresh.any():
        bent = off_the_line(tree, runs, turn, task.target)
        if bent is not turn:
            state = np.where(is_fresh, tree.state(bent), state)
    if sweeps is not None:
        caps = np.minimum(task.iterations, MOST_SWEEPS) if use_finish else task.iterations
        state, used = run.swept(sweeps, state, used, caps)
        if not use_finish:
            return state[:-1, :TURN], used
    if aims is None or tip_weight < 1.0:
        state, used = run.closed(state, used)
    if aims is not None:
        state, used = run.aimed(state, used, _shared(aims, tree, state, tip_weight))
    state, used = run.settled(state, used)
    # Where a target is too far for its effector no other start arrives either.
    is_open = run.is_open(state) & (used < task.iterations) & task.is_near
    if is_open.any() and not tree.is_free:
        state, used = run.anew(state, used, np.flatnonzero(is_open), standing, aims)
    return state[:-1, :TURN], used


@dataclass(frozen=True)
class _Run:
    """Trees on their way to their targets; ``is_fresh`` tells whose starts are not there, (B,)."""

    tree: Branched
    task: TreeTask
    is_fresh: Flags | None = None

    @property
    def accepted(self) -> Array:
        """From how near on nothing more is tried, shape (B,)."""
        return np.maximum(self.task.tolerance, NEAR * self.tree.reach)

    @property
    def goal(self) -> Array:
        """The targets as rows of an output, shape (3 E, B)."""
        return self.tree.weighted(self.task.target)

    def errors(self, state: Array) -> Array:
        """Return the weighted distances of all effectors from their targets, shape (B,)."""
        goal = self.goal
        return norm(goal - state[-1, : len(goal)])

    def is_open(self, state: Array) -> Flags:
        """Return which trees are not at their targets."""
        is_open: Flags = self.errors(state) > self.accepted
        return is_open

    def swept(
        self, method: Method, state: Array, used: Counts, caps: Counts
    ) -> tuple[Array, Counts]:
        """Repeat a step toward the targets' positions."""
        work = Work(self.tree, self.goal, self.task.tolerance, caps)
        is_settling = method is SETTLING
        first = tree_settling.FIRST_DAMPING if is_settling else FIRST_DAMPING
        carried = np.full(state.shape[-1], first)
        return swept(method, work, state, used, carried)

    def closed(self, state: Array, used: Counts) -> tuple[Array, Counts]:
        """Have NEWTON bring the effectors to the targets, where the caps allow."""
        return self.swept(NEWTON, state, used, np.minimum(self.task.iterations, used + ENOUGH))

    def settled(self, state: Array, used: Counts) -> tuple[Array, Counts]:
        """Bring trees that have not arrived to where their weighted errors are least."""
        is_open = self.is_open(state)
        if not is_open.any():
            return state, used
        caps = np.minimum(self.task.iterations, used + ENOUGH_TO_SETTLE)
        return self.swept(SETTLING, state, used, np.where(is_open, caps, used))

    def aimed(self, state: Array, used: Counts, aims: TreeAims) -> tuple[Array, Counts]:
        """Meet positions and aims together as far as can be, then the positions alone.

        They come first: where aims lead a tree into a corner it goes without them.
        """
        before, turn = state, state[:-1, :TURN]
        if aims.poles is not None:
            # From the wrong side of a limb the way to the right one may lead through no pose.
            turn = self.tree.clamped(aims.poles.faced(self.tree.posed(turn), turn))
        positions = self.goal
        target = np.concatenate((positions, np.zeros((aims.rows, positions.shape[-1]))))
        carried = np.full(state.shape[-1], FIRST_DAMPING)
        for weight, enough in zip(AIM_WEIGHTS, ENOUGH_TO_AIM, strict=True):
            # The first weight leads away from where the best has been found before.
            is_led = np.ones(len(used), dtype=np.bool_)
            if self.is_fresh is not None and weight != AIM_WEIGHTS[-1]:
                is_led = self.is_fresh
            weighted = replace(aims, weight=weight * self.tree.reach)
            aiming = replace(self.tree, aims=weighted)
            finest = np.minimum(self.task.tolerance, AIM_TOLERANCE * weighted.weight)
            caps = np.where(is_led, np.minimum(self.task.iterations, used + enough), used)
            work = Work(aiming, target, finest, caps)
            aimed, used = swept(AIMING, work, aiming.state(turn), used, carried)
            turn = aimed[:-1, :TURN]
        aimed, used = self.closed(self.tree.state(turn), used)
        is_lost = self.is_open(aimed)
        if not is_lost.any():
            return aimed, used
        plain, used = self.closed(np.where(is_lost, before, aimed), used)
        # A goal that cannot be met is no reason to go without the aims.
        nearer = self.errors(plain) + WORTH_A_JUMP * self.tree.reach < self.errors(aimed)
        is_met = is_lost & ~self.is_open(plain)
        return np.where(nearer | is_met, plain, aimed), used

    def anew(
        self, state: Array, used: Counts, rows: Counts, standing: Array, aims: TreeAims | None
    ) -> tuple[Array, Counts]:
        """Start the trees of some rows anew, and keep what is better."""
        own, start = self.tree.take(rows), taken(standing, rows)
        chosen = np.repeat(np.arange(len(rows)), STARTS)
        task = replace(self.task.take(rows), iterations=np.full(len(rows), ENOUGH_ANEW))
        several = _Run(own.take(chosen), task.take(chosen))
        poses = restarts.drawn(own.bones, start[:-1, :TURN], STARTS)
        tried, spent = several.closed(several.tree.state(poses), np.zeros_like(chosen))
        if aims is not None:
            tried, spent = several.aimed(tried, spent, aims.take(rows[chosen]))
        present = taken(state, rows)
        best, spent = several.best_of(tried, spent, start, present)
        few = _Run(own, replace(task, iterations=np.full(len(rows), ENOUGH)))
        best, spent = few.settled(*few.closed(best, spent))
        state, used = state.copy(), used.copy()
        state[..., rows], used[rows] = best, used[rows] + spent
        return state, np.minimum(used, self.task.iterations)

    def best_of(
        self, tried: Array, spent: Counts, start: Array, present: Array
    ) -> tuple[Array, Counts]:
        """Return the best of several tries of each tree and of what stands, and its iterations."""
        trees = present.shape[-1]
        error = self.errors(tried)
        has_arrived = error <= self.accepted
        # Of the poses that arrive the one that is least of a change.
        starts = np.repeat(start[:-1, :TURN], STARTS, axis=-1)
        cosine = np.einsum("nib,nib->nb", tried[:-1, :TURN], starts)
        score = np.where(has_arrived, (1.0 - cosine**2).sum(axis=0) - 1e6, error)
        best = np.argmin(score.reshape(trees, STARTS), axis=1) + STARTS * np.arange(trees)
        found = taken(tried, best)
        goal = taken(self.goal, best)
        standing = norm(goal - present[-1, : len(goal)])
        nearer = error[best] + WORTH_A_JUMP * taken(self.tree.reach, best) < standing
        is_better = has_arrived[best] | nearer
        return np.where(is_better, found, present), np.where(is_better, spent[best], 0)


def _shared(aims: TreeAims, tree: Branched, state: Array, share: float) -> TreeAims:
    """Return aims whose tips turn a share of the way from where they stand without."""
    if aims.tips is None or share == 1.0:
        return aims
    past = aims.tips.past(tree.posed(state[:-1, :TURN]))
    turn = turns.multiply(turns.by_vectors((1.0 - share) * past), aims.tips.turn)
    return replace(aims, tips=replace(aims.tips, turn=turn))
