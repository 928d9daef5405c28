"""What was measured of the figure, as a table and as JSON."""

from __future__ import annotations

import dataclasses
import json
import statistics
from pathlib import Path

# The promise: on every frame in reach the effector is this near to its target, in limb lengths.
ALLOWED = 1e-4
HEADS = ("solver", "chains", "frames", "in reach", "worst / L", "median / L", "ms / frame")
LEGEND = """
worst, median: distance from effector to target on frames in reach, as Blender's
evaluated pose shows it; L: length of the limb; ms: median over the frames."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One playback.

    Attributes:
        title: Name of the solver.
        frames: Number of frames played.
        residuals: By limb: from effector to target on the frames in reach, in lengths of the limb.
        milliseconds: Of a frame, the median.
    """

    title: str
    frames: int
    residuals: dict[str, list[float]]
    milliseconds: float

    @property
    def is_good(self) -> bool:
        """Whether each limb keeps the promise on at least half of the frames.

        Not a number is no success.
        """
        return all(
            all(value <= ALLOWED for value in values) and 2 * len(values) >= self.frames
            for values in self.residuals.values()
        )

    def worst(self, limb: str) -> float:
        """Return a limb's largest residual; infinite where none was in reach."""
        return max(self.residuals[limb], default=float("inf"))

    def cells(self) -> tuple[str, ...]:
        """Return the row as the table shows it."""
        values = [value for limb in self.residuals.values() for value in limb]
        return (
            self.title,
            str(len(self.residuals)),
            str(self.frames),
            f"{len(values)}/{len(self.residuals) * self.frames}",
            f"{max(map(self.worst, self.residuals)):.1e}",
            f"{statistics.median(values):.1e}" if values else "-",
            f"{self.milliseconds:.2f}",
        )


@dataclasses.dataclass(frozen=True)
class Report:
    """All playbacks.

    Attributes:
        blender: Its version.
        rows: One for each solver.
        muted_milliseconds: Of a frame of the same animation without any solve, the median.
    """

    blender: str
    rows: list[Row]
    muted_milliseconds: float

    @property
    def is_good(self) -> bool:
        """Whether every solver keeps the promise."""
        return bool(self.rows) and all(row.is_good for row in self.rows)

    def save(self, path: Path) -> None:
        """Write it to a file, with what the command prints of it."""
        verdict = f"Every limb follows its target to within {ALLOWED:g} of its length."
        if not self.is_good:
            verdict = (
                f"FAILED: a limb misses targets in reach by more than {ALLOWED:g} of its length."
            )
        data = dataclasses.asdict(self)
        data |= {"table": self.table(), "is_good": self.is_good, "verdict": verdict}
        path.write_text(json.dumps(data), encoding="utf-8")

    def table(self) -> str:
        """Return what the demonstration prints."""
        muted = ("chains muted", "-", str(self.rows[0].frames), "-", "-", "-")
        solvers = [HEADS, *(row.cells() for row in self.rows)]
        solvers.append((*muted, f"{self.muted_milliseconds:.2f}"))
        names = list(self.rows[0].residuals)
        limbs = [("worst / L of each limb", *names)]
        limbs += [(row.title, *(f"{row.worst(name):.1e}" for name in names)) for row in self.rows]
        return "\n".join((*_aligned(solvers), "", *_aligned(limbs), LEGEND))


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Return lines with a ruler below the first: the first column to the left, all others right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))]
        )
        for row in rows
    ]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]
