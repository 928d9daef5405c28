"""The table of what snakes, tails and trees cost in Blender, how that grows, and where it goes."""

from __future__ import annotations

import statistics

from benchmarks.programs import Programs
from benchmarks.tables import markdown
from benchmarks.tables.markdown import short
from benchmarks.workers import in_turn, side_by_side
from common.console import say

MODULE = "measured.blender_characters"
# Each work at half its size, in full, and doubled.
SIZES = {
    "snake": (15, 30, 60),
    "necks": (25, 50, 100),
    "tails": (50, 100, 200),
    "trees": (25, 50, 100),
}
WORDS = {
    "snake": "one snake of {} bones, FORCE with springs and weight",
    "necks": "{} necks of six bones, FORCE with springs and weight",
    "tails": "{} tails of six bones, FOLLOW",
    "trees": "{} spines with two arms, NEWTON",
}
ROUNDS = 5
HEAD = ("a whole update", "ms", "of twice as many", "built-in, ms", "ratio")
PROFILE_HEAD = ("function", "ms an update", "calls")


def measured(programs: Programs) -> str:
    """Return the tables as Markdown."""
    rows, middles = [], {}
    for work, sizes in SIZES.items():
        times = {size: _milliseconds(programs, "chains", work, size) for size in sizes}
        middles[work] = times[sizes[1]]
        for size in sizes:
            growth = short(times[2 * size] / times[size]) if 2 * size in times else ""
            builtin = ratio = ""
            if work == "trees":
                other = _milliseconds(programs, "built-in", work, size)
                builtin, ratio = short(other), short(times[size] / other)
            rows.append((WORDS[work].format(size), short(times[size]), growth, builtin, ratio))
            say("characters", ", ".join(rows[-1]))
    slowest = max(middles, key=lambda work: middles[work])
    size = SIZES[slowest][1]
    with side_by_side(programs.start_in_blender, MODULE, ["chains"], slowest, size) as (worker,):
        profile = markdown.table(PROFILE_HEAD, worker.ask("profile"))
    title = f"Where the slowest of them spends its time: {WORDS[slowest].format(size)}"
    return "\n\n".join((markdown.table(HEAD, rows), title, profile))


def _milliseconds(programs: Programs, manner: str, work: str, size: int) -> float:
    with side_by_side(programs.start_in_blender, MODULE, [manner], work, size) as sides:
        (answers,) = in_turn(sides, ROUNDS, "moved")
    return statistics.median(each["wall"] for each in answers)
