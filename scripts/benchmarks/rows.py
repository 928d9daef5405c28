"""The rows of the table: what is measured against what, and the goals. Listed once, here."""

from __future__ import annotations

import dataclasses

OURS = "Chain IK"
OUT_OF_PLANE = ", start pose in no plane"


@dataclasses.dataclass(frozen=True)
class Side:
    """One of the two that a row compares.

    Attributes:
        label: As the table shows it.
        program: Which worker: chains, built-in, floor, handler, unsolved or memory, inside
            Blender; core; or the name of a rival.
        subject: Name of a layout or a case in `sizes`.
        task: Of the worker.
        tolerance: For cases, as a share of the chain's length.
    """

    label: str
    program: str
    subject: str
    task: str
    tolerance: float | None = None


@dataclasses.dataclass(frozen=True)
class Row:
    """A comparison.

    Attributes:
        group: Rows of one group are measured together, all their sides in turn.
        work: As the table shows it.
        ours: What this project does.
        rival: What it is held against; None where the figure itself is judged.
        limit: Greatest accepted ratio, or figure; None for a row that only informs.
        must_reach: Whether every target must be reached, however fast it is.
        unit: Of the figures.
    """

    group: str
    work: str
    ours: Side
    rival: Side | None
    limit: float | None = None
    must_reach: bool = False
    unit: str = "ms"


def updated(layout: str, task: str = "moved") -> Side:
    """Return the side of live chains."""
    return Side(OURS, "chains", layout, task)


def builtin(layout: str, task: str = "moved") -> Side:
    """Return the side of Blender's own IK constraint."""
    return Side("IK constraint", "built-in", layout, task)


def floor(layout: str) -> Side:
    """Return the side that writes known rotations and solves nothing."""
    return Side("floor", "floor", layout, "moved")


def unsolved(layout: str) -> Side:
    """Return the side of a live handler that reads targets and writes known rotations."""
    return Side("live, nothing solved", "unsolved", layout, "moved")


def core(case: str, tolerance: float, task: str = "batch", label: str = OURS) -> Side:
    """Return the side of this project's core."""
    return Side(label, "core", case, task, tolerance)


def rival(name: str, ours: Side) -> Side:
    """Return the side of a rival that does the same work."""
    return dataclasses.replace(ours, label=name, program=name)


def _limbs() -> list[Row]:
    layout = "100 x 4 x 2"
    work = "update, 100 armatures x 4 two-bone limbs"
    nothing = "update with nothing changed, 400 live chains"
    ours, idle = updated(layout), updated(layout, "idle")
    still = Side("floor, targets stand still", "floor", layout, "still")
    handler = Side("floor inside a handler", "handler", layout, "moved")
    without = Side("the same without any chain", "floor", layout, "idle")
    return [
        # What a handler in Python takes without solving is a floor: held against that.
        Row("limbs", work, ours, unsolved(layout), 1.35),
        Row("limbs", work, ours, builtin(layout)),
        Row("limbs", work, ours, floor(layout)),
        Row("limbs", work, ours, still),
        Row("limbs", work, ours, handler),
        Row("limbs", f"{work}, nothing solved", unsolved(layout), builtin(layout)),
        Row("limbs", nothing, idle, floor(layout), 0.12),
        Row("limbs", nothing, idle, without),
    ]


def _updates() -> list[Row]:
    tens, one, fifty, long = "40 x 4 x 10", "1 x 4 x 2", "1 x 50", "1 x 300"
    ten_work = "update, 40 armatures x 4 ten-bone chains, to 1e-4 L"
    one_work = "update, 1 armature x 4 two-bone limbs"
    fifty_work = "update, one 50-bone chain, to 1e-4 L"
    long_work = "update, one 300-bone chain, to 1e-4 L"
    tens_out, fifty_out = f"{tens} climbing", f"{fifty} climbing"
    return [
        Row("tens", ten_work, updated(tens), builtin(tens), 0.50),
        Row("tens", ten_work, updated(tens), floor(tens)),
        Row("tens", f"{ten_work}, nothing solved", unsolved(tens), builtin(tens)),
        Row("tens out", f"{ten_work}{OUT_OF_PLANE}", updated(tens_out), builtin(tens_out)),
        Row("one character", one_work, updated(one), unsolved(one), 4.0),
        Row("one character", one_work, updated(one), builtin(one)),
        Row("one character", one_work, updated(one), floor(one)),
        Row("one character", f"{one_work}, nothing solved", unsolved(one), builtin(one)),
        Row("50 bones", fifty_work, updated(fifty), builtin(fifty), 0.65, must_reach=True),
        Row("50 bones", fifty_work, updated(fifty), floor(fifty)),
        Row("50 out", f"{fifty_work}{OUT_OF_PLANE}", updated(fifty_out), builtin(fifty_out)),
        Row("300 bones", long_work, updated(long), floor(long), 2.5, must_reach=True),
        Row("300 bones", f"{long_work}, nothing solved", unsolved(long), floor(long)),
        Row("300 bones", long_work, updated(long), builtin(long)),
    ]


