"""A clip that was solved frame by frame, bettered as a whole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Flags, Indices
from .branches import Path, Steps, find_path, steepest_turns
from .clip import Clip, turns_between
from .smoothing import smooth

# How often what still jumps is spread again.
MOST_PASSES = 3
# A pass that leaves more than this share of the acceleration is not worth its changes.
ENOUGH_LESS = 0.999
# Turns that are smaller, in radians, are rounding: keys are float32, and goals are met to less.
UNMOVED = 2e-6
# Fewer frames have no second difference.
LEAST_FRAMES = 3
# A turn within one frame that people see as a pop, in radians.
POP = 0.2
# Frames to either side whose goals may move as fast as one where joints do.
NEARBY = 10


class Bettered(NamedTuple):
    """A bettered clip.

    Attributes:
        local: Local rotations wxyz, shape (F, k, 4).
        is_moved: Frames with another pose than before, shape (F,).
        jumps: Frames that no path leads to without a jump.
    """

    local: Array
    is_moved: Flags
    jumps: Indices


def better(clip: Clip, keyed: Array, local: Array, is_fixed: Flags, smoothness: float) -> Bettered:
    """Return poses that meet the same goals as those of each frame alone, without needless jumps.

    Joints are never accelerated more, as a root of mean squares, than they were.

    Args:
        clip: The goals, which the given poses meet.
        keyed: Rotations that the chains start from, shape (F, k, 4).
        local: As solved frame by frame, likewise.
        is_fixed: Frames that keep their poses, shape (F,).
        smoothness: From 0, which moves frames around jumps only, to 1.
    """
    if len(local) < LEAST_FRAMES:
        return Bettered(local, np.zeros_like(is_fixed), np.zeros(0, dtype=np.int64))
    path, found = find_path(clip, keyed, local, is_fixed), local
    for _ in range(MOST_PASSES):
        trial = smooth(clip, keyed, path, is_fixed, smoothness)
        if acceleration(trial) > ENOUGH_LESS * acceleration(found) + UNMOVED:
            break
        found = trial
        left = find_path(clip, keyed, found, is_fixed)
        if not left.is_anew.any():
            break
        # Jumps that others nearby have hidden.
        mixed = np.where(left.is_anew[:, None, None], left.local, path.local)
        path = Path(mixed, path.is_anew | left.is_anew)
    is_moved = np.linalg.norm(turns_between(local, found), axis=2).max(axis=1) > UNMOVED
    found = np.where(is_moved[:, None, None], found, local)
    return Bettered(found, is_moved, find_jumps(clip, keyed, found))


def accelerates_more(local: Array, other: Array) -> bool:
    """Tell whether joints are accelerated more than in other poses, by more than rounding."""
    return acceleration(local) > acceleration(other) + UNMOVED


def acceleration(local: Array) -> float:
    """Return the root of the mean square of the joints' acceleration, radians a frame squared."""
    second = np.diff(turns_between(local[:-1], local[1:]), axis=0)
    return float(np.sqrt(np.square(second).sum(axis=2).mean()))


def find_jumps(clip: Clip, keyed: Array, local: Array) -> Indices:
    """Return the frames to which joints turn farther than what is asked warrants."""
    steps = Steps.of(clip, keyed, rotation.multiply(rotation.conjugate(keyed), local))
    is_pop = steps.turns > np.maximum(steepest_turns(steps.asked, NEARBY), POP)
    return 1 + np.flatnonzero(steps.are_sudden & is_pop)
