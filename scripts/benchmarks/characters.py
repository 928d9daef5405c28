"""The table of what snakes, tails and trees cost in Blender, how that grows, and where it goes."""

from __future__ import annotations

import statistics

from benchmarks.programs import Programs
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
HEAD = (
    "| a whole update | ms | of twice as many | built-in, ms | ratio |",
    "|---|---:|---:|---:|---:|",
)
PROFILE_HEAD = ("| ms an update | calls | function |", "|---:|---:|---|")


def measured(programs: Programs) -> str:
    """Return the tables as Markdown."""
    lines, slowest = list(HEAD), ("", 0.0)
    for work, sizes in SIZES.items():
        times = {size: _milliseconds(programs, "chains", work, size) for size in sizes}
        _, middle, _ = sizes
        if times[middle] > slowest[1]:
            slowest = (work, times[middle])
        for size in sizes:
            growth = f"{times[2 * size] / times[size]:.2f}" if 2 * size in times else ""
            builtin = ratio = ""
            if work == "trees":
                other = _milliseconds(programs, "built-in", work, size)
                builtin, ratio = f"{other:.2f}", f"{times[size] / other:.2f}"
            words = WORDS[work].format(size)
            lines.append(f"| {words} | {times[size]:.2f} | {growth} | {builtin} | {ratio} |")
            say("characters", lines[-1])
    work = slowest[0]
    size = SIZES[work][1]
    worker = programs.start_in_blender(MODULE, "chains", work, size)
    profile = [f"| {row} |" for row in worker.ask("profile")]
    worker.close()
    title = f"Where the slowest of them spends its time: {WORDS[work].format(size)}"
    return "\n".join((*lines, "", title, "", *PROFILE_HEAD, *profile))


def _milliseconds(programs: Programs, manner: str, work: str, size: int) -> float:
    worker = programs.start_in_blender(MODULE, manner, work, size)
    # The first round warms up.
    rounds = [worker.ask("moved")["wall"] for _ in range(ROUNDS + 1)][1:]
    worker.close()
    return statistics.median(rounds)
