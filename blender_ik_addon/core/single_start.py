"""The start pose of one chain as plain numbers, for the path that solves one chain at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .start import Start
from .vectors import Array

Vector = tuple[float, float, float]
Complex = npt.NDArray[np.complex128]


class SingleStart:
    """One chain of a ``Start``; the attributes of the same names, as floats and tuples of floats.

    Attributes:
        origin: The root as an array, shape (3,).
        directions: Unit directions in the frame of chord and side, shape (n, 3).
        flat: The same as complex numbers, chord along the real axis, shape (n,); None for a chain
            that does not lie in the plane of its bend.
        lengths: Shape (n,).
        complex_lengths: The same, to be multiplied with complex numbers.
        columns: Lengths as a column, shape (n, 1).
        length_squares: Squared lengths, shape (n,).
        square_columns: The same as a column, shape (n, 1).
        quarters: A quarter by squared length, shape (n,).
        squares: Their sum.
        pair: The first and the last length.
        after: Length by share of the inner joints beyond it: what an offset counts in their
            mean, shape (n,).
        longest: The greatest length.
        ruled_by_longest: How much it leaves the others few ways round it.
        first_longest: Index of the longest segment.
        is_even: Whether all lengths are the same.
    """

    def __init__(self, start: Start, *, is_flat: bool | None = None) -> None:
        """Take the first chain of a ``Start``.

        Args:
            start: Start poses.
            is_flat: Whether to take it as lying in the plane of its bend; by default if it does to
                the last digits.
        """
        self.root: Vector = tuple(start.root[:, 0].tolist())
        self.origin: Array = np.array(self.root)
        self.chord: Vector = tuple(start.chord[:, 0].tolist())
        self.side: Vector = tuple(start.side[:, 0].tolist())
        self.unit, self.reach, self.least, self.distance, self.bulge, self.closing = (
            float(values[0])
            for values in (
                start.unit,
                start.reach,
                start.least,
                start.distance,
                start.bulge,
                start.closing,
            )
        )
        self.directions: Array = np.ascontiguousarray(start.directions[..., 0])
        self.lengths: Array = np.ascontiguousarray(start.lengths[:, 0])
        self.complex_lengths: Complex = self.lengths.astype(np.complex128)
        self.flat: Complex | None = None
        if start.is_flat if is_flat is None else is_flat:
            along: Complex = self.directions[:, 0] + 1j * self.directions[:, 1]
            self.flat = along / np.abs(along)
        self.columns = self.lengths[:, None]
        self.length_squares: Array = self.lengths * self.lengths
        self.square_columns = self.length_squares[:, None]
        self.quarters: Array = 0.25 / self.length_squares
        self.squares = float(self.length_squares.sum())
        self.count = len(self.lengths)
        self.pair: tuple[float, float] = (float(self.lengths[0]), float(self.lengths[-1]))
        self.after: Array = np.ascontiguousarray(start.after[:, 0])
        self.longest = float(start.longest[0])
        self.ruled_by_longest = float(start.ruled_by_longest[0])
        self.first_longest = int(np.argmax(self.lengths))
        self.is_even = not start.uneven[0]
        self.steps: Array = 0.5 * (self.count - 1) - np.arange(self.count, dtype=np.float64)
