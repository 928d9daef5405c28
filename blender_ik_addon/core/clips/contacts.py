"""Contacts of feet and hands with the ground, from the speeds and heights of heels and toes.

A clip is compared with its own statistics, so that feet that skate are found as well: a point in
contact moves evenly and slowly, and between steps it is much faster.

Source for the idea: Kovar, Schreiner and Gleicher, "Footskate Cleanup for Motion Capture Editing",
2002. The rules are derived for this project. Lengths below are those of a body of 1.8 m, and scale
with it; ten times larger or smaller, they find no contacts, or contacts everywhere.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags

HEIGHT = 1.8
# Error of speeds that noise may cause, in m/s, and half of the longest window that reduces it to
# that, in seconds.
NOISE, NOISE_SPAN = 0.06, 0.06
# Range of the speed limit of points in contact, in m/s.
MIN_LIMIT, MAX_LIMIT = 0.15, 0.6
# Largest deviation of a frame's velocity from that of its contact: a multiple of the usual
# deviation, plus a margin in m/s.
SPREAD_FACTOR, SPREAD_MARGIN = 2.0, 0.07
# Least usual deviation of velocities, in m/s, so that rounding never ends a contact.
MIN_SPREAD = 0.01
# Time within which speeds rise at the ends of a contact, in seconds, and the share of the frames
# since the start of the rise that are removed from the contact.
RISE_TIME, CUT = 0.035, 0.8
# Largest count of removed frames, in multiples of the rise time.
MAX_RISE = 2.0
# Largest distance from its place of a point that stands, in standard deviations of its noise.
STILL = 6.0
# Shortest contact, in seconds.
MIN_CONTACT = 0.08
# Largest height of a contact, in m: of a limb above the lowest limb, a step of stairs; of a point
# above its own lowest place, less than heels are lifted. Then the time around both, in seconds.
STEP, LIFT = 0.25, 0.12
LIMB_SPAN, POINT_SPAN = 1.0, 0.5


class Planted(enum.IntEnum):
    """The part of a limb on the ground; the numbers are keyed in files and never change."""

    NONE = 0
    HEEL = 1
    TOE = 2
    FOOT = 3


def find_contacts(heel: Array, toe: Array, lowest: Array, rate: float, height: float) -> Counts:
    """Return the part of a limb on the ground at each frame, ``Planted`` numbers, shape (F,).

    Args:
        heel: Path of its heel, shape (F, 3), Z up.
        toe: Path of its toe; the same array for a limb that is one point.
        lowest: Height of the lowest limb around each frame, from ``lowest_around``, shape (F,).
        rate: Frames per second.
        height: Height of the body.
    """
    scale = height / HEIGHT
    is_on_ground = [_find_contact_frames(path, lowest, rate, scale) for path in (heel, toe)]
    return Planted.HEEL * is_on_ground[0].astype(np.int64) + Planted.TOE * is_on_ground[1]


def lowest_around(heights: Array, rate: float, seconds: float = LIMB_SPAN) -> Array:
    """Return the least of the heights (F,) within some seconds of each frame, shape (F,)."""
    half = max(1, round(seconds * rate))
    padded = np.pad(heights, half, mode="edge")
    lowest: Array = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1).min(axis=1)
    return lowest


def runs(values: Counts | Flags) -> Iterator[tuple[int, int]]:
    """Yield the first frame of each run of equal values (F,), and the frame after its last."""
    ends = (np.flatnonzero(values[1:] != values[:-1]) + 1).tolist()
    yield from zip((0, *ends), (*ends, len(values)), strict=True)


def estimate_noise(path: Array) -> float:
    """Return the standard deviation of white noise on the noisiest axis of a path (F, c).

    Third differences of smooth motion vanish; their median is that of the still and slow frames.
    """
    if len(path) < 4:
        return 0.0
    third = np.median(np.abs(np.diff(path, 3, axis=0)), axis=0)
    return float(np.max(third) / 0.6745 / np.sqrt(20.0))


def _find_contact_frames(path: Array, lowest: Array, rate: float, scale: float) -> Flags:
    """Return the frames at which a point with a path (F, 3) is in contact, shape (F,)."""
    is_on_ground = np.zeros(len(path), dtype=np.bool_)
    if len(path) < 2:
        return is_on_ground
    velocity = _measure_velocities(path, rate, scale)
    speed = np.linalg.norm(velocity, axis=1)
    limit = float(np.clip(_find_speed_limit(speed, scale), MIN_LIMIT * scale, MAX_LIMIT * scale))
    is_slow = speed < limit
    height = path[:, 2]
    low = np.minimum(lowest + STEP * scale, lowest_around(height, rate, POINT_SPAN) + LIFT * scale)
    for start, end in runs(is_slow):
        if is_slow[start]:
            first, last = _extend_contact(velocity, start, end, limit, rate, scale)
            rows = slice(first, last + 1)
            if last - first >= MIN_CONTACT * rate and np.median(height[rows] - low[rows]) <= 0.0:
                is_on_ground[rows] = True
    return _join_contacts(path, is_on_ground)


def _join_contacts(path: Array, is_on_ground: Flags) -> Flags:
    """Return contacts (F,) that last while a path (F, 3) stays at their places, up to noise."""
    joined, limit = is_on_ground.copy(), STILL * estimate_noise(path)
    parts = list(runs(is_on_ground))
    for row, (start, end) in enumerate(parts):
        beside = parts[row - 1 : row + 2 : 2] if row else parts[1:2]
        if beside and not is_on_ground[start]:
            place = np.concatenate([path[slice(*part)] for part in beside]).mean(axis=0)
            joined[start:end] = np.max(np.linalg.norm(path[start:end] - place, axis=1)) <= limit
    return joined


def _measure_velocities(path: Array, rate: float, scale: float) -> Array:
    """Return velocities between frames, shape (F - 1, 3): slopes of lines through some frames.

    The count of frames is the least that keeps noise below ``NOISE``.
    """
    noise, half = estimate_noise(path) * rate, 1
    while half < NOISE_SPAN * rate and noise > NOISE * scale * np.linalg.norm(_offsets(half)):
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
    """Return the distances of a window's frames from its middle, in frames, shape (2 * half,)."""
    offsets: Array = np.arange(-half, half, dtype=np.float64) + 0.5
    return offsets


