"""The checkout has nothing that the extensions site refuses; the checks of the release script."""

import ast
import importlib
import re
import struct
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = tomllib.loads((ROOT / "blender_manifest.toml").read_text("utf-8"))
PACKAGE = "blender_ik_addon/"
# A version in a document: in the name of the zip, or after the name of the extension.
VERSION = re.compile(r"(?:chain_ik-|Chain IK )(\d+\.\d+\.\d+)")
# Files that name old versions, in measurements and changes, or have invented documents.
HISTORY = ("docs/benchmark/", "CHANGELOG.md", "tests/")

FUNCTIONS = {"eval", "exec", "compile", "__import__"}
NETWORK = {"aiohttp", "ftplib", "http", "requests", "smtplib", "socket", "ssl", "urllib"}
MODULES = NETWORK | {"ctypes", "ensurepip", "pip", "subprocess"}
# Uses that reviewers check one by one, with the reason. None of them writes there.
ALLOWED = {
    ("operators/presets.py", "__file__"): "shipped presets are read from the package",
    ("operators/creatures.py", "__file__"): "shipped creatures are read from the package",
    ("translations/catalogue.py", "__file__"): "translations are read from the package",
    ("cli/jobs.py", "__file__"): "other processes are told where the package is",
    ("cli/jobs.py", "subprocess"): "a bake is shared out to more processes of the same Blender",
}

IMAGES = ROOT / "docs" / "images"
# Sizes in pixels; of screenshots the least width, because their text must be readable.
SIZES = {"release/icon": (256, 256), "release/featured": (1920, 1080)}
SCREENSHOTS, SMALLEST = ("start_3_drag", "start_2_set_up", "posed_by_hand"), 1280
LARGEST_PICTURE = 3_000_000  # bytes


@pytest.fixture(scope="module")
def release(scripts):
    return importlib.import_module("release")


def tracked() -> list[str]:
    command = ["git", "-C", str(ROOT), "ls-files"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_the_manifest_has_what_the_site_requires():
    assert re.fullmatch(r"\d+\.\d+\.\d+", MANIFEST["version"])
    assert "blender" not in MANIFEST["name"].lower()
    assert MANIFEST["license"] == ["SPDX:GPL-3.0-or-later"]
    licence = " ".join((ROOT / "LICENSE").read_text("utf-8").split())
    assert licence.startswith("GNU GENERAL PUBLIC LICENSE Version 3")
    assert MANIFEST["copyright"]


def test_no_document_or_script_names_another_version():
    texts = (".md", ".py", ".js", ".toml")
    files = [name for name in tracked() if name.endswith(texts) and not name.startswith(HISTORY)]
    assert len(files) > 300
    versions = {name: {*VERSION.findall((ROOT / name).read_text("utf-8"))} for name in files}
    assert not {name: found for name, found in versions.items() if found - {MANIFEST["version"]}}


@pytest.mark.parametrize("name", [*SIZES, *SCREENSHOTS])
def test_pictures_have_the_format_that_the_site_accepts(name):
    path = IMAGES / f"{name}.png"
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    size = struct.unpack(">II", head[16:24])
    assert size == SIZES[name] if name in SIZES else size[0] >= SMALLEST
    assert path.stat().st_size <= LARGEST_PICTURE


def find_checked_names(text: str) -> Iterator[str]:
    """Yield the names in a source that reviewers check."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and node.id == "__file__":
            yield node.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from {node.func.id} & FUNCTIONS
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from {f"{node.value.id}.{node.attr}"} & {"sys.path", "sys.modules"}
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in MODULES)
        # Imports with leading dots are of the package itself.
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from [node.module] if node.module.split(".")[0] in MODULES else []
            names = {f"{node.module}.{name.name}" for name in node.names}
            yield from names & {"sys.path", "sys.modules"}


def test_the_package_does_nothing_that_reviewers_refuse():
    files = [name for name in tracked() if name.startswith(PACKAGE) and name.endswith(".py")]
    assert len(files) > 100
    found = {
        (name.removeprefix(PACKAGE), used)
        for name in files
        for used in find_checked_names((ROOT / name).read_text("utf-8"))
    }
    assert found == set(ALLOWED)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Changelog\n\n## Unreleased\n\n- New.\n", "CHANGELOG has no section 1.0.0"),
        ("## 1.1.0 (2027-01-01)\n\n## 1.0.0 (2026-12-01)\n", "is 1.1.0, and the manifest says"),
        ("## 1.0.0 (unreleased)\n", "has no date"),
        ("# Changelog\n\n## 1.0.0 (2026-12-01)\n\n- New.\n\n## 0.1.0 (2026-01-01)\n", ""),
        ("## 1.0.0 - 2026-12-01\n", ""),
    ],
)
def test_the_change_log(release, text, said):
    faults = release.check_changelog("1.0.0", text)
    assert len(faults) == bool(said)
    assert said in "".join(faults)


def test_the_zip_holds_just_the_package(release, tmp_path, monkeypatch):
    path, extra = tmp_path / "chain_ik.zip", ["core/__pycache__/a.pyc", "notes.txt"]
    members = [name.removeprefix(PACKAGE) for name in tracked() if name.startswith(PACKAGE)]
    with zipfile.ZipFile(path, "w") as archive:
        for name in (*members, "blender_manifest.toml", "LICENSE"):
            archive.writestr(name, "")
    assert release.check_zip(path, tracked()) == []
    files = [*tracked(), f"{PACKAGE}core/more.py"]
    assert release.check_zip(path, files) == ["The zip lacks core/more.py."]
    with zipfile.ZipFile(path, "a") as archive:
        for name in extra:
            archive.writestr(name, "")
    faults = release.check_zip(path, tracked())
    assert faults == [f"The zip holds {name}, which is not part of it." for name in extra]
    monkeypatch.setattr(release, "MAX_ZIP_BYTES", 100)
    assert "100 is the most" in release.check_zip(path, tracked())[-1]


def test_uncommitted_changes_are_not_released(release, monkeypatch):
    monkeypatch.setattr(release, "git", lambda *arguments: [" M README.md"])
    assert "README.md" in release.check_tree()[0]
    monkeypatch.setattr(release, "git", lambda *arguments: [])
    assert release.check_tree() == []
