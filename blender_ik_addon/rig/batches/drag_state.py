"""Where dragged chains go on from: their last poses, what stands there, or their starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..frames.batch_settings import BatchSettings
from ..planning.live_chain import LiveChain
from ..planning.start_channels import start_vector
from ..posing.drags import Begun, Stand
from ..posing.history import before, remembered
from ..reading.moment import Moment
from .rig_state import RigState

# Channels are float32, and Blender gives back what was written: what differs by more was written
# by somebody else.
SAME = 1e-6


class DragState:
    """B dragged chains alike in one dependency graph.

    Their histories are kept with their armature objects, as chains are compiled anew now and then.
    """

    def __init__(
        self, states: Sequence[RigState], live_chains: Sequence[LiveChain], settings: BatchSettings
    ) -> None:
        """Take chains of armature objects, one a chain."""
        self._states, self._live_chains, self._settings = states, live_chains, settings
        self._keys = [live_chain.job.plan.written.tobytes() for live_chain in live_chains]
        self._homes: dict[int, tuple[tuple[int, float], Array]] = {}

    def begun(
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
        own, influence = self._settings, self._settings.influence[rows]
        lasts = self._lasts(rows, present, location, moment)
        is_known = np.array([last is not None for last in lasts])
        home = np.zeros(location.shape)
        for i in np.flatnonzero(~is_known | (influence[:, 0] < 1.0)).tolist():
            home[i] = self._home(int(rows[i]), moment)
        if moment.is_new:
            near, turns, location = own.channels.stored[rows], own.channels.zero[rows], home.copy()
        else:
            # What stands there is the share of the whole that influence leaves.
            near, turns = present, own.channels.begun(rows, present)
            share = np.where(influence > 0.0, influence, np.inf)
            location = home + (location - home) / share
        stands = [last for last in lasts if last is not None]
        if stands:
            turns[is_known] = [stand.turns for stand in stands]
            location[is_known] = [stand.location for stand in stands]
            near[is_known] = [stand.channels for stand in stands]
        begun = Begun.anew(rows, targets, turns, location, near, home, len(own.plan.segments))
        for i, (row, last) in enumerate(zip(rows.tolist(), lasts, strict=True)):
            if last is not None and inputs and inputs[row] == last.inputs:
                begun.codes[i], begun.holds[i] = last.code, last.holds
        return begun

    def remember(self, row: int, moment: Moment, stand: Stand) -> None:
        """Keep where a chain has come to."""
        known, key = self._states[row].dragged, self._keys[row]
        skeleton = self._live_chains[row].job.skeleton
        known[key] = remembered(known.get(key), skeleton, moment, stand)

    def _lasts(
        self, rows: Indices, present: Array, location: Array, moment: Moment
    ) -> list[Stand | None]:
        """Return the last poses of the chains that go on from them."""
        found: list[Stand | None] = []
        for row in rows.tolist():
            history = self._states[row].dragged.get(self._keys[row])
            last = before(history, self._live_chains[row].job.skeleton, moment)
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
        state, job = self._states[row], self._live_chains[row].job
        key = (state.version, moment.frame)
        known = self._homes.get(row)
        if known is None or known[0] != key:
            assert state.pose is not None
            animated = state.animated_at(moment.frame)[2]
            location = start_vector(job, state.pose, moment.frame, "location", animated)
            known = self._homes[row] = key, location[0]
        return known[1]
