"""The joints of bones: their kinds and ranges."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..algebra.arithmetic import Array
from .errors import InvalidChainError
from .records import Record, freeze


class JointKind(enum.IntEnum):
    """The turns that a joint allows. X, Y and Z are the axes of the bone at its zero, Y along it.

    A turn R = S T is a *twist* T about the bone's Y axis and then a *swing* S, which carries this
    axis the short way.
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
    """A turn about X only; HINGE_Y and HINGE_Z likewise."""
    HINGE_Y = 5
    HINGE_Z = 6
    FIXED = 7
    """No turn; the bone stays at its zero."""
    FLOATING = 8
    """No turn; the first bone of a tree moves in all directions."""


@dataclass(frozen=True)
class Joints(Record):
    """The joints of the n bones of one chain; with one more leading axis, of B similar chains.

    Bones are posed one after the other. With offset A_i and local rotation R_i, bone i has the
    posed axes M_i = M_(i-1) A_i R_i, where M_(-1) is the frame of the chain's points. Offsets may
    scale, shear and mirror. Limits bound R_i. A slide s_i moves the head of bone i, and all bones
    below it, by M_(i-1) a_i s_i. This axis does not depend on R_i, as in Blender's location
    channels. One number for ranges, mobilities or slides stands for those of all bones.

    Attributes:
        kinds: One per bone, the same for all chains.
        offsets: A_i, shape (..., n, 3, 3).
        start_wxyz: R_i of the start pose, shape (..., n, 4).
        low: Smallest turns about X, Y and Z in radians, -inf for no limit, shape (..., n, 3). A
            swing is bounded as in Blender: by a quarter of an ellipse in each quadrant of
            sin(angle / 2), with these turns as its half axes. By default there are no limits, no
            stiffness and no slides.
        high: Greatest turns, shape (..., n, 3).
        mobility: How easily bones turn about X, Y and Z, above 0 and up to 1, shape (..., n, 3).
        slide_low: Smallest slide of a bone's head from its start position, shape (..., n), in the
            unit of the segments.
        slide_high: Greatest slide; both are zero if the bone does not slide.
        slide_axes: a_i, of any length, in the posed axes of the parent, shape (..., n, 3); by
            default the Y axes of the offsets, the directions of bones without turns.
        unturned: Indices of bones that their parent carries but does not turn, as Blender's bones
            without inherited rotation: M_i = A_i R_i. NEWTON solves chains with such bones,
            whatever the solver; FORCE settles them, and FOLLOW refuses them. Children of a floating
            bone are always unturned.
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
        self._freeze_kinds()
        if np.ndim(self.offsets) < 3:
            raise InvalidChainError("The joints have no offsets: give a 3 x 3 matrix for each.")
        if self.slide_axes is None:
            freeze(self, "slide_axes", np.asarray(self.offsets)[..., 1])
        bones = (*np.shape(self.offsets)[:-3], len(self.kinds))
        axes = (*bones, 3)
        self._freeze_arrays(
            InvalidChainError,
            "joints' ",
            offsets=(*axes, 3),
            start_wxyz=(*bones, 4),
            mobility=axes,
            slide_axes=axes,
        )
        ranges = {"low": axes, "high": axes, "slide_low": bones, "slide_high": bones}
        self._freeze_arrays(InvalidChainError, "joints' ", can_be_infinite=True, **ranges)
        given = self.unturned
        indices = np.asarray(tuple(given) if isinstance(given, Iterable) else given)
        is_index = (indices >= 0) & (indices < len(self.kinds)) & (indices % 1 == 0)
        if indices.ndim != 1 or not is_index.all():
            raise InvalidChainError(
                "An index in unturned is out of range: give the indices of bones."
            )
        freeze(self, "unturned", tuple(int(bone) for bone in indices))
        if JointKind.FLOATING in self.kinds[1:]:
            raise InvalidChainError("Only the first bone can float: put it before all others.")
        self._check_ranges()
        if not self.start_wxyz.any(axis=-1).all():
            raise InvalidChainError("A start rotation is zero: give unit quaternions wxyz.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (B, n) for the joints of B chains, (n,) for those of one."""
        return self.slide_low.shape

    def _freeze_kinds(self) -> None:
        try:
            kinds = tuple(JointKind(kind) for kind in self.kinds)
        except (TypeError, ValueError):
            names = ", ".join(kind.name for kind in JointKind)
            raise InvalidChainError(
                f"The kinds of joints must be members of JointKind: give one of {names} for each"
                " bone."
            ) from None
        freeze(self, "kinds", kinds)

    def _check_ranges(self) -> None:
        if (self.low > self.high).any() or (self.slide_low > self.slide_high).any():
            raise InvalidChainError("The minimum of a joint exceeds its maximum: swap the two.")
        if (self.low == np.inf).any() or (self.high == -np.inf).any():
            raise InvalidChainError(
                "A range of a joint lies at infinity: set its minimum to -inf or its maximum to inf"
                " for no limit."
            )
        if not (np.isfinite(self.slide_low).all() and np.isfinite(self.slide_high).all()):
            raise InvalidChainError("A joint has an infinite slide: set two finite numbers.")
        if (self.mobility <= 0.0).any() or (self.mobility > 1.0).any():
            raise InvalidChainError(
                "A joint's mobility is out of range: set it above 0 and up to 1."
            )


def free_joints(offsets: Array, start_wxyz: Array) -> Joints:
    """Return joints without limits, stiffness or slides; shapes as in ``Joints``."""
    return Joints((JointKind.BALL,) * np.shape(start_wxyz)[-2], offsets, start_wxyz)
