"""The armature objects of a batch: their places and poses as arrays, and changes to write."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from ...core.algebra.arithmetic import Array, Flags
from ..frames.bases import Bases, PlacedRig
from ..posing.solved import Place
from ..reading.batch_record import joined, take_rows
from ..reading.channels import Channels
from ..trees.driven import Driven
from .changes import ChannelChange, ChannelKind
from .rig_state import RigState

# Greatest difference between channels as written and as read back in float32: values that differ by
# more come from somebody else.
READ_NOISE = 1e-6
NO_CHANNELS: Mapping[ChannelKind, Array] = MappingProxyType({})


Members = list[tuple[RigState, list[tuple[int, Driven]]]]
"""By armature object: similar chains or trees of k bones, with rows of the object's chains: the
row of the chain with the same root, in whose base the tree is solved."""


class BatchRigs(Generic[Place]):
    """The armature objects of B similar chains or trees of k bones.

    Attributes:
        present: Present rotation channels of the bones, read or written last, shape (B, k, 4).
        left: Session uids of armature objects that keep what another window's graph has written.
    """

    def __init__(
        self,
        members: Members,
        read_places: Callable[[], Place],
        find_moved: Callable[[Place, Place], Flags],
    ) -> None:
        """Prepare the armature objects.

        Args:
            members: The objects with their chains or trees.
            read_places: Returns the present places of the chains or trees.
            find_moved: Returns which places differ from former ones, shape (B,).
        """
        self._states = [state for state, _ in members]
        self._read_places: Callable[[], Place] = read_places
        self._find_moved: Callable[[Place, Place], Flags] = find_moved
        self._bones = [np.concatenate([tree.bones for _, tree in trees]) for _, trees in members]
        counts = [len(trees) for _, trees in members]
        ends = np.cumsum(counts)
        self._first = ends - counts
        self._slices = [
            slice(*edges) for edges in zip(self._first.tolist(), ends.tolist(), strict=True)
        ]
        bones = len(self._bones[0]) // counts[0]
        self._bone_rows = [slice(rows.start * bones, rows.stop * bones) for rows in self._slices]
        self._versions: list[int] = []
        self._placed: list[PlacedRig | None] = []
        self._places: Place | None = None
        self.present: Channels = np.empty((int(ends[-1]), bones, 4), dtype=np.float32)
        self.left: set[int] = set()

    @property
    def places(self) -> Place:
        """The places of the chains or trees, as last read."""
        assert self._places is not None
        return self._places

    def read(self, has_changed: Flags) -> bool:
        """Update ``present`` and ``places`` from poses that were read again; return if any was.

        ``has_changed`` tells which chains or trees have changed, (B,); it gets those with changed
        places.
        """
        versions = [state.version for state in self._states]
        if versions == self._versions:
            return False
        self._versions = versions
        self.present = self.gather("channels").reshape(self.present.shape)
        placed, known = [state.placed for state in self._states], self._placed
        if len(known) == len(placed) and all(map(operator.is_, placed, known)):
            # New bases are computed whenever a place changes: with the same ones, none has.
            return True
        self._placed = placed
        former, self._places = self._places, self._read_places()
        has_changed |= True if former is None else self._find_moved(self._places, former)
        return True

    def gather(self, name: str) -> npt.NDArray[Any]:
        """Return the channels of all bones in one array, by their name in ``Pose``."""
        pairs = zip(self._states, self._bones, strict=True)
        return np.concatenate([getattr(state.pose, name)[bones] for state, bones in pairs])

    def changes(
        self,
        goal: Channels,
        has_changed: Flags,
        is_foreign: Callable[[RigState], bool],
        noise: Array | float | None = None,
        others: Mapping[ChannelKind, Array] = NO_CHANNELS,
    ) -> list[ChannelChange]:
        """Return channels that differ from the present ones, by armature object and kind.

        Args:
            goal: Goal rotation channels, shape (B, k, 4).
            has_changed: Which chains or trees have other inputs than before, shape (B,).
            is_foreign: Returns whether another window's graph wrote the present pose of an armature
                object: two graphs that correct each other would never stop.
            noise: Largest difference of equal channels: one number, or one per bone (k, 1).
            others: Goals of other channels, shape (B, k, 3), by kind.
        """
        count = len(goal)
        goals: dict[ChannelKind, Channels] = {"channels": goal.reshape(-1, 4)}
        differs = _differ(self.present, goal, noise)
        for kind, other in others.items():
            values = goals[kind] = other.astype(np.float32).reshape(-1, 3)
            present = self.gather(kind).reshape(count, -1, 3)
            differs |= _differ(present, values.reshape(present.shape), noise)
        differs = np.logical_or.reduceat(differs, self._first)
        changes, written = list[ChannelChange](), []
        self.left.clear()
        for i in differs.nonzero()[0].tolist():
            state = self._states[i]
            if not is_foreign(state) or has_changed[self._slices[i]].any():
                # Rows of the object that do not differ are written with the others.
                bones, rows = self._bones[i], self._bone_rows[i]
                changes += [
                    ChannelChange(state, kind, bones, new[rows]) for kind, new in goals.items()
                ]
                written.append(self._slices[i])
            else:
                self.left.add(state.uid)
        if len(written) == len(self._states):
            self.present[:] = goal
        else:
            for rows in written:
                self.present[rows] = goal[rows]
        return changes


def bases_of(members: Members) -> Bases:
    """Return the bases of chains or trees, as last read."""
    bases = []
    for state, trees in members:
        assert state.placed is not None
        bases.append(take_rows(state.placed.bases, np.array([row for row, _ in trees])))
    return joined(bases)


def _differ(
    present: npt.NDArray[np.floating], goal: npt.NDArray[np.floating], noise: Array | float | None
) -> Flags:
    """Return which chains have channels (B, k, size) that differ by more than noise, or are NaN."""
    differs: Flags = present != goal
    if noise is not None:
        differs &= ~(np.abs(goal - present) <= noise)
    return differs.any(axis=(1, 2))
