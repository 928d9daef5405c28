"""Live chains alike that are dragged, of any number of armature objects, as arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.algebra.arithmetic import Flags, Indices
from ..frames.chain_poses import take_rows
from ..frames.places import Places
from ..posing.drags import Begun, Dragged, Stand
from ..posing.follow_solve import FollowSolve
from ..reading.moment import Moment
from ..reading.world import WorldMatrices
from .batch import Batch, Members
from .batch_rigs import BatchRigs
from .changes import Change
from .drag_state import SAME, DragState
from .isolating import solve_again
from .rig_state import RigState


class FollowBatch(Batch):
    """B dragged chains alike in one dependency graph."""

    def __init__(self, members: Members) -> None:
        """Compile chains that have the same key."""
        super().__init__(members, is_even=False)
        self._solve = FollowSolve(self.driven, self._poses)
        settings = self._solve.settings
        self._drag_state = DragState(self._states, self.live_chains, settings)
        self._rigs = BatchRigs(self._parts, settings.channels.modes, self._find_places, _differ)
        self._starts: dict[int, bytes] = {}

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
        begun = self._drag_state.begun(rows, targets, present, stands, inputs, moment)
        for start, (solved, turns, roots, ending) in self._drag(begun):
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
                        *written,
                        inputs.get(row, b""),
                        ending.codes[i],
                        ending.holds[i],
                    )
                    self._drag_state.remember(row, moment, stand)
        return self._rigs.changes(wanted, has_changed, is_foreign, SAME, {"location": location})

    def _drag(self, begun: Begun) -> list[tuple[Begun, Dragged]]:
        """Drag chains; where one cannot be dragged the others still are."""
        found: list[tuple[Begun, Dragged]] = []

        def drag(rows: Indices) -> None:
            some = take_rows(begun, np.flatnonzero(np.isin(begun.rows, rows)))
            found.append((some, self._solve.dragged(some, self._rigs.places)))

        self._failed = solve_again(begun.rows, drag, self._failed)
        self.errors = self._failed | self.errors
        for some, (solved, *_) in found:
            self._keep(some.rows, solved)
        return found


def _differ(places: Places, former: Places) -> Flags:
    """Tell which chains hang elsewhere than before, shape (B,), but for their own roots."""
    return places.differ(former, owns_root=True)
