"""Version, name, licence, code, zip and pictures of a release: checks that return sentences.

Blender's builder refuses other faults of the manifest, those of tagline and permissions among them.
"""

from __future__ import annotations

import ast
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

LICENCE = "SPDX:GPL-3.0-or-later"
VERSION = re.compile(r"\d+\.\d+\.\d+")
HEADING = re.compile(r"^## (\S+)(.*)$", re.MULTILINE)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
# A version that a document tells: in the name of the zip, or after the name of the extension.
TOLD = re.compile(r"(?:chain_ik-|Chain IK )(\d+\.\d+\.\d+)")
# They tell with which version something was measured or has changed.
HISTORY = ("docs/benchmark/", "CHANGELOG.md")

PACKAGE = "blender_ik_addon/"
BESIDE = ("blender_manifest.toml", "LICENSE")
LARGEST_ZIP, LARGEST_PICTURE = 2_000_000, 3_000_000  # bytes: some people are on slow lines

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

FOLDER = "docs/images/release"
ICON, FEATURED = f"{FOLDER}/icon.png", f"{FOLDER}/featured.png"
SIZES = {ICON: (256, 256), FEATURED: (1920, 1080)}
SCREENSHOTS = (
    "docs/images/window.png",
    "docs/images/start_2_set_up.png",
    "docs/images/posed_by_hand.png",
)
SMALLEST = 1280  # pixels across a screenshot: its text has to be readable
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def check_manifest(manifest: Manifest, licence: str) -> list[str]:
    """Check version, name and licence; the licence stands in a file."""
    version, head = manifest["version"], " ".join(licence.split())
    is_gpl = head.startswith("GNU GENERAL PUBLIC LICENSE Version 3")
    rules = {
        f"The version '{version}' in the manifest is not like 1.0.0.": VERSION.fullmatch(version),
        "The name must not contain 'Blender'.": "blender" not in manifest["name"].lower(),
        f"The licence of an add-on has to be {LICENCE}.": manifest["license"] == [LICENCE],
        "The file LICENSE is not the GNU General Public License, version 3.": is_gpl,
        "The manifest names nobody who has the copyright.": manifest.get("copyright"),
    }
    return [sentence for sentence, holds in rules.items() if not holds]


def check_changelog(manifest: Manifest, text: str) -> list[str]:
    """Check that the newest section of the change log is this version's, with its date."""
    version, sections = manifest["version"], dict(HEADING.findall(text))
    newest = next(iter(sections), "")
    if version not in sections:
        return [f"CHANGELOG has no section {version}: add the heading '## {version} (DATE)'."]
    if newest != version:
        return [f"The newest section of CHANGELOG is {newest}, and the manifest says {version}."]
    has_date = DATE.search(sections[version])
    return [] if has_date else [f"The section {version} of CHANGELOG has no date."]


def check_documents(manifest: Manifest, root: Path, files: list[str]) -> list[str]:
    """Check that no document or script tells another version."""
    faults = []
    for name in files:
        is_text = name.endswith((".md", ".py", ".js", ".toml")) and not name.startswith("tests/")
        if not is_text or name.startswith(HISTORY):
            continue
        for told in sorted(set(TOLD.findall((root / name).read_text(encoding="utf-8")))):
            if told != manifest["version"]:
                faults.append(f"{name} tells version {told}, the manifest {manifest['version']}.")
    return faults


def check_source(name: str, text: str) -> list[str]:
    """Return what a file of the package does that it must not do; ``name``: inside the package."""
    return [
        f"{name}:{line} uses {used}."
        for line, used in _used(ast.parse(text))
        if (name, used) not in ALLOWED
    ]


def _used(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield lines and names of all that has to be looked at."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "__file__":
            yield node.lineno, "__file__"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in FUNCTIONS:
                yield node.lineno, node.func.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in ATTRIBUTES:
                yield node.lineno, f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from ((node.lineno, name) for name in names if name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            # Imports with dots are of the package itself.
            if (node.module or "").split(".")[0] in MODULES:
                yield node.lineno, node.module or ""
            for alias in node.names:
                if (node.module, alias.name) in ATTRIBUTES:
                    yield node.lineno, f"{node.module}.{alias.name}"


def check_zip(path: Path, files: list[str]) -> list[str]:
    """Check that a zip is small, and holds the package as it is in version control, and no more.

    Args:
        path: Of the zip.
        files: All that is in version control.
    """
    wanted = {name[len(PACKAGE) :] for name in files if name.startswith(PACKAGE)} | {*BESIDE}
    with zipfile.ZipFile(path) as archive:
        held = {name for name in archive.namelist() if not name.endswith("/")}
    faults = [f"The zip holds {name}, which is not part of it." for name in sorted(held - wanted)]
    faults += [f"The zip lacks {name}." for name in sorted(wanted - held)]
    size = path.stat().st_size
    is_small = size <= LARGEST_ZIP
    return faults + ([] if is_small else [f"The zip has {size} bytes, {LARGEST_ZIP} is the most."])


def check_pictures(root: Path) -> list[str]:
    """Check that all pictures are there, are PNG files, and have their sizes."""
    faults = []
    for name in (*SIZES, *SCREENSHOTS):
        path = root / name
        if not path.is_file():
            faults.append(f"There is no {name}: docs/releasing.md tells how it is made.")
            continue
        head = path.read_bytes()[:24]
        if len(head) < 24 or not head.startswith(_SIGNATURE):
            faults.append(f"{name} is not a PNG file.")
            continue
        wide, high = struct.unpack(">II", head[16:24])
        if name in SIZES and (wide, high) != SIZES[name]:
            expected = " x ".join(map(str, SIZES[name]))
            faults.append(f"{name} has {wide} x {high} pixels instead of {expected}.")
        elif name in SCREENSHOTS and wide < SMALLEST:
            faults.append(f"{name} is {wide} pixels wide, and {SMALLEST} is the least.")
        if path.stat().st_size > LARGEST_PICTURE:
            faults.append(f"{name} has more than {LARGEST_PICTURE} bytes.")
    return faults
