"""Jumps of poses that were solved frame by frame, and the path of the least change around them.

Idea: IKLink (arXiv 2402.16154), which picks one of several poses a frame by dynamic programming.
Here the candidates come from both sides of a jump.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import ARRAYS, Array, Flags, Indices
from ..algebra.vectors import smoothstep
from .clip import Clip, meet, rotate, turns_between

# Turn of a joint in radians, for each length of the chain (or radian) that its goals move, beyond
# which it jumps. Free limbs turn by 1 to 2; ten times larger leaves pops in.
MAX_TURN_PER_MOVE = 3.0
# Ratio between the turn of a joint in a jump and its least turn in the frames nearby.
SUDDEN_RATIO = 2.0
# Multiple of the limit up to which turns that last some frames are what the goals demand.
MAX_EXCESS = 1.2
# Turn within a frame, in radians, below which there is no jump.
MIN_JUMP = 0.005
# Cost of a frame with another than its solved pose, in squares of radians: above the rounding.
SWITCHING_COST = 1e-5
# Largest count of frames to either side of a jump over which it is spread.
MAX_SPREAD = 40


class PosePath(NamedTuple):
    """Poses of a clip, and the frames where they may differ from the solved ones.

    Attributes:
        local: Local rotations wxyz, shape (F, k, 4).
        is_near_jump: Whether a frame is near a jump, shape (F,).
    """

    local: Array
    is_near_jump: Flags


def find_largest_turns(offsets: Array) -> Array:
    """Return the largest turn of a joint from each frame to the next, (F - 1,)."""
    largest: Array = np.linalg.norm(turns_between(offsets[:-1], offsets[1:]), axis=2).max(axis=1)
    return largest


class ClipSteps(NamedTuple):
    """The steps from each frame of a clip to the next.

    Attributes:
        turns: Largest turn of a joint, in radians, shape (F - 1,).
        goal_moves: Distance of the goals from a pose that keeps its offset, shape (F - 1,).
    """

    turns: Array
    goal_moves: Array

    @classmethod
    def of(cls, clip: Clip, keyed: Array, offsets: Array) -> ClipSteps:
        """Return the steps of offsets from keyed rotations."""
        unchanged = rotation.multiply(keyed[1:], offsets[:-1])
        misses = clip.take(np.arange(1, len(offsets))).measure(unchanged)[0]
        return cls(find_largest_turns(offsets), np.linalg.norm(misses, axis=1))

    @property
    def are_jumps(self) -> Flags:
        """Which steps turn joints farther than the moves of goals justify, shape (F - 1,)."""
        excess = self.turns / find_turn_limits(self.goal_moves)
        are_jumps: Flags = (excess > 1.0) & (self.are_sudden | (excess > MAX_EXCESS))
        return are_jumps

    @property
    def are_sudden(self) -> Flags:
        """Which steps turn joints much farther than steps nearby, shape (F - 1,)."""
        are_sudden: Flags = self.turns > SUDDEN_RATIO * _extreme(self.turns, 2, np.min)
        return are_sudden


def find_turn_limits(goal_moves: Array, reach: int = 1) -> Array:
    """Return the largest turns that moves of goals justify, here or up to ``reach`` frames away."""
    limits: Array = np.maximum(MAX_TURN_PER_MOVE * _extreme(goal_moves, reach, np.max), MIN_JUMP)
    return limits


def _extreme(values: Array, reach: int, pick: Callable[..., Array]) -> Array:
    """Return the least or the greatest of the values up to ``reach`` frames away."""
    padded = np.pad(values, reach, mode="edge")
    return pick([padded[i : i + len(values)] for i in range(2 * reach + 1)], axis=0)


def find_path(clip: Clip, keyed: Array, local: Array, is_fixed: Flags) -> PosePath:
    """Return the path of the least change around jumps; all other frames keep their poses.

    Around a jump the candidates for a frame are its solved pose, and three poses that meet its
    goals: from the offset before the jump, from the offset after it, and from one between the two.

    Args:
        clip: The goals.
        keyed: Rotations that offsets count from, shape (F, k, 4).
        local: Rotations solved frame by frame, shape (F, k, 4).
        is_fixed: Frames that keep their poses, shape (F,).
    """
    offsets = rotation.multiply(rotation.conjugate(keyed), local)
    steps = ClipSteps.of(clip, keyed, offsets)
    windows, is_near_jump = _find_windows(steps, is_fixed), np.zeros_like(is_fixed)
    ahead, back, share = offsets.copy(), offsets.copy(), np.zeros(len(local))
    for first, last in windows.tolist():
        progress, frames = np.linspace(0.0, 1.0, last - first + 1), slice(first + 1, last)
        share[first : last + 1] = smoothstep(ARRAYS, progress, 0.0, 1.0)
        is_near_jump[frames], ahead[frames], back[frames] = True, offsets[first], offsets[last]
    # Frames at the ends of the clip have no other candidates, but may be smoothed.
    is_near_jump[[0, -1]] = is_near_jump[[1, -2]] & ~is_fixed[[0, -1]]
    rows, candidates = np.flatnonzero(is_near_jump), [offsets]
    if not rows.size:
        return PosePath(local, is_near_jump)
    turns = turns_between(ahead[rows], back[rows])
    for shares in (np.zeros(len(rows)), np.ones(len(rows)), share[rows]):
        between = rotate(ahead[rows], shares[:, None, None] * turns)
        posed, is_met = meet(clip.take(rows), rotation.multiply(keyed[rows], between))
        candidate = offsets.copy()
        candidate[rows] = rotation.multiply(rotation.conjugate(keyed[rows]), posed)
        candidate[rows[~is_met]] = np.nan
        candidates.append(candidate)
    return PosePath(rotation.multiply(keyed, _choose_poses(candidates)), is_near_jump)


def _find_windows(steps: ClipSteps, is_fixed: Flags) -> Indices:
    """Return the last frame before and the first after each window around jumps, shape (w, 2)."""
    spreads = np.ceil(steps.turns / find_turn_limits(steps.goal_moves, MAX_SPREAD // 4))
    spreads = np.clip(spreads, 2, MAX_SPREAD).astype(int)
    is_inside = np.zeros(len(is_fixed), dtype=np.bool_)
    for jump in np.flatnonzero(steps.are_jumps).tolist():
        spread = spreads[jump]
        is_inside[max(0, jump + 1 - spread) : jump + 1 + spread] = True
    is_inside &= ~is_fixed
    # The ends of the clip keep their poses: a window needs a pose on both sides.
    is_inside[[0, -1]] = False
    edges = np.flatnonzero(np.diff(is_inside.astype(np.int8)))
    return np.column_stack((edges[::2], edges[1::2] + 1))


def _choose_poses(candidates: list[Array]) -> Array:
    """Return one candidate for each frame, with the least sum of squared turns between frames.

    The first wins where others save less than ``SWITCHING_COST`` a frame; one with NaN never wins.
    """
    frames = len(candidates[0])
    costs = np.empty((frames - 1, len(candidates), len(candidates)))
    for i, one in enumerate(candidates):
        for j, other in enumerate(candidates):
            turns = turns_between(one[:-1], other[1:])
            costs[:, i, j] = np.einsum("fki,fki->f", turns, turns)
    costs = np.where(np.isnan(costs), np.inf, costs)
    costs[:, :, 1:] += SWITCHING_COST
    least, previous = np.zeros(len(candidates)), np.zeros(costs.shape[:2], dtype=np.int64)
    for frame, cost in enumerate(costs):
        total = least[:, None] + cost
        previous[frame] = total.argmin(axis=0)
        least = total.min(axis=0)
    pick = [int(np.argmin(least))]
    for row in previous[::-1]:
        pick.append(int(row[pick[-1]]))
    return np.stack(candidates)[pick[::-1], np.arange(frames)]
