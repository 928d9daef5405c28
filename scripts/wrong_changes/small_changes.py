"""Small wrong changes of the extension's source: one operator, number, sign or condition each."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import NamedTuple

# How many of a hundred fall on each package.
SHARES = {"core": 40, "rig": 35, "operators": 13, "properties": 6, "cli": 6}

_OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}


class Change(NamedTuple):
    """A piece of a line that another one replaces.

    Attributes:
        path: Of the file, from the root of the checkout.
        line: Of the piece, the first is 1.
        column: Where it begins, in characters.
        old: The piece.
        new: What replaces it.
    """

    path: str
    line: int
    column: int
    old: str
    new: str

    def __str__(self) -> str:
        """Return where and what, as a compiler says it."""
        return f"{self.path}:{self.line}:{self.column} {self.old} -> {self.new}"

    def applied(self, source: str) -> str:
        """Return the source with the change."""
        lines = source.splitlines(keepends=True)
        text = lines[self.line - 1]
        end = self.column + len(self.old)
        assert text[self.column : end] == self.old, f"{self}: the source has changed"
        lines[self.line - 1] = text[: self.column] + self.new + text[end:]
        return "".join(lines)


def choose(root: Path, seed: int, number: int) -> list[Change]:
    """Return changes spread over the packages as `SHARES` says, drawn by a seed."""
    draw = random.Random(seed)
    chosen: list[Change] = []
    for package, share in SHARES.items():
        folder = root / "blender_ik_addon" / package
        possible = [
            change
            for path in sorted(folder.rglob("*.py"))
            for change in _changes_of(path.read_text(encoding="utf-8"), str(path.relative_to(root)))
        ]
        chosen += draw.sample(possible, round(number * share / 100))
    return sorted(chosen)


def _changes_of(source: str, path: str) -> list[Change]:
    tree, lines = ast.parse(source), source.splitlines()
    found = []
    for node in _outside_of_annotations(tree):
        for old, new, begin, end in _pieces(node):
            # Where the operator stands between its operands; those that are wrapped are left out.
            (line, column), (last, stop) = begin, end
            at = lines[line - 1].find(old, column, stop if last == line else None)
            if line == last and at >= 0:
                found.append(Change(path, line, at, old, new))
    return found


def _outside_of_annotations(tree: ast.AST) -> list[ast.AST]:
    """Return all nodes but those of annotations: a wrong type changes nothing that runs."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        for field, value in ast.iter_fields(node):
            if field not in ("annotation", "returns"):
                values = value if isinstance(value, list) else [value]
                waiting += [each for each in values if isinstance(each, ast.AST)]
    return found


def _pieces(node: ast.AST) -> list[tuple[str, str, tuple[int, int], tuple[int, int]]]:
    """Return what can be replaced in a node: old, new, and between which places it stands."""

    def begin(each: ast.expr) -> tuple[int, int]:
        return each.lineno, each.col_offset

    def end(each: ast.expr) -> tuple[int, int]:
        return each.end_lineno or 0, each.end_col_offset or 0

    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
        left, right = (
            (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        )
        return [(*_OPERATORS[type(node.op)], end(left), begin(right))]
    if isinstance(node, ast.BoolOp):
        pairs = zip(node.values, node.values[1:])
        return [(*_OPERATORS[type(node.op)], end(left), begin(right)) for left, right in pairs]
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return [
            (*_OPERATORS[type(operator)], end(left), begin(right))
            for operator, left, right in zip(node.ops, sides, sides[1:])
        ]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        sign = "-" if isinstance(node.op, ast.USub) else "not "
        return [(sign, "", begin(node), begin(node.operand))]
    if isinstance(node, (ast.If, ast.IfExp, ast.While)) and not isinstance(node.test, ast.BoolOp):
        whole = ast.unparse(node.test)
        return [(whole, f"not ({whole})", begin(node.test), end(node.test))]
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        old = repr(node.value)
        new = str(not node.value) if isinstance(node.value, bool) else f"({old} + 1)"
        return [(old, new, begin(node), end(node))]
    return []
