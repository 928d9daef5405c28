"""Make small wrong changes in the extension, one at a time; count those that tests detect.

    python3 scripts/wrong_changes                      150 changes of seed 1, the whole round
    python3 scripts/wrong_changes --seed 2 --number 50

A change replaces one operator, number, sign or condition. The round first runs all tests once and
records the lines that each test executes (`out/wrong_changes`, reused until you delete it). For
each change it runs tests that execute the changed line, the quickest of each file first, until one
fails. It makes the changes in copies of the checkout, one for each processor.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import io
import itertools
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import environment
from common.console import ROOT, say

RECORDS = ROOT / "out" / "wrong_changes"
PYTHON = "bpy-5.2"

# The tests that `scripts/test.py` runs for the newest Blender and the core, in parallel parts.
PARTS = {
    "blender, a": ("tests/blender", "--half", "0", "--few", "7"),
    "blender, b": ("tests/blender", "--half", "1", "--few", "7"),
    "core": ("tests/core", "-m", "not slow"),
    "core, slow": ("tests/core", "-m", "slow and not exhaustive", "--few", "12"),
}
# Seconds of tests per change, by their recorded times.
TEST_SECONDS = 30.0
# Changes per package, of a hundred.
SHARES = {"core": 40, "rig": 35, "operators": 13, "properties": 6, "cli": 6}
_PAIRS = ("+ -", "* /", "and or", "< <=", "> >=", "== !=", "& |", "+= -=", "*= /=", "True False")
_SWAPS = {
    **{old: new for pair in _PAIRS for old, new in (pair.split(), pair.split()[::-1])},
    **{word: f"{word} not" for word in ("if", "elif", "while", "is")},
    **{"in": "not in", "not": ""},
}


class Change(NamedTuple):
    """A replacement of a token; the path is relative to the root of the checkout."""

    path: str
    line: int
    column: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column} {self.old} -> {self.new}"

    def apply(self, source: str) -> str:
        lines = source.splitlines(keepends=True)
        text = lines[self.line - 1]
        before, after = text[: self.column], text[self.column :]
        assert after.startswith(self.old), f"{self}: the source has changed"
        lines[self.line - 1] = before + self.new + after[len(self.old) :]
        return "".join(lines)

    def changes_program(self, source: str) -> bool:
        """Return whether the changed source is valid and differs in more than annotations."""
        try:
            return _parse_program(self.apply(source)) != _parse_program(source)
        except SyntaxError:
            return False


def draw_changes(root: Path, seed: int, number: int) -> list[Change]:
    """Return random changes, distributed over the packages by `SHARES`."""
    draw, chosen = random.Random(seed), list[Change]()
    for package, share in SHARES.items():
        files = sorted((root / "blender_ik_addon" / package).rglob("*.py"))
        sources = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in files}
        possible = [change for path, text in sources.items() for change in _list_swaps(text, path)]
        draw.shuffle(possible)
        working = (change for change in possible if change.changes_program(sources[change.path]))
        chosen += [change for _, change in zip(range(round(number * share / 100)), working)]
    return sorted(chosen)


def _list_swaps(source: str, path: str) -> Iterator[Change]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    for kind, old, (line, column), _, text in tokens:
        new = f"({old} + 1)" if kind == tokenize.NUMBER else _SWAPS.get(old)
        # A star among parameters does not multiply.
        if new is not None and text[column : column + 2] != "*,":
            yield Change(path, line, column, old, new)


def _parse_program(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in {"annotation", "returns"} & {*node._fields}:
            setattr(node, field, None)
    return ast.dump(tree)


def run_tests(tree: Path, arguments: list[str], timeout: float, **variables: str) -> str:
    """Run pytest in a tree and return its output; "timeout" if it takes too long."""
    python, options = environment.ensure(PYTHON), {"capture_output": True, "text": True}
    with environment.isolated_variables(PYTHONDONTWRITEBYTECODE="1", **variables) as env:
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        try:
            return subprocess.run(command, cwd=tree, env=env, timeout=timeout, **options).stdout
        except subprocess.TimeoutExpired:
            return "timeout"


def record() -> None:
    """Run all tests and record the lines of the extension that each test executes."""
    RECORDS.mkdir(parents=True, exist_ok=True)

    def run(part: str) -> None:
        start = time.monotonic()
        notes = str(RECORDS / f"{part.replace(', ', '_')}.jsonl")
        variables = {"PYTHONPATH": str(ROOT / "scripts"), "CHAIN_IK_COVERED": notes}
        arguments = ["-p", "wrong_changes.executed_lines", *PARTS[part]]
        output = run_tests(ROOT, arguments, 4 * 3600, **variables)
        *lines, last = output.splitlines()
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        say(part, *failed, f"{last}, {time.monotonic() - start:.0f} s")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, PARTS))


def find_tests(changes: list[Change]) -> list[list[tuple[float, str]]]:
    """Return for each change the tests that execute its line, with their seconds.

    If there are none (a line that runs only at import), return tests that execute its file.
    """
    on_line, in_file = ([list[tuple[float, str]]() for _ in changes] for _ in "12")
    notes = [json.loads(line) for path in sorted(RECORDS.glob("*.jsonl")) for line in path.open()]
    for note, (number, change) in itertools.product(notes, enumerate(changes)):
        test, executed = (note["seconds"], note["test"]), note["lines"].get(change.path)
        in_file[number] += [test] if executed else []
        on_line[number] += [test] if executed and int(executed, 16) >> change.line & 1 else []
    return [tests or others for tests, others in zip(on_line, in_file)]


def select_tests(tests: list[tuple[float, str]]) -> list[str]:
    """Return tests to run: the quickest of each file, then the next ones, up to `TEST_SECONDS`."""
    rounds, turns = [], Counter[str]()
    for seconds, name in sorted(tests):
        file = name.partition("::")[0]
        rounds.append((turns[file], seconds, name))
        turns[file] += 1
    selected, seconds_left = [], TEST_SECONDS
    for _, seconds, name in sorted(rounds):
        if seconds <= seconds_left or not selected:
            selected.append(name)
            seconds_left -= seconds
    return selected


def check_change(change: Change, tests: list[str], tree: Path) -> str:
    """Make a change in a tree, run tests and undo it; return the first test that failed."""
    path = tree / change.path
    original = path.read_text(encoding="utf-8")
    path.write_text(change.apply(original), encoding="utf-8")
    list_file = tree / "out" / "tests.txt"
    list_file.parent.mkdir(exist_ok=True)
    list_file.write_text("\n".join(tests), encoding="utf-8")
    try:
        output = run_tests(tree, ["-x", "-m", "", f"@{list_file}"], 4 * TEST_SECONDS)
    finally:
        path.write_text(original, encoding="utf-8")
    *_, last = ["the process ended", *output.splitlines()]
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", output, re.MULTILINE)
    return failed[1] if failed else "" if " passed" in last else last


def check_changes(changes: list[Change], tests_of: list[list[tuple[float, str]]]) -> int:
    """Test all changes, in one copy of the checkout per processor; return how many are caught."""
    with tempfile.TemporaryDirectory(prefix="chain_ik_wrong_") as folder:
        trees: queue.Queue[Path] = queue.Queue()
        for number in range(os.cpu_count() or 1):
            tree = Path(folder) / str(number)
            ignore = shutil.ignore_patterns(".venv", "out", ".git", "__pycache__")
            shutil.copytree(ROOT, tree, ignore=ignore)
            trees.put(tree)

        def run(number: int) -> bool:
            change, tests = changes[number], select_tests(tests_of[number])
            tree, start = trees.get(), time.monotonic()
            caught_by = check_change(change, tests, tree) if tests else ""
            trees.put(tree)
            verdict = f"caught by {caught_by}" if caught_by else "SURVIVED"
            counts = f"{len(tests)} of {len(tests_of[number])} tests"
            seconds = time.monotonic() - start
            say(f"{number + 1}/{len(changes)}", f"{change}: {verdict} ({counts}, {seconds:.0f} s)")
            return bool(caught_by)

        with concurrent.futures.ThreadPoolExecutor(trees.qsize()) as pool:
            return sum(pool.map(run, range(len(changes))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=150)
    options = parser.parse_args()
    if not RECORDS.is_dir():
        record()
    changes = draw_changes(ROOT, options.seed, options.number)
    print(f"{check_changes(changes, find_tests(changes))} of {len(changes)} wrong changes caught")


if __name__ == "__main__":
    main()
