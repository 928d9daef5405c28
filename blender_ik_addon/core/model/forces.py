"""What acts on the joints of bones besides the pull of the target: springs and weight."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np

from ..algebra.arithmetic import Array
from .errors import InvalidChainError
from .records import Record, check_array, freeze


class StepMode(enum.StrEnum):
    """How FORCE makes turns of torques."""

    EXACT = "EXACT"
    """The triple product of axis, lever and force."""
    CLASSIC = "CLASSIC"
    """The product of the sines between axis and force and between lever and force, with the sign
    of the triple product: as game programmers know it."""


@dataclass(frozen=True)
class Forces(Record):
    """The forces on n bones, for one chain or, with one more leading axis, for B chains alike.

    The pose that FORCE finds has the least potential energy of all poses, nearby, that are as near
    to the target and inside the limits:

        energy = sum of stiffness * angle^2 / 2  +  sum of mass * gravity * height / chain length

    Heights are those of the bones' middles, in lengths of the chain, so a creature that is scaled
    keeps its pose: stiffness 1 against mass 1 and gravity 1 is a spring that needs a radian for the
    torque of the chain's whole length. Angles are those by which a joint is bent out of its comfort
    range: components, about X, Y and Z of the bone at its optimum, of the turn from there as a
    rotation vector. Toward a hard limit the resistance grows, to ten times what the same angle
    costs far from it; the limit itself refuses.

    Attributes:
        stiffness: Energy per square radian, 0 for no spring, shape (..., n).
        masses: Shape (..., n); zero by default, like the next three.
        gravity: Which way, and how strongly, masses are pulled, in the space of the chain's
            points, shape (..., 3); zero for none.
        comfort_low: Least turns from the optimum that cost nothing, about X, Y and Z in radians,
            shape (..., n, 3); from -pi to pi.
        comfort_high: Greatest turns.
        optimum_wxyz: Local rotations where springs rest, shape (..., n, 4); None for those of the
            start pose. What joints do not allow of them is left out.
        mode: How torques become turns on the way to the target.
        gain: Turn for a torque of one chain length of pull on a lever of any length, in radians;
            None for a step that is stable by itself. CLASSIC takes 0.2 without.
    """

    stiffness: Array
    masses: Array = 0.0  # type: ignore[assignment]
    gravity: Array = 0.0  # type: ignore[assignment]
    comfort_low: Array = 0.0  # type: ignore[assignment]
    comfort_high: Array = 0.0  # type: ignore[assignment]
    optimum_wxyz: Array | None = None
    mode: StepMode = StepMode.EXACT
    gain: float | None = None

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        shape = np.shape(self.stiffness)
        if not shape:
            raise InvalidChainError("The stiffness is a single number: give one a bone.")
        self._freeze_arrays(
            InvalidChainError,
            "forces' ",
            stiffness=shape,
            masses=shape,
            gravity=(*shape[:-1], 3),
            comfort_low=(*shape, 3),
            comfort_high=(*shape, 3),
            optimum_wxyz=(*shape, 4),
        )
        if self.mode not in set(StepMode):
            raise InvalidChainError(
                f"There is no step mode '{self.mode}': choose from {', '.join(StepMode)}."
            )
        freeze(self, "mode", StepMode(self.mode))
        self._check_ranges()

    def _check_ranges(self) -> None:
        if (self.stiffness < 0.0).any() or (self.masses < 0.0).any():
            raise InvalidChainError("A stiffness or mass is below zero: set it to zero or more.")
        if (self.comfort_low > self.comfort_high).any():
            raise InvalidChainError("A comfort range ends before it begins: swap its two ends.")
        if max(np.abs(self.comfort_low).max(), np.abs(self.comfort_high).max()) > np.pi + 1e-9:
            raise InvalidChainError(
                "A comfort range goes beyond half a turn: set its ends between -pi and pi."
            )
        turns = self.optimum_wxyz
        if turns is not None and (np.linalg.norm(turns, axis=-1) < 1e-9).any():
            raise InvalidChainError("An optimum is a zero rotation: give unit quaternions wxyz.")
        if self.gain is not None and not (math.isfinite(self.gain) and self.gain > 0.0):
            raise InvalidChainError("The gain must be above zero: set it, say, to 0.2.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of chains, if these act on several, and of bones."""
        return self.stiffness.shape

    def under(self, gravity: Array) -> Forces:
        """Return the same springs and masses under another gravity, of the shape of this one."""
        under = object.__new__(Forces)
        array = check_array(gravity, self.gravity.shape, "forces' gravity", InvalidChainError)
        under.__dict__.update(vars(self), gravity=array)
        return under
