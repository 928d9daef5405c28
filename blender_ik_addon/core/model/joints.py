"""The joints of bones: what they are, and the ranges that they keep to."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from ..algebra.arithmetic import Array
from .errors import InvalidChainError
from .records import Record, freeze


class JointKind(enum.IntEnum):
    """Which turns a joint allows; X, Y and Z are the axes of the bone at its zero, Y along it.

    A turn is a *swing* S, which carries the bone's Y axis the short way, after a *twist* T about
    it: R = S T.
    """

    BALL = 0
    """Swing and twist."""
    SWING = 1
    """Swing only."""
    ELBOW_X = 2
    """A turn about X after a twist about Y."""
    ELBOW_Z = 3
    """A turn about Z after a twist about Y."""
    HINGE_X = 4
    """About X only; likewise the next two."""
    HINGE_Y = 5
    HINGE_Z = 6
    FIXED = 7
    """No turn; the bone stays at its zero."""
    FLOATING = 8
    """The first bone of a tree, which moves to all sides and does not turn."""


@dataclass(frozen=True)
class Joints(Record):
    """The joints of n bones, for one chain or, with one more leading axis, for B chains alike.

    Bones are posed one after the other: with A_i the offset and R_i the local rotation of bone i,
    its posed axes are M_i = M_(i-1) A_i R_i, where M_(-1) is the frame of the chain's points.
    Offsets may scale, shear and mirror. Limits hold R_i. A slide s_i moves the head of bone i, with
    all that hangs on it, by M_(i-1) a_i s_i: along an axis that the bone's own rotation leaves
    alone, as Blender does with location channels.

    Attributes:
        kinds: One a bone, the same for all chains.
        offsets: A_i, shape (..., n, 3, 3).
        start_wxyz: R_i of the start pose, shape (..., n, 4).
        low: Least turns about X, Y and Z in radians, -inf for no limit, shape (..., n, 3). Those of
            a swing bound it as Blender does: by a quarter of an ellipse in each quadrant of
            sin(angle / 2), of which these are the half axes. By default there are no limits, no
            stiffness and no slides.
        high: Greatest turns, shape (..., n, 3).
        mobility: How readily bones turn about X, Y and Z, from 1 to above 0, shape (..., n, 3).
        slide_low: Least way that a bone's head moves along its slide axis from where it starts,
            shape (..., n), in the unit of the segments.
        slide_high: Greatest way; both are zero where nothing slides.
        slide_axes: a_i, of any length, in the posed axes of the bone before, shape (..., n,
            3); by default the Y axes of the offsets, along which bones lie that have not turned.
        unturned: Bones that the one before carries but does not turn, as those of Blender that
            inherit no rotation: for these M_i = A_i R_i. NEWTON solves what has some, whatever the
            solver; FORCE settles it, and FOLLOW refuses it. The bones that hang on a floating one
            are among them.
    """

    kinds: tuple[JointKind, ...]
    offsets: Array
    start_wxyz: Array
    low: Array = -np.inf  # type: ignore[assignment]
    high: Array = np.inf  # type: ignore[assignment]
    mobility: Array = 1.0  # type: ignore[assignment]
    slide_low: Array = 0.0  # type: ignore[assignment]
    slide_high: Array = 0.0  # type: ignore[assignment]
    slide_axes: Array = None  # type: ignore[assignment]
    unturned: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        if self.slide_axes is None:
            freeze(self, "slide_axes", np.asarray(self.offsets)[..., 1])
        bones = (*np.shape(self.offsets)[:-3], len(self.kinds))
        axes = (*bones, 3)
        self._freeze_arrays(
            InvalidChainError,
            "joints' ",
            can_be_infinite=True,
            offsets=(*axes, 3),
            start_wxyz=(*bones, 4),
            low=axes,
            high=axes,
            mobility=axes,
            slide_low=bones,
            slide_high=bones,
            slide_axes=axes,
        )
        freeze(self, "kinds", tuple(JointKind(kind) for kind in self.kinds))
        freeze(self, "unturned", tuple(int(bone) for bone in self.unturned))
        if not all(0 <= bone < len(self.kinds) for bone in self.unturned):
            raise InvalidChainError("What is not turned is no bone: give the indices of bones.")
        if JointKind.FLOATING in self.kinds[1:]:
            raise InvalidChainError("Only the first bone floats: put it before all others.")
        self._check_ranges()

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of chains, if these are joints of several, and of bones."""
        return self.slide_low.shape

    def _check_ranges(self) -> None:
        if (self.low > self.high).any() or (self.slide_low > self.slide_high).any():
            raise InvalidChainError("A joint's least turn exceeds its greatest: swap the two.")
        if not (np.isfinite(self.slide_low).all() and np.isfinite(self.slide_high).all()):
            raise InvalidChainError("A joint slides without end: give its range two numbers.")
        if (self.mobility <= 0.0).any() or (self.mobility > 1.0).any():
            raise InvalidChainError(
                "A joint's mobility must lie above 0 and up to 1: set it there."
            )


def free_joints(offsets: Array, start_wxyz: Array) -> Joints:
    """Return joints without limits, stiffness or slides; shapes as in ``Joints``."""
    return Joints((JointKind.BALL,) * np.shape(start_wxyz)[-2], offsets, start_wxyz)
