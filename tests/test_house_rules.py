"""Size of functions and files, honest error handling, docstrings: rules that a script can check."""

from __future__ import annotations

import ast
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("blender_ik_addon", "scripts", "tests")

MOST_LINES_OF_FUNCTION = 60
MOST_LINES_OF_FILE = 450
MOST_FILES_OF_FOLDER = 14
# Blender calls them; every module has them and they always do the same.
NEEDS_NO_DOCSTRING = {"register", "unregister"}

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def find_long_functions(path: PurePosixPath, source: str) -> list[str]:
    """Return the functions with too many lines, docstring included."""
    return [
        f"{path}:{node.lineno}: {node.name} has {length} lines"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, _FUNCTIONS)
        and (length := node.end_lineno - node.lineno + 1) > MOST_LINES_OF_FUNCTION
    ]


def find_long_files(path: PurePosixPath, source: str) -> list[str]:
    """Return the file if it has too many lines."""
    length = len(source.splitlines())
    return [f"{path}: {length} lines"] if length > MOST_LINES_OF_FILE else []


def find_broad_excepts(path: PurePosixPath, source: str) -> list[str]:
    """Return the `except` clauses that would also hide a programming error."""
    return [
        f"{path}:{node.lineno}: name the errors that are expected here"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or any(
                isinstance(part, ast.Name) and part.id in {"Exception", "BaseException"}
                for part in ast.walk(node.type)
            )
        )
    ]


def find_missing_docstrings(path: PurePosixPath, source: str) -> list[str]:
    """Return the public classes, functions and methods of core and rig without a docstring."""
    if path.parts[:1] != ("blender_ik_addon",) or path.parts[1] not in {"core", "rig"}:
        return []
    tree = ast.parse(source)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    # Functions inside functions are nobody else's business.
    nodes = [node for scope in (tree, *classes) for node in scope.body]
    return [
        f"{path}:{node.lineno}: {node.name} has no docstring"
        for node in nodes
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef))
        and not node.name.startswith("_")
        and node.name not in NEEDS_NO_DOCSTRING
        and ast.get_docstring(node) is None
    ]


CHECKS = [find_long_functions, find_long_files, find_broad_excepts, find_missing_docstrings]


@pytest.mark.parametrize("check", CHECKS)
def test_every_file_keeps_to_the_rules(check):
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    assert ROOT / "blender_ik_addon" / "__init__.py" in files
    found = []
    for file in files:
        path = PurePosixPath(file.relative_to(ROOT).as_posix())
        found += check(path, file.read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("top", FOLDERS)
def test_no_folder_has_too_many_files(top):
    """Beside ``__init__.py``, which says what the folder is for."""
    folders = {file.parent for file in (ROOT / top).rglob("*.py")}
    assert ROOT / top in folders
    for folder in folders:
        files = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
        assert len(files) <= MOST_FILES_OF_FOLDER, f"{folder}: {len(files)} files"


CORE = "blender_ik_addon/core/solve.py"

BAD_SOURCES = [
    (find_long_functions, CORE, "def f():\n" + "    pass\n" * MOST_LINES_OF_FUNCTION),
    (find_long_files, CORE, "\n" * (MOST_LINES_OF_FILE + 1)),
    (find_broad_excepts, CORE, "try:\n    pass\nexcept:\n    pass"),
    (
        find_broad_excepts,
        CORE,
        "try:\n    pass\nexcept (ValueError, BaseException) as e:\n    pass",
    ),
    (find_missing_docstrings, CORE, "def solve():\n    pass"),
    (find_missing_docstrings, CORE, "class _A:\n    def reach(self):\n        pass"),
]


@pytest.mark.parametrize(("check", "path", "source"), BAD_SOURCES)
def test_checks_find_violations(check, path, source):
    assert len(check(PurePosixPath(path), source)) == 1
