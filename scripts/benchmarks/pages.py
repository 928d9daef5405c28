"""Rows of all pages: whole updates, the core, humans, settings and limits."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from benchmarks.measuring import Row, Side
from benchmarks.setting_rows import LIMITED, LIMITED_ROWS, ROWS, SCENES, TREE
from benchmarks.workers import RIVALS

OURS, BUILT_IN, UNSOLVED = "Chain IK", "IK constraint", "live, nothing solved"
LABELS = {
    "built-in": BUILT_IN,
    "floor": "floor",
    "unsolved": UNSOLVED,
    "bare": "the same without any chain",
    "no-spaces": "the same without spaces",
    "controls": "the same without limits",
    "constraints": BUILT_IN,
    "live": "its frames live",
}
Goals = dict[str, "float | None"]
MIN_BATCH_TOLERANCE = 1e-3
"""Smallest tolerance of a core case whose chains are solved in one batch, not one by one."""
OUT_OF_PLANE = ", start pose in no plane"
UPDATES: tuple[tuple[str, str, Goals], ...] = (
    (
        "100 x 4 x 2", "100 armatures x 4 two-bone limbs",
        # The goal is a ratio to a handler in Python that does not solve: the least possible time.
        {"unsolved": 1.35, "built-in": None, "floor": None},
    ),
    (
        "40 x 4 x 10", "40 armatures x 4 ten-bone chains, to 1e-4 L",
        {"built-in": 0.5, "floor": None, "unsolved": None},
    ),
    (
        "40 x 4 x 10 climbing", f"40 armatures x 4 ten-bone chains, to 1e-4 L{OUT_OF_PLANE}",
        {"built-in": None},
    ),
    (
        "1 x 4 x 2", "1 armature x 4 two-bone limbs",
        {"unsolved": 4.0, "built-in": None, "floor": None},
    ),
    ("1 x 1 x 50", "one 50-bone chain, to 1e-4 L", {"built-in": 0.65, "floor": None}),
    ("1 x 1 x 50 climbing", f"one 50-bone chain, to 1e-4 L{OUT_OF_PLANE}", {"built-in": None}),
    ("1 x 1 x 300", "one 300-bone chain, to 1e-4 L", {"floor": 2.5, "built-in": None}),
)  # fmt: skip
"""Layout (armatures x limbs x bones), its text, and the compared sides with their goals."""
CORE: tuple[tuple[str, float, str, Goals], ...] = (
    ("2 x 1000", 1e-3, "1000 two-bone chains at once", {"fullik": 0.5}),
    (
        "10 x 400", 1e-3, "400 ten-bone chains at once, to 1e-3 L", {"fullik": 0.35, "pin": None},
    ),
    ("10 x 100", 1e-6, "one ten-bone chain, to 1e-6 L", {"pin": 0.8, "fullik": None}),
    (
        "10 x 100 climbing", 1e-6, f"one ten-bone chain, to 1e-6 L{OUT_OF_PLANE}", {"pin": None},
    ),
    ("50 x 100", 1e-6, "one 50-bone chain, to 1e-6 L", {"pin": 1.0}),
    ("100 x 100", 1e-6, "one 100-bone chain, to 1e-6 L", {"pin": 1.0}),
)  # fmt: skip
"""Case (bones x targets), tolerance as a share of the chain's length, text, rivals with goals."""
GROWTH = (
    ("core, twice the two-bone chains", "2 x 2000", "2 x 1000", 1e-3, 2.2),
    ("core, twice the ten-bone chains", "10 x 800", "10 x 400", 1e-3, 2.2),
    ("core, twice the bones of 400 chains", "20 x 400", "10 x 400", 1e-3, 2.2),
    ("core, twice the bones of one chain", "100 x 100", "50 x 100", 1e-6, 2.2),
    ("core, 10 000 two-bone chains", "2 x 10000", "2 x 1000", 1e-3, 11.0),
    ("update, twice the armatures", "100 x 4 x 2", "50 x 4 x 2", None, 2.2),
    ("update, twice the bones of one chain", "1 x 1 x 300", "1 x 1 x 150", None, 2.2),
)
"""Text, the larger and the smaller case or layout, tolerance (None for an update), and goal."""
HUMANS = (
    ("human with control bones, one dragged", 1, "dragged", 4.0, "constraints"),
    ("human with control bones, all dragged", 1, "moved", 4.0, "constraints"),
    ("human with control bones, playback", 1, "played", 5.0, "constraints"),
    ("ten humans with control bones, one dragged", 10, "dragged", 3.0, "constraints"),
    ("ten humans with control bones, all dragged", 10, "moved", 2.0, "constraints"),
    ("ten humans with control bones, playback", 10, "played", 2.5, "constraints"),
    ("human with limits, one dragged, x without limits", 1, "dragged", 1.5, "controls"),
    ("human with limits, all dragged, x without limits", 1, "moved", 3.0, "controls"),
    ("human, one dragged, x without spaces", 1, "dragged", 1.3, "no-spaces"),
    ("human, all dragged, x without spaces", 1, "moved", 1.3, "no-spaces"),
    ("human, playback, x without spaces", 1, "played", 1.3, "no-spaces"),
    ("Rigify's human, five chains, dragged", 1, "moved", 2.0, "built-in"),
    ("Rigify's human, five chains, playback", 1, "played", 2.2, "built-in"),
    ("ten of Rigify's humans, dragged", 10, "moved", 1.5, "built-in"),
    ("ten of Rigify's humans, playback", 10, "played", 1.6, "built-in"),
    ("bake of Rigify's human, five chains, x its 250 frames live", 1, "baked", 1.3, "live"),
)
"""Name, number of humans, task, goal, and the side that it is compared with.

Control bones are those of Set Up Limbs; the five chains have empties. Limits are those of Set Up
Limbs; they hold the neck back when all controls are dragged.
"""


