"""The turn of a hand or foot about its limb, spread along the bones of the segment before it.

Each bone rolls about its own segment, and whatever hangs on it is turned back by as much: so bones
change how they are rolled, and no joint moves. The turn about an axis is that of the swing-twist
decomposition, on the short way: half a turn to either side, and at half a turn the side changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import rotation
from .angles import wind_angle
from .arithmetic import ARRAYS, Array, Flags, Indices

# A roll that limits shorten is found to 2^-24 of it: to less than float32 tells.
HALVINGS = 24
# Rotations that limits change by less are inside of them, in numbers of a quaternion. Segments lie
# off the Y axes of their bones by as much, in float32: with less, hinges about Y would never roll.
INSIDE = 1e-6


class Segment(NamedTuple):
    """A segment of a limb along which a turn is spread, by rows of bones.

    Attributes:
        line: Its bones, each on the one before.
        helpers: Twist bones that hang on these.
        end: The bone after the line.
        keeps_root: Whether the first bone keeps its roll and the turn is counted from there, as
            along a forearm; else from the parent of the first, as along an upper arm.
    """

    line: tuple[int, ...]
    helpers: tuple[int, ...]
    end: int
    keeps_root: bool

    def among(self, rows: Sequence[int]) -> Segment:
        """Return the segment with rows (k,) of other records instead of its own."""
        line, helpers = (tuple(rows[row] for row in own) for own in (self.line, self.helpers))
        return Segment(line, helpers, rows[self.end], self.keeps_root)

    @property
    def rolled(self) -> tuple[int, ...]:
        """The bones that roll. A line of one bone carries the limb: it rolls only by itself."""
        line = self.line[self.keeps_root :] if len(self.line) > 1 else ()
        return (*line, *self.helpers)

    @property
    def changed(self) -> tuple[int, ...]:
        """The bones that change: those that roll, and those that are turned back."""
        if len(self.line) > 1:
            return (*self.line, *self.helpers, self.end)
        return self.helpers


@dataclass(frozen=True)
class TwistSpread:
    """How turns are spread along the k bones of B chains or trees alike.

    Attributes:
        segments: Where; a bone rolls in one of them at most.
        parents: Rows of the bones' parents, -1 for none.
        axes: What bones roll about, unit vectors in their own spaces, shape (B, k, 3).
        before: The same of their parents, in the bones' rest frames, shape (B, k, 3).
        shares: What share of the turn the bones take, from 0 to 1, shape (B, k).
        may_roll: Of which segments bones may roll, shape (B, s).
    """

    segments: tuple[Segment, ...]
    parents: tuple[int, ...]
    axes: Array
    before: Array
    shares: Array
    may_roll: Flags

    def take(self, rows: slice | Indices) -> TwistSpread:
        """Return how turns are spread in some of the chains or trees."""
        each = (getattr(self, name)[rows] for name in ("axes", "before", "shares", "may_roll"))
        return TwistSpread(self.segments, self.parents, *each)

    def spread(
        self,
        local: Array,
        zero: Array,
        influence: Array,
        clamped: Callable[[Array], Array] | None = None,
    ) -> Array:
        """Return local rotations with the turns spread; the result depends on no rolls before.

        Args:
            local: Local rotations wxyz, shape (B, k, 4).
            zero: Those that bones have without influence, shape (B, k, 4).
            influence: Of the bones, from 0 to 1, shape (B, k).
            clamped: Brings local rotations inside of limits; rolls go as far as these allow.
        """
        for number, segment in enumerate(self.segments):
            rolls = self._rolls(segment, local, zero, influence)
            rolls = np.where(self.may_roll[:, number, None], rolls, 0.0)
            whole = self._rolled(segment, local, rolls)
            if clamped is not None:
                whole = self._within(segment, local, rolls, whole, clamped)
            local = whole
        return local

    def _rolls(self, segment: Segment, local: Array, zero: Array, influence: Array) -> Array:
        """Return by how much the bones of a segment roll, shape (B, k), radians."""
        here = self._turns(segment, local)
        wanted = self._even(segment, here)
        if (influence < 1.0).any():
            # Less influence leaves more of what bones are off an even spread without it.
            there = self._turns(segment, zero)
            wanted = wanted + (1.0 - influence) * (there - self._even(segment, there))
        rolls, rows = np.zeros(here.shape), list(segment.rolled)
        rolls[:, rows] = (wanted - here)[:, rows]
        return rolls

    def _even(self, segment: Segment, turns: Array) -> Array:
        """Return how far bones are turned about a segment where the turn of its end is spread."""
        even: Array = self.shares * wind_angle(ARRAYS, turns[:, [segment.end]], 0.0)
        return even

    def _turns(self, segment: Segment, local: Array) -> Array:
        """Return how far bones of a segment are turned about it, from its start, shape (B, k)."""
        found = np.zeros(local.shape[:2])
        first = segment.line[0]
        if not segment.keeps_root:
            found[:, first] = twist_about(local[:, first], self.axes[:, first])
        for row in (*segment.line[1:], *segment.helpers, segment.end):
            own = twist_about(local[:, row], self.before[:, row])
            found[:, row] = found[:, self.parents[row]] + own
        return found

    def _rolled(self, segment: Segment, local: Array, rolls: Array) -> Array:
        """Return local rotations with the bones of a segment rolled, and none moved."""
        rows, turned = list(segment.changed), local.copy()
        own = local[:, rows]
        if len(segment.line) > 1:
            parents = [self.parents[row] for row in rows]
            back = np.where(np.array(parents) < 0, 0.0, -rolls[:, parents])
            own = rotation.multiply(about(self.before[:, rows], back), own)
        turned[:, rows] = rotation.multiply(own, about(self.axes[:, rows], rolls[:, rows]))
        return turned

    def _within(
        self,
        segment: Segment,
        local: Array,
        rolls: Array,
        whole: Array,
        clamped: Callable[[Array], Array],
    ) -> Array:
        """Return local rotations rolled as far as all changed bones stay inside their limits."""
        rows = list(segment.changed)

        def is_inside(turned: Array) -> Flags:
            off = np.abs(clamped(turned) - turned)[:, rows]
            inside: Flags = (off <= INSIDE).all(axis=(1, 2))
            return inside

        fits = is_inside(whole)
        if fits.all():
            return whole
        least, most = np.zeros(len(local)), np.ones(len(local))
        for _ in range(HALVINGS):
            middle = 0.5 * (least + most)
            inside = is_inside(self._rolled(segment, local, rolls * middle[:, None]))
            least, most = np.where(inside, middle, least), np.where(inside, most, middle)
        share = np.where(fits, 1.0, least)
        return self._rolled(segment, local, rolls * share[:, None])


def twist_about(quaternion: Array, axis: Array) -> Array:
    """Return the turns of rotations wxyz (..., 4) about unit axes (..., 3), from -pi to pi.

    Without a swing between the axis and where it goes that is the whole turn. Where the axis is
    swung by half a turn there is no telling, and the turn is zero.
    """
    along = (quaternion[..., 1:] * axis).sum(axis=-1)
    cosine = quaternion[..., 0]
    twist: Array = 2.0 * np.arctan2(np.where(cosine < 0.0, -along, along), np.abs(cosine))
    return twist


def about(axis: Array, angle: Array) -> Array:
    """Return the rotations wxyz (..., 4) about unit axes (..., 3) by angles (...)."""
    half = 0.5 * angle[..., None]
    return np.concatenate((np.cos(half), axis * np.sin(half)), axis=-1)
