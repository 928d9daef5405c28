"""Selected rows of outputs, and heights of points among them along one direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arithmetic import Array, Counts


@dataclass(frozen=True)
class OutputRows:
    """The parts of outputs (B, rows) that are held.

    Attributes:
        plain: Indices of the k rows that are held as they are.
        points: First of the three rows of each point whose height alone is held, shape (p,).
        normal: The direction of heights, shape (3,).
    """

    plain: Counts | slice
    points: Counts
    normal: Array

    @classmethod
    def of(cls, plain: Counts | slice) -> OutputRows:
        """Return a selection of rows without points."""
        return cls(plain, np.zeros(0, dtype=np.int64), np.zeros(3))

    def pick(self, values: Array) -> Array:
        """Return the held parts of outputs (B, rows) or Jacobians (B, rows, any), heights first."""
        if isinstance(self.plain, slice):
            rows: Array = values[:, self.plain]
        else:
            rows = values.take(self.plain, axis=1)
        if not self.points.size:
            return rows
        heights = sum(values[:, self.points + at] * self.normal[at] for at in range(3))
        return np.concatenate((heights, rows), axis=1)

    def spread(self, force: Array, count: int) -> Array:
        """Return forces (B, p + k) on the held parts as forces on all outputs, (B, count)."""
        whole, heights = np.zeros((len(force), count)), len(self.points)
        whole[:, self.plain] = force[:, heights:]
        for at in range(3 if heights else 0):
            whole[:, self.points + at] = force[:, :heights] * self.normal[at]
        return whole


ALL_OUTPUTS, NO_OUTPUTS = (OutputRows.of(slice(stop)) for stop in (None, 0))
