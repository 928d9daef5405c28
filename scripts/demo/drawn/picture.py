"""Draw the picture of the demonstration.

    python -m demo.drawn.picture out      in scripts/, with Matplotlib

Started by demo.py. Reads demo.json from the folder and writes demo.png beside it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from demo.drawn.drawing import Window
from demo.drawn.sheet import Cell, Strip, draw
from demo.report import Report

WHOLE_BODY = Window(width=1.42, height=2.18, bottom=-1.13)
UPPER_BODY = Window(width=1.42, height=1.2, bottom=-0.16, fade=0.2)

# The frame on which the spines of the solvers differ most.
COMPARED = "69"


def main(folder: Path) -> None:
    """Draw one strip of poses through time, and one that compares the solvers."""
    report = Report.load(folder / "demo.json")
    first = report.rows[0]
    played = [Cell(pose, int(frame), f"frame {frame}") for frame, pose in first.poses.items()]
    compared = [
        Cell(
            row.poses[COMPARED], int(COMPARED), row.title, f"within {row.worst:.1e} of limb length"
        )
        for row in report.rows
    ]
    heading = (
        f"Five chains on Rigify's human metarig, live while Blender plays {first.frames} frames"
    )
    strips = [
        Strip(heading, played, WHOLE_BODY),
        Strip(f"The same instant, frame {COMPARED}, with each solver", compared, UPPER_BODY),
    ]
    draw(report, strips, folder / "demo.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
