"""Bones that somebody has posed and that went back, as their chains pose them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.algebra.arithmetic import Flags
from ..reading.animation import rotation_keys
from ..reading.moment import Moment
from ..trees.driven import Driven
from .rig_state import Keys, PosedByHand, RigState


class GoneBack:
    """What somebody has posed of B chains or trees since these were solved last.

    It is kept with the armature objects, by the bones that are written: so it outlives chains that
    are compiled again, for the keys that they start from.
    """

    def __init__(
        self,
        driven: Sequence[Driven],
        states: Sequence[RigState],
        followed: Callable[[int], bytes],
    ) -> None:
        """Take chains or trees, the armature object of each, and what tells what one follows."""
        self._rows = list(zip(driven, states, strict=True))
        self._states = {state.uid: state for state in states}.values()
        self._followed = followed
        # Which rotations had keys at the last update, by armature object.
        self._keys: dict[int, Keys] = {}
        self._is_new = True

    def note(self, row: int, bones: Flags) -> None:
        """Note bones (k,) that somebody has posed."""
        driven, state = self._rows[row]
        known, keys = self.of(row), self._keys.get(state.uid)
        if known is not None:
            bones, keys = known.bones | bones, keys if known.keys is None else known.keys
        note = PosedByHand(driven.specs, self._followed(row), bones, keys)
        state.posed_by_hand[driven.bones.tobytes()] = note

    def of(self, row: int) -> PosedByHand | None:
        """Return what has gone back of a chain or tree; None for nothing."""
        driven, state = self._rows[row]
        return state.posed_by_hand.get(driven.bones.tobytes())

    def update(self, moment: Moment, is_asked: Flags) -> None:
        """Forget bones whose chains are solved for another reason, and note which keys there are.

        Args:
            moment: When the update happens.
            is_asked: Which chains or trees are solved now, shape (B,).
        """
        is_new, self._is_new = self._is_new, False
        for state in self._states if moment.is_new else ():
            state.posed_by_hand.clear()
        has_any = any([state.posed_by_hand for state in self._states])
        for row in is_asked.nonzero()[0].tolist() if has_any else ():
            driven, state = self._rows[row]
            told = driven.specs, self._followed(row)
            note = state.posed_by_hand.pop(driven.bones.tobytes(), None)
            # What has just been compiled is solved as well, and may be the same.
            if is_new and note is not None and note[:2] == told:
                state.posed_by_hand[driven.bones.tobytes()] = note
        self._keys.clear()
        for state in self._states if moment.is_auto_keying and not moment.is_new else ():
            self._keys[state.uid] = frozenset(rotation_keys(state.object, moment.frame))
