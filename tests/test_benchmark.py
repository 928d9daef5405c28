"""The benchmark compares what it says: cases, arithmetic, goals and table, without timing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
PUBLISHED = json.loads(Path(__file__).with_name("data").joinpath("cases.json").read_text("utf-8"))


@pytest.fixture
def parts(monkeypatch):
    """The benchmark's modules; scripts/ is no package of the tests."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from benchmarks import measuring, rows, workers
    from benchmarks.scenes import cases, sizes
    from benchmarks.tables import ratios, table

    return SimpleNamespace(
        cases=cases,
        measuring=measuring,
        ratios=ratios,
        rows=rows,
        sizes=sizes,
        table=table,
        workers=workers,
    )


@pytest.fixture
def make_result(parts):
    """Results of one made-up row."""

    def make(ours, rival, *, limit=0.5, must_reach=False, reached=1.0):
        mine = parts.rows.Side("Chain IK", "core", "one 10", "single", 1e-6)
        other = parts.rows.Side("other", "pin", "one 10", "single", 1e-6)
        row = parts.rows.Row("group", "work", mine, other if rival else None, limit, must_reach)
        facts = parts.ratios.Facts(reached, 1e-7, 0.0)
        theirs = parts.ratios.Samples(tuple(rival), {"package": "1.2"}, facts) if rival else None
        return parts.ratios.Result(row, parts.ratios.Samples(tuple(ours), {}, facts), theirs)

    return make


@pytest.mark.parametrize("bones", [2, 10, 50, 100])
def test_the_recipe_gives_the_published_cases(parts, bones):
    published = PUBLISHED["two_bone"] if bones == 2 else PUBLISHED["chains"][str(bones)]
    case = parts.cases.Case.of_size(bones, len(published["targets"]))
    assert case.bones == bones
    np.testing.assert_allclose(case.initial, published["initial"], atol=1e-12)
    np.testing.assert_allclose(case.targets, published["targets"], atol=1e-12)


def test_the_batches_have_the_published_counts(parts):
    sizes = parts.sizes.CORE_CASES
    assert sizes["2 x 1000"] == (2, 1000)
    assert sizes["10 x 400"] == (10, 400)
    assert {sizes[name][1] for name in sizes if name.startswith("one")} == {100}


def test_cases_survive_their_file(parts, tmp_path):
    parts.cases.write(tmp_path / "cases.json")
    read = parts.cases.read(tmp_path / "cases.json")
    assert set(read) == set(parts.sizes.CORE_CASES)
    np.testing.assert_array_equal(read["10 x 400"].targets, parts.cases.targets_in_reach(10, 400))


def test_targets_lie_within_reach(parts):
    for bones, radius in ((2, 1.9), (10, 9.0)):
        distances = np.linalg.norm(parts.cases.targets_in_reach(bones, 500), axis=1)
        assert distances.max() <= radius
        # Uniform in a ball: an eighth lies within half of the radius.
        assert np.mean(distances < 0.5 * radius) == pytest.approx(0.125, abs=0.05)


def test_a_ratio_is_taken_round_by_round(parts, make_result):
    # The machine slowed down threefold in the middle; each round was half of the other's all along.
    result = make_result([1.0, 3.0, 1.0], [2.0, 6.0, 2.0])
    assert result.ratios == [0.5, 0.5, 0.5]
    assert result.judged == 0.5
    assert make_result([1.0, 2.0, 9.0], [1.0, 1.0, 1.0]).judged == 2.0
    with pytest.raises(ValueError, match="Every round"):
        parts.ratios.round_ratios([1.0, 2.0], [1.0])


def test_a_goal_is_met_up_to_its_limit_and_only_with_every_target_reached(make_result):
    assert make_result([0.5], [1.0]).is_met is True
    assert make_result([0.51], [1.0]).is_met is False
    assert make_result([0.1], [1.0], must_reach=True, reached=0.99).is_met is False
    assert make_result([0.1], [1.0], must_reach=True, reached=None).is_met is False
    assert make_result([0.1], [1.0], reached=0.99).is_met is True
    assert make_result([0.1], [1.0], limit=None).is_met is None
    # A figure that is compared with nothing is judged itself.
    assert make_result([7.0], None, limit=8.0).is_met is True
    assert make_result([9.0], None, limit=8.0).is_met is False


def test_the_table_says_what_was_compared_and_what_was_not(parts, make_result):
    measured = make_result([0.5, 0.6], [1.0, 1.0])
    missing = parts.ratios.Result(measured.row, reason="no such package")
    lines = parts.table.table([measured, missing]).splitlines()
    assert len({len(line) for line in lines[:4]}) == 1
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert cells == [
        "work", "other 1.2", "0.55 ms", "1 ms", "0.55", "0.5..0.6", "<= 0.5", "NO",
        "100%, 100%", "1.0e-07, 1.0e-07",
    ]  # fmt: skip
    assert "not measured" in lines[3]
    assert "Not measured: work, other: no such package" in lines
    assert parts.table.summary([measured, missing]) == "0 of 2 goals met, 1 not measured"


