"""Draw what every setting costs: a bar each, on a scale on which a cliff cannot hide.

python -m benchmarks.tables.settings_plot RESULTS PICTURE      a Python with Matplotlib
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

from benchmarks.setting_rows import MOST, SCENES
from benchmarks.tables.plot import MET, MISSED

TITLES = {
    "two": "100 chains of two bones",
    "ten": "100 chains of ten bones",
    "one": "one chain of four bones",
}
ROW_HEIGHT, WIDTH, SMALL = 0.2, 13.0, 7.0
LEAST = 0.1
CLIFF = "#a3262a"
"""Over the goal, and over what nothing may be."""


def draw(figures: list[dict[str, Any]], picture: Path) -> None:
    """Draw all measured ratios: the characters above, three columns of settings below.

    Args:
        figures: What `settings.as_json` returns.
        picture: Where to.
    """
    ratios = [each for each in figures if each["value"] is not None and each["kind"] == "ratio"]
    humans = [each for each in ratios if each["scene"] in ("human", "once")]
    names = list(dict.fromkeys(each["name"] for each in ratios if each["scene"] in SCENES))
    greatest = 2.0 * max([MOST, *(each["value"] for each in ratios)])
    heights = [len(humans) + 2.0] * bool(humans) + [len(names) + 2.0] * bool(names)
    figure = plt.figure(figsize=(WIDTH, 1.0 + ROW_HEIGHT * sum(heights)), layout="constrained")
    grid = figure.add_gridspec(len(heights), len(SCENES), height_ratios=heights)
    if humans:
        axes = figure.add_subplot(grid[0, :])
        _draw(axes, humans, [each["name"] for each in humans], "characters, and opening a file")
        axes.set_xlim(LEAST, greatest)
    for column, scene in enumerate(SCENES if names else ()):
        axes = figure.add_subplot(grid[-1, column])
        _draw(axes, [each for each in ratios if each["scene"] == scene], names, TITLES[scene])
        # The same for all: a bar twice as long is as much more everywhere.
        axes.set_xlim(LEAST, greatest)
        if column:
            axes.set_yticklabels([])
    figure.suptitle(
        "Times Blender's IK constraint, plain chains of the same lengths."
        " Black mark: goal; dotted: 1; dashed: 15.\nBlue: within its goal, orange: over it, dark"
        " red: over 15 as well, a cliff",
        fontsize=9.5,
    )
    figure.savefig(picture, dpi=110, metadata={"Software": None})


def _draw(axes: Axes, figures: list[dict[str, Any]], names: list[str], title: str) -> None:
    places = {name: len(names) - 1 - i for i, name in enumerate(names)}
    for each in figures:
        place, value = places[each["name"]], each["value"]
        color = MET if each["is_met"] else CLIFF if value > MOST else MISSED
        axes.barh(place, max(value - LEAST, 0.0), left=LEAST, height=0.7, color=color)
        axes.plot([each["goal"]] * 2, [place - 0.42, place + 0.42], "black", linewidth=1.8)
        axes.annotate(
            f"{value:.3g}", (max(value, each["goal"]), place), xytext=(3, 0),
            textcoords="offset points", va="center", fontsize=SMALL - 1.0,
        )  # fmt: skip
    axes.set_yticks(list(places.values()), list(places), fontsize=SMALL)
    axes.set_xscale("log")
    axes.set_ylim(-0.8, max(len(names), 1) - 0.2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    axes.axvline(1.0, color="#555555", linewidth=0.8, linestyle=":")
    axes.axvline(MOST, color="#555555", linewidth=0.9, linestyle="--")
    axes.set_title(title, fontsize=8.5, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["figures"], Path(sys.argv[2]))