def _playback() -> list[Row]:
    layout = "100 x 4 x 2"
    work = "frame of playback, 100 armatures x 4 two-bone limbs"
    return [Row("playback", work, updated(layout, "played"), builtin(layout, "played"))]


def _core() -> list[Row]:
    twos, tens = core("2 x 1000", 1e-3), core("10 x 400", 1e-3)
    ten, climbing = core("one 10", 1e-6, "single"), core("one 10 climbing", 1e-6, "single")
    fifty, hundred = core("one 50", 1e-6, "single"), core("one 100", 1e-6, "single")
    twos_work = "core, 1000 two-bone chains at once"
    tens_work = "core, 400 ten-bone chains at once, to 1e-3 L"
    ten_work = "core, one ten-bone chain, to 1e-6 L"
    fifty_work = "core, one 50-bone chain, to 1e-6 L"
    hundred_work = "core, one 100-bone chain, to 1e-6 L"
    return [
        Row("core twos", twos_work, twos, rival("fullik", twos), 0.5, must_reach=True),
        Row("core twos", twos_work, twos, rival("momentum", twos), 0.07, must_reach=True),
        Row("core twos", twos_work, twos, rival("pyfabrik", twos)),
        Row("core tens", tens_work, tens, rival("fullik", tens), 0.35, must_reach=True),
        Row("core tens", tens_work, tens, rival("momentum", tens), 0.10, must_reach=True),
        Row("core tens", tens_work, tens, rival("pin", tens)),
        Row("core tens", tens_work, tens, rival("pyfabrik", tens)),
        Row("core one ten", ten_work, ten, rival("pin", ten), 0.8, must_reach=True),
        Row("core one ten", ten_work, ten, rival("pyfabrik", ten), 0.04, must_reach=True),
        Row("core one ten", ten_work, ten, rival("momentum", ten)),
        Row("core one ten", ten_work, ten, rival("fullik", ten)),
        Row("core one ten out", f"{ten_work}{OUT_OF_PLANE}", climbing, rival("pin", climbing)),
        Row("core one fifty", fifty_work, fifty, rival("pin", fifty), 1.0, must_reach=True),
        Row("core one hundred", hundred_work, hundred, rival("pin", hundred), 1.0, must_reach=True),
    ]


def _growth() -> list[Row]:
    """Return the rows that hold this project against itself at less work."""

    def cores(work: str, more: str, less: str, limit: float) -> Row:
        task, tolerance = ("single", 1e-6) if more.startswith("one") else ("batch", 1e-3)
        smaller = core(less, tolerance, task, f"{OURS}, {less}")
        return Row(
            f"growth {more}", f"growth, core, {work}", core(more, tolerance, task), smaller, limit
        )

    def updates(work: str, more: str, less: str) -> Row:
        smaller = dataclasses.replace(updated(less), label=f"{OURS}, {less}")
        return Row(f"growth {more}", f"growth, update, {work}", updated(more), smaller, 2.2)

    return [
        cores("twice the two-bone chains", "2 x 2000", "2 x 1000", 2.2),
        cores("twice the ten-bone chains", "10 x 800", "10 x 400", 2.2),
        cores("twice the bones of 400 chains", "20 x 400", "10 x 400", 2.2),
        cores("twice the bones of one chain", "one 100", "one 50", 2.2),
        cores("10 000 two-bone chains", "2 x 10000", "2 x 1000", 11.0),
        updates("twice the armatures", "100 x 4 x 2", "50 x 4 x 2"),
        updates("twice the bones of one chain", "1 x 300", "1 x 150"),
    ]


def _memory() -> list[Row]:
    layout = "100 x 4 x 2"
    python = Side("Python and NumPy", "memory", layout, "traced")
    process = Side("the whole process", "memory", layout, "resident")
    work = "memory kept per live chain, 400 chains"
    return [
        Row("memory, Python", f"{work}, Python and NumPy", python, None, 8.0, unit="KB"),
        Row("memory, process", f"{work}, whole process", process, None, unit="KB"),
    ]


ROWS: tuple[Row, ...] = (
    *_limbs(),
    *_updates(),
    *_playback(),
    *_core(),
    *_growth(),
    *_memory(),
)
