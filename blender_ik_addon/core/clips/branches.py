"""Where poses that were solved frame by frame jump, and the path with the least change there.

Idea: IKLink (arXiv 2402.16154), which picks one of several poses a frame by dynamic programming.
Here these come from both sides of a jump.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Flags, Indices
from .clip import Clip, meet, turned, turns_between

# A joint that turns by more than this, in radians for each length of the chain (or radian) that its
# goals move, jumps. Free limbs turn by 1 to 2; ten times larger leaves pops in.
STEEPEST = 3.0
# A jump turns a joint so many times as far as some frame near by does.
SUDDEN = 2.0
# What is steep for a while is the way that goals ask for, up to so many times the steepest.
TOO_STEEP = 1.2
# A turn by less in a frame is no jump, in radians.
SEEN = 0.005
# A pose from elsewhere has to save more a frame, in squares of radians: more than goals' rounding.
NO_BETTER = 1e-5
# The most frames to either side of a jump over which it is spread.
MOST_SPREAD = 40


class Path(NamedTuple):
    """Poses of a clip, and where they had to be found anew.

    Attributes:
        local: Local rotations wxyz, shape (F, k, 4).
        is_anew: Frames around jumps, shape (F,).
    """

    local: Array
    is_anew: Flags


def largest_turns(offsets: Array) -> Array:
    """Return the turn of the joint that turns farthest from each frame to the next, (F - 1,)."""
    found: Array = np.linalg.norm(turns_between(offsets[:-1], offsets[1:]), axis=2).max(axis=1)
    return found


class Steps(NamedTuple):
    """The steps from each frame of a clip to the next.

    Attributes:
        turns: Of the joint that turns farthest, shape (F - 1,).
        asked: How far goals move for who keeps its offset, shape (F - 1,).
    """

    turns: Array
    asked: Array

    @classmethod
    def of(cls, clip: Clip, keyed: Array, offsets: Array) -> Steps:
        """Return the steps of offsets from keyed rotations."""
        kept = rotation.multiply(keyed[1:], offsets[:-1])
        misses = clip.take(np.arange(1, len(offsets))).measure(kept)[0]
        return cls(largest_turns(offsets), np.linalg.norm(misses, axis=1))

    @property
    def are_jumps(self) -> Flags:
        """Which of them turn joints farther than goals ask for."""
        excess = self.turns / steepest_turns(self.asked)
        found: Flags = (excess > 1.0) & (self.are_sudden | (excess > TOO_STEEP))
        return found

    @property
    def are_sudden(self) -> Flags:
        """Which of them turn joints farther than others nearby."""
        found: Flags = self.turns > SUDDEN * _extreme(self.turns, 2, np.min)
        return found


def steepest_turns(asked: Array, reach: int = 1) -> Array:
    """Return the turns that goals warrant which move so far, or do so some frames away."""
    warranted: Array = np.maximum(STEEPEST * _extreme(asked, reach, np.max), SEEN)
    return warranted


def _extreme(values: Array, reach: int, pick: Callable[..., Array]) -> Array:
    """Return the least or the most of values up to some frames away."""
    padded = np.pad(values, reach, mode="edge")
    return pick([padded[i : i + len(values)] for i in range(2 * reach + 1)], axis=0)


def find_path(clip: Clip, keyed: Array, local: Array, is_fixed: Flags) -> Path:
    """Return the path of the least change around jumps; all other frames keep their poses.

    Around a jump the pose of a frame is its own, or the offset of the last pose before or of the
    first one after, or one between the two, brought to the goals of the frame.

    Args:
        clip: The goals.
        keyed: Rotations that offsets count from.
        local: Rotations as solved frame by frame.
        is_fixed: Frames that keep their poses.
    """
    offsets = rotation.multiply(rotation.conjugate(keyed), local)
    steps = Steps.of(clip, keyed, offsets)
    windows, is_anew = _windows(steps, is_fixed), np.zeros_like(is_fixed)
    ahead, back, share = offsets.copy(), offsets.copy(), np.zeros(len(local))
    for first, last in windows.tolist():
        way, inside = np.linspace(0.0, 1.0, last - first + 1), slice(first + 1, last)
        share[first : last + 1] = way * way * (3.0 - 2.0 * way)
        is_anew[inside], ahead[inside], back[inside] = True, offsets[first], offsets[last]
    # Poses at the ends of the clip have no other to come from, and are free to be smoothed.
    is_anew[[0, -1]] = is_anew[[1, -2]] & ~is_fixed[[0, -1]]
    rows, candidates = np.flatnonzero(is_anew), [offsets]
    if not rows.size:
        return Path(local, is_anew)
    ways = turns_between(ahead[rows], back[rows])
    for shares in (np.zeros(len(rows)), np.ones(len(rows)), share[rows]):
        between = turned(ahead[rows], shares[:, None, None] * ways)
        posed, is_met = meet(clip.take(rows), rotation.multiply(keyed[rows], between))
        found = offsets.copy()
        found[rows] = rotation.multiply(rotation.conjugate(keyed[rows]), posed)
        found[rows[~is_met]] = np.nan
        candidates.append(found)
    return Path(rotation.multiply(keyed, _least_change(candidates)), is_anew)


def _windows(steps: Steps, is_fixed: Flags) -> Indices:
    """Return the last frame before and the first after each stretch to pose anew, shape (w, 2)."""
    spreads = np.ceil(steps.turns / steepest_turns(steps.asked, MOST_SPREAD // 4))
    spreads = np.clip(spreads, 2, MOST_SPREAD).astype(int)
    is_in = np.zeros(len(is_fixed), dtype=np.bool_)
    for jump in np.flatnonzero(steps.are_jumps).tolist():
        spread = spreads[jump]
        is_in[max(0, jump + 1 - spread) : jump + 1 + spread] = True
    is_in &= ~is_fixed
    # The ends of the clip stand: poses between need one on both sides.
    is_in[[0, -1]] = False
    edges = np.flatnonzero(np.diff(is_in.astype(np.int8)))
    return np.column_stack((edges[::2], edges[1::2] + 1))


def _least_change(candidates: list[Array]) -> Array:
    """Return the candidates, one a frame, between which joints turn least, by squares.

    The first is taken where others are no better; one with NaN never is.
    """
    frames = len(candidates[0])
    costs = np.empty((frames - 1, len(candidates), len(candidates)))
    for i, one in enumerate(candidates):
        for j, other in enumerate(candidates):
            turns = turns_between(one[:-1], other[1:])
            costs[:, i, j] = np.einsum("fki,fki->f", turns, turns)
    costs = np.where(np.isnan(costs), np.inf, costs)
    costs[:, :, 1:] += NO_BETTER
    least, before = np.zeros(len(candidates)), np.zeros(costs.shape[:2], dtype=np.int64)
    for frame, cost in enumerate(costs):
        whole = least[:, None] + cost
        before[frame] = whole.argmin(axis=0)
        least = whole.min(axis=0)
    pick = [int(np.argmin(least))]
    for row in before[::-1]:
        pick.append(int(row[pick[-1]]))
    return np.stack(candidates)[pick[::-1], np.arange(frames)]
