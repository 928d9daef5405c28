"""docs/promises.md and docs/behaviour.md: the tests and the code that they name exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def read_promises() -> dict[int, set[str]]:
    """Return the test files that each promise names."""
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    sections = re.split(r"^## (\d+)\. ", text, flags=re.MULTILINE)[1:]
    numbers, bodies = sections[::2], sections[1::2]
    return {
        int(number): set(re.findall(r"`(tests/\S+?\.py)`", body))
        for number, body in zip(numbers, bodies, strict=True)
    }


def test_there_are_eight_promises_and_each_has_tests():
    promises = read_promises()
    assert list(promises) == list(range(1, 9))
    missing = {name for names in promises.values() for name in names if not (ROOT / name).is_file()}
    assert not missing
    assert all(promises.values())


def test_tests_that_name_a_promise_are_listed_with_it():
    promises = read_promises()
    stated = {
        (int(number), path.relative_to(ROOT).as_posix())
        for path in (ROOT / "tests").rglob("test_*.py")
        for numbers in re.findall(
            r"Promises? (\d(?:(?:, | and )\d)*)", path.read_text(encoding="utf-8").split('"""')[1]
        )
        for number in re.findall(r"\d", numbers)
    }
    assert len(stated) >= 5
    assert not {(number, path) for number, path in stated if path not in promises[number]}


def test_every_section_of_the_behaviour_ends_with_its_code_and_its_tests():
    text = (ROOT / "docs" / "behaviour.md").read_text(encoding="utf-8")
    sections = re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]
    assert len(sections) >= 20
    for section in sections:
        title, last = section.splitlines()[0], section.strip().splitlines()[-1]
        code, _, tests = last.partition(". Tests: ")
        assert code.startswith("Code: "), title
        files = [f"blender_ik_addon/{name}" for name in re.findall(r"`(\S+?\.py)`", code)]
        tests = re.findall(r"`(tests/\S+?\.py)`", tests)
        assert files, title
        assert tests, title
        assert not [name for name in (*files, *tests) if not (ROOT / name).is_file()], title
