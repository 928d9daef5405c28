"""Where the bones of trees stand, and how points on them move with turns of the joints.

Layout as in ``arrays``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np

from ..algebra import arrays
from ..algebra.arithmetic import Array, Flags
from ..algebra.nested import Rows
from ..model.topology import Rounds


@dataclass(frozen=True)
class Posed(Rows):
    """Where the bones of B trees stand.

    Attributes:
        frames: In which each bone's own turn acts, shape (n, 3, 3, B).
        own: The turns as matrices, shape (n, 3, 3, B).
        heads: Of the bones, shape (n, 3, B).
        tips: The effectors, shape (E, 3, B).
        is_rigid: Whether all frames are rotations.
    """

    frames: Array
    own: Array
    heads: Array
    tips: Array
    is_rigid: bool = False

    def choose(self, is_own: Flags, other: Posed) -> Posed:
        """Return where the bones of these trees stand where flagged (B,), else those of others."""
        mine, others = ((each.frames, each.own, each.heads, each.tips) for each in (self, other))
        frames, own, heads, tips = map(np.where, repeat(is_own), mine, others)
        return Posed(frames, own, heads, tips, self.is_rigid)

    @cached_property
    def whole(self) -> Array:
        """The posed axes of the bones, shape (n, 3, 3, B)."""
        whole: Array = np.einsum("nijb,njkb->nikb", self.frames, self.own)
        return whole

    @cached_property
    def points(self) -> Array:
        """The heads and then the effectors, shape (n + E, 3, B): of a chain its joints."""
        return np.concatenate((self.heads, self.tips))

    @cached_property
    def inverse_frames(self) -> Array:
        """Shape (n, 3, 3, B)."""
        return self.frames.swapaxes(1, 2) if self.is_rigid else arrays.invert(self.frames)

    @cached_property
    def turn_axes(self) -> Array:
        """The axes of turns in the frames, as rotation vectors, outside of them, (n, 3, 3, B).

        A mirrored frame shows a turn the other way round, which its cofactors know.
        """
        if self.is_rigid:
            return self.frames
        volumes = np.linalg.det(self.frames.transpose(0, 3, 1, 2))
        axes: Array = self.inverse_frames.swapaxes(1, 2) * np.cbrt(volumes)[:, None, None]
        return axes

    def express(self, vectors: Array) -> Array:
        """Return vectors (n, ..., 3, B), some a joint, in the axes of its frame."""
        expressed: Array = np.einsum("nijb,n...jb->n...ib", self.inverse_frames, vectors)
        return expressed


def move_by_turns(frames: Array, levers: Array) -> Array:
    """Return how ends of levers (n, q, 3, B) move with turns in frames, shape (n, q, 3, 3, B).

    The last axis but one is that of the turn, in the frame (n, 3, 3, B) of the joint.
    """
    # Column k of a frame times e_k x lever.
    frames = frames[:, None]
    moved: Array = frames.take(_BEHIND, axis=3) * levers.take(_AHEAD, axis=2)[:, :, None]
    moved -= frames.take(_AHEAD, axis=3) * levers.take(_BEHIND, axis=2)[:, :, None]
    return moved


_AHEAD, _BEHIND = np.array([1, 2, 0]), np.array([2, 0, 1])


def accumulate(values: Array, rounds: Rounds, join: Callable[[Array, Array], Array]) -> Array:
    """Return what comes of joining arrays (n, ..., B) from a root to each one."""
    for rows, above in rounds:
        found = values.copy()
        found[rows] = join(values[above], values[rows])
        values = found
    return values