def test_results_can_be_written(parts, make_result):
    measured = make_result([0.5], [1.0])
    for result in (measured, parts.ratios.Result(measured.row, reason="why")):
        assert json.loads(json.dumps(result.as_json()))["goal"] == 0.5


# Limits by what they are held against, as promised: none may be lost or loosened on the way.
PROMISED = {
    "built-in": [0.5, 0.65],
    "floor": [0.12, 2.5],
    "unsolved": [1.35, 4.0],
    "fullik": [0.35, 0.5],
    "momentum": [0.07, 0.1],
    "pin": [0.8, 1.0, 1.0],
    "pyfabrik": [0.04],
    "core": [2.2, 2.2, 2.2, 2.2, 11.0],
    "chains": [2.2, 2.2],
    "": [8.0],
}


def test_every_goal_is_listed_once(parts):
    rows = parts.rows.ROWS
    compared = [(row.ours, row.rival) for row in rows]
    assert len(set(compared)) == len(compared)
    goals: dict[str, list[float]] = {}
    for row in rows:
        if row.limit is not None:
            goals.setdefault(row.rival.program if row.rival else "", []).append(row.limit)
    assert {name: sorted(limits) for name, limits in goals.items()} == PROMISED


def test_every_row_names_work_that_exists(parts):
    for row in parts.rows.ROWS:
        for side in (row.ours, row.rival):
            if side is not None:
                sizes = parts.sizes
                known = sizes.LAYOUTS if side.tolerance is None else sizes.CORE_CASES
                assert side.subject in known


def test_rows_that_belong_together_follow_each_other(parts):
    rows = parts.rows.ROWS
    groups = parts.measuring.groups_of(rows)
    assert [row for group in groups.values() for row in group] == list(rows)


def test_a_worker_that_ends_tells_why(parts):
    code = "import sys; sys.path.insert(0, 'scripts')\nfrom benchmarks.answering import serve\n"
    code += "from types import SimpleNamespace\n"
    code += "serve(SimpleNamespace(double=lambda number: 2 * number, fail=lambda: 1 / 0))"
    worker = parts.workers.Worker("w", [sys.executable, "-c", code], None)
    assert worker.ask("double", number=21) == 42
    with pytest.raises(parts.workers.WorkerError, match="ZeroDivisionError"):
        worker.ask("fail")
    with pytest.raises(parts.workers.WorkerError):
        worker.ask("double", number=1)
    worker.close()


@pytest.fixture
def held_back(monkeypatch):
    """The modules about targets that limits keep out of reach."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from benchmarks.held_back import calls, held_chains, nearest

    return SimpleNamespace(calls=calls, held_chains=held_chains, nearest=nearest)


def test_nearest_poses_are_minima_inside_of_the_ranges(held_back):
    nearest, limit = held_back.nearest, held_back.held_chains.LIMIT
    rng = np.random.default_rng(0)
    start, reached = nearest.draw(rng, 3, 40), nearest.draw(rng, 3, 39)
    beyond = np.array([[0.0, 2.0, 0.0]])
    targets = np.concatenate((nearest.pose(0.8 * reached, limit)[1][:, -1], beyond))
    found, distances = nearest.find_nearest(start, targets, limit, 500)
    assert distances[:-1].max() < 1e-5
    assert distances[-1] == pytest.approx(1.0, abs=1e-9)
    wxyz, points = nearest.pose(found, limit)
    np.testing.assert_allclose(np.linalg.norm(points[:, -1] - targets, axis=1), distances)
    again, _ = nearest.pose(nearest.coordinates_of(wxyz, limit, 0.0), limit)
    np.testing.assert_allclose(again, wxyz, atol=1e-7)


@pytest.mark.parametrize("many", [1, 3])
def test_calls_of_numpy_are_counted_without_a_clock(held_back, monkeypatch, many):
    held = np.array([[0.1, -0.6, 0.2], [0.3, -0.2, 0.1], [-0.5, 0.1, 0.3]])
    goals = held_back.held_chains.Goals(held, np.zeros(3), held)
    monkeypatch.setattr(held_back.held_chains, "goals_of", lambda bones: goals)
    first, second = (held_back.calls.count(3, "NEWTON", many) for _ in range(2))
    assert first == second
    assert first["calls"] > first["iterations"] > 0
    assert sum(first["steps"].values()) > 0