def rig_side(manner: str, layout: str, task: str = "moved", setting: str = "") -> Side:
    """Return the side of rigs that a manner of `blender.rigs` poses."""
    process, checks = ("blender.rigs", manner, layout), task in ("moved", "played")
    return Side(LABELS.get(manner, OURS), process, task, None, setting, checks)


def core_side(program: str, case: str, tolerance: float) -> Side:
    task = "single" if tolerance < MIN_BATCH_TOLERANCE else "batch"
    label = f"{program} {re.split('[=@]', RIVALS[program])[-1]}" if program in RIVALS else OURS
    return Side(label, (program,), task, (case, tolerance))


def list_table_rows() -> Iterator[Row]:
    """Yield the rows of the default page."""
    for layout, what, goals in UPDATES:
        work, ours = f"update, {what}", rig_side("chains", layout)
        for other, goal in goals.items():
            yield Row(layout, work, ours, rig_side(other, layout), goal, must_reach=True)
        if "unsolved" in goals:
            sides = rig_side("unsolved", layout), rig_side("built-in", layout)
            yield Row(layout, f"{work}, nothing solved", *sides)
    limbs, what = UPDATES[0][:2]
    text, idle = "update with nothing changed, 400 live chains", rig_side("chains", limbs, "idle")
    yield Row("idle", text, idle, rig_side("floor", limbs), 0.12)
    yield Row("idle", text, idle, rig_side("bare", limbs, "idle"))
    sides = rig_side("chains", limbs, "played"), rig_side("built-in", limbs, "played")
    yield Row("playback", f"frame of playback, {what}", *sides)
    for case, tolerance, work, goals in CORE:
        for rival, goal in goals.items():
            sides = core_side("core", case, tolerance), core_side(rival, case, tolerance)
            yield Row(f"core {case}", f"core, {work}", *sides, goal, must_reach=True)
    for work, larger, smaller, tolerance, goal in GROWTH:
        ours, other = (
            core_side("core", case, tolerance) if tolerance else rig_side("chains", case)
            for case in (larger, smaller)
        )
        other = dataclasses.replace(other, label=f"{OURS}, {smaller}")
        yield Row(f"growth {larger}", f"growth, {work}", ours, other, goal, must_reach=True)
    memory = "memory kept per live chain, 400 chains, Python and NumPy"
    yield Row("memory", memory, rig_side("memory", limbs, "remembered"), None, 8.0, " KB")


