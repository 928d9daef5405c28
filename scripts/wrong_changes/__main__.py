"""Make small wrong changes in the extension, one at a time, and count those that tests notice.

    python3 scripts/wrong_changes                      150 changes of seed 1, the whole round
    python3 scripts/wrong_changes --seed 2 --number 50

A change is one operator, number, sign or condition. The round first runs all tests once and notes
which lines each of them executes (`out/wrong_changes`, kept until it is deleted). A change is then
tried with tests that execute its line, the quickest of each file first, up to the first that
fails. Changes are made in copies of the checkout, one for each processor.
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

COVERED = ROOT / "out" / "wrong_changes"
PYTHON = "bpy-5.2"

# What `scripts/test.py` runs of the newest Blender and of the core, in parts that run side by side.
PARTS = {
    "blender, a": ("tests/blender", "--half", "0", "--few", "7"),
    "blender, b": ("tests/blender", "--half", "1", "--few", "7"),
    "core": ("tests/core", "-m", "not slow"),
    "core, slow": ("tests/core", "-m", "slow and not exhaustive", "--few", "12"),
}
# Seconds of tests that a change is tried with, as they were recorded.
ENOUGH = 30.0
# How many of a hundred fall on each package.
SHARES = {"core": 40, "rig": 35, "operators": 13, "properties": 6, "cli": 6}
_PAIRS = ("+ -", "* /", "and or", "< <=", "> >=", "== !=", "& |", "+= -=", "*= /=", "True False")
_SWAPS = {
    **{old: new for pair in _PAIRS for old, new in (pair.split(), pair.split()[::-1])},
    **{word: f"{word} not" for word in ("if", "elif", "while", "is")},
    **{"in": "not in", "not": ""},
}


class Change(NamedTuple):
    """A piece of a line, of a file below the root of the checkout, that another one replaces."""

    path: str
    line: int
    column: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column} {self.old} -> {self.new}"

    def applied(self, source: str) -> str:
        lines = source.splitlines(keepends=True)
        text = lines[self.line - 1]
        before, after = text[: self.column], text[self.column :]
        assert after.startswith(self.old), f"{self}: the source has changed"
        lines[self.line - 1] = before + self.new + after[len(self.old) :]
        return "".join(lines)

    def does_something(self, source: str) -> bool:
        """Tell whether the program is still one, and another one: annotations are not run."""
        try:
            return _program(self.applied(source)) != _program(source)
        except SyntaxError:
            return False


def choose(root: Path, seed: int, number: int) -> list[Change]:
    """Return changes spread over the packages as `SHARES` says, drawn by a seed."""
    draw, chosen = random.Random(seed), list[Change]()
    for package, share in SHARES.items():
        files = sorted((root / "blender_ik_addon" / package).rglob("*.py"))
        sources = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in files}
        possible = [change for path, text in sources.items() for change in _changes_of(text, path)]
        draw.shuffle(possible)
        right = (change for change in possible if change.does_something(sources[change.path]))
        chosen += [change for _, change in zip(range(round(number * share / 100)), right)]
    return sorted(chosen)


def _changes_of(source: str, path: str) -> Iterator[Change]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    for kind, old, (line, column), _, text in tokens:
        new = f"({old} + 1)" if kind == tokenize.NUMBER else _SWAPS.get(old)
        # A star among parameters is no product.
        if new is not None and text[column : column + 2] != "*,":
            yield Change(path, line, column, old, new)


def _program(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in {"annotation", "returns"} & {*node._fields}:
            setattr(node, field, None)
    return ast.dump(tree)


def run_tests(tree: Path, arguments: list[str], timeout: float, **variables: str) -> str:
    """Run pytest in a tree and return what it printed; "timeout" if it did not end in time."""
    python, how = environment.ensure(PYTHON), {"capture_output": True, "text": True}
    with environment.own_variables(PYTHONDONTWRITEBYTECODE="1", **variables) as env:
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        try:
            return subprocess.run(command, cwd=tree, env=env, timeout=timeout, **how).stdout
        except subprocess.TimeoutExpired:
            return "timeout"


def record() -> None:
    """Run all tests and note the lines of the extension that each executes."""
    COVERED.mkdir(parents=True, exist_ok=True)

    def run(part: str) -> None:
        start = time.monotonic()
        notes = str(COVERED / f"{part.replace(', ', '_')}.jsonl")
        variables = {"PYTHONPATH": str(ROOT / "scripts"), "CHAIN_IK_COVERED": notes}
        arguments = ["-p", "wrong_changes.executed_lines", *PARTS[part]]
        output = run_tests(ROOT, arguments, 4 * 3600, **variables)
        *lines, last = output.splitlines()
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        say(part, *failed, f"{last}, {time.monotonic() - start:.0f} s")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, PARTS))


def covering(changes: list[Change]) -> list[list[tuple[float, str]]]:
    """Return of each change the tests that execute its line, with their seconds.

    Where none does (lines that run once, at the import), those that execute any of its file.
    """
    exact, near = ([list[tuple[float, str]]() for _ in changes] for _ in "12")
    notes = [json.loads(line) for path in sorted(COVERED.glob("*.jsonl")) for line in path.open()]
    for note, (number, change) in itertools.product(notes, enumerate(changes)):
        test, executed = (note["seconds"], note["test"]), note["lines"].get(change.path)
        near[number] += [test] if executed else []
        exact[number] += [test] if executed and int(executed, 16) >> change.line & 1 else []
    return [found or others for found, others in zip(exact, near)]


def ordered(tests: list[tuple[float, str]]) -> list[str]:
    """Return the tests to try: the quickest of each file, then the next ones, while time lasts."""
    rounds, turns = [], Counter[str]()
    for seconds, name in sorted(tests):
        file = name.partition("::")[0]
        rounds.append((turns[file], seconds, name))
        turns[file] += 1
    kept, left = [], ENOUGH
    for _, seconds, name in sorted(rounds):
        if seconds <= left or not kept:
            kept.append(name)
            left -= seconds
    return kept


def attempt(change: Change, tests: list[str], tree: Path) -> str:
    """Make a change in a tree, run the tests, take it back; return the first that failed."""
    path = tree / change.path
    original = path.read_text(encoding="utf-8")
    path.write_text(change.applied(original), encoding="utf-8")
    names = tree / "out" / "tests.txt"
    names.parent.mkdir(exist_ok=True)
    names.write_text("\n".join(tests), encoding="utf-8")
    try:
        output = run_tests(tree, ["-x", "-m", "", f"@{names}"], 4 * ENOUGH)
    finally:
        path.write_text(original, encoding="utf-8")
    *_, last = ["the process ended", *output.splitlines()]
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", output, re.MULTILINE)
    return failed[1] if failed else "" if " passed" in last else last


def try_all(changes: list[Change], found: list[list[tuple[float, str]]]) -> int:
    """Try all, in as many copies of the checkout as processors; return how many are caught."""
    with tempfile.TemporaryDirectory(prefix="chain_ik_wrong_") as folder:
        trees: queue.Queue[Path] = queue.Queue()
        for number in range(os.cpu_count() or 1):
            tree = Path(folder) / str(number)
            left_out = shutil.ignore_patterns(".venv", "out", ".git", "__pycache__")
            shutil.copytree(ROOT, tree, ignore=left_out)
            trees.put(tree)

        def run(number: int) -> bool:
            change, tests = changes[number], ordered(found[number])
            tree, start = trees.get(), time.monotonic()
            caught_by = attempt(change, tests, tree) if tests else ""
            trees.put(tree)
            said = f"caught by {caught_by}" if caught_by else "SURVIVED"
            counts = f"{len(tests)} of {len(found[number])} tests"
            seconds = time.monotonic() - start
            say(f"{number + 1}/{len(changes)}", f"{change}: {said} ({counts}, {seconds:.0f} s)")
            return bool(caught_by)

        with concurrent.futures.ThreadPoolExecutor(trees.qsize()) as pool:
            return sum(pool.map(run, range(len(changes))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=150)
    options = parser.parse_args()
    if not COVERED.is_dir():
        record()
    changes = choose(ROOT, options.seed, options.number)
    print(f"{try_all(changes, covering(changes))} of {len(changes)} wrong changes caught")


if __name__ == "__main__":
    main()
