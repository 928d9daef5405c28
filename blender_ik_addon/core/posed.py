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
    x, y, z = levers[:, None, 0], levers[:, None, 1], levers[:, None, 2]
    a, b, c = frames[:, :, 0], frames[:, :, 1], frames[:, :, 2]
    # Column k of a frame times e_k x lever.
    return np.stack((c * y - b * z, a * z - c * x, b * x - a * y), axis=2)


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
