"""Jointed chains on their way to their targets: toward the positions, and toward aims besides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .aims import Aims
from .iterate import LIMITED_NEWTON
from .jointed import AIM_TOLERANCE, AIM_WEIGHTS, ENOUGH, ENOUGH_TO_AIM, NEAR, Jointed
from .solvers.newton_directions import FIRST_DAMPING
from .solving.iteration import Method, Work, swept
from .task import Task
from .vectors import Array, Counts, Flags, norm, taken


@dataclass(frozen=True)
class Run:
    """Chains on their way to their targets.

    Attributes:
        chain: The chains.
        task: What is asked for.
        is_fresh: Whose start poses are not at their targets, shape (B,).
    """

    chain: Jointed
    task: Task
    is_fresh: Flags

    def take(self, rows: Counts, iterations: Counts | None = None) -> Run:
        """Return the run of some of the chains, without aims and poles.

        Args:
            rows: Which, some maybe several times, shape (R,).
            iterations: Their caps, shape (R,); None for those that they have.
        """
        task = Task(
            target=taken(self.task.target, rows),
            pole=None,
            use_flip=None,
            tolerance=self.task.tolerance[rows],
            iterations=self.task.iterations[rows] if iterations is None else iterations,
        )
        chain = self.chain.take(rows).aiming(None)
        return Run(chain, task, self.is_fresh[rows])

    @property
    def accepted(self) -> Array:
        """From how near on no other start is tried, shape (B,)."""
        return np.maximum(self.task.tolerance, NEAR * self.chain.reach)

    def is_open(self, state: Array) -> Flags:
        """Return which effectors are not at their targets."""
        is_open: Flags = norm(self.task.target - state[-1, :3]) > self.accepted
        return is_open

    def can_come_nearer(self, state: Array, share: float) -> Flags:
        """Tell which effectors may arrive, or come nearer by a share of the reach, shape (B,).

        No pose brings one nearer than a straight chain does to a target out of reach.
        """
        chain, away = self.chain, norm(self.task.target)
        farthest = (
            chain.reach if chain.slide_room is None else chain.reach + chain.slide_room.sum(0)
        )
        least = np.maximum(away - farthest, 0.0)
        gap = norm(self.task.target - state[-1, :3])
        can: Flags = (least <= self.accepted) | (gap - least > share * chain.reach)
        return can

    def sides_past(self, state: Array, aims: Aims | None) -> Array:
        """Return by how many radians chains are past the sides that they aim at, shape (B,)."""
        if aims is None or aims.side is None:
            return np.zeros(state.shape[-1])
        return np.abs(self.chain.side_angle(self.chain.posed(state), aims))

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
            carried = np.full(state.shape[-1], FIRST_DAMPING)
        return swept(method, work, state, used, carried)

    def closed(
        self,
        state: Array,
        used: Counts,
        *,
        is_near_enough: bool = True,
        among: Flags | None = None,
    ) -> tuple[Array, Counts]:
        """Have NEWTON bring the effectors to the targets, where the caps allow.

        What is nearer than any other start would lead stays, unless that is not near enough. So
        does what is not among the flagged chains, shape (B,).
        """
        caps = np.minimum(self.task.iterations, used + ENOUGH)
        if is_near_enough:
            among = self.is_open(state) if among is None else self.is_open(state) & among
        if among is not None:
            if not among.any():
                return state, used
            caps = np.where(among, caps, used)
        return self.swept(LIMITED_NEWTON, state, used, caps)

    def aimed(self, state: Array, used: Counts, aims: Aims) -> tuple[Array, Counts]:
        """Meet position and aims together as far as can be, then the position alone.

        The position comes first: where aims lead a chain into a corner it goes without them.
        """
        aimed = before = state
        carried = np.full(state.shape[-1], FIRST_DAMPING)
        is_met: Flags = np.zeros(state.shape[-1], dtype=np.bool_)
        for weight, enough in zip(AIM_WEIGHTS, ENOUGH_TO_AIM, strict=True):
            # The first weight leads away from where the best has been found before.
            is_fresh = self.is_fresh | (weight == AIM_WEIGHTS[-1])
            # What has met all with one weight has done so with any.
            is_fresh &= ~is_met
            weighted = replace(aims, weight=weight * self.chain.reach)
            aiming = self.chain.aiming(weighted)
            target = np.zeros((aiming.rows, state.shape[-1]))
            target[:3] = self.task.target
            finest = np.minimum(self.task.tolerance, AIM_TOLERANCE * weighted.weight)
            caps = np.where(is_fresh, np.minimum(self.task.iterations, used + enough), used)
            work = Work(aiming, target, finest, caps)
            begun = aiming.state(aimed[:-1, :4], aimed[:-1, 4])
            aimed, used = swept(LIMITED_NEWTON, work, begun, used, carried)
            is_met = norm(target - aimed[-1, : len(target)]) <= finest
            if is_met.all():
                break
        aimed, used = self.closed(aimed, used)
        is_lost = self.is_open(aimed)
        if not is_lost.any():
            return aimed, used
        plain, used = self.closed(np.where(is_lost, before, aimed), used)
        is_nearer = norm(self.task.target - plain[-1, :3]) < norm(self.task.target - aimed[-1, :3])
        return np.where(is_nearer, plain, aimed), used