def list_setting_rows() -> Iterator[Row]:
    """Yield rows of real characters, then of every setting, then of single events."""
    for name, count, task, goal, other in HUMANS:
        ours = {"built-in": "chains", "live": "chains", "controls": "limits"}.get(other, "controls")
        our_side, other_side = (
            Side(label, ("blender.humans", manner, str(count)), task)
            for label, manner in ((OURS, ours), (LABELS[other], other))
        )
        yield Row(name, name, our_side, other_side, goal, must_reach=ours != "limits")
    for number, (scene, layout) in enumerate(SCENES.items()):
        for row in (row for row in ROWS if scene not in row.not_in):
            sides = rig_side("chains", layout, setting=row.name), rig_side("built-in", layout)
            goal = row.goals[number]
            yield Row(f"{row.name}, {scene}", row.name, *sides, goal, column=scene)
    for name, layout, task, goal, manner, unit in (
        ("opening 400 limbs", "100 x 4 x 2", "opened", 3.0, "built-in", ""),
        ("undo with 2000 chains", "500 x 4 x 2", "undone", 1000.0, "bare", " ms more"),
    ):
        sides = (rig_side(manner, layout, task) for manner in ("chains", manner))
        yield Row(name, name, *sides, goal, unit)
    name = "one such tree of ten bones a limb, a move"
    yield Row(name, name, rig_side("chains", "1 x 4 x 10", setting=TREE), None, 100.0, " ms")
    for layout, what in (("1 x 20 x 2", "an armature"), ("20 x 1 x 2", "20 armatures")):
        for task, when in (("redrawn", "nothing changed"), ("redrawn_anew", "all targets moved")):
            name = f"redraw with the overlay, 20 chains of {what}, {when}"
            yield Row(f"redraw {layout}", name, rig_side("chains", layout, task), None, None, " ms")


def list_limit_rows() -> Iterator[Row]:
    """Yield rows of limbs with realistic limits: what they reach, and how soon."""
    for row in LIMITED_ROWS:
        for rigs, limbs in ((1, 1), (40, 4)):
            # A single limb gives similar results with all solvers.
            if limbs > 1 or "NEWTON" in row.name:
                layout = f"{rigs} x {limbs} x {LIMITED[row.rig[0]]}"
                sides = (
                    rig_side(manner, layout, setting=row.name) for manner in ("chains", "built-in")
                )
                name = f"{row.name}, {rigs * limbs} limb{'s' * (limbs > 1)}"
                yield Row(name, name, *sides)


PAGES = {
    "table": (
        "The whole table",
        "L is a chain's length. Times of an update or a solve beside the other's: the median"
        " (milliseconds: ours; the other's). What is reached is told of both, and the worst"
        " distance left, as a share of L.",
        tuple(list_table_rows()),
    ),
    "settings": (
        "Every setting",
        "Whole updates in times of what Blender's IK constraint takes for plain chains of the same"
        " lengths, both measured in turn: the median / the goal (milliseconds: ours; the other's).",
        tuple(list_setting_rows()),
    ),
    "limits": (
        "Limits",
        "Limbs with the joint limits of real ones, whole updates beside the built-in constraint"
        " with the same limits: the ratio (milliseconds: ours; the other's), the share of targets"
        " within 80 % of the joints' ranges that is reached to 1e-4 of the chain's length, up"
        " to 1280 where there are 160 limbs and 8 where there is one, and the worst distance left,"
        " as a share of that length.",
        tuple(list_limit_rows()),
    ),
}
"""Title, explanation of the figures, and rows of each page."""
