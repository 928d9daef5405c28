"""Imports between the layers, and sizes of functions, files and folders."""

import ast
import functools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "blender_ik_addon"

# The layers that a layer may import. The layers of the last row do not import each other.
_LAST_ROW = frozenset(
    {"core", "rig", "registration", "events", "properties", "preferences", "translations"}
)
ALLOWED = {
    "core": frozenset(),
    "rig": frozenset({"core"}),
    # It loads modules by names that it gets.
    "registration": frozenset(),
    # It appends functions that it gets to Blender's lists.
    "events": frozenset(),
    "properties": frozenset({"core", "rig", "registration", "events"}),
    # For users: texts in their language, and their preferences.
    "translations": frozenset({"core"}),
    "preferences": frozenset({"core", "rig", "registration", "properties"}),
    "operators": _LAST_ROW,
    "handlers": _LAST_ROW,
    "active_chain": _LAST_ROW,
    "cli": _LAST_ROW,
    "panels": _LAST_ROW,
    "overlay": _LAST_ROW,
    "gizmos": _LAST_ROW,
}
# The package's __init__ registers all layers, but see `find_top_imports_of_blender`.
ALLOWED["__init__"] = frozenset(ALLOWED)
# It starts the command line where Blender is a Python module.
ALLOWED["__main__"] = frozenset({"cli", "register"})

# Packages of the rig in their order: a package may import those before it.
RIG_PACKAGES = (
    *("reading", "anatomy", "planning", "trees", "frames"),
    *("posing", "batches", "live", "keying", "controls", "tools", "clips", "comparing", "shapes"),
)

BLENDER_MODULES = frozenset(
    {"bpy", "bpy_extras", "mathutils", "bl_math", "bl_operators", "bl_ui", "blf", "gpu"}
    | {"gpu_extras", "idprop", "rna_keymap_ui", "rna_prop_ui"}
)
# Layers that Python without Blender can import.
WITHOUT_BLENDER = ("core", "registration")
# These layers use explicit objects, and never the active ones.
BANNED_BPY_PARTS = {"rig": {"ops", "context"}, "handlers": {"ops"}, "active_chain": {"ops"}}


def layer_of(path: PurePosixPath) -> str:
    """Return the layer of a file, given its path inside the package."""
    return path.parts[0].removesuffix(".py")


# A whole import statement with its indentation; it must begin its line.
IMPORT = re.compile(r"^( *)((?:from [.\w]+ )?import (?:\([^)]*\)|[^\n(]+))", re.MULTILINE)


class Imported(NamedTuple):
    """A dotted name that a line imports.

    Names inside the package are relative to its root: `from ..core import solve` in
    rig/solving.py is `core.solve`.
    """

    line: int
    name: str
    is_inside: bool
    is_in_function: bool


@functools.cache
def list_imports(path: PurePosixPath, source: str) -> list[Imported]:
    imports = []
    for match in IMPORT.finditer(source):
        (node,) = ast.parse(match[2]).body
        names, level = [alias.name for alias in node.names], getattr(node, "level", 0)
        if isinstance(node, ast.ImportFrom):
            above = path.parts[:-1][: len(path.parts) - level] if level else ()
            start = ".".join((*above, *([node.module] if node.module else [])))
            names = [f"{start}.{name}".lstrip(".") for name in names]
        line = source.count("\n", 0, match.start()) + 1
        imports += [Imported(line, name, level > 0, bool(match[1])) for name in names]
    return imports


def find_wrong_arrows(path: PurePosixPath, source: str) -> list[str]:
    """Return the imports that the layer of the file does not allow."""
    layer = layer_of(path)
    if layer not in ALLOWED:
        return [f"{path}: no layer of this name; add it to the design and to this test"]
    wrong = []
    for line, name, is_inside, _ in list_imports(path, source):
        top = name.split(".")[0]
        if is_inside:
            is_allowed = top == layer or top in ALLOWED[layer]
        else:
            # The package's own name is not allowed: installed, the package has another name.
            is_allowed = top in sys.stdlib_module_names or top == "numpy"
            is_allowed |= top in BLENDER_MODULES and layer not in WITHOUT_BLENDER
        if not is_allowed:
            wrong.append(f"{path}:{line}: {layer} must not import {name}")
    return wrong


def find_banned_bpy_parts(path: PurePosixPath, source: str) -> list[str]:
    """Return the uses of bpy.ops and bpy.context in layers that must not use them."""
    banned = BANNED_BPY_PARTS.get(layer_of(path), set())
    uses = {imported.name for imported in list_imports(path, source)}
    uses.update(re.findall(r"\bbpy\.\w+", source))
    return [
        f"{path}: {name} is banned here"
        for name in uses
        if any(f"{name}.".startswith(f"bpy.{part}.") for part in banned)
    ]


def find_top_imports_of_blender(path: PurePosixPath, source: str) -> list[str]:
    """Return the imports of the package's __init__ outside functions that may need Blender."""
    return [
        f"{path}:{line}: {name} must be imported inside a function"
        for line, name, is_inside, is_in_function in list_imports(path, source)
        if path == PurePosixPath("__init__.py")
        and not is_in_function
        and (top := name.split(".")[0]) not in WITHOUT_BLENDER
        and (is_inside or top in BLENDER_MODULES)
    ]


CHECKS = [find_wrong_arrows, find_banned_bpy_parts, find_top_imports_of_blender]


