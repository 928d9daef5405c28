"""Live chains alike that are dragged, of any number of armature objects, as arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..core import Status
from .changes import Change, OtherChannels
from .followed import Followed
from .following import TOO_FAR, FreePose, Stand
from .members import Members, are_compiled, limbs_of, poses_of, uids_of
from .moment import Moment
from .onward import Begun, Onward, is_near
from .outcome import Outcome
from .rig_state import RigState
from .rigid_follow import Dragged, RigidFollow, RootFrames, root_frames
from .world import WorldMatrices

Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class FollowBatch:
    """B dragged chains alike in one dependency graph.

    Attributes:
        limbs: The chains.
        uids: Session uids of their armature objects.
        errors: What is wrong with a chain, by row.
    """

    def __init__(self, members: Members) -> None:
        """Compile chains: armature objects, and the rows of their limbs."""
        self.limbs, self.uids = limbs_of(members), uids_of(members)
        self.errors: dict[int, str] = {}
        self._members = members
        self._states = [state for state, rows in members for _ in rows]
        pairs = zip(self._states, self.limbs, strict=True)
        self._onward = [Onward(state, limb) for state, limb in pairs]
        self._solve = RigidFollow(self.limbs, poses_of(members))
        specs = [limb.job.spec for limb in self.limbs]
        self._targets = Followed([spec.target for spec in specs if spec.target], "target")
        self._versions = np.full(len(self.limbs), -1)
        self._frames: RootFrames | None = None
        self._starts: dict[int, bytes] = {}
        self._outcomes: dict[int, Outcome] = {}

    def is_of(self, members: Members) -> bool:
        """Tell whether this batch is compiled of just these chains, in these rows of their rigs."""
        return are_compiled(members, self._members, self.limbs)

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
        is_read_anew = self._read_frames(has_changed)
        # At a new frame all have to know that they have missed none.
        is_asked = has_changed | is_read_anew | moment.is_new
        is_asked[list(self.errors)] = False
        begun = self._begun(np.flatnonzero(is_asked), moment)
        if not begun or self._frames is None:
            return []
        rows = np.array(list(begun))
        targets = self._targets.matrices[rows, :3, 3]
        starts = [start for _, start in begun.values()]
        found = self._solve.dragged(rows, self._frames.rows(rows), starts, targets)
        changes = []
        for i, (row, (present, start)) in enumerate(begun.items()):
            told = start.rotations.tobytes() + start.location.tobytes()
            is_same = not has_changed[row] and self._starts.get(row) == told
            self._starts[row] = told
            if found.is_too_far[i]:
                self.errors[row] = TOO_FAR
            elif not (is_same and is_foreign(self._states[row])):
                change = self._change(row, present, found, i, moment)
                changes += [] if change is None else [change]
        return changes

    def outcome(self, row: int) -> Outcome | str | None:
        """Return what the last solve of a chain did, or what is wrong with it."""
        return self.errors.get(row) or self._outcomes.get(row)

    def _read_frames(self, has_changed: Flags) -> Flags:
        """Read the spaces of chains anew; mark those whose have changed, tell which were read."""
        versions = np.array([state.version for state in self._states])
        is_read_anew: Flags = versions != self._versions
        if is_read_anew.any():
            self._versions, former = versions, self._frames
            self._frames = root_frames(self._members)
            has_changed |= True if former is None else self._frames.differ(former)
        return is_read_anew

    def _begun(self, rows: Rows, moment: Moment) -> dict[int, tuple[FreePose, Begun]]:
        """Return what stands there and what chains start from, by row."""
        found = {}
        for row in rows.tolist():
            onward = self._onward[row]
            present = onward.present
            found[row] = present, onward.begun(present, moment)
        return found

    def _change(
        self, row: int, present: FreePose, found: Dragged, i: int, moment: Moment
    ) -> Change | None:
        """Remember where a chain has come to; return what of it is not as it should be."""
        limb, onward = self.limbs[row], self._onward[row]
        written = limb.job.plan.written
        wanted = found.channels[i].astype(np.float32)
        location = found.locations[i].astype(np.float32)
        onward.remember(moment, Stand(found.rotations[i], found.locations[i], wanted, location))
        self._outcomes[row] = Outcome(
            found.channels[i], Status.REACHED, float(found.residuals[i]), 0, has_locks=False
        )
        if is_near(present.channels, wanted) and is_near(present.location, location):
            return None
        others = {"location": OtherChannels(written[:1], location[None])}
        return Change(self._states[row], written, limb.modes, wanted, others)
