"""Poses of trees, the state of their joints, and how points move with turns of the joints.

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
    """A pose of the bones of B trees.

    Attributes:
        frames: Axes of the bones before their turns, shape (n, 3, 3, B).
        turn_matrices: Turns of the bones as matrices, shape (n, 3, 3, B).
        points: Heads of the bones, then the effectors, shape (n + E, 3, B): of a chain its joints.
        is_rigid: Whether all frames are rotations.
        inverse: Inverses of the frames; None if they are not known yet.
    """

    frames: Array
    turn_matrices: Array
    points: Array
    is_rigid: bool = False
    inverse: Array | None = None

    @property
    def heads(self) -> Array:
        """The heads of the bones, shape (n, 3, B)."""
        return self.points[: len(self.frames)]

    @property
    def tips(self) -> Array:
        """The effectors, shape (E, 3, B)."""
        return self.points[len(self.frames) :]

    @cached_property
    def axes(self) -> Array:
        """The posed axes of the bones, shape (n, 3, 3, B)."""
        axes: Array = np.einsum("nijb,njkb->nikb", self.frames, self.turn_matrices)
        return axes

    @cached_property
    def inverse_frames(self) -> Array:
        """The inverses of the frames, shape (n, 3, 3, B)."""
        if self.inverse is not None:
            return self.inverse
        return self.frames.swapaxes(1, 2) if self.is_rigid else arrays.invert(self.frames)

    @cached_property
    def turn_axes(self) -> Array:
        """The matrices from rotation vectors in the frames to those outside, (n, 3, 3, B).

        A mirrored frame reverses a turn; its cofactors contain that sign.
        """
        if self.is_rigid:
            return self.frames
        volumes = np.linalg.det(self.frames.transpose(0, 3, 1, 2))
        axes: Array = self.inverse_frames.swapaxes(1, 2) * np.cbrt(volumes)[:, None, None]
        return axes

    def express(self, vectors: Array) -> Array:
        """Return vectors (n, ..., 3, B), any number per joint, in the axes of its frame."""
        expressed: Array = np.einsum("nijb,n...jb->n...ib", self.inverse_frames, vectors)
        return expressed


@dataclass(eq=False)
class State(Rows):
    """The state of the joints of B trees: the start and the result of iterations.

    Attributes:
        turn: Turns of the joints, shape (n, 4, B).
        slide: Slides of the bones, shape (n, B).
        was_active: Whether the last step kept a joint on an edge of its range, shape (n, 3, B).
        output: Values that are compared with the target, shape (rows, B): three numbers per
            effector, times the square root of its weight, and then those of the other aims.
        posed: Pose of the bones.
        linear: Results of a step from here, for the next try if that step is not taken.
    """

    turn: Array
    slide: Array
    was_active: Flags
    output: Array
    posed: Posed
    linear: Any = None

    def take(self, rows: Counts | Flags) -> Self:
        """Return the state of some of the trees."""
        return type(self)(*take_rows(self.parts(), rows))

    def parts(self) -> tuple[Any, ...]:
        """Return the values of all fields except ``linear``."""
        return self.turn, self.slide, self.was_active, self.output, self.posed


def move_by_turns(frames: Array, levers: Array) -> Array:
    """Return the derivatives of ends of levers (n, q, 3, B) by turns, shape (n, q, 3, 3, B).

    The last axis but one is that of the turn, in the frame (n, 3, 3, B) of the joint.
    """
    # Column k of a frame times e_k x lever.
    frames = frames[:, None]
    moved: Array = frames.take(_PREVIOUS_AXIS, axis=3) * levers.take(_NEXT_AXIS, axis=2)[:, :, None]
    moved -= frames.take(_NEXT_AXIS, axis=3) * levers.take(_PREVIOUS_AXIS, axis=2)[:, :, None]
    return moved


_NEXT_AXIS, _PREVIOUS_AXIS = np.array([1, 2, 0]), np.array([2, 0, 1])


def accumulate(values: Array, rounds: Rounds, join: Callable[[Array, Array], Array]) -> Array:
    """Return arrays (n, ..., B), each joined with those of its ancestors, from the root on."""
    for rows, ancestors in rounds:
        joined = values.copy()
        joined[rows] = join(values[ancestors], values[rows])
        values = joined
    return values
