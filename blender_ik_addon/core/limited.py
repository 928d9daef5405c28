"""The poses of jointed chains for their targets: sweeps, NEWTON to finish, new starts.

NEWTON turns the joints from the start pose, as little as it takes; TWO_BONE, whose closed form
knows no ranges, does the same. FABRIK, CCD and FORCE sweep first, and NEWTON finishes what they
leave open. What cannot be finished from there starts anew from a few other poses, always the same
ones. The best pose that was found is returned; where forces act, FORCE has it settle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import bend, limited_ccd, limited_fabrik, limited_force, newton, positions, restarts, turns
from .chain import Solver
from .effort import Effort
from .force import no_memory
from .forces import StepMode
from .iterate import (
    FEW_ITERATIONS,
    LIMITED_NEWTON,
    Method,
    Work,
    stands_still,
    sweeps_of,
    swept,
)
from .jointed import AIM_TOLERANCE, AIM_WEIGHTS, ENOUGH, ENOUGH_TO_AIM, NEAR, Aims, Jointed
from .laying import ON_LINE, chain_turned, is_straight, laid
from .settling import ENOUGH_TO_SETTLE, settled
from .start import Start
from .task import Task
from .vectors import Array, Counts, Flags, across, norm, smoothstep, taken

# New starts of a chain that has not arrived, and iterations for each.
STARTS, ENOUGH_ANEW = 16, 20
# A new start that does not arrive either replaces the first try only if it comes nearer by this
# share of the reach: else poses would jump about for nothing.
WORTH_A_JUMP = 0.02
# Start poses on one line with their targets are bent by this share of the way to where they would
# bend without limits: from the line no turn leads nearer.
NUDGE = 0.1
# Chains on which forces act come first as near as this share of the reach.
ROUGHLY = 0.01
# Targets that lie so little within the reach have been drawn in to it.
AT_REACH = 1e-12
SWEEPS = {
    Solver.FABRIK: sweeps_of(limited_fabrik.step),
    Solver.CCD: sweeps_of(limited_ccd.step),
    Solver.FORCE: sweeps_of(limited_force.step),
}


@dataclass(frozen=True)
class Held:
    """Solved poses of B jointed chains of n bones.

    Attributes:
        state: As ``jointed`` tells, shape (n + 1, 7, B).
        iterations: Shape (B,).
        is_too_far: Which targets lie beyond the chains' lengths, shape (B,).
        is_open: Which effectors are not where they could be if the joints were free, shape (B,).
        holds: Which turns, about X, Y and Z, stand on edges that keep effectors from their
            targets, shape (n, 3, B).
        tip_gap: Radians from the tips' orientations to the wanted ones, shape (B,).
    """

    state: Array
    iterations: Counts
    is_too_far: Flags
    is_open: Flags
    holds: Flags
    tip_gap: Array


def positioned(
    start: Start,
    chain: Jointed,
    start_turn: Array,
    standing_turn: Array,
    task: Task,
    solver: Solver,
    asked: Array,
    tip: Array | None = None,
    tip_weight: float = 1.0,
    effort: Effort | None = None,
) -> Held:
    """Return the poses that bring the effectors of jointed chains to their targets.

    Args:
        start: Start poses.
        chain: Their joints.
        start_turn: Their turns, whether the joints allow them or not, shape (n, 4, B).
        standing_turn: The same, brought to what the joints allow.
        task: What is asked for.
        solver: Of all of the chains.
        asked: Targets before those too far were drawn in to the reach, shape (3, B).
        tip: Turns of the tip bones from the start pose wxyz, shape (4, B); None for no aim.
        tip_weight: Share of those to take.
        effort: What acts on the bones, for FORCE; None for nothing.
    """
    slide = np.clip(np.zeros_like(chain.slide_low), chain.slide_low, chain.slide_high)
    standing = chain.state(standing_turn, slide)
    gap = norm(task.target - standing[-1, :3])
    run = _Run(chain, task, gap > np.maximum(task.tolerance, NEAR * chain.reach))
    aims = _aims(start, chain, start_turn, task, tip)
    if solver not in (Solver.FABRIK, Solver.CCD):
        standing = _off_the_line(start, chain, standing, task)
    state, used = run.first(solver, effort, standing)
    if aims is None or tip_weight < 1.0:
        state, used = run.closed(state, used, is_near_enough=solver is not Solver.FORCE)
    if aims is not None:
        aims = _shared(aims, chain, state, tip_weight)
        state, used = run.aimed(state, used, aims)
    is_open = run.is_open(state) & (task.iterations > FEW_ITERATIONS)
    if is_open.any():
        # Joints that cannot even straighten toward a target take the pose nearest to it as it is.
        targets = np.where(is_open, asked, task.target)
        run = replace(run, task=replace(task, target=targets))
        state, used = run.closed(state, used)
        state, used = run.anew(state, used, np.flatnonzero(is_open), standing, aims)
    if effort is not None:
        state, used = run.settled(state, used, effort, aims)
    reach = start.reach + np.abs(chain.slide_high).sum(axis=0)
    is_too_far = norm(task.target) >= reach * (1.0 - AT_REACH)
    is_open = _Run(chain, task, run.is_fresh).is_open(state)
    holds = _holds(chain, run.task, state)
    return Held(state, used, is_too_far, is_open, holds, _tip_gap(chain, aims, state))


@dataclass(frozen=True)
class _Run:
    """Chains on their way to their targets.

    Attributes:
        chain: The chains.
        task: What is asked for.
        is_fresh: Whose start poses are not at their targets, shape (B,).
    """

    chain: Jointed
    task: Task
    is_fresh: Flags

    @property
    def accepted(self) -> Array:
        """From how near on no other start is tried, shape (B,)."""
        return np.maximum(self.task.tolerance, NEAR * self.chain.reach)

    def is_open(self, state: Array) -> Flags:
        """Return which effectors are not at their targets."""
        is_open: Flags = norm(self.task.target - state[-1, :3]) > self.accepted
        return is_open

    def first(self, solver: Solver, effort: Effort | None, standing: Array) -> tuple[Array, Counts]:
        """Have the solver's own sweeps, where it has some, lead toward the targets."""
        used, sweeps = np.zeros_like(self.task.iterations), SWEEPS.get(solver)
        caps = np.minimum(self.task.iterations, FEW_ITERATIONS)
        if sweeps is None:
            return standing, used
        if solver is not Solver.FORCE:
            return self.swept(sweeps, standing, used, caps)
        run = self
        if effort is not None and (effort.gain is not None or effort.mode is StepMode.CLASSIC):
            # Who sets a gain wants to see what it does: nothing is handed over while it does much.
            gain = limited_force.CLASSIC_GAIN if effort.gain is None else effort.gain
            step = limited_force.fixed_step(effort.mode, gain)
            sweeps, caps = Method(step, is_hopeless=stands_still, run_in=1), self.task.iterations
        elif effort is not None:
            # Chains that settle afterwards need not arrive exactly before.
            rough = np.where(effort.acts, ROUGHLY * self.chain.reach, 0.0)
            task = replace(self.task, tolerance=np.maximum(self.task.tolerance, rough))
            run = replace(self, task=task)
        memory = no_memory(len(self.chain.kinds), standing.shape[-1])
        return run.swept(sweeps, standing, used, caps, memory)

    def swept(
        self,
        method: Method,
        state: Array,
        used: Counts,
        caps: Counts,
        carried: Array | None = None,
    ) -> tuple[Array, Counts]:
        """Repeat a step toward the targets' positions."""
        work = Work(self.chain, self.task.target, self.task.tolerance, caps)
        if carried is None:
            carried = np.full(state.shape[-1], newton.FIRST_DAMPING)
        return swept(method, work, state, used, carried)

    def settled(
        self, state: Array, used: Counts, effort: Effort, aims: Aims | None
    ) -> tuple[Array, Counts]:
        """Have chains settle where they have come to, effectors that are not there yet as well."""
        is_open = self.is_open(state)
        stay = np.where(is_open, state[-1, :3], self.task.target)
        caps = np.minimum(self.task.iterations, used + ENOUGH_TO_SETTLE)
        rested, used = settled(self.chain, effort, state, stay, aims, used, caps)
        is_lost = ~is_open & self.is_open(rested)
        is_lost |= norm(self.task.target - rested[-1, :3]) > norm(
            self.task.target - state[-1, :3]
        ) + np.maximum(self.task.tolerance, NEAR * self.chain.reach)
        return np.where(is_lost, state, rested), used

    def closed(
        self, state: Array, used: Counts, *, is_near_enough: bool = True
    ) -> tuple[Array, Counts]:
        """Have NEWTON bring the effectors to the targets, where the caps allow.

        What is nearer than any other start would lead stays, unless that is not near enough.
        """
        if is_near_enough and not self.is_open(state).any():
            return state, used
        caps = np.minimum(self.task.iterations, used + ENOUGH)
        return self.swept(LIMITED_NEWTON, state, used, caps)

    def aimed(self, state: Array, used: Counts, aims: Aims) -> tuple[Array, Counts]:
        """Meet position and aims together as far as can be, then the position alone.

        The position comes first: where aims lead a chain into a corner it goes without them.
        """
        aimed = before = state
        target = np.zeros(state.shape[1:])
        target[:3] = self.task.target
        carried = np.full(state.shape[-1], newton.FIRST_DAMPING)
        for weight, enough in zip(AIM_WEIGHTS, ENOUGH_TO_AIM, strict=True):
            # The first weight leads away from where the best has been found before.
            is_fresh = self.is_fresh | (weight == AIM_WEIGHTS[-1])
            weighted = replace(aims, weight=weight * self.chain.reach)
            aiming = replace(self.chain, aims=weighted)
            finest = np.minimum(self.task.tolerance, AIM_TOLERANCE * weighted.weight)
            caps = np.where(is_fresh, np.minimum(self.task.iterations, used + enough), used)
            work = Work(aiming, target, finest, caps)
            begun = aiming.state(aimed[:-1, :4], aimed[:-1, 4])
            aimed, used = swept(LIMITED_NEWTON, work, begun, used, carried)
        aimed, used = self.closed(aimed, used)
        is_lost = self.is_open(aimed)
        if not is_lost.any():
            return aimed, used
        plain, used = self.closed(np.where(is_lost, before, aimed), used)
        is_nearer = norm(self.task.target - plain[-1, :3]) < norm(self.task.target - aimed[-1, :3])
        return np.where(is_nearer, plain, aimed), used

    def anew(
        self, state: Array, used: Counts, rows: Counts, standing: Array, aims: Aims | None
    ) -> tuple[Array, Counts]:
        """Start the chains of some rows anew, and keep what is better."""
        own, start = replace(self.chain.take(rows), aims=None), taken(standing, rows)
        chosen = np.repeat(np.arange(len(rows)), STARTS)
        task = _short_task(self.task, rows[chosen], ENOUGH_ANEW)
        several = _Run(own.take(chosen), task, np.ones(len(chosen), dtype=np.bool_))
        poses = restarts.restarted(own, start[:-1, :4], STARTS)
        tried, spent = several.closed(
            several.chain.state(poses, taken(start[:-1, 4], chosen)), np.zeros_like(chosen)
        )
        if aims is not None:
            tried, spent = several.aimed(tried, spent, aims.take(rows[chosen]))
        best, spent = several.best_of(tried, spent, start, taken(state, rows))
        few = _Run(own, _short_task(self.task, rows, ENOUGH), self.is_fresh[rows])
        best, spent = few.closed(best, spent)
        state, used = state.copy(), used.copy()
        state[..., rows], used[rows] = best, used[rows] + spent
        return state, np.minimum(used, self.task.iterations)

    def best_of(
        self, tried: Array, spent: Counts, start: Array, present: Array
    ) -> tuple[Array, Counts]:
        """Return the best of several tries of each chain and of what stands, and its iterations."""
        chains = present.shape[-1]
        gap = norm(self.task.target - tried[-1, :3])
        has_arrived = gap <= self.accepted
        # Of the poses that arrive the one that is least of a change.
        cosine = np.einsum(
            "nib,nib->nb", tried[:-1, :4], np.repeat(start[:-1, :4], STARTS, axis=-1)
        )
        change = (1.0 - cosine**2).sum(axis=0) + norm(tried[-1, 3:])
        score = np.where(has_arrived, change - 1e6, gap).reshape(chains, STARTS)
        best = np.argmin(score, axis=1) + STARTS * np.arange(chains)
        found = taken(tried, best)
        goal = taken(self.task.target, best)
        nearer = norm(goal - found[-1, :3]) + WORTH_A_JUMP * taken(self.chain.reach, best)
        is_better = has_arrived[best] | (nearer < norm(goal - present[-1, :3]))
        return np.where(is_better, found, present), np.where(is_better, spent[best], 0)


