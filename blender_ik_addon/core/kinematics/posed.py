"""The joints of trees, where the bones stand, and how points on them move with turns of the joints.

Layout as in ``arrays``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..algebra import arrays
from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.nested import Rows, take_rows
from ..model.topology import Rounds


@dataclass(frozen=True)
class Posed(Rows):
    """Where the bones of B trees stand.

    Attributes:
        frames: In which each bone's own turn acts, shape (n, 3, 3, B).
        own: The turns as matrices, shape (n, 3, 3, B).
        points: The heads of the bones, then the effectors, shape (n + E, 3, B): of a chain its
            joints.
        is_rigid: Whether all frames are rotations.
        inverse: Of the frames, as they are; None where it is not known yet.
    """

    frames: Array
    own: Array
    points: Array
    is_rigid: bool = False
    inverse: Array | None = None

    @property
    def heads(self) -> Array:
        """Of the bones, shape (n, 3, B)."""
        return self.points[: len(self.frames)]

    @property
    def tips(self) -> Array:
        """The effectors, shape (E, 3, B)."""
        return self.points[len(self.frames) :]

    @cached_property
    def whole(self) -> Array:
        """The posed axes of the bones, shape (n, 3, 3, B)."""
        whole: Array = np.einsum("nijb,njkb->nikb", self.frames, self.own)
        return whole

    @cached_property
    def inverse_frames(self) -> Array:
        """Shape (n, 3, 3, B)."""
        if self.inverse is not None:
            return self.inverse
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


@dataclass(eq=False)
class State(Rows):
    """How the joints of B trees stand: what iterations start from, and what they return.

    Attributes:
        turn: Of the joints, shape (n, 4, B).
        slide: Of the bones, shape (n, B).
        is_kept: Which edges of its range the last step has kept a joint to, shape (n, 3, B).
        output: What of the pose the target is compared with, shape (rows, B): three numbers an
            effector, times the square root of its weight, and after them whatever else is aimed at.
        posed: Where the bones stand.
        linear: What a step from here has found out: one that is not taken is tried again.
    """

    turn: Array
    slide: Array
    is_kept: Flags
    output: Array
    posed: Posed
    linear: Any = None

    def take(self, rows: Counts | Flags) -> Self:
        """Return the state of some of the trees."""
        return type(self)(*take_rows(self.parts(), rows))

    def parts(self) -> tuple[Any, ...]:
        """Return the fields but for what a step from here has found out."""
        return self.turn, self.slide, self.is_kept, self.output, self.posed


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
