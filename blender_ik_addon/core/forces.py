"""What acts on the joints of bones besides the pull of the target: springs and weight."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .errors import InvalidChainError
from .vectors import Array, Counts


class StepMode(enum.StrEnum):
    """How FORCE makes turns of torques."""

    EXACT = "EXACT"
    """The triple product of axis, lever and force."""
    CLASSIC = "CLASSIC"
    """The product of the sines between axis and force and between lever and force, with the sign
    of the triple product: as game programmers know it."""


@dataclass(frozen=True)
class Forces:
    """The forces on n bones, for one chain or, with one more leading axis, for B chains alike.

    The pose that FORCE finds has the least *effort* of all poses, nearby, that are as near to the
    target and inside the limits:

        effort = sum of stiffness * angle^2 / 2  +  sum of mass * gravity * height / chain length

    Heights are those of the bones' middles. They count in lengths of the chain, so a creature that
    is scaled keeps its pose: stiffness 1 against mass 1 and gravity 1 is a spring that needs a
    radian for the torque of the chain's whole length. Angles are those by which a joint is
    bent out of its comfort range: components, about X, Y and Z of the bone at its optimum, of the
    turn from there as a rotation vector. Toward a hard limit the resistance grows, to ten times
    what the same angle costs far from it; the limit itself refuses.

    Attributes:
        stiffness: Effort per square radian, 0 for no spring, shape (..., n).
        masses: Shape (..., n).
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
    masses: Array
    gravity: Array
    comfort_low: Array
    comfort_high: Array
    optimum_wxyz: Array | None = None
    mode: StepMode = StepMode.EXACT
    gain: float | None = None

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        shape = np.shape(self.stiffness)
        if not shape:
            raise InvalidChainError("The stiffness is a single number: give one a bone.")
        expected = {
            "stiffness": shape,
            "masses": shape,
            "gravity": (*shape[:-1], 3),
            "comfort_low": (*shape, 3),
            "comfort_high": (*shape, 3),
            "optimum_wxyz": (*shape, 4),
        }
        for name, wanted in expected.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _frozen(getattr(self, name), name, wanted))
        object.__setattr__(self, "mode", _mode(self.mode))
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

    def take(self, rows: Counts | int) -> Forces:
        """Return the forces on some of B chains, or on one."""
        return self._with_rows(rows)

    def as_batch(self) -> Forces:
        """Return the forces on one chain as those of a batch of one."""
        return self._with_rows(np.newaxis)

    def under(self, gravity: Array) -> Forces:
        """Return the same springs and masses under another gravity, of the shape of this one."""
        under = object.__new__(Forces)
        pulled = _frozen(gravity, "gravity", self.gravity.shape)
        under.__dict__.update(vars(self), gravity=pulled)
        return under

    def _with_rows(self, rows: Counts | int | None) -> Forces:
        taken = object.__new__(Forces)
        # Rows of checked records need no check.
        taken.__dict__.update(
            {
                name: value[rows] if isinstance(value, np.ndarray) else value
                for name, value in vars(self).items()
            }
        )
        return taken


def make_forces(
    stiffness: npt.ArrayLike,
    masses: npt.ArrayLike | None = None,
    gravity: npt.ArrayLike | None = None,
    comfort: npt.ArrayLike = 0.0,
    optimum_wxyz: npt.ArrayLike | None = None,
    mode: StepMode = StepMode.EXACT,
    gain: float | None = None,
) -> Forces:
    """Return forces with what is not given left out.

    Args:
        stiffness: Shape (..., n).
        masses: Shape (..., n); none by default.
        gravity: Shape (..., 3); none by default.
        comfort: Turns to either side that cost nothing, radians, anything that broadcasts to shape
            (..., n, 3).
        optimum_wxyz: As ``Forces`` takes it, like the rest.
        mode: As ``Forces``.
        gain: As ``Forces``.
    """
    stiff = np.asarray(stiffness, dtype=np.float64)
    comfortable = np.broadcast_to(np.asarray(comfort, dtype=np.float64), (*stiff.shape, 3))
    pull = np.zeros((*stiff.shape[:-1], 3)) if gravity is None else np.asarray(gravity, float)
    return Forces(
        stiffness=stiff,
        masses=np.zeros_like(stiff) if masses is None else np.asarray(masses, float),
        gravity=pull,
        comfort_low=-comfortable,
        comfort_high=comfortable,
        optimum_wxyz=None if optimum_wxyz is None else np.asarray(optimum_wxyz, float),
        mode=mode,
        gain=gain,
    )


def check_forces(forces: Forces | None, leading: tuple[int, ...], count: int) -> None:
    """Raise if forces are not one a bone.

    Raises:
        InvalidChainError: With what to give instead.
    """
    if forces is not None and forces.stiffness.shape != (*leading, count):
        raise InvalidChainError(
            f"The forces are of shape {forces.stiffness.shape}, not {(*leading, count)}:"
            " give one a bone."
        )


def _frozen(values: npt.ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    words = name.replace("_", " ").removesuffix(" wxyz")
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidChainError(
            f"The forces' {words} is not made of numbers: give an array of floats."
        ) from None
    if array.shape != shape:
        raise InvalidChainError(
            f"The forces' {words} needs shape {shape}, not {array.shape}: give one row a bone."
        )
    if not np.isfinite(array).all():
        raise InvalidChainError(f"The forces' {words} is not all finite: give finite numbers.")
    array.setflags(write=False)
    return array


def _mode(mode: StepMode) -> StepMode:
    if mode not in set(StepMode):
        raise InvalidChainError(
            f"There is no step mode '{mode}': choose from {', '.join(StepMode)}."
        )
    return StepMode(mode)
