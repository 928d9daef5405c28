"""Where FABRIK and CCD start: off the line of a straight chain, where both stand still."""

from __future__ import annotations

import numpy as np

from .algebra.arithmetic import Array
from .algebra.arrays import norm, reject, sum_segments, unit

# Sideways push, as a share of the chain, that takes a straight chain off the line to its target.
NUDGE = 1e-3


def nudged(points: Array, lengths: Array, frame: Array) -> Array:
    """Return poses of which none has all inner joints on the line from root to target.

    The push to the side is what is missing to ``NUDGE``, so it comes in without a jump.
    """
    reach = lengths.sum(axis=0)
    count = len(lengths)
    if count == 1:
        return points
    off_line = norm(reject(points[1:-1], frame[0])).max(axis=0)
    missing = np.maximum(0.0, NUDGE * reach - off_line)
    profile = np.sin(np.pi * np.arange(count + 1) / count)[:, None, None]
    pushed = points + profile * missing * frame[1]
    directions = unit(np.diff(pushed, axis=0), np.diff(points, axis=0) / lengths[:, None, :])
    return np.where(missing > 0.0, sum_segments(lengths[:, None] * directions), points)
