"""The zip: what is in it, and how large it is."""

from __future__ import annotations

import zipfile
from pathlib import Path

PACKAGE = "blender_ik_addon/"
BESIDE = ("blender_manifest.toml", "LICENSE")
LARGEST = 2_000_000  # bytes


def check_contents(path: Path, files: list[str]) -> list[str]:
    """Check that a zip holds the package as it is in version control, and nothing else.

    Args:
        path: Of the zip.
        files: All that is in version control.
    """
    wanted = {name[len(PACKAGE) :] for name in files if name.startswith(PACKAGE)} | {*BESIDE}
    with zipfile.ZipFile(path) as archive:
        held = {name for name in archive.namelist() if not name.endswith("/")}
    return [
        f"The zip holds {name}, which is not part of the package." for name in sorted(held - wanted)
    ] + [f"The zip lacks {name}." for name in sorted(wanted - held)]


def check_size(path: Path) -> list[str]:
    """Check that a zip is small."""
    size = path.stat().st_size
    return [] if size <= LARGEST else [f"The zip has {size} bytes, and {LARGEST} is the most."]
