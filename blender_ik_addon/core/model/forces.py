"""Forces on the joints of bones besides the pull of the target: springs and weight."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from ..algebra.arithmetic import Array
from .errors import InvalidChainError
from .records import MAX_NUMBER, Record, check_array, freeze


class StepMode(enum.StrEnum):
    """How FORCE converts torques to rotations."""

    EXACT = "EXACT"
    """The triple product of axis, lever and force."""
    CLASSIC = "CLASSIC"
    """The sine between axis and force times the sine between lever and force, with the sign of the
    triple product: the form known in games."""


@dataclass(frozen=True)
class Forces(Record):
    """The forces on the n bones of one chain; with one more leading axis, of B similar chains.

    FORCE finds the pose with the least potential energy among the nearby poses that are inside the
    limits and equally near to the target:

        energy = sum of stiffness * angle^2 / 2  +  sum of mass * gravity * height / chain length

    Heights are those of the bones' midpoints, divided by the chain's length, so a scaled creature
    keeps its pose. With stiffness, mass and gravity 1, a spring turned by one radian balances the
    weight on a lever as long as the chain. Angles count from the edge of the comfort range. They
    are components of a rotation vector from the optimum, about X, Y and Z of the bone there. Toward
    a hard limit the resistance grows, up to ten times that of the same angle far from it. No joint
    passes a hard limit. One number for masses or the comfort range stands for those of all bones.

    Attributes:
        stiffness: Energy per square radian, 0 for no spring, shape (..., n).
        masses: Shape (..., n); zero by default, like the next three.
        gravity: Vector of gravity in the space of the chain's points, shape (..., 3); zero for
            none.
        comfort_low: Smallest turns from the optimum that cost no energy, about X, Y and Z in
            radians, shape (..., n, 3); from -pi to pi. Rolls of last bones cost a little there.
        comfort_high: Greatest such turns.
        optimum_wxyz: Local rotations at which springs rest, shape (..., n, 4); None for those of
            the start pose. Parts that the joints do not allow are removed.
        mode: Conversion of torques to rotations on the way to the target.
        gain: Radians of turn for the torque of a pull of one chain length on a lever of any length;
            None for a step that is stable by itself. With None, CLASSIC uses 0.2.
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
            raise InvalidChainError("The stiffness is a single number: give one for each bone.")
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
        optimum = self.optimum_wxyz
        if optimum is not None and (np.linalg.norm(optimum, axis=-1) < 1e-9).any():
            raise InvalidChainError("An optimum is a zero rotation: give unit quaternions wxyz.")
        if self.gain is None:
            return
        is_number = isinstance(self.gain, int | float | np.number)
        if not (is_number and 0.0 < self.gain < MAX_NUMBER):
            raise InvalidChainError("The gain must be above zero: set it to 0.2, for example.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (B, n) for the forces of B chains, (n,) for those of one."""
        return self.stiffness.shape

    def under(self, gravity: Array) -> Forces:
        """Return the same springs and masses with another gravity of the same shape."""
        forces = object.__new__(Forces)
        array = check_array(gravity, self.gravity.shape, "forces' gravity", InvalidChainError)
        forces.__dict__.update(vars(self), gravity=array)
        return forces
