"""Solve limbs of bodies by themselves, and not again while what they follow stays the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

import numpy as np

from ...core.algebra.arithmetic import Flags, Indices
from ..frames.chain_poses import ChainPoses
from ..frames.places import Places
from ..posing.frame_solve import FrameSolve
from ..posing.free_solving import SolvedPoses
from ..posing.solved import Asked
from ..reading.rows import joined
from ..trees.body_limbs import BodyLimb

# Limbs are solved where bodies hang, and again where these have gone along.
MOST_KEPT = 2


class LimbSolve:
    """Limbs alike of B bodies alike, compiled: one of each, or several such as left and right."""

    def __init__(self, alike: Sequence[Sequence[BodyLimb]], poled: Sequence[int]) -> None:
        """Compile the limbs.

        Args:
            alike: One limb of all bodies, then the next one of all of them.
            poled: Numbers of the chains of a body that have poles.
        """
        self._limbs = [each[0] for each in alike]
        self._solve = FrameSolve([limb.driven for each in alike for limb in each])
        self._poled = [[poled.index(i) for i in limb.chains if i in poled] for limb in self._limbs]
        self._kept: dict[bytes, SolvedPoses] = {}

    def posed(
        self, asked: Asked, places: Places, pose: ChainPoses, is_chosen: Flags
    ) -> Iterator[tuple[BodyLimb, Indices, SolvedPoses]]:
        """Yield limbs, of which bodies they are solved, and how they reach where these stand.

        Places are measured from the heads of the limbs: where bodies have only moved, these start
        from the same poses as before.

        Args:
            asked: What is asked of the bodies.
            places: Where all bodies hang.
            pose: Of the bodies that are asked, but for the limbs.
            is_chosen: Whose limbs are solved, by chains, shape (b, E).
        """
        rows = [is_chosen[:, limb.chains].any(axis=1).nonzero()[0] for limb in self._limbs]
        if not any(own.size for own in rows):
            return
        each = [self._asked(number, asked, rows[number]) for number in range(len(rows))]
        hung = [
            _hang(limb, places, asked.rows[some], pose.take(some))
            for limb, some in zip(self._limbs, rows, strict=True)
        ]
        own, gone = _side_by_side(each), joined(hung)
        key = self._bytes_of(own, gone)
        found = self._kept.pop(key, None) or self._solve.posed(own, gone)
        while len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        # The last one is the one that was asked for last.
        self._kept[key], last = found, 0
        for limb, some in zip(self._limbs, rows, strict=True):
            first, last = last, last + some.size
            if some.size:
                yield limb, some, found.take(np.arange(first, last))

    def _asked(self, number: int, asked: Asked, rows: Indices) -> Asked:
        """Return what is asked of a limb of some of the bodies that are asked."""
        limb, poled = self._limbs[number], self._poled[number]
        poles = asked.poles[rows[:, None], poled] if asked.poles is not None and poled else None
        bodies = len(self._solve.settings) // len(self._limbs)
        return Asked(
            number * bodies + asked.rows[rows],
            asked.targets[rows[:, None], limb.chains],
            poles,
            asked.present[rows[:, None], limb.rows],
            asked.is_followed[[*limb.chains]],
        )

    def _bytes_of(self, asked: Asked, hung: Places) -> bytes:
        """Return all that a solve depends on, to compare."""
        arrays = [asked.rows, asked.targets, asked.is_followed]
        arrays += [] if asked.poles is None else [asked.poles]
        arrays += [asked.present] if self._solve.settings.is_current else []
        arrays += [getattr(hung, field.name)[asked.rows] for field in fields(hung)]
        return b"".join([array.tobytes() for array in arrays])


def _side_by_side(each: Sequence[Asked]) -> Asked:
    """Return what is asked of limbs alike, one after the other."""
    poles = [own.poles for own in each if own.poles is not None]
    return Asked(
        np.concatenate([own.rows for own in each]),
        np.concatenate([own.targets for own in each]),
        np.concatenate(poles) if poles else None,
        np.concatenate([own.present for own in each]),
        next(own.is_followed for own in each if own.rows.size),
    )


def _hang(limb: BodyLimb, places: Places, bodies: Indices, pose: ChainPoses) -> Places:
    """Return places of bodies of which some (b,), posed, carry the limb."""
    above, head = places.above[bodies], pose.joints[:, limb.rows[0]]
    if limb.above >= 0:
        above = np.zeros((len(bodies), 4, 4))
        above[:, 3, 3] = 1.0
        above[:, :3, :3] = pose.matrices[:, limb.above]
        above[:, :3, 3] = pose.joints[:, limb.above]
    return places.hung(bodies, above, head, limb.chains)
