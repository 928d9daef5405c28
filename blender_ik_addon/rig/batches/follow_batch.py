"""Live chains alike that are dragged, of any number of armature objects, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..frames.places import Places
from ..posing.drags import Begun, Dragged, Stand
from ..posing.follow_solve import FollowSolve
from ..reading.moment import Moment
from ..reading.world import WorldMatrices
from .batch import Batch, Members
from .batch_rigs import BatchRigs
from .changes import Change
from .isolating import solve_again
from .rig_state import RigState

# Channels are float32, and Blender gives back what was written: what differs by more was written
# by somebody else.
SAME = 1e-6


class FollowBatch(Batch):
    """B dragged chains alike in one dependency graph.

    They go on from their last poses, from what stands there, or from their starts.
    """

    def __init__(self, members: Members) -> None:
        """Compile chains that have the same key."""
        super().__init__(members, is_even=False)
        self._solve = FollowSolve(self.driven, self._poses)
        self._rigs = BatchRigs(self._parts, self._find_places, _differ)
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
        begun = self._begun(rows, targets, present, stands, inputs, moment)
        for start, (solved, turns, roots, whole, codes, holds) in self._drag(begun):
            assert solved.location is not None
            for i, row in enumerate(start.rows.tolist()):
                told = start.turns[i].tobytes() + start.location[i].tobytes()
                has_changed[row] |= self._starts.get(row) != told
                self._starts[row] = told
                if has_changed[row] or not is_foreign(self._states[row]):
                    wanted[row], location[row, 0] = solved.channels[i], solved.location[i, 0]
                    written = wanted[row].copy(), location[row, 0].astype(np.float32)
                    stand = Stand(
                        turns[i],
                        roots[i],
                        whole[i].astype(np.float32),
                        *written,
                        inputs.get(row, b""),
                        codes[i],
                        holds[i],
                    )
                    self._states[row].remember(self.live_chains[row], moment, stand)
        return self._rigs.changes(wanted, has_changed, is_foreign, SAME, {"location": location})

    def _begun(
        self,
        rows: Indices,
        targets: Array,
        present: Array,
        location: Array,
        inputs: Mapping[int, bytes],
        moment: Moment,
    ) -> Begun:
        """Return what some of the chains go on from.

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
        is_known = np.array([last is not None for last in lasts])
        home = np.zeros(location.shape)
        for i in np.flatnonzero(~is_known | (influence[:, 0] < 1.0)).tolist():
            home[i] = self._home(int(rows[i]), moment)
        if moment.is_new:
            near, turns, location = own.stored[rows], own.zero[rows], home.copy()
        else:
            # What stands there is the share of the whole that influence leaves.
            near, turns = present, own.resumed(rows, present)
            share = np.where(influence > 0.0, influence, np.inf)
            location = home + (location - home) / share
        stands = [last for last in lasts if last is not None]
        if stands:
            turns[is_known] = [stand.turns for stand in stands]
            location[is_known] = [stand.location for stand in stands]
            near[is_known] = [stand.whole for stand in stands]
        begun = Begun.anew(rows, targets, turns, location, near, home, len(own.plan.segments))
        for i, (row, last) in enumerate(zip(rows.tolist(), lasts, strict=True)):
            if last is None:
                continue
            begun.shown[i] = last.channels
            if inputs and inputs[row] == last.inputs:
                begun.codes[i], begun.holds[i] = last.code, last.holds
        return begun

    def _lasts(
        self, rows: Indices, present: Array, location: Array, moment: Moment
    ) -> list[Stand | None]:
        """Return the last poses of the chains that go on from them."""
        found: list[Stand | None] = []
        for row in rows.tolist():
            last = self._states[row].last_of(self.live_chains[row], moment)
            found.append(None if last is None else last.kept)
        known = [i for i, stand in enumerate(found) if stand is not None]
        # Where a frame is new animation has put keyed channels elsewhere, which tells nothing.
        if known and not moment.is_new:
            stands = [stand for stand in found if stand is not None]
            off = present[known] - [stand.channels for stand in stands]
            away = location[known] - [stand.written_location for stand in stands]
            # NaN is near to nothing.
            is_near = np.abs(off).max(axis=(1, 2)) <= SAME
            is_near &= np.abs(away).max(axis=1) <= SAME
            for i in np.array(known)[~is_near].tolist():
                found[i] = None
        return found

    def _home(self, row: int, moment: Moment) -> Array:
        """Return the location of a root without the chain, shape (3,)."""
        state, known = self._states[row], self._homes.get(row)
        key = (state.version, moment.frame)
        if known is None or known[0] != key:
            location = state.without(self.live_chains[row], moment.frame, "location")
            known = self._homes[row] = key, location[0]
        return known[1]

    def _drag(self, begun: Begun) -> list[tuple[Begun, Dragged]]:
        """Drag chains; where one cannot be dragged the others still are."""
        found: list[tuple[Begun, Dragged]] = []

        def drag(rows: Indices) -> None:
            some = begun.take(np.flatnonzero(np.isin(begun.rows, rows)))
            found.append((some, self._solve.dragged(some, self._rigs.places)))

        self._failed = solve_again(begun.rows, drag, self._failed)
        self.errors = self._failed | self.errors
        for some, (solved, *_) in found:
            self._keep(some.rows, solved)
        return found


def _differ(places: Places, former: Places) -> Flags:
    """Tell which chains hang elsewhere than before, shape (B,), but for their own roots."""
    return places.differ(former, owns_root=True)
