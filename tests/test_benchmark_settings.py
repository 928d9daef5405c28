"""The benchmark of settings judges and shows what was measured: without timing, in any Python."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"

# Goals by row and scene, as promised: none may be lost or loosened on the way.
PROMISED = {
    "plain": (1.0, 0.6, 2.5),
    "soft distance": (1.0, 0.6, 4.0),
    "keyed bones": (1.0, 0.6, 2.5),
    "start from REST": (1.0, 0.6, 2.5),
    "pole": (1.2, 0.7, 4.0),
    "influence 0.5": (1.5, 1.5, 4.0),
    "start from CURRENT": (1.5, 1.5, 4.0),
    "locked axis": (1.5, 1.5, 4.0),
    "stretch": (2.0, 1.5, 4.0),
    "rotation": (1.2, 0.7, 4.0),
    "half rotation": (2.5, 2.0, 4.0),
    "hinges": (3.0, 3.0, 6.0),
    "stiffness": (3.0, 3.0, 6.0),
    "NEWTON": (3.0, 3.0, 6.0),
    "uneven bones": (4.0, 5.0, 8.0),
    "CCD": (3.0, 4.0, 4.0),
    "FABRIK": (1.5, 1.0, 3.0),
    "FORCE": (5.0, 8.0, 25.0),
    "limits, NEWTON, reached": (15.0, 6.0, 6.0),
    "limits, NEWTON, held back": (15.0, 6.0, 6.0),
    "limits, FABRIK, reached": (15.0, 8.0, 10.0),
    "limits, CCD, held back": (15.0, 12.0, 10.0),
    "limits and pole, NEWTON": (20.0, 10.0, 15.0),
    "FOLLOW": (15.0, 15.0, 15.0),
}


@pytest.fixture
def parts(monkeypatch):
    """The benchmark's modules; scripts/ is no package of the tests."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from benchmarks import setting_rows, settings
    from benchmarks.scenes import sizes

    return SimpleNamespace(rows=setting_rows, settings=settings, sizes=sizes)


@pytest.fixture
def figure(parts):
    """Figures of a made-up row, whose clocks differ by how busy the machine was."""

    def make(ours, theirs, *, goal=2.0, busy=1.0, name="row", scene="two", kind="ratio"):
        def clocks(times):
            return tuple({"wall": busy * each, "work": each} for each in times)

        return parts.settings.Figure(name, scene, goal, kind, clocks(ours), clocks(theirs), 1.0)

    return make


def cells_of(text):
    """The cells of all lines of tables."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_goals_are_those_that_were_promised(parts):
    rows = {row.name: row for row in parts.rows.ROWS}
    for name, goals in PROMISED.items():
        assert tuple(rows[name].goal(scene) for scene in parts.rows.SCENES) == goals, name
    humans = {"constraints": [], "no-spaces": [], "built-in": [], "live": []}
    for *_, goal, other in parts.settings.HUMANS:
        humans[other].append(goal)
    assert list(humans.values()) == [
        [4.0, 4.0, 5.0, 3.0, 2.0, 2.5], [1.3, 1.3, 1.3], [2.0, 2.2, 1.5, 1.6], [1.3]
    ]  # fmt: skip
    last = [parts.settings.OPENED[-1], parts.settings.UNDONE[-1], parts.settings.ONE_TREE[-1]]
    assert last == [3.0, 1.0, 0.1]


def test_a_row_has_a_goal_of_its_own_or_that_of_all(parts):
    for row in parts.rows.ROWS:
        for scene in parts.rows.SCENES:
            assert (
                row.goal(scene) <= parts.rows.MOST
                or row.name in PROMISED
                or (row.name.startswith(("FORCE", "limits and pole")))
            )


def test_rows_have_names_of_their_own_and_scenes_that_exist(parts):
    names = [row.name for row in parts.rows.ROWS]
    assert len(set(names)) == len(names)
    assert parts.settings.TREE in names
    once = [parts.settings.OPENED, parts.settings.UNDONE, parts.settings.ONE_TREE]
    layouts = {*parts.rows.SCENES.values(), *(each[1] for each in once)}
    assert layouts <= parts.sizes.LAYOUTS.keys()
    counts = [parts.sizes.LAYOUTS[layout] for layout in parts.rows.SCENES.values()]
    assert [(each.chains, each.bones) for each in counts] == [(100, 2), (100, 10), (1, 4)]
    for row in parts.rows.ROWS:
        assert {*row.goals, *row.not_in} <= parts.rows.SCENES.keys()


def test_rigifys_human_stands_first(parts, figure):
    human = figure([3.0], [1.0], name="Rigify's human", scene="human")
    rows = cells_of(parts.settings.table([figure([1.0], [1.0]), human]))
    assert [row for row in rows if row[0].startswith("R") or row[0] == "row"] == [
        ["Rigify's human", "3 (3 ms)", "2", "NO"],
        ["row", "1 / 2 (1)", "-", "-", "yes - -", "100% - -"],
    ]
    assert parts.settings.summary([human, figure([1.0], [1.0])]) == "1 of 2 goals met"


def test_a_busy_machine_is_told_and_does_not_count(parts, figure):
    # The other's updates end before anybody else has the machine: by the wall we would be slower.
    ours = figure([4.0, 4.0, 4.0], [2.0, 2.0, 2.0], busy=3.0)
    quiet = figure([4.0, 4.0, 4.0], [2.0, 2.0, 2.0])
    assert parts.settings.clock_of([ours]) == "work"
    assert parts.settings.clock_of([quiet]) == "wall"
    # Short updates end before others have their turn: they tell nothing of how busy it is.
    short = [figure([0.1], [0.1]) for _ in range(20)]
    assert parts.settings.clock_of([ours, *short]) == "work"
    assert parts.settings.WORKED in parts.settings.table([ours])
    assert parts.settings.WORKED not in parts.settings.table([quiet])


def test_a_figure_is_judged_round_by_round(figure):
    assert figure([2.0, 6.0, 2.0], [1.0, 3.0, 1.0]).value("wall") == 2.0
    assert figure([2.0], [1.0], goal=2.0).is_met("wall") is True
    assert figure([2.1], [1.0], goal=2.0).is_met("wall") is False
    assert figure([3500.0], [500.0], goal=1.0, kind="more").value("wall") == 3.0
    assert figure([90.0], [], goal=0.1, kind="seconds").is_met("wall") is True


def test_what_could_not_be_measured_is_said(parts):
    missing = parts.settings.Figure("row", "two", 2.0, reason="no such bone")
    text = parts.settings.table([missing])
    assert ["row", "-", "-", "-", "- - -", "- - -"] in cells_of(text)
    assert "Not measured: row, two: no such bone" in text
    assert parts.settings.summary([missing]) == "0 of 1 goals met"
    (panel, *_) = parts.settings.drawing([missing])["panels"]
    assert [row["value"] for row in panel["rows"]] == [None]
