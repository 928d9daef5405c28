"""Which targets a chain reaches, and the closest poses for those that it does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .vectors import Array, Flags

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


@dataclass(frozen=True)
class Bounded:
    """Which of B targets are out of reach, and what to solve for.

    Attributes:
        within: Distances from roots to targets; for targets out of reach a stand-in within reach,
            whose pose their closed form replaces, shape (B,).
        is_too_far: Shape (B,).
        is_too_near: Shape (B,).
        is_out: Either of them, shape (B,); None where no target is.
    """

    within: Array
    is_too_far: Flags
    is_too_near: Flags
    is_out: Flags | None


def bounded(distance: Array, most: Array, least: Array) -> Bounded:
    """Return which targets are out of reach, given the distances of both ends of it, all (B,)."""
    is_too_far = distance >= most
    is_too_near = (distance <= least) & (least > 0.0)
    is_out = is_too_far | is_too_near
    if not is_out.any():
        return Bounded(distance, is_too_far, is_too_near, None)
    within = np.where(is_out, 0.5 * (most + least), distance)
    return Bounded(within, is_too_far, is_too_near, is_out)


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
