"""Size of functions, files and folders: rules that a script can check."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("blender_ik_addon", "scripts", "tests")

MOST_LINES_OF_FUNCTION = 60
MOST_LINES_OF_FILE = 450
MOST_FILES_OF_FOLDER = 14

# A function, whose lines stand farther in than its first, and are more than there may be.
LONG_FUNCTION = re.compile(
    r"^( *+)(?:async )?def (\w+).*+\n"
    rf"(?:(?:\1[ )].*+)?+\n){{{MOST_LINES_OF_FUNCTION - 1},}}\1[ )].*+$",
    re.MULTILINE,
)


def find_long(source: str) -> list[str]:
    """Return the functions with too many lines, docstring included, and how many lines too many."""
    length = len(source.splitlines())
    found = [each[2] for each in LONG_FUNCTION.finditer(source)]
    return found + ([f"{length} lines"] if length > MOST_LINES_OF_FILE else [])


def test_no_function_and_no_file_is_too_long():
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    assert ROOT / "blender_ik_addon" / "__init__.py" in files
    found = {file: find_long(file.read_text(encoding="utf-8")) for file in files}
    assert not {str(file): long for file, long in found.items() if long}


@pytest.mark.parametrize("top", FOLDERS)
def test_no_folder_has_too_many_files(top):
    """Beside ``__init__.py``, which says what the folder is for."""
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
def test_what_is_too_long_is_found(source, number):
    assert len(find_long(source)) == number
