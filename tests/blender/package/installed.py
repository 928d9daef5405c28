"""The built zip, installed for a user of its own, and its command line in other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bpy

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Installed:
    """The command line of an installed zip.

    Attributes:
        variables: Environment variables of its processes.
    """

    variables: dict[str, str]

    def line(self, file: Path, *arguments: object, flags: Sequence[str] = ()) -> list[str]:
        """Return what starts a command on a file, with flags that stand before the file."""
        given = [str(each) for each in arguments]
        if bpy.app.binary_path:
            return [bpy.app.binary_path, "-b", *flags, str(file), "-c", "chain_ik", *given]
        return [sys.executable, "-m", "chain_ik", *flags, str(file), *given]

    def run(self, file: Path, *arguments: object, flags: Sequence[str] = ()) -> str:
        """Return what a command that must succeed prints."""
        return run(self.line(file, *arguments, flags=flags), self.variables)


def run(command: list[str], variables: dict[str, str], folder: Path = ROOT) -> str:
    """Return what a command that must succeed prints."""
    process = subprocess.run(
        command,
        env=variables,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stdout
    return process.stdout


def of_user(folder: Path) -> dict[str, str]:
    """Return environment variables for which a folder holds what Blender keeps for a user."""
    return {
        **os.environ,
        "BLENDER_USER_RESOURCES": str(folder / "user"),
        "BLENDER": bpy.app.binary_path,
    }


def built(folder: Path) -> Path:
    """Return the zip, built into a folder."""
    builder = [sys.executable, str(ROOT / "scripts" / "build_extension.py")]
    run([*builder, "--output", str(folder)], of_user(folder))
    (zip_path,) = folder.glob("chain_ik-*.zip")
    return zip_path


def install(zip_path: Path, folder: Path) -> Installed:
    """Install the zip for a user whose files are in a folder."""
    variables = of_user(folder)
    if bpy.app.binary_path:
        asked = ["-c", "extension", "install-file", "-r", "user_default", "-e", str(zip_path)]
        run([bpy.app.binary_path, "-b", *asked], variables)
    else:
        zipfile.ZipFile(zip_path).extractall(folder / "chain_ik")
        variables["PYTHONPATH"] = str(folder)
    return Installed(variables)
