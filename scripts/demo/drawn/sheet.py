"""The contact sheet: poses of the demonstration on one picture."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from demo.drawn import drawing
from demo.limbs import LIMBS
from demo.report import Pose, Report
from figures import shrinking

Array = npt.NDArray[np.float64]

TEXT = "#eef1f6"
QUIET = "#8e99aa"
RULE = "#2b3341"

DOTS_PER_INCH = 90
# In inches.
STRIP_WIDTH = 16.0
MARGIN = 0.35
TITLE_HEIGHT = 1.15
HEADING_HEIGHT = 0.5
CAPTION_HEIGHT = 0.85


@dataclasses.dataclass(frozen=True)
class Cell:
    """One pose.

    Attributes:
        pose: Bone name -> head and tail, world space.
        frame: Number of its frame.
        caption: Below it.
        note: Below the caption, less conspicuous.
    """

    pose: Pose
    frame: int
    caption: str
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Strip:
    """One row of poses.

    Attributes:
        heading: Above it.
        cells: From left to right.
        window: What a cell shows.
    """

    heading: str
    cells: list[Cell]
    window: drawing.Window

    @property
    def cell_width(self) -> float:
        """Of one pose, in inches."""
        return STRIP_WIDTH / len(self.cells)

    @property
    def height(self) -> float:
        """Of its poses, without the text, in inches."""
        return self.cell_width * self.window.height / self.window.width


def draw(report: Report, strips: list[Strip], path: Path) -> None:
    """Write the contact sheet.

    Args:
        report: Gives the paths of the targets.
        strips: From top to bottom.
        path: A PNG file.
    """
    width = STRIP_WIDTH + 2 * MARGIN
    text_height = HEADING_HEIGHT + CAPTION_HEIGHT
    height = TITLE_HEIGHT + sum(strip.height + text_height for strip in strips) + 0.5 * MARGIN
    figure = Figure(figsize=(width, height), facecolor=drawing.BACKGROUND)
    FigureCanvasAgg(figure)
    page = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
    page.axis("off")
    _draw_title(page, width, height)
    paths = {name: np.array(points) for name, points in report.paths.items()}
    top = height - TITLE_HEIGHT
    for strip in strips:
        bottom = top - text_height - strip.height
        _draw_strip(page, strip, top)
        for i, cell in enumerate(strip.cells):
            left = MARGIN + i * strip.cell_width
            box = (left / width, (bottom + CAPTION_HEIGHT) / height)
            size = (strip.cell_width / width, strip.height / height)
            axes = figure.add_axes((*box, *size))
            drawing.draw_pose(axes, cell.pose, paths, cell.frame, strip.window)
        top = bottom
    figure.savefig(path, dpi=DOTS_PER_INCH)
    shrinking.shrink(path, path)


def _draw_title(page: Axes, width: float, height: float) -> None:
    y = height - 0.62
    page.text(MARGIN, y, "Chain IK", color=TEXT, fontsize=30, weight="bold", va="center")
    for i, limb in enumerate(reversed(LIMBS)):
        x = width - MARGIN - 1.62 * (i + 1) + 0.3
        page.scatter(x, y - 0.03, s=150, color=limb.colour, linewidths=0)
        page.text(x + 0.15, y - 0.04, limb.name, color=TEXT, fontsize=16, va="center")


def _draw_strip(page: Axes, strip: Strip, top: float) -> None:
    page.plot((MARGIN, MARGIN + STRIP_WIDTH), (top, top), color=RULE, linewidth=1.2)
    page.text(MARGIN, top - 0.2, strip.heading, color=TEXT, fontsize=19, va="top")
    y = top - HEADING_HEIGHT - strip.height
    for i, cell in enumerate(strip.cells):
        x = MARGIN + (i + 0.5) * strip.cell_width
        page.text(x, y - 0.2, cell.caption, color=TEXT, fontsize=18, ha="center", va="center")
        page.text(x, y - 0.5, cell.note, color=QUIET, fontsize=15, ha="center", va="center")
