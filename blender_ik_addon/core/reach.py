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


def extended(lengths: Array, chord: Array) -> Array:
    """Return straight chains along unit directions (3, B): joints (n + 1, 3, B)."""
    return _along(lengths, np.ones_like(lengths), chord)


def folded(lengths: Array, chord: Array) -> Array:
    """Return chains folded onto one line: the longest segment forth, all others back."""
    is_longest = np.arange(len(lengths))[:, None] == np.argmax(lengths, axis=0)
    return _along(lengths, np.where(is_longest, 1.0, -1.0), chord)


def _along(lengths: Array, sign: Array, chord: Array) -> Array:
    travelled = np.concatenate((np.zeros((1, lengths.shape[1])), np.cumsum(sign * lengths, axis=0)))
    points: Array = travelled[:, None, :] * chord
    return points
