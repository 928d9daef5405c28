"""Poses of the user that chains have reverted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.algebra.arithmetic import Flags
from ..reading.animation import rotation_keys
from ..reading.moment import Moment
from ..trees.driven import Driven
from .rig_state import KeyedChannels, PosedByHand, RigState


class RevertedPoses:
    """Bones of B chains or trees that the user has posed since their last solve.

    They are stored in the states of armature objects, by the written bones: so they outlive chains
    that are compiled again because keys have changed.
    """

    def __init__(
        self, driven: Sequence[Driven], states: Sequence[RigState], followed: Callable[[int], bytes]
    ) -> None:
        """Prepare chains or trees, their armature objects, and the function that reads anchors."""
        self._rows = list(zip(driven, states, strict=True))
        self._states = {state.uid: state for state in states}.values()
        self._followed = followed
        # Rotation channels with keys at the last update, by armature object.
        self._keys: dict[int, KeyedChannels] = {}
        self._is_new = True

    def note(self, row: int, bones: Flags) -> None:
        """Note bones (k,) of a chain or tree that the user has posed."""
        driven, state = self._rows[row]
        known, keys = self.of(row), self._keys.get(state.uid)
        if known is not None:
            bones, keys = known.bones | bones, keys if known.keys is None else known.keys
        note = PosedByHand(driven.specs, self._followed(row), bones, keys)
        state.posed_by_hand[driven.bones.tobytes()] = note

    def of(self, row: int) -> PosedByHand | None:
        """Return the reverted bones of a chain or tree; None without any."""
        driven, state = self._rows[row]
        return state.posed_by_hand.get(driven.bones.tobytes())

    def update(self, moment: Moment, is_due: Flags) -> None:
        """Forget the bones of chains that are solved now, and note the present keys.

        ``is_due``, shape (B,), are the chains or trees that are solved now.
        """
        is_new, self._is_new = self._is_new, False
        for state in self._states if moment.is_new else ():
            state.posed_by_hand.clear()
        has_any = any([state.posed_by_hand for state in self._states])
        for row in is_due.nonzero()[0].tolist() if has_any else ():
            driven, state = self._rows[row]
            inputs = driven.specs, self._followed(row)
            note = state.posed_by_hand.pop(driven.bones.tobytes(), None)
            # A new batch also solves chains whose inputs have not changed: their bones stay noted.
            if is_new and note is not None and note[:2] == inputs:
                state.posed_by_hand[driven.bones.tobytes()] = note
        self._keys.clear()
        for state in self._states if moment.is_auto_keying and not moment.is_new else ():
            self._keys[state.uid] = frozenset(rotation_keys(state.object, moment.animation_frame))
