"""The results as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

from benchmarks.tables.ratios import Result, Samples

HEAD = (
    "work",
    "compared with",
    "ours",
    "other",
    "ratio",
    "rounds",
    "goal",
    "met",
    "reached: ours, other",
    "worst residual / L: ours, other",
)
NUMBERS_FROM = 2
NOTHING = "-"


def table(results: Sequence[Result]) -> str:
    """Return all results as a Markdown table that is aligned for terminals, too."""
    rows = [HEAD, *(cells(result) for result in results)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = [_line(row, widths) for row in rows]
    rule = "|".join(
        "-" * (width + 2) if i < NUMBERS_FROM else "-" * (width + 1) + ":"
        for i, width in enumerate(widths)
    )
    notes = [f"{name} runs on {stand}." for name, stand in _stands(results).items()]
    notes += [
        f"Not measured: {result.row.work}, {result.rival_name}: {result.reason}"
        for result in results
        if result.reason
    ]
    return "\n".join((lines[0], f"|{rule}|", *lines[1:], *([""] if notes else []), *notes))


def _stands(results: Sequence[Result]) -> dict[str, str]:
    """Return what the rivals outside of Blender run on, by their names."""
    return {
        result.rival_name: ", ".join(
            f"{name} {version}"
            for name, version in result.rival.versions.items()
            if name != "package"
        )
        for result in results
        if result.rival is not None and result.rival.versions.get("package")
    }


def cells(result: Result) -> tuple[str, ...]:
    """Return the texts of one line."""
    ratios = result.ratios
    return (
        result.row.work,
        result.rival_name or NOTHING,
        _figure(result.ours, result.row.unit),
        _figure(result.rival, result.row.unit),
        short(result.judged) if ratios and result.judged is not None else NOTHING,
        f"{short(min(ratios))}..{short(max(ratios))}" if ratios else NOTHING,
        _goal(result),
        _verdict(result),
        _pair(result, "reached", lambda value: f"{100.0 * value:.4g}%"),
        _pair(result, "worst", lambda value: f"{value:.1e}"),
    )


def short(number: float) -> str:
    """Return a number to three digits, not as a power of ten: 1240, 0.0273."""
    return f"{float(f'{number:.3g}'):g}"


def summary(results: Sequence[Result]) -> str:
    """Return how many goals are met, in a line."""
    goals = [result for result in results if result.row.limit is not None]
    met = sum(result.is_met is True for result in goals)
    missing = sum(result.is_met is None for result in goals)
    unmeasured = f", {missing} not measured" if missing else ""
    return f"{met} of {len(goals)} goals met{unmeasured}"


def _figure(samples: Samples | None, unit: str) -> str:
    return NOTHING if samples is None else f"{short(samples.median)} {unit}"


def _goal(result: Result) -> str:
    if result.row.limit is None:
        return NOTHING
    unit = f" {result.row.unit}" if result.row.rival is None else ""
    return f"<= {result.row.limit:g}{unit}" + (", reached" if result.row.must_reach else "")


def _verdict(result: Result) -> str:
    if result.reason:
        return "not measured"
    return {None: NOTHING, True: "yes", False: "NO"}[result.is_met]


def _pair(result: Result, name: str, text: Callable[[float], str]) -> str:
    values = [
        None if samples is None else getattr(samples.facts, name)
        for samples in (result.ours, result.rival)
    ]
    if values == [None, None]:
        return NOTHING
    return ", ".join(NOTHING if value is None else text(value) for value in values)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        text.ljust(width) if i < NUMBERS_FROM else text.rjust(width)
        for i, (text, width) in enumerate(zip(row, widths))
    ]
    return f"| {' | '.join(padded)} |"
