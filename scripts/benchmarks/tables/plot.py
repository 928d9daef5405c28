"""Draw the results: how much of its goal each row takes.

    python -m benchmarks.tables.plot RESULTS PICTURE      a Python with Matplotlib

Rows without a goal are grey.
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

from benchmarks.tables.table import short

# Told apart without colour vision, too.
MET, MISSED, INFORMS = "#2f7fb8", "#d9822b", "#b4bcc8"
ROW_HEIGHT = 0.36
WIDTH = 11.0
SMALL = 7.5


def draw(results: dict[str, Any], picture: Path) -> None:
    """Draw all measured rows as bars.

    Args:
        results: What the benchmark has written.
        picture: Where to.
    """
    rows = [row for row in results["rows"] if row["ratio"] is not None][::-1]
    figure, axes = plt.subplots(figsize=(WIDTH, 1.4 + ROW_HEIGHT * len(rows)), layout="constrained")
    for place, row in enumerate(rows):
        _draw_row(axes, place, row)
    axes.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=SMALL)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    axes.axvline(1.0, color="#555555", linewidth=0.8, linestyle=":")
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel("our time / the other's; black mark: goal, thin line: all rounds", fontsize=8.5)
    axes.set_title(_title(results), fontsize=9.5, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=120, metadata={"Software": None})


def _draw_row(axes: Axes, place: int, row: dict[str, Any]) -> None:
    color = {None: INFORMS, True: MET, False: MISSED}[row["is_met"]]
    axes.barh(place, row["ratio"], color=color, height=0.6)
    axes.plot([min(row["ratios"]), max(row["ratios"])], [place] * 2, "black", linewidth=0.9)
    text = short(row["ratio"])
    if row["goal"] is not None:
        axes.plot([row["goal"]] * 2, [place - 0.4, place + 0.4], "black", linewidth=2.2)
        text += f"  (goal {row['goal']:g})"
    # Beside the axes: nothing is in the way there.
    axes.annotate(
        text, (1.0, place), xycoords=("axes fraction", "data"), xytext=(4, 0),
        textcoords="offset points", va="center", fontsize=SMALL,
    )  # fmt: skip


def _label(row: dict[str, Any]) -> str:
    ours, theirs, unit = row["ours"]["median"], row["theirs"]["median"], row["unit"]
    return f"{row['work']}\n{short(ours)} {unit}; {row['rival']}: {short(theirs)} {unit}"


def _title(results: dict[str, Any]) -> str:
    versions = results["versions"]
    return (
        f"Chain IK {versions['chain_ik']} in Blender {versions['blender']}, "
        f"Python {versions['python']}, NumPy {versions['numpy']}; {results['summary']}"
    )


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
