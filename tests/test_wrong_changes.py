"""Small wrong changes of the extension: what is drawn, and what tests are tried."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def scripts(monkeypatch):
    """The scripts' modules; scripts/ is no package of the tests."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from wrong_changes import __main__ as rounds
    from wrong_changes import small_changes

    return SimpleNamespace(changes=small_changes, rounds=rounds)


def test_a_seed_draws_the_same_changes_in_all_packages_and_each_is_python(scripts):
    drawn = scripts.changes.choose(ROOT, 3, 50)
    assert drawn == scripts.changes.choose(ROOT, 3, 50)
    assert len(set(drawn)) == 50
    assert {Path(each.path).parts[1] for each in drawn} == set(scripts.changes.SHARES)
    for change in drawn:
        source = (ROOT / change.path).read_text(encoding="utf-8")
        changed = change.applied(source)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), change


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("a = b + 1\n", {"a = b - 1\n", "a = b + (1 + 1)\n"}),
        ("if a <= b and not c:\n    pass\n", {
            "if a < b and not c:\n    pass\n",
            "if a <= b or not c:\n    pass\n",
            "if a <= b and c:\n    pass\n",
        }),
        ("def f(a: int = -x) -> bool: ...\n", {"def f(a: int = x) -> bool: ...\n"}),
    ],
)  # fmt: skip
def test_changes_are_operators_numbers_signs_and_conditions(scripts, tmp_path, source, changes):
    folder = tmp_path / "blender_ik_addon"
    for package in scripts.changes.SHARES:
        (folder / package).mkdir(parents=True)
        (folder / package / "file.py").write_text(source * 40, encoding="utf-8")
    drawn = scripts.changes.choose(tmp_path, 1, 100)
    length = len(source.splitlines())
    found = set()
    for change in drawn:
        first = (change.line - 1) // length * length
        lines = change.applied(source * 40).splitlines(keepends=True)
        found.add("".join(lines[first : first + length]))
    assert found == changes


def test_the_quickest_test_of_each_file_is_tried_first_while_time_lasts(scripts):
    tests = [(3.0, "a.py::slow"), (1.0, "a.py::quick"), (2.0, "b.py::one"), (99.0, "c.py::long")]
    assert scripts.rounds.ordered(tests) == ["a.py::quick", "b.py::one", "a.py::slow"]
