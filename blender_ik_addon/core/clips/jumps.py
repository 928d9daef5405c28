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
from .clip import Clip, meet, project_free, rotate, solve_least_turns, turns_between

# Needless turn of a joint in radians, for each length of the chain (or radian) that its goals move,
# beyond which it jumps. Walking legs turn by up to 3; ten times larger leaves pops in.
MAX_TURN_PER_MOVE = 3.0
# Needless turn in a frame that people see as a pop, in radians. Ten times larger leaves pops in.
MIN_POP = 0.2
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
        needless_turns: Largest turn of a joint that no goal requires, in radians, shape (F - 1,).
        goal_moves: Distance of the goals from a pose that keeps its offset, shape (F - 1,).
    """

    needless_turns: Array
    goal_moves: Array

    @classmethod
    def of(cls, clip: Clip, keyed: Array, offsets: Array) -> ClipSteps:
        """Return the steps of offsets from keyed rotations."""
        goals, turns = clip.take(np.arange(1, len(keyed))), turns_between(offsets[:-1], offsets[1:])
        unchanged = rotation.multiply(keyed[1:], offsets[:-1])
        misses, _ = goals.measure(unchanged)
        # Halfway, also turns of limbs that are nearly straight at one end are what goals require.
        halfway = rotate(unchanged, 0.5 * turns)
        _, rates = goals.measure(halfway)
        required = solve_least_turns(misses, rates, project_free(goals, halfway))
        needless = np.linalg.norm(turns - required, axis=2).max(axis=1)
        return cls(needless, np.linalg.norm(misses, axis=1))

    def find_turn_limits(self, reach: int, least: float = MIN_POP) -> Array:
        """Return the turns, ``least`` or more, that moves up to ``reach`` frames away justify."""
        largest = find_extremes(self.goal_moves, reach, np.max)
        limits: Array = np.maximum(MAX_TURN_PER_MOVE * largest, least)
        return limits


def find_extremes(values: Array, reach: int, pick: Callable[..., Array]) -> Array:
    """Return the least or the greatest of the values up to ``reach`` frames away."""
    padded = np.pad(values, reach, mode="edge")
    return pick([padded[i : i + len(values)] for i in range(2 * reach + 1)], axis=0)


def find_path(
    clip: Clip, keyed: Array, local: Array, is_fixed: Flags, smoothness: float
) -> PosePath:
    """Return the path of the least change around jumps; all other frames keep their poses.

    Around a jump the candidates for a frame are its solved pose, and three poses that meet its
    goals: from the offset before the jump, from the offset after it, and from one between the two.

    Args:
        clip: The goals.
        keyed: Rotations that offsets count from, shape (F, k, 4).
        local: Rotations solved frame by frame, shape (F, k, 4).
        is_fixed: Frames that keep their poses, shape (F,).
        smoothness: From 0, where only pops that people see count as jumps, to 1.
    """
    offsets = rotation.multiply(rotation.conjugate(keyed), local)
    steps = ClipSteps.of(clip, keyed, offsets)
    least, is_near_jump = MIN_POP / (1.0 + 4.0 * smoothness), np.zeros_like(is_fixed)
    windows = _find_windows(steps, is_fixed, least)
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


def _find_windows(steps: ClipSteps, is_fixed: Flags, least: float) -> Indices:
    """Return the last frame before and the first after each window around jumps, shape (w, 2).

    Needless turns below ``least`` are no jumps.
    """
    spreads = np.ceil(steps.needless_turns / steps.find_turn_limits(MAX_SPREAD // 4, least))
    spreads = np.clip(spreads, 2, MAX_SPREAD).astype(int)
    is_inside = np.zeros(len(is_fixed), dtype=np.bool_)
    for jump in np.flatnonzero(steps.needless_turns > steps.find_turn_limits(1, least)).tolist():
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
