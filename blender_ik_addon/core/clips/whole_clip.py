"""Improvement of a whole clip that was solved frame by frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Flags, Indices
from .clip import Clip, turns_between
from .jumps import ClipSteps, PosePath, find_extremes, find_path
from .smoothing import smooth

# Largest count of passes that spread the jumps which are left.
MAX_SPREADING_PASSES = 3
# Share of the acceleration that a pass may leave; with more it is not worth its changes.
MAX_ACCELERATION_RATIO = 0.999
# Turn in radians below which poses differ by rounding: keys are float32, goals are met to less.
TURN_ROUNDING = 2e-6
# Least count of frames with a second difference.
MIN_FRAMES = 3
# Ratio between a needless turn and the least one nearby, from which it is seen as a jump: without
# it, fast but even motion would be named.
SUDDEN_RATIO = 2.0
# Frames to either side of a turn whose moves of goals may justify it.
NEARBY_FRAMES = 10


class ImprovedClip(NamedTuple):
    """An improved clip.

    Attributes:
        local: Local rotations wxyz, shape (F, k, 4).
        is_moved: Frames with another pose than before, shape (F,).
        jumps: Frames that no path reaches without a jump.
    """

    local: Array
    is_moved: Flags
    jumps: Indices


def improve(
    clip: Clip, keyed: Array, local: Array, is_fixed: Flags, smoothness: float
) -> ImprovedClip:
    """Return poses that meet the same goals as the solved ones, without needless jumps.

    The root mean square of the joints' acceleration never grows.

    Args:
        clip: The goals, which the solved poses meet.
        keyed: Rotations that the chains start from, shape (F, k, 4).
        local: Rotations solved frame by frame, shape (F, k, 4).
        is_fixed: Frames that keep their poses, shape (F,).
        smoothness: From 0, which moves frames around jumps only, to 1.
    """
    if len(local) < MIN_FRAMES:
        return ImprovedClip(local, np.zeros_like(is_fixed), np.zeros(0, dtype=np.int64))
    path, best = find_path(clip, keyed, local, is_fixed, smoothness), local
    for _ in range(MAX_SPREADING_PASSES):
        trial = smooth(clip, keyed, path, is_fixed, smoothness)
        if acceleration(trial) > MAX_ACCELERATION_RATIO * acceleration(best) + TURN_ROUNDING:
            break
        best = trial
        further = find_path(clip, keyed, best, is_fixed, smoothness)
        if not further.is_near_jump.any():
            break
        # Jumps that were hidden by larger ones nearby.
        mixed = np.where(further.is_near_jump[:, None, None], further.local, path.local)
        path = PosePath(mixed, path.is_near_jump | further.is_near_jump)
    is_moved = np.linalg.norm(turns_between(local, best), axis=2).max(axis=1) > TURN_ROUNDING
    best = np.where(is_moved[:, None, None], best, local)
    return ImprovedClip(best, is_moved, find_jumps(clip, keyed, best))


def accelerates_more(local: Array, other: Array) -> bool:
    """Return whether poses accelerate joints more than others do, beyond rounding."""
    return acceleration(local) > acceleration(other) + TURN_ROUNDING


def acceleration(local: Array) -> float:
    """Return the root of the mean square of the joints' acceleration, radians a frame squared."""
    second = np.diff(turns_between(local[:-1], local[1:]), axis=0)
    return float(np.sqrt(np.square(second).sum(axis=2).mean()))


def find_jumps(clip: Clip, keyed: Array, local: Array) -> Indices:
    """Return the frames to which joints turn farther than the moves of goals justify."""
    steps = ClipSteps.of(clip, keyed, rotation.multiply(rotation.conjugate(keyed), local))
    turns, limits = steps.needless_turns, steps.find_turn_limits(NEARBY_FRAMES)
    is_sudden = turns > SUDDEN_RATIO * find_extremes(turns, 2, np.min)
    return 1 + np.flatnonzero(is_sudden & (turns > limits))