def test_every_file_keeps_to_the_layers():
    # Presets are scripts that Blender runs, without imports from the package or by it.
    files = sorted(set(PACKAGE.rglob("*.py")) - set((PACKAGE / "presets").rglob("*.py")))
    assert PACKAGE / "__init__.py" in files
    faults = []
    for file in files:
        path = PurePosixPath(file.relative_to(PACKAGE).as_posix())
        faults += [fault for check in CHECKS for fault in check(path, file.read_text("utf-8"))]
    assert not faults, "\n".join(faults)


BAD_SOURCES = [
    (find_wrong_arrows, "core/solve.py", "import bpy"),
    (find_wrong_arrows, "core/solve.py", "import scipy.spatial"),
    (find_wrong_arrows, "core/sub/deep.py", "from ...rig.reader import read"),
    (find_wrong_arrows, "rig/reader.py", "from blender_ik_addon.core import solve"),
    (find_wrong_arrows, "utils.py", ""),
    (find_banned_bpy_parts, "rig/reader.py", "def f():\n    return bpy.context.object"),
    (find_banned_bpy_parts, "rig/reader.py", "from bpy import context"),
    (find_banned_bpy_parts, "handlers.py", "from bpy import ops as o"),
    (find_top_imports_of_blender, "__init__.py", "import bpy"),
    (find_top_imports_of_blender, "__init__.py", "from . import operators"),
]


@pytest.mark.parametrize(("check", "path", "source"), BAD_SOURCES)
def test_checks_find_violations(check, path, source):
    assert len(check(PurePosixPath(path), source)) == 1


@functools.cache
def list_package_imports() -> dict[str, frozenset[str]]:
    """Return the modules of the package that each of them imports, named from its root."""
    files = sorted(PACKAGE.rglob("*.py"))
    paths = [PurePosixPath(file.relative_to(PACKAGE).as_posix()) for file in files]
    modules = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths}
    modules_by_importer = {}
    for file, path in zip(files, paths, strict=True):
        name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        imports = list_imports(path, file.read_text(encoding="utf-8"))
        names = {imported.name for imported in imports if imported.is_inside}
        # A name is a module, or a name in a module.
        parents = {name if name in modules else name.rpartition(".")[0] for name in names}
        modules_by_importer[name] = frozenset(parents & modules)
    return modules_by_importer


def test_no_modules_import_each_other_in_a_circle():
    imports = list_package_imports()
    while leaves := {name for name, needed in imports.items() if not needed}:
        imports = {name: needed - leaves for name, needed in imports.items() if name not in leaves}
    assert not imports, f"in circles, or imported by them: {sorted(imports)}"


def test_packages_of_the_rig_import_only_those_before_them_and_records_only_algebra():
    for name, needed in list_package_imports().items():
        if name.startswith("core.model"):
            assert all(other.startswith(("core.model", "core.algebra")) for other in needed), name
        if name.startswith("rig."):
            place = RIG_PACKAGES.index(name.split(".")[1])
            packages = {module.split(".")[1] for module in needed if module.startswith("rig.")}
            assert all(RIG_PACKAGES.index(package) <= place for package in packages), name


def test_core_imports_without_blender():
    # None in sys.modules makes every import of that name fail.
    code = (
        "import sys; sys.modules['bpy'] = sys.modules['mathutils'] = None; "
        "import blender_ik_addon.core"
    )
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def test_files_of_core_and_rig_have_different_names():
    files = [file for layer in ("core", "rig") for file in (PACKAGE / layer).rglob("*.py")]
    names = Counter(file.name for file in files if file.name != "__init__.py")
    assert not {name: count for name, count in names.items() if count > 1}


FOLDERS = ("blender_ik_addon", "scripts", "tests")

MOST_LINES_OF_FUNCTION = 60
MOST_LINES_OF_FILE = 450


def test_no_two_classes_of_the_package_have_one_name():
    sources = [file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")]
    names = re.findall(r"^class (\w+)", "\n".join(sources), flags=re.MULTILINE)
    assert len(names) > 300
    assert not {name for name in names if names.count(name) > 1}


MOST_FILES_OF_FOLDER = 14

# A function with too many lines, which are indented more than its first line.
LONG_FUNCTION = re.compile(
    r"^( *+)(?:async )?def (\w+).*+\n"
    rf"(?:(?:\1[ )].*+)?+\n){{{MOST_LINES_OF_FUNCTION - 1},}}\1[ )].*+$",
    re.MULTILINE,
)


def find_long(source: str) -> list[str]:
    """Return the names of too long functions, and the number of lines of a too long file."""
    length = len(source.splitlines())
    names = [match[2] for match in LONG_FUNCTION.finditer(source)]
    return names + ([f"{length} lines"] if length > MOST_LINES_OF_FILE else [])


def test_no_function_and_no_file_is_too_long():
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    assert PACKAGE / "__init__.py" in files
    long_parts = {file: find_long(file.read_text(encoding="utf-8")) for file in files}
    assert not {str(file): long for file, long in long_parts.items() if long}


@pytest.mark.parametrize("top", FOLDERS)
def test_no_folder_has_too_many_files(top):
    """The count is without ``__init__.py``, which says what the folder is for."""
    folders = {file.parent for file in (ROOT / top).rglob("*.py")}
    assert ROOT / top in folders
    for folder in folders:
        files = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
        assert len(files) <= MOST_FILES_OF_FOLDER, f"{folder}: {len(files)} files"


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("class A:\n    def f():\n" + "        pass\n" * MOST_LINES_OF_FUNCTION, 1),
        ("def f(\n):\n" + "    pass\n" * (MOST_LINES_OF_FUNCTION - 2) + "\n\ndef g(): ...\n", 0),
        ("\n" * (MOST_LINES_OF_FILE + 1), 1),
    ],
)
def test_too_long_functions_and_files_are_found(source, number):
    assert len(find_long(source)) == number
