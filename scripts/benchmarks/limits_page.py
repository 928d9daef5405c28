"""The page of limits: what limited rigs reach, and how soon, beside Blender's own constraint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.cells import NOTHING, short
from benchmarks.measuring import Result, Row, Side
from common.tables import make_table

RIGS = ("arm", "six-bone tail", "ten hinges", "spider leg", "finger")
MANNERS = ("built-in", "NEWTON", "FABRIK", "CCD")
COUNTS = (1, 160)
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
TIMES_HEAD = (
    *("rig", "pole", "built-in, one", "NEWTON, one", "ratio"),
    *("built-in, of 160", "NEWTON, of 160", "ratio"),
)
SMOOTHNESS = (
    "How evenly ten bones move along a path, each pose solved from rest: the largest bend in"
    " degrees, the share of bends that turn back by more than a degree, the largest joint step for"
    " a target step, accelerations; and what a soft distance does to an elbow on its way through"
    " full reach"
)


def list_rows() -> Iterator[Row]:
    """Yield all rows."""

    def side(manner: str, *start: object) -> Side:
        return Side(manner, "blender.limits", (manner, *map(str, start)), checks=False)

    for rig in RIGS:
        for pole in ("free", "pole"):
            for manner in MANNERS:
                ours = Side(manner, "blender.limits", (manner, rig, pole, str(SOME)), task="")
                yield Row(f"{rig}, {pole}", rig, ours, None, column=pole)
            for count in COUNTS:
                sides = side("NEWTON", rig, pole, count), side("built-in", rig, pole, count)
                yield Row(f"{rig}, {pole}, {count}", rig, *sides, column=pole)


def make_page(results: Sequence[Result], smoothness: str) -> str:
    """Return all tables as Markdown."""
    reached: dict[tuple[str, str], dict[str, str]] = {}
    times: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for each in results:
        key, (manner, *_, count) = (each.row.name, each.row.column), each.row.ours.start
        if each.row.other is None:
            reached.setdefault(key, {})[manner] = _success(each)
        elif not each.reason:
            medians = (each.other.median(), each.ours.median())
            cells = [short(1e3 * median / float(count)) for median in medians]
            times.setdefault(key, {})[count] = (*cells, short(each.value()))
    reached_rows = [
        (*key, *(cells.get(manner, NOTHING) for manner in MANNERS))
        for key, cells in reached.items()
    ]
    times_rows = [
        (*key, *(cell for count in COUNTS for cell in cells.get(str(count), (NOTHING,) * 3)))
        for key, cells in times.items()
    ]
    parts = (
        TITLE,
        make_table(("rig", "pole", *MANNERS), reached_rows, 2),
        TIMES,
        make_table(TIMES_HEAD, times_rows, 2),
        SMOOTHNESS,
        smoothness,
    )
    return "\n\n".join(parts)


def _success(result: Result) -> str:
    if result.reason:
        return NOTHING
    facts = result.ours.facts
    return f"{100.0 * facts['reached']:.1f} %, {facts['out_of_range']:.0e}"
