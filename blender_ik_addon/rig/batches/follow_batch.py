"""Batches of similar live chains that are dragged, compared and solved as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..frames.places import Places
from ..posing.drag_state import DragState, DragTask
from ..posing.follow_solve import FollowSolve
from ..posing.solved import Solved
from ..reading.batch_record import joined
from ..reading.moment import Moment
from ..reading.world import WorldMatrices
from .batch import Batch
from .batch_rigs import BatchRigs, Members
from .changes import ChannelChange
from .isolated_failures import solve_rows
from .rig_state import RigState

# Greatest difference between channels as written and as read back in float32: values that differ by
# more come from somebody else.
READ_NOISE = 1e-6
Remembered = tuple[DragState, bytes]
"""The last pose of a dragged chain, one row, and the inputs of that drag, to compare."""


class FollowBatch(Batch):
    """B similar dragged chains in one dependency graph.

    They start from their last poses, from the present pose, or from the stored one.
    """

    def __init__(self, members: Members) -> None:
        """Compile chains that have the same key."""
        super().__init__(members, is_even=False)
        self._solve = FollowSolve(self.driven)
        find_moved = partial(Places.find_moved, owns_root=True)
        self._rigs = BatchRigs(self._members, self._find_places, find_moved)
        self._starts: dict[int, bytes] = {}
        self._homes: dict[int, tuple[tuple[int, float], Array]] = {}

    def changes(
        self, world: WorldMatrices, moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> list[ChannelChange]:
        """Drag the chains whose inputs have changed; return channels that differ from the result.

        Args:
            world: World matrices of the targets.
            moment: Time of the update.
            is_foreign: Returns whether another window's graph wrote an armature object's pose.
        """
        self.errors = {}
        has_changed = self._targets.read(world, self.errors)
        has_new_poses = self._rigs.read(has_changed)
        # Retry chains that could not be dragged.
        has_changed[list(self._failed)] = True
        # Every chain is dragged at every new frame, so that its history has no gaps.
        is_due = has_changed | has_new_poses | moment.is_new
        is_due[list(self.errors)] = has_changed[list(self.errors)] = False
        rows = np.flatnonzero(is_due)
        if not rows.size:
            return []
        # Chains that are not due, or cannot be dragged, keep their channels.
        goal = self._rigs.present.copy()
        location = self._rigs.gather("location").reshape(*goal.shape[:2], 3)
        present, root_location = goal[rows].astype(np.float64), location[rows, 0].astype(np.float64)
        targets = self._targets.matrices[rows, :3, 3]
        inputs: dict[int, bytes] = {}
        if self._solve.can_creep:
            pairs = zip(rows.tolist(), targets, strict=True)
            inputs = {row: self._solve.inputs_of(row, self._rigs.places, to) for row, to in pairs}
        drag = self._drag_of(rows, targets, present, root_location, inputs, moment)
        for part, pose in self._drag(drag):
            start = part.start
            for i, row in enumerate(part.rows.tolist()):
                start_inputs = start.turns[i].tobytes() + start.location[i].tobytes()
                has_changed[row] |= self._starts.get(row) != start_inputs
                self._starts[row] = start_inputs
                if has_changed[row] or not is_foreign(self.states[row]):
                    goal[row], location[row, 0] = pose.shown[i], pose.shown_location[i]
                    memory = pose.take(np.array([i])), inputs.get(row, b"")
                    self.states[row].remember(self.live_chains[row], moment, memory)
        return self._rigs.changes(goal, has_changed, is_foreign, READ_NOISE, {"location": location})

    def _drag_of(
        self,
        rows: Indices,
        targets: Array,
        present: Array,
        location: Array,
        inputs: Mapping[int, bytes],
        moment: Moment,
    ) -> DragTask:
        """Return the goals of some of the chains, and the poses that they start from.

        Args:
            rows: Rows of the chains, shape (b,).
            targets: World positions of their targets, shape (b, 3).
            present: Present rotation channels, shape (b, k, 4).
            location: Location channels of their roots, shape (b, 3).
            inputs: Inputs of drags that may creep, as bytes, by row.
            moment: Time of the update.
        """
        settings, influence = self._solve.settings, self._solve.settings.shares[rows]
        last_poses = self._last_poses(rows, present, location, moment)
        known = np.flatnonzero([last is not None for last in last_poses])
        home = np.zeros(location.shape)
        needs_home = influence[:, 0] < 1.0
        needs_home[[i for i, last in enumerate(last_poses) if last is None]] = True
        for i in np.flatnonzero(needs_home).tolist():
            home[i] = self._home(int(rows[i]), moment)
        if moment.is_new:
            whole, turns, location = settings.stored[rows], settings.zero[rows], home
        else:
            # The present pose is only the share of the full solution that influence shows.
            whole, turns = present, settings.recover_solution(rows, present)
            share = np.where(influence > 0.0, influence, np.inf)
            location = home + (location - home) / share
        codes = np.full(len(rows), -1, dtype=np.int8)
        holds = np.zeros((*present.shape[:2], 3), dtype=np.bool_)
        start = DragState(turns, location, whole, whole, location, codes, holds)
        if known.size:
            poses = [last for last in last_poses if last is not None]
            start = start.put(known, joined([pose for pose, _ in poses]))
            # Chains with new inputs are dragged again: -1 marks them as not ended.
            pairs = zip(rows[known].tolist(), poses, strict=True)
            others = known[[inputs.get(row) != last_inputs for row, (_, last_inputs) in pairs]]
            start.codes[others], start.holds[others] = -1, False
        return DragTask(rows, targets, home, start)

    def _last_poses(
        self, rows: Indices, present: Array, location: Array, moment: Moment
    ) -> list[Remembered | None]:
        """Return the last poses of chains that start from them; None for other chains."""
        lasts: list[Remembered | None] = []
        for row in rows.tolist():
            last = self.states[row].last_of(self.live_chains[row], moment)
            lasts.append(None if last is None else last.state)
        known = [i for i, last in enumerate(lasts) if last is not None]
        # At a new frame, animation has set keyed channels: a difference is not the user's.
        if known and not moment.is_new:
            poses = joined([last[0] for last in lasts if last is not None])
            off, away = present[known] - poses.shown, location[known] - poses.shown_location
            # NaN is close to no value.
            is_near = np.abs(off).max(axis=(1, 2)) <= READ_NOISE
            is_near &= np.abs(away).max(axis=1) <= READ_NOISE
            for i in np.array(known)[~is_near].tolist():
                lasts[i] = None
        return lasts

    def _home(self, row: int, moment: Moment) -> Array:
        """Return the location channels of a root without the chain, shape (3,)."""
        state, known = self.states[row], self._homes.get(row)
        key = (state.version, moment.frame)
        if known is None or known[0] != key:
            location = state.without(self.live_chains[row], moment.frame, "location")
            known = self._homes[row] = key, location[0]
        return known[1]

    def _drag(self, drag: DragTask) -> list[tuple[DragTask, DragState]]:
        """Drag chains; if one cannot be dragged, still drag the others."""
        results: list[tuple[DragTask, tuple[Solved, DragState]]] = []

        def dragged(rows: Indices) -> None:
            part = drag.take(np.flatnonzero(np.isin(drag.rows, rows)))
            results.append((part, self._solve.dragged(part, self._rigs.places)))

        self._failed = solve_rows(drag.rows, dragged, self._failed)
        self.errors = self._failed | self.errors
        for part, (solved, _) in results:
            self._store(part.rows, solved)
        return [(part, pose) for part, (_, pose) in results]
