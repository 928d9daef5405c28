"""What the demonstration measured: kept as JSON between its processes, shown as a table."""

from __future__ import annotations

import dataclasses
import json
import statistics
from pathlib import Path

# The promise: on every frame in reach the effector is this near to its target.
ALLOWED = 1e-4

Point = list[float]
Pose = dict[str, list[Point]]


@dataclasses.dataclass(frozen=True)
class LimbResult:
    """How well one chain followed.

    Attributes:
        frames: Number of frames played.
        residuals: On the frames in reach, from effector to target, in lengths of the limb.
    """

    frames: int
    residuals: list[float]

    @property
    def worst(self) -> float:
        """The largest residual; infinite where nothing was in reach, which proves nothing."""
        return max(self.residuals, default=float("inf"))

    @property
    def is_good(self) -> bool:
        """Whether the promise holds, on at least half of the frames. Not a number is no success."""
        return all(value <= ALLOWED for value in self.residuals) and (
            2 * len(self.residuals) >= self.frames
        )


@dataclasses.dataclass(frozen=True)
class Row:
    """One playback.

    Attributes:
        title: Name of the solver.
        limbs: By name.
        milliseconds: Of a frame, the median.
        poses: Some frames to draw: bone name -> head and tail, world space.
    """

    title: str
    limbs: dict[str, LimbResult]
    milliseconds: float
    poses: dict[str, Pose]

    @property
    def is_good(self) -> bool:
        """Whether every limb keeps the promise."""
        return all(limb.is_good for limb in self.limbs.values())

    @property
    def frames(self) -> int:
        """Number of frames played."""
        return max(limb.frames for limb in self.limbs.values())

    @property
    def worst(self) -> float:
        """The largest residual of all limbs."""
        return max(limb.worst for limb in self.limbs.values())

    def cells(self) -> tuple[str, ...]:
        """Return the row as the table shows it."""
        residuals = [value for limb in self.limbs.values() for value in limb.residuals]
        return (
            self.title,
            str(len(self.limbs)),
            str(self.frames),
            f"{len(residuals)}/{len(self.limbs) * self.frames}",
            f"{self.worst:.1e}",
            f"{statistics.median(residuals):.1e}" if residuals else "-",
            f"{self.milliseconds:.2f}",
        )


@dataclasses.dataclass(frozen=True)
class Report:
    """All playbacks.

    Attributes:
        blender: Its version.
        rows: One for each solver.
        muted_milliseconds: Of a frame of the same animation without any solve, the median.
        paths: By limb: where its target goes, a point for each frame, world space.
    """

    blender: str
    rows: list[Row]
    muted_milliseconds: float
    paths: dict[str, list[Point]]

    @property
    def is_good(self) -> bool:
        """Whether every solver keeps the promise."""
        return bool(self.rows) and all(row.is_good for row in self.rows)

    def save(self, path: Path) -> None:
        """Write it to a file."""
        path.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Report:
        """Read it from a file."""
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = []
        for row in data.pop("rows"):
            limbs = {name: LimbResult(**limb) for name, limb in row.pop("limbs").items()}
            rows.append(Row(limbs=limbs, **row))
        return cls(rows=rows, **data)

    def table(self) -> str:
        """Return what the demonstration prints."""
        heads = ("solver", "chains", "frames", "in reach", "worst / L", "median / L", "ms / frame")
        muted = ("chains muted", "-", str(self.rows[0].frames), "-", "-", "-")
        solvers = [heads, *(row.cells() for row in self.rows)]
        solvers.append((*muted, f"{self.muted_milliseconds:.2f}"))
        names = list(self.rows[0].limbs)
        limbs = [("worst / L of each limb", *names)]
        limbs += [
            (row.title, *(f"{row.limbs[name].worst:.1e}" for name in names)) for row in self.rows
        ]
        return "\n".join(
            (
                *_aligned(solvers),
                "",
                *_aligned(limbs),
                "",
                "worst, median: distance from effector to target on frames in reach, as Blender's",
                "evaluated pose shows it; L: length of the limb; ms: median over the frames.",
            )
        )


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
