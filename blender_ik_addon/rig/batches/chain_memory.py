"""What chains remember of earlier moments, if they ease or are dragged, and continue from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..frames.batch_settings import BatchSettings
from ..planning.live_chain import LiveChain
from ..posing.drag_state import DragState
from ..posing.eased_poses import next_step
from ..posing.history import History, add_moment, find_last
from ..posing.solved import SolveInputs
from ..reading.batch_record import joined
from ..reading.moment import Moment
from .batch_rigs import READ_NOISE, BatchRigs
from .rig_state import RigState


class BatchUpdate(NamedTuple):
    """One update of a batch of B chains or trees.

    Attributes:
        moment: Time of the update.
        has_changed: Which of them have other inputs than before, shape (B,).
        is_foreign: Returns whether another window's graph wrote an armature object's pose.
    """

    moment: Moment
    has_changed: Flags
    is_foreign: Callable[[RigState], bool]


class ChainMemory(ABC):
    """The memory of B similar chains in one dependency graph; each has one armature object.

    Attributes:
        is_left: Which chains keep the pose that another window's graph wrote, shape (B,).
    """

    def __init__(self, live_chains: Sequence[LiveChain], states: Sequence[RigState]) -> None:
        """Prepare chains and their armature objects, which store the memories."""
        self._live_chains, self._states = live_chains, states
        self.is_left: Flags = np.zeros(len(live_chains), dtype=np.bool_)

    @abstractmethod
    def find_due(self, moment: Moment, *, has_new_poses: bool) -> Flags | bool:
        """Return which chains are due although no input has changed, (B,) or one for all."""

    @abstractmethod
    def continued(self, inputs: SolveInputs[Any], update: BatchUpdate) -> SolveInputs[Any]:
        """Return the inputs of a solve of some of the chains with what they continue from."""

    def remember(self, rows: Indices, moment: Moment, results: Sequence[object]) -> None:
        """Remember what the solve of some of the chains has given, one result for each."""
        for row, result in zip(rows.tolist(), results, strict=True):
            if not self.is_left[row]:
                chain, past = self._live_chains[row], self._history(row)
                history = add_moment(past, chain.skeleton, moment, result)
                self._states[row].histories[chain.history_key] = history

    def _last(self, row: int, moment: Moment) -> Any:
        """Return the memento that a chain continues from; None if it starts afresh."""
        return find_last(self._history(row), self._live_chains[row].skeleton, moment)

    def _history(self, row: int) -> History[Any]:
        return self._states[row].histories.get(self._live_chains[row].history_key, ())


class EasingMemory(ChainMemory):
    """The memory of chains that ease: a step of time brings them nearer to their targets."""

    def __init__(
        self,
        live_chains: Sequence[LiveChain],
        states: Sequence[RigState],
        inputs_of: Callable[[int], bytes],
    ) -> None:
        """Prepare chains, and the function that returns the other inputs of a chain's solve."""
        super().__init__(live_chains, states)
        self._inputs_of = inputs_of
        # Frames of the last solves.
        self._frames = np.full(len(live_chains), np.nan)

    def find_due(self, moment: Moment, *, has_new_poses: bool) -> Flags | bool:
        """Return for which chains time has passed."""
        is_first_frame = moment.is_new and moment.frame == moment.first
        is_other_frame: Flags = self._frames != moment.frame
        return is_other_frame | is_first_frame

    def continued(self, inputs: SolveInputs[Any], update: BatchUpdate) -> SolveInputs[Any]:
        """Return the inputs of a solve with the next steps of the chains."""
        steps, moment = [], update.moment
        for row in inputs.rows.tolist():
            spec, last = self._live_chains[row].spec, self._last(row, moment)
            steps.append(next_step(last, spec, moment, self._inputs_of(row)))
        return inputs._replace(steps=steps, is_known=~update.has_changed[inputs.rows])

    def remember(self, rows: Indices, moment: Moment, results: Sequence[object]) -> None:
        """Remember the poses after the steps."""
        super().remember(rows, moment, results)
        self._frames[rows] = moment.frame


class DragMemory(ChainMemory):
    """The memory of dragged chains: their last poses.

    Chains start from their last pose, from the present pose, or from the stored one.
    """

    def __init__(
        self,
        live_chains: Sequence[LiveChain],
        states: Sequence[RigState],
        settings: BatchSettings,
        rigs: BatchRigs[Any],
    ) -> None:
        """Prepare chains, their settings, and their armature objects as read in bulk."""
        super().__init__(live_chains, states)
        self._settings, self._rigs = settings, rigs
        self._starts: dict[int, bytes] = {}
        self._homes: dict[int, tuple[tuple[int, float], Array]] = {}

    def find_due(self, moment: Moment, *, has_new_poses: bool) -> Flags | bool:
        """Return whether chains are due: all at every new frame, so that no history has gaps."""
        return has_new_poses or moment.is_new

    def continued(self, inputs: SolveInputs[Any], update: BatchUpdate) -> SolveInputs[Any]:
        """Return the inputs of a solve with the states that the chains start from."""
        location = self._rigs.gather("location").reshape(*self._rigs.present.shape[:2], 3)
        location = location[inputs.rows].astype(np.float64)
        start = self._start(inputs.rows, inputs.present, location[:, 0], update.moment)
        for i, row in enumerate(inputs.rows.tolist()):
            start_inputs = start.turns[i].tobytes() + start.location[i].tobytes()
            update.has_changed[row] |= self._starts.get(row) != start_inputs
            self._starts[row] = start_inputs
            is_same = not update.has_changed[row]
            self.is_left[row] = is_same and update.is_foreign(self._states[row])
        return inputs._replace(location=location, drag=start)

    def _start(self, rows: Indices, present: Array, location: Array, moment: Moment) -> DragState:
        """Return the states that the chains in rows (b,) start from at a moment.

        ``present`` are their rotation channels, (b, k, 4), and ``location`` those of their roots,
        (b, 3).
        """
        settings, influence = self._settings, self._settings.shares[rows]
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
        inputs = np.full(len(rows), b"", dtype=np.object_)
        start = DragState(turns, location, whole, whole, location, codes, holds, home, inputs)
        if known.size:
            start = start.put(known, joined([last for last in last_poses if last is not None]))
        return replace(start, home=home)

    def _last_poses(
        self, rows: Indices, present: Array, location: Array, moment: Moment
    ) -> list[DragState | None]:
        """Return the last poses of chains that start from them; None for other chains."""
        lasts: list[DragState | None] = []
        for row in rows.tolist():
            last = self._last(row, moment)
            lasts.append(None if last is None else last.state)
        known = [i for i, last in enumerate(lasts) if last is not None]
        # At a new frame, animation has set keyed channels: a difference is not the user's.
        if known and not moment.is_new:
            poses = joined([last for last in lasts if last is not None])
            off, away = present[known] - poses.shown, location[known] - poses.shown_location
            # NaN is close to no value.
            is_near = np.abs(off).max(axis=(1, 2)) <= READ_NOISE
            is_near &= np.abs(away).max(axis=1) <= READ_NOISE
            for i in np.array(known)[~is_near].tolist():
                lasts[i] = None
        return lasts

    def _home(self, row: int, moment: Moment) -> Array:
        """Return the location channels of a root without the chain, shape (3,)."""
        state, known = self._states[row], self._homes.get(row)
        key = (state.version, moment.animation_frame)
        if known is None or known[0] != key:
            location = state.without(self._live_chains[row], key[1], "location")
            known = self._homes[row] = key, location[0]
        return known[1]
