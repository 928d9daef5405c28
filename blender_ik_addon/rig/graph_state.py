"""What is known of one dependency graph: its rigs, and their chains in the order of solving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from .limb import Limb
from .limb_batch import LimbBatch
from .lone_limb import LoneLimb
from .order import Job, levels
from .rig_state import RigState
from .rigid_solve import likeness
from .update import Update
from .world import Order, WorldMatrices

Members = list[tuple[RigState, list[int]]]


# From so many changes on it is quicker to compare matrices than to ask what each of them is.
MANY = 30


@dataclass
class Level:
    """Chains that hang on nothing that their own or a later level moves.

    Attributes:
        batches: Those that are solved side by side.
        lone: Those that are solved by themselves.
        states: The armature objects of all of them.
    """

    batches: list[LimbBatch] = field(default_factory=list)
    lone: list[LoneLimb] = field(default_factory=list)
    states: list[RigState] = field(default_factory=list)


@dataclass
class GraphState:
    """One dependency graph.

    Attributes:
        rigs: By session uid of the armature object.
        levels: In the order of solving.
        followed: Session uids of targets, poles and armature objects: what else moves can change
            no chain.
        has_constraints: Whether what moves a chain may change by muting one.
        order: Of the graph's objects in bulk reads.
    """

    rigs: dict[int, RigState] = field(default_factory=dict)
    levels: list[Level] = field(default_factory=list)
    followed: frozenset[int] = frozenset()
    has_constraints: bool = False
    order: Order | None = None
    _assembled: list[tuple[Limb, bool]] = field(default_factory=list)
    _jobs: list[Job] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)

    def touched(self, update: Update, world: WorldMatrices) -> frozenset[int]:
        """Return the session uids of rigs that may have changed, of others perhaps as well.

        Blender lists what has changed. Where much has, all of it by moving only, the matrices of
        the rigs tell which of them are among it, and quicker.
        """
        if update.is_new_frame or update.count <= MANY or self.has_constraints:
            return update.listed
        if not update.has_only_moved:
            return update.listed
        rows = np.array([world.order.row_of.get(uid, -1) for uid in self.rigs], dtype=np.int64)
        if (rows < 0).any():
            return update.listed
        worlds = world.matrices(rows)
        known = [state.pose.world for state in self.rigs.values() if state.pose is not None]
        moved = (worlds != np.array(known)).any(axis=(1, 2)) if known else np.zeros(0, dtype=bool)
        return frozenset([uid for uid, has_moved in zip(self.rigs, moved.tolist()) if has_moved])

    def is_idle(self, update: Update) -> bool:
        """Tell whether nothing that any chain follows has changed."""
        if update.is_new_frame or update.count > MANY:
            return False
        return self.followed.isdisjoint(update.listed)

    def assemble(self) -> None:
        """Sort the chains into levels and batches; what is as it was keeps what it knows."""
        placed = list(self._placed())
        fits = [(state.limbs[row], is_even) for state, row, is_even in placed]
        if _is_same(fits, self._assembled) and self.levels:
            return
        self._assembled = fits
        jobs = [limb.job for limb, _ in fits]
        if len(jobs) != len(self._jobs) or any(
            one is not other for one, other in zip(jobs, self._jobs, strict=True)
        ):
            self._jobs, self._numbers = jobs, levels(jobs)
            self.followed = frozenset(self.rigs) | _followed(jobs)
            self.has_constraints = any(job.moved_by.has_constraints for job in jobs)
        known_batches = [batch for level in self.levels for batch in level.batches]
        known_lone = {id(each.limb): each for level in self.levels for each in level.lone}
        self.levels = [Level() for _ in range(1 + max(self._numbers, default=-1))]
        groups: dict[tuple[object, ...], Members] = {}
        for (state, row, is_even), number in zip(placed, self._numbers, strict=True):
            limb, level = state.limbs[row], self.levels[number]
            if not level.states or level.states[-1] is not state:
                level.states.append(state)
            if limb.rigid is None or not is_even:
                lone = known_lone.get(id(limb))
                level.lone.append(lone or LoneLimb(state, limb))
                continue
            members = groups.setdefault((number, *likeness(limb)), [])
            if members and members[-1][0] is state:
                members[-1][1].append(row)
            else:
                members.append((state, [row]))
        for (number, *_), members in groups.items():
            found = next((batch for batch in known_batches if batch.is_of(members)), None)
            assert isinstance(number, int)
            self.levels[number].batches.append(found or LimbBatch(members))

    def _placed(self) -> Iterator[tuple[RigState, int, bool]]:
        for state in self.rigs.values():
            if state.bases is not None:
                for row, is_even in enumerate(state.bases.is_even.tolist()):
                    yield state, row, is_even


def _is_same(one: list[tuple[Limb, bool]], other: list[tuple[Limb, bool]]) -> bool:
    return len(one) == len(other) and all(
        a is b and fits == fitted for (a, fits), (b, fitted) in zip(one, other, strict=True)
    )


def _followed(jobs: Iterable[Job]) -> frozenset[int]:
    return frozenset(
        anchor.object.session_uid
        for job in jobs
        for anchor in (job.spec.target, job.spec.pole)
        if anchor is not None
    )
