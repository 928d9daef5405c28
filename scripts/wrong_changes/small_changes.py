"""Small wrong changes of the extension's source: one operator, number, sign or condition each."""

from __future__ import annotations

import ast
import io
import random
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
        end = self.column + len(self.old)
        assert text[self.column : end] == self.old, f"{self}: the source has changed"
        lines[self.line - 1] = text[: self.column] + self.new + text[end:]
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
