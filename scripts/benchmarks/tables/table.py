"""The results as text, and as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from benchmarks.tables import markdown
from benchmarks.tables.markdown import NOTHING, short
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


def table(results: Sequence[Result]) -> str:
    """Return all results as a Markdown table, and what is to be said of some."""
    notes = [f"{name} runs on {stand}." for name, stand in _stands(results).items()]
    notes += [
        f"Not measured: {result.row.work}, {result.rival_name}: {result.reason}"
        for result in results
        if result.reason
    ]
    rows = [cells(result) for result in results]
    return "\n".join((markdown.table(HEAD, rows, 2), *([""] if notes else []), *notes))


def drawing(results: Sequence[Result], title: str) -> dict[str, Any]:
    """Return what `plot` draws."""
    rows = [
        {
            "label": f"{result.row.work}\n{_figure(result.ours, result.row.unit)};"
            f" {result.rival_name}: {_figure(result.rival, result.row.unit)}",
            "value": result.judged,
            "goal": result.row.limit,
            "is_met": result.is_met,
            "range": [min(result.ratios), max(result.ratios)],
        }
        for result in results
        if result.ratios
    ]
    axis = "our time / the other's; black mark: goal, thin line: all rounds"
    panels = [{"title": "", "column": 0, "lines": 2, "rows": rows}] if rows else []
    return {"title": title, "axis": axis, "most": None, "panels": panels}


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
        short(result.judged) if ratios else NOTHING,
        f"{short(min(ratios))}..{short(max(ratios))}" if ratios else NOTHING,
        _goal(result),
        "not measured" if result.reason else markdown.verdict(result.is_met),
        _pair(result, "reached", lambda value: f"{100.0 * value:.4g}%"),
        _pair(result, "worst", lambda value: f"{value:.1e}"),
    )


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


def _pair(result: Result, name: str, text: Callable[[float], str]) -> str:
    values = [
        None if samples is None else getattr(samples.facts, name)
        for samples in (result.ours, result.rival)
    ]
    if values == [None, None]:
        return NOTHING
    return ", ".join(NOTHING if value is None else text(value) for value in values)
