"""Bones that somebody has posed and that went back, as their chains pose them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...core.algebra.arithmetic import Flags
from ..reading.animation import rotation_keys
from ..reading.moment import Moment
from ..trees.driven import Driven
from .rig_state import Keys, PosedByHand, RigState


class GoneBack:
    """Which bones of B chains or trees somebody has posed since these were solved last.

    Attributes:
        bones: Shape (B, k).
    """

    def __init__(self, driven: Sequence[Driven], states: Sequence[RigState]) -> None:
        """Take chains or trees of k bones, and the armature object of each."""
        self._driven, self._states = driven, states
        self.bones: Flags = np.zeros((len(driven), len(driven[0].bones)), dtype=np.bool_)
        self._keys: dict[int, Keys] = {}
        self._is_new = True

    def keys_before(self, row: int) -> Keys | None:
        """Return which rotations had keys at this frame before somebody posed; None if unknown."""
        return self._keys.get(row)

    def update(self, moment: Moment, is_asked: Flags, followed: Callable[[int], bytes]) -> None:
        """Forget bones whose chains are solved for another reason, and note keys of the others.

        Args:
            moment: When the update happens.
            is_asked: Which chains or trees are solved now, shape (B,).
            followed: Returns what one of them follows, to compare.
        """
        is_new, self._is_new = self._is_new, False
        if moment.is_new:
            self.bones[:] = False
            self._keys.clear()
            for state in self._states:
                state.posed_by_hand.clear()
            return
        if is_new:
            self._take_over(followed)
        else:
            self._forget((is_asked & self.bones.any(axis=1)).nonzero()[0].tolist())
        self._note_keys(moment)
        for row in self.bones.any(axis=1).nonzero()[0].tolist():
            driven = self._driven[row]
            note = PosedByHand(
                driven.specs, followed(row), self.bones[row].copy(), self._keys.get(row)
            )
            self._states[row].posed_by_hand[driven.bones.tobytes()] = note

    def _forget(self, rows: list[int]) -> None:
        self.bones[rows] = False
        for row in rows:
            self._keys.pop(row, None)
            self._states[row].posed_by_hand.pop(self._driven[row].bones.tobytes(), None)

    def _take_over(self, followed: Callable[[int], bytes]) -> None:
        """Take over what is known of chains that are the same but for the keys they start from."""
        for row, (driven, state) in enumerate(zip(self._driven, self._states, strict=True)):
            note = state.posed_by_hand.pop(driven.bones.tobytes(), None)
            if note is not None and note[:2] == (driven.specs, followed(row)):
                self.bones[row] = note.bones
                if note.keys is not None:
                    self._keys[row] = note.keys

    def _note_keys(self, moment: Moment) -> None:
        """Note which rotations have keys, as long as nobody has posed bones since."""
        if not moment.is_auto_keying:
            self._keys.clear()
            return
        for row, is_posed in enumerate(self.bones.any(axis=1).tolist()):
            if not (is_posed and row in self._keys):
                self._keys[row] = frozenset(rotation_keys(self._states[row].object, moment.frame))