def _short_task(task: Task, rows: Counts, iterations: int) -> Task:
    return Task(
        target=taken(task.target, rows),
        pole=None,
        use_flip=None,
        tolerance=task.tolerance[rows],
        iterations=np.full(len(rows), iterations),
    )


def _off_the_line(start: Start, chain: Jointed, standing: Array, task: Task) -> Array:
    """Return start states of which none is straight and has its target on its own line.

    From there no turn leads nearer. What is bent a little already, or has its target aside, stays.
    """
    off = norm(across(task.target, start.chord)) / start.reach
    share = NUDGE * (1.0 - smoothstep(off, 0.0, ON_LINE))
    share = np.where(is_straight(start), share, 0.0)
    if len(chain.kinds) == 1 or not share.any():
        return standing
    turn, slide = standing[:-1, :4], standing[:-1, 4]
    free = positions.positioned(start, task, Solver.NEWTON)
    turned = chain_turned(chain, chain.posed(standing), turn, free.rotation_wxyz)
    bent = laid(chain, turned, slide, free.points)[:-1, :4]
    return chain.state(chain.clamped(turns.part_way(turn, bent, share)), slide)


def _aims(
    start: Start, chain: Jointed, start_turn: Array, task: Task, tip: Array | None
) -> Aims | None:
    has_side = task.pole is not None and len(chain.kinds) > 1
    if tip is None and not has_side:
        return None
    plan = bend.wanted_bend(start.chord, start.side, start.reach, task.target, task.pole)
    side = plan.side if has_side else None
    if side is not None and task.use_flip is not None:
        side = np.where(task.use_flip, -side, side)
    posed = chain.posed(chain.state(start_turn, np.zeros_like(chain.slide_low)))
    tip_start = np.einsum("ijb,jkb->ikb", posed.frames[-1], posed.own[-1])
    return Aims(tip, tip_start, side, plan.chord, start.reach)


