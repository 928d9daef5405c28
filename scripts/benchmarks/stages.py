"""The table of where an update's time goes, one row a scene."""

from __future__ import annotations

from benchmarks.programs import Programs
from benchmarks.tables import markdown
from benchmarks.tables.markdown import short

LAYOUTS = ("100 x 4 x 2", "40 x 4 x 10", "1 x 4 x 2", "1 x 50", "1 x 300")
SWITCH = "Solving so many chains one by one / side by side, in microseconds"
TITLE = "Where the time of a live update goes, in milliseconds (armatures x limbs x bones)"


def measured(programs: Programs) -> str:
    """Return both tables as Markdown."""
    return f"{table(measure(programs))}\n\n{switch(programs)}"


def measure(programs: Programs) -> dict[str, dict[str, float]]:
    """Return the milliseconds of each stage by scene."""
    found = {}
    for layout in LAYOUTS:
        worker = programs.start("chains", layout)
        worker.ask("check")
        found[layout] = worker.ask("stages")
        worker.close()
    return found


def table(found: dict[str, dict[str, float]]) -> str:
    """Return the stages as a Markdown table."""
    rows = [(layout, *map(short, stages.values())) for layout, stages in found.items()]
    head = ("scene", *next(iter(found.values())))
    return f"{TITLE}\n\n{markdown.table(head, rows)}"


def switch(programs: Programs) -> str:
    """Return from how many chains on it pays to solve them side by side."""
    lines = "\n".join(f"- {line}" for line in programs.printed("measured.core_switch"))
    return f"{SWITCH}\n\n{lines}"
