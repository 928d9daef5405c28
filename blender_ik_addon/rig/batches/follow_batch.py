"""Live chains alike that are dragged, of any number of armature objects, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..frames.places import Places
from ..posing.drags import Drag, Stand
from ..posing.follow_solve import FollowSolve
from ..posing.solved import Solved
from ..reading.moment import Moment
from ..reading.rows import joined
from ..reading.world import WorldMatrices
from .batch import Batch
from .batch_rigs import BatchRigs, Members
from .changes import Change
from .isolating import solve_again
from .rig_state import RigState

# Channels are float32, and Blender gives back what was written: what differs by more was written
# by somebody else.
SAME = 1e-6
Remembered = tuple[Stand, bytes]
"""How a dragged chain stood, one row, and what it depended on, to compare."""


class FollowBatch(Batch):
    """B dragged chains alike in one dependency graph.

    They go on from their last poses, from what stands there, or from their starts.
    """

    def __init__(self, members: Members) -> None:
        """Compile chains that have the same key."""
        super().__init__(members, is_even=False)
        self._solve = FollowSolve(self.driven)
        differ = partial(Places.differ, owns_root=True)
        self._rigs = BatchRigs(self._members, self._find_places, differ)
        self._starts: dict[int, bytes] = {}
        self._homes: dict[int, tuple[tuple[int, float], Array]] = {}

    def changes(
        self, world: WorldMatrices, moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> list[Change]:
        """Drag the chains whose input has changed; return what is not as it should be.

        Args:
            world: Where targets are.
            moment: When the update happens.
            is_foreign: Whether an armature object stands as another window's graph wrote it.
        """
        self.errors = {}
        has_changed = self._targets.read(world, self.errors)
        has_new_poses = self._rigs.read(has_changed)
        # What could not be dragged is tried again.
        has_changed[list(self._failed)] = True
        # At a new frame all have to know that they have missed none.
        is_asked = has_changed | has_new_poses | moment.is_new
        is_asked[list(self.errors)] = has_changed[list(self.errors)] = False
        rows = np.flatnonzero(is_asked)
        if not rows.size:
            return []
        # What is not asked, or cannot be dragged, stays as it is.
        wanted = self._rigs.present.copy()
        location = self._rigs.gather("location").reshape(*wanted.shape[:2], 3)
        present, stands = wanted[rows].astype(np.float64), location[rows, 0].astype(np.float64)
        targets = self._targets.matrices[rows, :3, 3]
        inputs: dict[int, bytes] = {}
        if self._solve.can_creep:
            pairs = zip(rows.tolist(), targets, strict=True)
            inputs = {row: self._solve.inputs_of(row, self._rigs.places, to) for row, to in pairs}
        drag = self._drag_of(rows, targets, present, stands, inputs, moment)
        for asked, stand in self._drag(drag):
            start = asked.start
            for i, row in enumerate(asked.rows.tolist()):
                told = start.turns[i].tobytes() + start.location[i].tobytes()
                has_changed[row] |= self._starts.get(row) != told
                self._starts[row] = told
                if has_changed[row] or not is_foreign(self.states[row]):
                    wanted[row], location[row, 0] = stand.shown[i], stand.shown_location[i]
                    kept = stand.take(np.array([i])), inputs.get(row, b"")
                    self.states[row].remember(self.live_chains[row], moment, kept)
        return self._rigs.changes(wanted, has_changed, is_foreign, SAME, {"location": location})

    def _drag_of(
        self,
        rows: Indices,
        targets: Array,
        present: Array,
        location: Array,
        inputs: Mapping[int, bytes],
        moment: Moment,
    ) -> Drag:
        """Return what is asked of some of the chains, and what they go on from.

        Args:
            rows: Which chains, shape (b,).
            targets: World positions of their targets, shape (b, 3).
            present: Rotation channels as they stand, shape (b, k, 4).
            location: Location channels of their roots, shape (b, 3).
            inputs: What drags depend on that may creep, by row.
            moment: When.
        """
        own, influence = self._solve.settings, self._solve.settings.shares[rows]
        lasts = self._lasts(rows, present, location, moment)
        known = np.flatnonzero([last is not None for last in lasts])
        home = np.zeros(location.shape)
        is_read = influence[:, 0] < 1.0
        is_read[[i for i, last in enumerate(lasts) if last is None]] = True
        for i in np.flatnonzero(is_read).tolist():
            home[i] = self._home(int(rows[i]), moment)
        if moment.is_new:
            whole, turns, location = own.stored[rows], own.zero[rows], home
        else:
            # What stands there is the share of the whole that influence leaves.
            whole, turns = present, own.resumed(rows, present)
            share = np.where(influence > 0.0, influence, np.inf)
            location = home + (location - home) / share
        codes = np.full(len(rows), -1, dtype=np.int8)
        holds = np.zeros((*present.shape[:2], 3), dtype=np.bool_)
        start = Stand(turns, location, whole, whole, location, codes, holds)
        if known.size:
            stands = [last for last in lasts if last is not None]
            start = start.put(known, joined([stand for stand, _ in stands]))
            # What now depends on something else goes on to where that leads it.
            pairs = zip(rows[known].tolist(), stands, strict=True)
            others = known[[inputs.get(row) != told for row, (_, told) in pairs]]
            start.codes[others], start.holds[others] = -1, False
        return Drag(rows, targets, home, start)

    def _lasts(
        self, rows: Indices, present: Array, location: Array, moment: Moment
    ) -> list[Remembered | None]:
        """Return how the chains stood last that go on from there."""
        found: list[Remembered | None] = []
        for row in rows.tolist():
            last = self.states[row].last_of(self.live_chains[row], moment)
            found.append(None if last is None else last.kept)
        known = [i for i, last in enumerate(found) if last is not None]
        # Where a frame is new animation has put keyed channels elsewhere, which tells nothing.
        if known and not moment.is_new:
            stands = joined([last[0] for last in found if last is not None])
            off, away = present[known] - stands.shown, location[known] - stands.shown_location
            # NaN is near to nothing.
            is_near = np.abs(off).max(axis=(1, 2)) <= SAME
            is_near &= np.abs(away).max(axis=1) <= SAME
            for i in np.array(known)[~is_near].tolist():
                found[i] = None
        return found

    def _home(self, row: int, moment: Moment) -> Array:
        """Return the location of a root without the chain, shape (3,)."""
        state, known = self.states[row], self._homes.get(row)
        key = (state.version, moment.frame)
        if known is None or known[0] != key:
            location = state.without(self.live_chains[row], moment.frame, "location")
            known = self._homes[row] = key, location[0]
        return known[1]

    def _drag(self, drag: Drag) -> list[tuple[Drag, Stand]]:
        """Drag chains; where one cannot be dragged the others still are."""
        found: list[tuple[Drag, tuple[Solved, Stand]]] = []

        def dragged(rows: Indices) -> None:
            some = drag.take(np.flatnonzero(np.isin(drag.rows, rows)))
            found.append((some, self._solve.dragged(some, self._rigs.places)))

        self._failed = solve_again(drag.rows, dragged, self._failed)
        self.errors = self._failed | self.errors
        for some, (solved, _) in found:
            self._keep(some.rows, solved)
        return [(some, stand) for some, (_, stand) in found]
