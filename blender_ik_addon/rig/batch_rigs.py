"""The armature objects of a batch: their bases and poses as arrays, and what is written to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .bases import Bases, stacked
from .changes import Change
from .rig_state import RigState

Flags = npt.NDArray[np.bool_]
Channels = npt.NDArray[np.float32]


class Part(NamedTuple):
    """What of one armature object is in a batch: chains, or trees.

    Attributes:
        state: The armature object.
        rows: Of the limbs among those of the object in whose bases they are solved, one a chain or
            tree.
        bones: That each of them writes, shape (k,) each.
    """

    state: RigState
    rows: list[int]
    bones: Sequence[npt.NDArray[np.int64]]


class BatchRigs:
    """What B chains or trees alike hang on, k bones each.

    Attributes:
        present: What stands on the bones, or has been written to them, shape (B, k, 4).
    """

    def __init__(self, parts: Sequence[Part], modes: npt.NDArray[np.int32]) -> None:
        """Take the armature objects, and the rotation modes of the bones (k,)."""
        self._states = [part.state for part in parts]
        self._base_rows = [part.rows for part in parts]
        self._bones = [np.concatenate(part.bones) for part in parts]
        self._modes = [np.tile(modes, len(part.rows)) for part in parts]
        ends = np.cumsum([len(part.rows) for part in parts])
        self._first = ends - [len(part.rows) for part in parts]
        self._slices = [
            slice(*edges) for edges in zip(self._first.tolist(), ends.tolist(), strict=True)
        ]
        bones = len(modes)
        self._bone_rows = [slice(own.start * bones, own.stop * bones) for own in self._slices]
        self._versions: list[int] = []
        self._bases: Bases | None = None
        self.present: Channels = np.empty((int(ends[-1]), bones, 4), dtype=np.float32)

    @property
    def bases(self) -> Bases:
        """The bases as read last, one a chain or tree."""
        assert self._bases is not None
        return self._bases

    def read(self, has_changed: Flags) -> bool:
        """Take over bases and poses that have been read anew; mark those whose bases have changed.

        Args:
            has_changed: Which chains or trees have changed, shape (B,); marked in place.

        Returns:
            Whether any pose has been read anew.
        """
        versions = [state.version for state in self._states]
        if versions == self._versions:
            return False
        self._versions = versions
        bases = stacked(
            [
                _bases_of(state).rows(rows)
                for state, rows in zip(self._states, self._base_rows, strict=True)
            ]
        )
        former, self._bases = self._bases, bases
        rotations = [
            _channels_of(state)[bones]
            for state, bones in zip(self._states, self._bones, strict=True)
        ]
        self.present = np.concatenate(rotations).reshape(self.present.shape)
        if former is None:
            has_changed[:] = True
        else:
            has_changed |= (former.from_world != bases.from_world).any(axis=(1, 2))
            has_changed |= former.tolerance != bases.tolerance
            has_changed |= former.soft_distance != bases.soft_distance
        return True

    def changes(
        self,
        wanted: Channels,
        has_changed: Flags,
        is_foreign: Callable[[RigState], bool],
        noise: float = 0.0,
    ) -> list[Change]:
        """Return what differs from what stands there, one change an armature object.

        Args:
            wanted: What shall stand there, shape (B, k, 4).
            has_changed: Which chains or trees have another input than before, shape (B,).
            is_foreign: Whether an armature object stands as another window's graph wrote it:
                answering that would go back and forth for ever.
            noise: Channels that differ by no more are the same.
        """
        count = len(wanted)
        differs: Flags = wanted != self.present
        if noise:
            # Written so that NaN on the bones counts as different.
            differs &= ~(np.abs(wanted - self.present) <= noise)
        differs = differs.reshape(count, -1).any(axis=1)
        differs = np.logical_or.reduceat(differs, self._first)
        has_changed = np.logical_or.reduceat(has_changed, self._first)
        rows = wanted.reshape(-1, 4)
        found, written = [], []
        for i in np.flatnonzero(differs).tolist():
            state = self._states[i]
            if has_changed[i] or not is_foreign(state):
                # What of the same object stands right is written with the others.
                found.append(
                    Change(state, self._bones[i], self._modes[i], rows[self._bone_rows[i]])
                )
                written.append(self._slices[i])
        if len(written) == len(self._states):
            self.present[:] = wanted
        else:
            for own in written:
                self.present[own] = wanted[own]
        return found


def _bases_of(state: RigState) -> Bases:
    assert state.bases is not None
    return state.bases


def _channels_of(state: RigState) -> Channels:
    assert state.pose is not None
    return state.pose.channels
