"""When feet and hands stand: found from the speeds and heights of their heels and toes.

A clip is compared with its own statistics, so that feet that skate are found as well: a point that
stands moves evenly and slowly, and between steps it is much faster.

Source for the idea: Kovar, Schreiner and Gleicher, "Footskate Cleanup for Motion Capture Editing",
2002. The rules are derived for this project. Lengths below are those of a body of 1.8 m, and grow
with it; ten times larger or smaller they find nothing, or all.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags

HEIGHT = 1.8
# Error of speeds that may be left by noise, m/s, and half of the longest window that brings it
# down to that, in seconds.
NOISE, LONGEST = 0.06, 0.06
# Between which speeds the limit of what may stand is sought, m/s.
SLOWEST, FASTEST = 0.15, 0.6
# A frame belongs to a contact if its velocity differs from the contact's by less than this many
# times the usual difference, and this, m/s.
SPREAD, STILL = 2.0, 0.07
# Least usual difference of velocities, m/s: what is still is never found to move by rounding.
LEAST_SPREAD = 0.01
# Speeds rise within this time at the ends of a contact, seconds; it ends where the rise began,
# by this share of the way there.
RISE, BACK = 0.035, 0.8
# A rise takes at most so many times that.
MOST_RISE = 2.0
# Shortest contact, seconds.
SHORTEST = 0.08
# How far above the lowest limb around it a limb may stand, m: a step of stairs; above its own
# lowest place a point may stand, m: less than heels are lifted; and how far around, seconds.
STEP, LIFT = 0.25, 0.12
AROUND, AROUND_OWN = 1.0, 0.5


class Planted(enum.IntEnum):
    """What of a limb stands; numbers as in the keys of files, fixed for ever."""

    NONE = 0
    HEEL = 1
    TOE = 2
    FOOT = 3


def find_contacts(heel: Array, toe: Array, lowest: Array, rate: float, height: float) -> Counts:
    """Return what of a limb stands at each frame, ``Planted`` numbers, shape (F,).

    Args:
        heel: The path of its heel, shape (F, 3), Z up.
        toe: That of its toe; the same array for a limb that is one point.
        lowest: Height of the lowest limb around each frame, from ``lowest_around``, shape (F,).
        rate: Frames a second.
        height: Of the body.
    """
    scale = height / HEIGHT
    stands = [_find_standing(path, lowest, rate, scale) for path in (heel, toe)]
    return Planted.HEEL * stands[0].astype(np.int64) + Planted.TOE * stands[1]


def lowest_around(heights: Array, rate: float, seconds: float = AROUND) -> Array:
    """Return the least height (F,) within so many seconds of each frame, shape (F,)."""
    half = max(1, round(seconds * rate))
    padded = np.pad(heights, half, mode="edge")
    lowest: Array = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1).min(axis=1)
    return lowest


def runs(values: Counts | Flags) -> Iterator[tuple[int, int]]:
    """Yield the first frame of each run of equal values (F,), and the frame after its last."""
    ends = (np.flatnonzero(values[1:] != values[:-1]) + 1).tolist()
    yield from zip((0, *ends), (*ends, len(values)), strict=True)


def noise_of(path: Array) -> float:
    """Return the deviation of white noise on the numbers of a path (F, c), from third differences.

    These leave nothing of smooth motion; the median is that of the still and slow frames.
    """
    if len(path) < 4:
        return 0.0
    return float(np.median(np.abs(np.diff(path, 3, axis=0))) / 0.6745 / np.sqrt(20.0))


def _find_standing(path: Array, lowest: Array, rate: float, scale: float) -> Flags:
    """Return at which frames a point of a path (F, 3) stands."""
    found = np.zeros(len(path), dtype=np.bool_)
    if len(path) < 2:
        return found
    velocity = _velocities(path, rate, scale)
    speed = np.linalg.norm(velocity, axis=1)
    limit = float(np.clip(_gap(speed, scale), SLOWEST * scale, FASTEST * scale))
    is_slow = speed < limit
    height = path[:, 2]
    low = np.minimum(lowest + STEP * scale, lowest_around(height, rate, AROUND_OWN) + LIFT * scale)
    for start, end in runs(is_slow):
        if is_slow[start]:
            first, last = _grown(velocity, start, end, limit, rate, scale)
            own = slice(first, last + 1)
            if last - first >= SHORTEST * rate and np.median(height[own] - low[own]) <= 0.0:
                found[own] = True
    return found


def _velocities(path: Array, rate: float, scale: float) -> Array:
    """Return velocities between frames, shape (F - 1, 3): slopes of lines through some frames.

    As many frames as it takes to keep noise below what is allowed.
    """
    noise, half = noise_of(path) * rate, 1
    while half < LONGEST * rate and noise > NOISE * scale * np.linalg.norm(_offsets(half)):
        half += 1
    half = min(half, len(path) // 2)
    around = half - 1
    before, after = path[around:0:-1], path[-2 : -around - 2 : -1]
    padded = np.concatenate((2.0 * path[:1] - before, path, 2.0 * path[-1:] - after))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half, axis=0)
    offsets = _offsets(half)
    velocities: Array = windows @ (offsets / (offsets @ offsets)) * rate
    return velocities


def _offsets(half: int) -> Array:
    """Return how many frames the frames of a window are off its middle, shape (2 * half,)."""
    offsets: Array = np.arange(-half, half, dtype=np.float64) + 0.5
    return offsets


def _gap(speed: Array, scale: float) -> float:
    """Return the speed that divides the slow frames from the fast ones best.

    Source: Otsu, "A Threshold Selection Method from Gray-Level Histograms", 1979, on logarithms.
    """
    if len(speed) < 2:
        return 0.0
    order = np.sort(np.log(np.maximum(speed, 1e-3 * scale)))
    count, sums, below = len(order), np.cumsum(order), np.arange(1, len(order))
    above = count - below
    apart = below * above * (sums[:-1] / below - (sums[-1] - sums[:-1]) / above) ** 2
    return float(np.exp(order[1:][np.argmax(apart)]))


def _grown(
    velocity: Array, start: int, end: int, limit: float, rate: float, scale: float
) -> tuple[int, int]:
    """Return the first and the last frame that move evenly with a run of slow frames."""
    off = np.linalg.norm(velocity - np.median(velocity[start:end], axis=0), axis=1)
    usual = max(float(np.median(off[start:end])), LEAST_SPREAD * scale)
    bound = min(SPREAD * usual + STILL * scale, limit)
    is_off = off > bound
    core = start + int(np.argmin(off[start:end]))
    before, after = np.flatnonzero(is_off[:core]), np.flatnonzero(is_off[core + 1 :])
    first = int(before[-1]) + 1 if len(before) else 0
    last = core + int(after[0]) if len(after) else len(off) - 1
    usual = float(np.median(off[first : last + 1]))
    early, late = (_rise(beyond, usual, rate) for beyond in (off[:first][::-1], off[last + 1 :]))
    return min(core, first + early), max(core, last - late) + 1


def _rise(off: Array, usual: float, rate: float) -> int:
    """Return for how many frames the speed has been rising at the end of a contact.

    Args:
        off: What velocities beyond its end are off the contact's, the nearest first.
        usual: What they usually are.
        rate: Frames a second.
    """
    span = max(1, round(RISE * rate))
    if span >= len(off) or off[span] <= off[0]:
        return 0
    # Where a step goes on evenly its speed does not tell where it began to rise.
    return int(min(BACK * (off[0] - usual) * span / (off[span] - off[0]), MOST_RISE * span) + 0.5)
