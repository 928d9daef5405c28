"""Some rows of outputs, and the heights of points among them along one direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arithmetic import Array, Counts


@dataclass(frozen=True)
class OutputRows:
    """What of outputs (B, rows) is held.

    Attributes:
        plain: Rows that are held as they are, k of them.
        points: First rows of points, three each, of which only heights are held, shape (p,).
        normal: The direction of heights, shape (3,).
    """

    plain: Counts | slice
    points: Counts
    normal: Array

    @classmethod
    def of(cls, plain: Counts | slice) -> OutputRows:
        """Return rows without points."""
        return cls(plain, np.zeros(0, dtype=np.int64), np.zeros(3))

    def pick(self, values: Array) -> Array:
        """Return what is held of outputs (B, rows), or of a Jacobian (B, rows, any).

        Heights come first.
        """
        if isinstance(self.plain, slice):
            rows: Array = values[:, self.plain]
        else:
            rows = values.take(self.plain, axis=1)
        if not self.points.size:
            return rows
        heights = sum(values[:, self.points + at] * self.normal[at] for at in range(3))
        return np.concatenate((heights, rows), axis=1)

    def spread(self, force: Array, count: int) -> Array:
        """Return forces (B, p + k) on what is held as such on all outputs, (B, count)."""
        whole, heights = np.zeros((len(force), count)), len(self.points)
        whole[:, self.plain] = force[:, heights:]
        for at in range(3 if heights else 0):
            whole[:, self.points + at] = force[:, :heights] * self.normal[at]
        return whole


EVERY, NOTHING = (OutputRows.of(slice(stop)) for stop in (None, 0))
