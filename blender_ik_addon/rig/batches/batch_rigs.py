"""The armature objects of a batch: their bases and poses as arrays, and what is written to them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ...core.algebra.arithmetic import Array, Flags
from ..frames.bases import Bases
from ..reading.channels import Channels
from ..reading.rows import joined
from ..trees.driven import Driven
from .changes import Change, Kind
from .rig_state import RigState

NOTHING: Mapping[Kind, Array] = MappingProxyType({})


Members = list[tuple[RigState, list[tuple[int, Driven]]]]
"""By armature object: chains or trees alike of k bones, and the row of the chain whose root is
theirs among those of the object, in whose base they are solved."""
Place = TypeVar("Place")


class BatchRigs(Generic[Place]):
    """What B chains or trees alike hang on, k bones each.

    Attributes:
        present: What stands on the bones, or has been written to them, shape (B, k, 4).
        left: Session uids of armature objects left as another window's graph has written them.
    """

    def __init__(
        self,
        members: Members,
        read_places: Callable[[], Place],
        differ: Callable[[Place, Place], Flags],
    ) -> None:
        """Take the armature objects.

        Args:
            members: Each object with the chains or trees.
            read_places: Returns where the chains or trees hang, as last read.
            differ: Tells which of them hang elsewhere than before, shape (B,).
        """
        self._states = [state for state, _ in members]
        self._read_places: Callable[[], Place] = read_places
        self._differ: Callable[[Place, Place], Flags] = differ
        self._bones = [np.concatenate([each.bones for _, each in own]) for _, own in members]
        counts = [len(own) for _, own in members]
        ends = np.cumsum(counts)
        self._first = ends - counts
        self._slices = [
            slice(*edges) for edges in zip(self._first.tolist(), ends.tolist(), strict=True)
        ]
        bones = len(self._bones[0]) // counts[0]
        self._bone_rows = [slice(own.start * bones, own.stop * bones) for own in self._slices]
        self._versions: list[int] = []
        self._known_bases: list[Bases | None] = []
        self._places: Place | None = None
        self.present: Channels = np.empty((int(ends[-1]), bones, 4), dtype=np.float32)
        self.left: set[int] = set()

    @property
    def places(self) -> Place:
        """Where the chains or trees hang, as read last."""
        assert self._places is not None
        return self._places

    def read(self, has_changed: Flags) -> bool:
        """Take over poses that have been read anew; mark what hangs elsewhere than before.

        Args:
            has_changed: Which chains or trees have changed, shape (B,); marked in place.

        Returns:
            Whether any pose has been read anew.
        """
        versions = [state.version for state in self._states]
        if versions == self._versions:
            return False
        self._versions = versions
        self.present = self.gather("channels").reshape(self.present.shape)
        bases, known = [state.bases for state in self._states], self._known_bases
        if len(known) == len(bases) and all(map(operator.is_, bases, known)):
            # Bases are found anew wherever something hangs elsewhere.
            return True
        self._known_bases = bases
        former, self._places = self._places, self._read_places()
        has_changed |= True if former is None else self._differ(self._places, former)
        return True

    def gather(self, name: str) -> npt.NDArray[Any]:
        """Return what channels hold on all bones, one after the other, by their name in poses."""
        pairs = zip(self._states, self._bones, strict=True)
        return np.concatenate([getattr(state.pose, name)[bones] for state, bones in pairs])

    def changes(
        self,
        wanted: Channels,
        has_changed: Flags,
        is_foreign: Callable[[RigState], bool],
        noise: Array | float | None = None,
        others: Mapping[Kind, Array] = NOTHING,
    ) -> list[Change]:
        """Return what differs from what stands there, one change an armature object and kind.

        Args:
            wanted: What shall stand there, shape (B, k, 4).
            has_changed: Which chains or trees have another input than before, shape (B,).
            is_foreign: Whether an armature object stands as another window's graph wrote it:
                answering that would go back and forth for ever.
            noise: Channels that differ by no more are the same; one for all, or of bones (k, 1).
            others: What shall stand in further channels, shape (B, k, 3), by kind.
        """
        count = len(wanted)
        told: dict[Kind, Channels] = {"channels": wanted.reshape(-1, 4)}
        differs = _differ(self.present, wanted, noise)
        for kind, each in others.items():
            values = told[kind] = each.astype(np.float32).reshape(-1, 3)
            present = self.gather(kind).reshape(count, -1, 3)
            differs |= _differ(present, values.reshape(present.shape), noise)
        differs = np.logical_or.reduceat(differs, self._first)
        found, written = list[Change](), []
        self.left.clear()
        for i in differs.nonzero()[0].tolist():
            state = self._states[i]
            if not is_foreign(state) or has_changed[self._slices[i]].any():
                # What of the same object stands right is written with the others.
                bones, own = self._bones[i], self._bone_rows[i]
                found += [Change(state, kind, bones, each[own]) for kind, each in told.items()]
                written.append(self._slices[i])
            else:
                self.left.add(state.uid)
        if len(written) == len(self._states):
            self.present[:] = wanted
        else:
            for own in written:
                self.present[own] = wanted[own]
        return found


def bases_of(members: Members) -> Bases:
    """Return the bases of chains or trees as read last."""
    found = []
    for state, own in members:
        assert state.bases is not None
        found.append(state.bases.rows([row for row, _ in own]))
    return joined(found)


def _differ(
    present: npt.NDArray[np.floating],
    wanted: npt.NDArray[np.floating],
    noise: Array | float | None,
) -> Flags:
    """Tell which chains have channels (B, k, size) that differ by more than noise, or are NaN."""
    differs: Flags = present != wanted
    if noise is not None:
        differs &= ~(np.abs(wanted - present) <= noise)
    return differs.any(axis=(1, 2))
