"""Draw ratios as bars, on a scale on which a cliff cannot hide.

    python -m benchmarks.plot DRAWING PICTURE      a Python with Matplotlib

DRAWING is a JSON file: a title, what nothing may cost ("most"), and panels; a panel has a title,
and rows with label, value, goal, is_met and the range of its rounds. A panel without a title
stands above the others, which share their labels. Rows without a goal are grey.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

# Told apart without colour vision, too.
MET, MISSED, CLIFF, INFORMS = "#2f7fb8", "#d9822b", "#a3262a", "#b4bcc8"
LINE_HEIGHT, WIDTH, SMALL = 0.19, 13.0, 7.0
AXIS = (
    "Our time / the other's. Black mark: goal, thin line: all rounds. Blue: within its goal,"
    " orange: over it, dark red: over the dashed line as well, a cliff; grey: has none"
)


def draw(drawing: dict[str, Any], picture: Path) -> None:
    """Draw the panel that has no title, and the others beside each other below it."""
    panels, most = drawing["panels"], drawing["most"]
    stages = [[each for each in panels if bool(each["title"]) is named] for named in (False, True)]
    stages = [stage for stage in stages if stage]
    lines = [len(stage[0]["rows"]) + 3 for stage in stages]
    figure = plt.figure(figsize=(WIDTH, 1.0 + LINE_HEIGHT * sum(lines)), layout="constrained")
    values = [row["value"] for panel in panels for row in panel["rows"] if row["value"]]
    # The same for all: a bar twice as long is as much more everywhere.
    ends = 0.8 * min(0.125, *values), 1.6 * max(1.0, most or 1.0, *values)
    grid = figure.add_gridspec(len(lines), 1, height_ratios=lines)
    for place, stage in zip(grid, stages):
        for column, (panel, spot) in enumerate(zip(stage, place.subgridspec(1, len(stage)))):
            axes = figure.add_subplot(spot)
            _draw_panel(axes, panel, most, ends)
            if column:
                axes.set_yticklabels([])
    figure.supxlabel(AXIS, fontsize=8.5)
    figure.suptitle(drawing["title"], fontsize=9.5)
    figure.savefig(picture, dpi=110, metadata={"Software": None})


def _draw_panel(
    axes: Axes, panel: dict[str, Any], most: float | None, ends: tuple[float, float]
) -> None:
    rows = panel["rows"][::-1]
    for place, row in enumerate(rows):
        if row["value"] is not None:
            _draw_row(axes, place, row, most, ends[0])
    axes.set_yticks(range(len(rows)), [row["label"] for row in rows], fontsize=SMALL)
    axes.set_ylim(-0.8, len(rows) - 0.2)
    axes.set_xscale("log")
    axes.set_xlim(*ends)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    for value, style in ((1.0, ":"), (most, "--")):
        if value is not None:
            axes.axvline(value, color="#555555", linewidth=0.8, linestyle=style)
    axes.set_title(panel["title"], fontsize=8.5, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_row(
    axes: Axes, place: int, row: dict[str, Any], most: float | None, least: float
) -> None:
    value, goal = row["value"], row["goal"]
    color = {None: INFORMS, True: MET, False: MISSED}[row["is_met"]]
    if row["is_met"] is False and most is not None and value > most:
        color = CLIFF
    axes.barh(place, max(value - least, 0.0), left=least, color=color, height=0.65)
    axes.plot(row["range"], [place] * len(row["range"]), "black", linewidth=0.9)
    if goal is not None:
        axes.plot([goal] * 2, [place - 0.42, place + 0.42], "black", linewidth=1.9)
    farthest = max([value, goal or 0.0, *row["range"]])
    axes.annotate(
        f"{value:.3g}", (farthest, place), xytext=(3, 0),
        textcoords="offset points", va="center", fontsize=SMALL - 1.0,
    )  # fmt: skip


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
