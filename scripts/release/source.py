"""What code of an extension must not do, found in its syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator

FUNCTIONS = {"eval", "exec", "compile", "__import__"}
NETWORK = {"aiohttp", "ftplib", "http", "requests", "smtplib", "socket", "ssl", "urllib"}
MODULES = NETWORK | {"ctypes", "ensurepip", "pip", "subprocess"}
ATTRIBUTES = {("sys", "path"), ("sys", "modules")}
# What reviewers look at one by one, and where it is needed. Nothing is ever written there.
ALLOWED = {
    ("operators/presets.py", "__file__"): "shipped presets are read from the package",
    ("operators/creatures.py", "__file__"): "shipped creatures are read from the package",
    ("translations/catalogue.py", "__file__"): "translations are read from the package",
    ("cli/jobs.py", "__file__"): "other processes are told where the package is",
    ("cli/jobs.py", "subprocess"): "a bake is shared out to more processes of the same Blender",
}


def check(name: str, text: str) -> list[str]:
    """Return what a file does that it must not do.

    Args:
        name: Inside the package, with slashes.
        text: Of the file.
    """
    return [
        f"{name}:{line} uses {used}."
        for line, used in _used(ast.parse(text))
        if (name, used) not in ALLOWED
    ]


def _used(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Return lines and names of all that has to be looked at."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "__file__":
            yield node.lineno, "__file__"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in FUNCTIONS:
                yield node.lineno, node.func.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in ATTRIBUTES:
                yield node.lineno, f"{node.value.id}.{node.attr}"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _imported(node)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[int, str]]:
    modules, parts = [alias.name for alias in node.names], []
    if isinstance(node, ast.ImportFrom):
        if node.level:  # of the package itself
            return
        parts = [f"{node.module}.{alias.name}" for alias in node.names]
        modules = [node.module or ""]
    for name in modules:
        if name.split(".")[0] in MODULES:
            yield node.lineno, name
    for name in parts:
        if tuple(name.split(".")) in ATTRIBUTES:
            yield node.lineno, name
