"""What comes out of measuring a row, and the arithmetic."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.rows import Row


@dataclasses.dataclass(frozen=True)
class Facts:
    """What one side delivered besides its time.

    Attributes:
        reached: Share of the targets within tolerance, None where nothing is to be reached.
        worst: Greatest distance between tip and target, as a share of the chain's length.
        length_error: Greatest error of a bone's length or the root's place, same unit.
    """

    reached: float | None = None
    worst: float | None = None
    length_error: float | None = None


@dataclasses.dataclass(frozen=True)
class Samples:
    """The figures of one side.

    Attributes:
        figures: One a round, in the row's unit.
        versions: Of the measured package, and of what it stands on.
        facts: What it delivered.
    """

    figures: tuple[float, ...]
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    facts: Facts = Facts()

    @property
    def median(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.figures)

    def as_json(self) -> dict[str, object]:
        """Return everything, for the file."""
        return {"median": self.median, **dataclasses.asdict(self)}


def round_ratios(ours: Sequence[float], rival: Sequence[float]) -> list[float]:
    """Return the ratio of each round: a machine that slows down does so for both of them."""
    if len(ours) != len(rival):
        raise ValueError("Every round has one figure of each side.")
    return [mine / other for mine, other in zip(ours, rival)]


@dataclasses.dataclass(frozen=True)
class Result:
    """A measured row.

    Attributes:
        row: What was asked.
        ours: Figures of this project; None if it could not be measured.
        rival: Figures of the other one.
        reason: Why there are no figures; empty where there are.
        is_broken: Whether it is this project that failed, at a row with a goal.
    """

    row: Row
    ours: Samples | None = None
    rival: Samples | None = None
    reason: str = ""
    is_broken: bool = False

    @property
    def rival_name(self) -> str:
        """The other's label with the version that counts for it; empty where there is no other."""
        side, versions = self.row.rival, {} if self.rival is None else self.rival.versions
        if side is None:
            return ""
        if side.program == "built-in" and "blender" in versions:
            return f"{side.label}, Blender {versions['blender']}"
        return f"{side.label} {versions.get('package', '')}".strip()

    @property
    def ratios(self) -> list[float]:
        """Ours by the rival's, a round each."""
        if self.ours is None or self.rival is None:
            return []
        return round_ratios(self.ours.figures, self.rival.figures)

    @property
    def judged(self) -> float | None:
        """What is held against the goal: the median ratio, or the figure where none is compared."""
        if self.ours is None:
            return None
        if self.row.rival is None:
            return self.ours.median
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None where there is no goal or no figure."""
        if self.row.limit is None or self.judged is None or self.ours is None:
            return None
        reached = self.ours.facts.reached
        if self.row.must_reach and (reached is None or reached < 1.0):
            return False
        return self.judged <= self.row.limit

    def as_json(self) -> dict[str, object]:
        """Return everything, for the file."""
        return {
            "work": self.row.work,
            "unit": self.row.unit,
            "rival": self.rival_name or None,
            "ratio": self.judged if self.row.rival is not None else None,
            "ratios": self.ratios,
            "goal": self.row.limit,
            "must_reach": self.row.must_reach,
            "is_met": self.is_met,
            "ours": None if self.ours is None else self.ours.as_json(),
            "theirs": None if self.rival is None else self.rival.as_json(),
            "not_measured": self.reason or None,
        }