def _find_speed_limit(speed: Array, scale: float) -> float:
    """Return the speed that best divides the slow frames from the fast ones.

    Source: Otsu, "A Threshold Selection Method from Gray-Level Histograms", 1979, on logarithms.
    """
    if len(speed) < 2:
        return 0.0
    order = np.sort(np.log(np.maximum(speed, 1e-3 * scale)))
    count, sums, below = len(order), np.cumsum(order), np.arange(1, len(order))
    above = count - below
    separation = below * above * (sums[:-1] / below - (sums[-1] - sums[:-1]) / above) ** 2
    return float(np.exp(order[1:][np.argmax(separation)]))


def _extend_contact(
    velocity: Array, start: int, end: int, limit: float, rate: float, scale: float
) -> tuple[int, int]:
    """Return the first and last frame of a contact, extended from a run of slow frames."""
    gap = np.linalg.norm(velocity - np.median(velocity[start:end], axis=0), axis=1)
    usual = max(float(np.median(gap[start:end])), MIN_SPREAD * scale)
    bound = min(SPREAD_FACTOR * usual + SPREAD_MARGIN * scale, limit)
    is_outside = gap > bound
    core = start + int(np.argmin(gap[start:end]))
    before, after = np.flatnonzero(is_outside[:core]), np.flatnonzero(is_outside[core + 1 :])
    first = int(before[-1]) + 1 if len(before) else 0
    last = core + int(after[0]) if len(after) else len(gap) - 1
    usual = float(np.median(gap[first : last + 1]))
    early, late = (_count_rise(tail, usual, rate) for tail in (gap[:first][::-1], gap[last + 1 :]))
    return min(core, first + early), max(core, last - late) + 1


def _count_rise(gap: Array, usual: float, rate: float) -> int:
    """Return the count of frames at the end of a contact in which its speed already rises.

    Args:
        gap: Differences of velocities beyond its end from the contact's, the nearest first.
        usual: Usual difference within the contact.
        rate: Frames per second.
    """
    span = max(1, round(RISE_TIME * rate))
    if span >= len(gap) or gap[span] <= gap[0]:
        return 0
    # The speed of an even step does not show where the rise began: limit the estimate.
    return int(min(CUT * (gap[0] - usual) * span / (gap[span] - gap[0]), MAX_RISE * span) + 0.5)
