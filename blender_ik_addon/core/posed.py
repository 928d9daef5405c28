"""Where bones stand, and how what hangs on them answers to turns of their joints.

Layout as in ``vectors``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import vectors
from .vectors import Array


@dataclass(frozen=True)
class Posed:
    """Where bones stand.

    Attributes:
        frames: In which each bone's own turn acts, shape (n, 3, 3, B).
        own: The turns as matrices, shape (n, 3, 3, B).
        points: Joints, shape (n + 1, 3, B).
    """

    frames: Array
    own: Array
    points: Array

    @cached_property
    def back(self) -> Array:
        """The inverses of the frames, shape (n, 3, 3, B)."""
        return vectors.inverses(self.frames)

    @cached_property
    def levers(self) -> Array:
        """From each joint to the effector, told in the joint's frame, shape (n, 3, B)."""
        return self.told(self.points[-1] - self.points[:-1])

    @cached_property
    def inner_levers(self) -> Array:
        """Sums of the ways from each joint to the later inner ones, in its frame, (n, 3, B)."""
        later = (len(self.frames) - 1.0) - np.arange(len(self.frames))
        segments = np.diff(self.points, axis=0) * later[:, None, None]
        return self.told(summed_from(segments))

    @cached_property
    def middle(self) -> Array:
        """The mean of the inner joints, shape (3, B)."""
        middle: Array = self.points[1:-1].sum(axis=0) / (len(self.points) - 2.0)
        return middle

    def told(self, ways: Array) -> Array:
        """Return ways (n, 3, B), one a joint, as its frame tells them."""
        told: Array = np.einsum("nijb,njb->nib", self.back, ways)
        return told


def summed_from(ways: Array) -> Array:
    """Return the sums of ways (n, ..., B) from each one to the last."""
    summed: Array = np.cumsum(ways[::-1], axis=0)[::-1]
    return summed


def moved_by_turns(frames: Array, levers: Array) -> Array:
    """Return how ends of levers (n, 3, B) move with turns in their frames, shape (n, 3, 3, B)."""
    # Column k of a frame times e_k x lever.
    moved: Array = np.take(frames, _BEHIND, axis=2) * np.take(levers, _AHEAD, axis=1)[:, None]
    moved -= np.take(frames, _AHEAD, axis=2) * np.take(levers, _BEHIND, axis=1)[:, None]
    return moved


_AHEAD, _BEHIND = np.array([1, 2, 0]), np.array([2, 0, 1])


def turned_outside(frames: Array) -> Array:
    """Return the matrices (n, 3, 3, B) that tell turns about the axes of frames outside of them.

    A mirrored frame shows a turn the other way round, which its cofactors know.
    """
    by_chain = frames.transpose(0, 3, 1, 2)
    determinant = np.linalg.det(by_chain)
    cofactors = determinant[..., None, None] * np.linalg.inv(by_chain).swapaxes(-1, -2)
    size = np.cbrt(determinant * determinant)
    turned: Array = (cofactors / size[..., None, None]).transpose(0, 2, 3, 1)
    return turned
