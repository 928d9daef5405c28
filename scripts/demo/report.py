"""What was measured of the figure, as a table and as what JSON keeps of it."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

from common.tables import make_table

# The promise: on every frame in reach the effector is this near to its target, in limb lengths.
ALLOWED = 1e-4
HEADS = ("solver", "chains", "frames", "in reach", "worst / L", "median / L", "ms / frame")
LEGEND = """
worst, median: distance from effector to target on frames in reach, as Blender's
evaluated pose shows it; L: length of the limb; ms: median over the frames."""
GOOD = f"Every limb follows its target to within {ALLOWED:g} of its length."
BAD = f"FAILED: a limb misses targets in reach by more than {ALLOWED:g} of its length."


@dataclasses.dataclass(frozen=True)
class Row:
    """One playback with a solver: how many frames, and the median milliseconds of one.

    The residuals are distances from effector to target on the frames in reach, by limb and in its
    lengths.
    """

    title: str
    frames: int
    residuals: dict[str, list[float]]
    milliseconds: float

    @property
    def is_good(self) -> bool:
        """Whether each limb keeps the promise, on at least half of the frames; NaN does not."""
        return all(
            all(value <= ALLOWED for value in values) and 2 * len(values) >= self.frames
            for values in self.residuals.values()
        )

    def worst(self, limb: str) -> float:
        """Return a limb's largest residual; infinite where none was in reach."""
        return max(self.residuals[limb], default=float("inf"))

    def cells(self) -> tuple[str, ...]:
        values = [value for limb in self.residuals.values() for value in limb]
        return (
            *(self.title, str(len(self.residuals)), str(self.frames)),
            f"{len(values)}/{len(self.residuals) * self.frames}",
            f"{max(map(self.worst, self.residuals)):.1e}",
            f"{statistics.median(values):.1e}" if values else "-",
            f"{self.milliseconds:.2f}",
        )


def as_json(rows: Sequence[Row], muted: float, blender: str) -> dict[str, object]:
    """Return everything, with what the command prints; ``muted``: milliseconds without a solve."""
    is_good = all(row.is_good for row in rows)
    last = ("chains muted", "-", str(rows[0].frames), "-", "-", "-", f"{muted:.2f}")
    names = list(rows[0].residuals)
    worst = [(row.title, *(f"{row.worst(name):.1e}" for name in names)) for row in rows]
    solvers = make_table(HEADS, [*(row.cells() for row in rows), last])
    limbs = make_table(("worst / L of each limb", *names), worst)
    return {
        "blender": blender,
        "rows": [dataclasses.asdict(row) for row in rows],
        "muted_milliseconds": muted,
        "table": f"{solvers}\n\n{limbs}\n{LEGEND}",
        "is_good": is_good,
        "verdict": GOOD if is_good else BAD,
    }
