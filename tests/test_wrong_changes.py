"""Small wrong changes of the extension: what is drawn."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def changes(monkeypatch):
    """scripts/ is no package of the tests."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from wrong_changes import small_changes

    return small_changes


def test_a_seed_draws_the_same_changes_in_all_packages_and_each_is_python(changes):
    drawn = changes.choose(ROOT, 3, 50)
    assert drawn == changes.choose(ROOT, 3, 50)
    assert len(set(drawn)) == 50
    assert {Path(each.path).parts[1] for each in drawn} == set(changes.SHARES)
    for change in drawn:
        source = (ROOT / change.path).read_text(encoding="utf-8")
        changed = change.applied(source)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), change


@pytest.mark.parametrize(
    ("source", "expected"),
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
def test_changes_are_operators_numbers_signs_and_conditions(changes, tmp_path, source, expected):
    folder = tmp_path / "blender_ik_addon"
    for package in changes.SHARES:
        (folder / package).mkdir(parents=True)
        (folder / package / "file.py").write_text(source * 40, encoding="utf-8")
    drawn = changes.choose(tmp_path, 1, 100)
    length = len(source.splitlines())
    found = set()
    for change in drawn:
        first = (change.line - 1) // length * length
        lines = change.applied(source * 40).splitlines(keepends=True)
        found.add("".join(lines[first : first + length]))
    assert found == expected
