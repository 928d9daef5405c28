"""The table of what limited rigs reach, and how soon, beside Blender's own constraint."""

from __future__ import annotations

import itertools
import statistics

from benchmarks.programs import Programs
from benchmarks.tables import markdown
from benchmarks.tables.markdown import short
from benchmarks.workers import in_turn, side_by_side
from common.console import say

MODULE = "measured.blender_limits"
NAMES = ("arm", "six-bone tail", "ten hinges", "spider leg", "finger")
MANNERS = ("built-in", "NEWTON", "FABRIK", "CCD")
ROUNDS = 5
MANY = 160
# So many rigs share the targets.
SOME = 40
TITLE = (
    "Targets reached to 1e-3 of the chain's length, of 1000 within 80 % of the joints' ranges, and"
    " the farthest that any pose lies out of range, in radians. Limbs are straight at rest: with"
    " a pole the built-in constraint aims them at the target and never bends them"
)
TIMES = (
    "A whole update, microseconds a chain: one chain, and 160 on 40 armatures; ratios to the"
    " built-in constraint, both measured in turn"
)
SMOOTHNESS = (
    "How evenly ten bones move along a path, each pose solved from rest: the largest bend in"
    " degrees, the share of bends that turn back by more than a degree, the largest joint step for"
    " a target step, accelerations; and what a soft distance does to an elbow on its way through"
    " full reach"
)


TIMES_HEAD = (
    "built-in, one",
    "NEWTON, one",
    "ratio",
    "built-in, of 160",
    "NEWTON, of 160",
    "ratio",
)


def measured(programs: Programs) -> str:
    """Return all tables as Markdown."""
    reached, times = [], []
    for name, pole in itertools.product(NAMES, ("free", "pole")):
        reached.append((name, pole, *(_success(programs, each, name, pole) for each in MANNERS)))
        both = [_in_turn(programs, name, pole, count) for count in (1, MANY)]
        times.append((name, pole, *itertools.chain(*both)))
        say("limits", f"{reached[-1]}, {times[-1]}")
    tables = (
        (TITLE, markdown.table(("rig", "pole", *MANNERS), reached, 2)),
        (TIMES, markdown.table(("rig", "pole", *TIMES_HEAD), times, 2)),
        (SMOOTHNESS, "\n".join(programs.printed("measured.core_smoothness"))),
    )
    return "\n\n".join(itertools.chain(*tables))


def _success(programs: Programs, manner: str, name: str, pole: str) -> str:
    with side_by_side(programs.start_in_blender, MODULE, [manner], name, pole, SOME) as (worker,):
        found = worker.ask("success")
    return f"{100.0 * found['reached']:.1f} %, {found['violation']:.0e}"


def _in_turn(programs: Programs, name: str, pole: str, count: int) -> tuple[str, ...]:
    manners = ("built-in", "NEWTON")
    with side_by_side(programs.start_in_blender, MODULE, manners, name, pole, count) as sides:
        answers = in_turn(sides, ROUNDS, "moved")
    builtin, ours = ([each["wall"] * 1e3 / count for each in side] for side in answers)
    ratio = statistics.median(b / a for a, b in zip(builtin, ours))
    return tuple(map(short, (statistics.median(builtin), statistics.median(ours), ratio)))