def _shared(aims: Aims, chain: Jointed, state: Array, share: float) -> Aims:
    """Return aims whose tips turn a share of the way from where they stand without."""
    if aims.tip is None or share == 1.0:
        return aims
    free = replace(chain, aims=aims).state(state[:-1, :4], state[:-1, 4])
    past = free[-1, 4:7] / aims.weight
    return replace(aims, tip=turns.multiply(turns.by_vectors((1.0 - share) * past), aims.tip))


def _tip_gap(chain: Jointed, aims: Aims | None, state: Array) -> Array:
    if aims is None or aims.tip is None:
        return np.zeros(state.shape[-1])
    output = replace(chain, aims=aims).output(chain.posed(state))
    gap: Array = norm(output[4:7]) / aims.weight
    return gap


def _holds(chain: Jointed, task: Task, state: Array) -> Flags:
    """Return the edges that a pull toward the target presses against; none where it is met."""
    error = task.target - state[-1, :3]
    is_open = norm(error) > np.maximum(task.tolerance, NEAR * chain.reach)
    if not is_open.any():
        return np.zeros((len(chain.kinds), 3, state.shape[-1]), dtype=np.bool_)
    chain = replace(chain, aims=None)
    turn = state[:-1, :4]
    pull = np.einsum("nkcb,kb->ncb", chain.answers(chain.posed(state)), error)
    edges = chain.edges(turn)
    turned = np.einsum("ncdb,ndb->ncb", chain.mobilities(turn, edges), pull)
    press = np.einsum("neib,nib->neb", edges.normals, turned)
    # An axis with no room is a lock, not a limit that holds back.
    holds: Flags = edges.is_on & (press > 0.0) & ~edges.is_held & is_open
    return holds


def part_of(held: Held, chain: Jointed, start_turn: Array, share: float) -> Held:
    """Return poses in which every joint turns and slides a share of its way, within its range."""
    shares = np.full(start_turn.shape[-1], share)
    turn = chain.clamped(turns.part_way(start_turn, held.state[:-1, :4], shares))
    slide = np.clip(share * held.state[:-1, 4], chain.slide_low, chain.slide_high)
    return replace(held, state=chain.state(turn, slide))
