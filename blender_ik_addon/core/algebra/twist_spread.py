"""The twist of a hand or foot about its limb, spread along the bones of the segment before it.

Each bone rolls about its segment, and its children are turned back by the same angle. So bones
change their roll, and no joint moves. The twist is that of the swing-twist decomposition, the short
way: up to half a turn to either side, and at half a turn the side changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import rotation
from .angles import wind_angle
from .arithmetic import ARRAYS, Array, Flags, Indices

# Bisections of a roll that limits shorten: 2^-24 of it is less than float32 can tell.
ROLL_BISECTIONS = 24
# Limits that change a component of a quaternion by less do not count. In float32, segments deviate
# this much from their bones' Y axes: with a smaller tolerance, hinges about Y would never roll.
LIMIT_TOLERANCE = 1e-6


class Segment(NamedTuple):
    """A segment of a limb along which a twist is spread, as indices of bones.

    Attributes:
        line: Bones of the segment, each a child of the one before.
        helpers: Twist bones below these.
        end: The bone after the line.
        keeps_root: Whether the first bone keeps its roll and the twist is measured from there, as
            in a forearm; otherwise it is measured from the parent of the first, as in an upper arm.
    """

    line: tuple[int, ...]
    helpers: tuple[int, ...]
    end: int
    keeps_root: bool

    def with_rows(self, rows: Sequence[int]) -> Segment:
        """Return the segment with each index replaced by that row of ``rows``."""
        line, helpers = (tuple(rows[row] for row in bones) for bones in (self.line, self.helpers))
        return Segment(line, helpers, rows[self.end], self.keeps_root)

    @property
    def rolled(self) -> tuple[int, ...]:
        """The bones that roll. A single bone of a line does not: it carries the limb."""
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
    """The spread of twists along the k bones of B similar chains or trees.

    Attributes:
        segments: Segments along which twists are spread; a bone rolls in at most one.
        parents: Indices of the bones' parents, -1 for none.
        axes: Roll axes of the bones, unit vectors in their local spaces, shape (B, k, 3).
        before: Roll axes of the parents, in the rest frames of the bones, shape (B, k, 3).
        shares: Shares of the twist that the bones take, from 0 to 1, shape (B, k).
        may_roll: Whether the bones of each segment may roll, shape (B, s).
    """

    segments: tuple[Segment, ...]
    parents: tuple[int, ...]
    axes: Array
    before: Array
    shares: Array
    may_roll: Flags

    def take(self, rows: slice | Indices) -> TwistSpread:
        """Return the record of some of the chains or trees."""
        arrays = (getattr(self, name)[rows] for name in ("axes", "before", "shares", "may_roll"))
        return TwistSpread(self.segments, self.parents, *arrays)

    def spread(
        self,
        local: Array,
        zero: Array,
        influence: Array,
        clamp: Callable[[Array], Array] | None = None,
    ) -> Array:
        """Return local rotations with spread twists; the result does not depend on earlier rolls.

        Args:
            local: Local rotations wxyz, shape (B, k, 4).
            zero: Local rotations at zero influence, shape (B, k, 4).
            influence: Influences of the bones, from 0 to 1, shape (B, k).
            clamp: Function that brings local rotations inside limits, which bound the rolls; None
                for no limits.
        """
        for index, segment in enumerate(self.segments):
            rolls = self._find_rolls(segment, local, zero, influence)
            rolls = np.where(self.may_roll[:, index, None], rolls, 0.0)
            rolled = self._roll(segment, local, rolls)
            if clamp is not None:
                rolled = self._roll_inside_limits(segment, local, rolls, rolled, clamp)
            local = rolled
        return local

    def _find_rolls(self, segment: Segment, local: Array, zero: Array, influence: Array) -> Array:
        """Return the rolls of the bones of a segment, shape (B, k), radians."""
        twists = self._find_twists(segment, local)
        goal = self._spread_evenly(segment, twists)
        if (influence < 1.0).any():
            # With less influence, bones keep more of their deviation from an even spread.
            at_zero = self._find_twists(segment, zero)
            goal = goal + (1.0 - influence) * (at_zero - self._spread_evenly(segment, at_zero))
        rolls, rows = np.zeros(twists.shape), list(segment.rolled)
        rolls[:, rows] = (goal - twists)[:, rows]
        return rolls

    def _spread_evenly(self, segment: Segment, twists: Array) -> Array:
        """Return the twists of bones that share the twist of a segment's end, shape (B, k)."""
        even: Array = self.shares * wind_angle(ARRAYS, twists[:, [segment.end]], 0.0)
        return even

    def _find_twists(self, segment: Segment, local: Array) -> Array:
        """Return the twists of a segment's bones about it, from its start, (B, k), radians."""
        twists = np.zeros(local.shape[:2])
        first = segment.line[0]
        if not segment.keeps_root:
            twists[:, first] = twist_about(local[:, first], self.axes[:, first])
        for row in (*segment.line[1:], *segment.helpers, segment.end):
            twist = twist_about(local[:, row], self.before[:, row])
            twists[:, row] = twists[:, self.parents[row]] + twist
        return twists

    def _roll(self, segment: Segment, local: Array, rolls: Array) -> Array:
        """Return local rotations with the bones of a segment rolled and no joint moved."""
        rows, rolled = list(segment.changed), local.copy()
        changed = local[:, rows]
        if len(segment.line) > 1:
            parents = [self.parents[row] for row in rows]
            back = np.where(np.array(parents) < 0, 0.0, -rolls[:, parents])
            changed = rotation.multiply(about(self.before[:, rows], back), changed)
        rolled[:, rows] = rotation.multiply(changed, about(self.axes[:, rows], rolls[:, rows]))
        return rolled

    def _roll_inside_limits(
        self,
        segment: Segment,
        local: Array,
        rolls: Array,
        rolled: Array,
        clamp: Callable[[Array], Array],
    ) -> Array:
        """Return local rotations rolled as far as all changed bones stay inside their limits."""
        rows = list(segment.changed)

        def is_inside(rotations: Array) -> Flags:
            error = np.abs(clamp(rotations) - rotations)[:, rows]
            inside: Flags = (error <= LIMIT_TOLERANCE).all(axis=(1, 2))
            return inside

        fits = is_inside(rolled)
        if fits.all():
            return rolled
        low, high = np.zeros(len(local)), np.ones(len(local))
        for _ in range(ROLL_BISECTIONS):
            middle = 0.5 * (low + high)
            inside = is_inside(self._roll(segment, local, rolls * middle[:, None]))
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        share = np.where(fits, 1.0, low)
        return self._roll(segment, local, rolls * share[:, None])


def twist_about(quaternion: Array, axis: Array) -> Array:
    """Return the twists of rotations wxyz (..., 4) about unit axes (..., 3), from -pi to pi.

    If a rotation does not swing the axis, its twist is the whole rotation. If it swings the axis by
    half a turn, the twist is undefined, and the result is zero.
    """
    along = (quaternion[..., 1:] * axis).sum(axis=-1)
    cosine = quaternion[..., 0]
    twist: Array = 2.0 * np.arctan2(np.where(cosine < 0.0, -along, along), np.abs(cosine))
    return twist


def about(axis: Array, angle: Array) -> Array:
    """Return the rotations wxyz (..., 4) about unit axes (..., 3) by angles (...)."""
    half = 0.5 * angle[..., None]
    return np.concatenate((np.cos(half), axis * np.sin(half)), axis=-1)
