"""Cells of tables, and what pictures are drawn of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.measuring import Result

NOTHING = "-"


def short(number: float | None) -> str:
    """Return a number to three digits, not as a power of ten: 1240, 0.0273."""
    return NOTHING if number is None else f"{float(f'{number:.3g}'):g}"


def verdict(result: Result, clock: str = "wall") -> str:
    """Return whether a goal is met, in a word."""
    return {None: NOTHING, True: "yes", False: "NO"}[result.is_met(clock)]


def panel_of(
    title: str, column: int, labelled: Sequence[tuple[str, Result | None]], clock: str = "wall"
) -> dict[str, Any]:
    """Return one panel of a picture for `plot`: a bar for each result, room where there is none."""
    rows = [
        {
            "label": label,
            "value": result and result.value(clock),
            "goal": result and result.row.goal,
            "is_met": result and result.is_met(clock),
            "range": result.rounds(clock) if result else [],
        }
        for label, result in labelled
    ]
    lines = max((label.count("\n") + 1 for label, _ in labelled), default=1)
    return {"title": title, "column": column, "lines": lines, "rows": rows}
