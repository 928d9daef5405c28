"""Which targets a chain reaches, and the closest poses for those that it does not."""

from __future__ import annotations

import numpy as np

from .vectors import Array

# Segments that differ by less than this share of the chain are meant to be of one length.
SMALLEST_DEAD_ZONE = 1e-9


def max_reach(lengths: Array) -> Array:
    """Return the farthest distance from root to effector for lengths (n, B), shape (B,)."""
    total: Array = lengths.sum(axis=0)
    return total


def min_reach(lengths: Array) -> Array:
    """Return the distance below which chains cannot fold, shape (B,).

    Source: polygon inequality; the dead zone exists where one segment outreaches all others.
    """
    reach = lengths.sum(axis=0)
    least = 2.0 * lengths.max(axis=0) - reach
    return np.where(least > SMALLEST_DEAD_ZONE * reach, least, 0.0)


def extended(lengths: Array) -> Array:
    """Return straight chains: joints in the frame of chord and side, (n + 1, 3, B)."""
    return _along_chord(lengths)


def folded(lengths: Array) -> Array:
    """Return chains folded onto one line: the longest segment forth, all others back."""
    is_longest = np.arange(len(lengths))[:, None] == np.argmax(lengths, axis=0)
    return _along_chord(np.where(is_longest, lengths, -lengths))


def _along_chord(steps: Array) -> Array:
    joints = np.zeros((len(steps) + 1, 3, steps.shape[1]))
    np.cumsum(steps, axis=0, out=joints[1:, 0])
    return joints
