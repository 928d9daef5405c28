"""The zip: what is in it, how large it is, and whether each Blender installs it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "blender_ik_addon/"
BESIDE = ("blender_manifest.toml", "LICENSE")
LARGEST = 2_000_000  # bytes
MARK = "CHAIN_IK_SESSION "
REACHED = 1e-5  # metres


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


def check_install(path: Path, python: Path, root: Path) -> list[str]:
    """Check that a Blender without settings of a person installs a zip, uses it and drops it.

    Args:
        path: Of the zip.
        python: That has Blender as a module.
        root: Of the checkout.
    """
    script = root / "tests" / "blender" / "package" / "package_session.py"
    with tempfile.TemporaryDirectory(prefix="chain_ik_release_") as folder:
        process = subprocess.run(
            [str(python), str(script), str(path)],
            env={**os.environ, "BLENDER_USER_RESOURCES": folder},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
    lines = [line for line in process.stdout.splitlines() if line.startswith(MARK)]
    if process.returncode != 0 or len(lines) != 1:
        return ["It does not install: " + " ".join(process.stdout.split()[-40:])]
    seen = json.loads(lines[0][len(MARK) :])
    faults = []
    if not seen["enabled"]:
        faults.append("It is installed, and not enabled.")
    if not seen["distance"] <= REACHED:
        faults.append(f"A chain does not reach its target: {seen['status']}")
    if seen["left_behind"]:
        faults.append(f"It leaves behind: {seen['left_behind']}")
    return faults
