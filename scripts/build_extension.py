"""Build and validate the extension: dist/chain_ik-<version>.zip.

    python3 scripts/build_extension.py
    BLENDER=/path/to/blender python3 scripts/build_extension.py      with that application

Blender's own builder does the work. It comes from the bpy package of the Python that runs this,
otherwise from the environment bpy-5.2, which is installed if needed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common.console import ROOT


def find_builder() -> tuple[list[str], list[str]] | None:
    """Return the command of a builder on this machine and its options, or None."""
    blender = shutil.which(os.environ.get("BLENDER", ""))
    if blender:
        # The application knows the tags that a manifest may have.
        return [os.path.abspath(blender), "--factory-startup", "--command", "extension"], []
    # Find bpy without importing it: an import would start Blender.
    bpy = importlib.util.find_spec("bpy")
    if bpy is None or bpy.origin is None:
        return None
    (scripts,) = Path(bpy.origin).parent.glob("*/scripts")
    program = scripts / "addons_core" / "bl_pkg" / "cli" / "blender_ext.py"
    tags = scripts / "modules" / "_bpy_internal" / "extensions" / "tags.py"
    return [sys.executable, str(program)], ["--valid-tags", str(tags)]


def build(command: list[str], options: list[str], destination: Path) -> Path:
    """Build the zip, validate it and return its path; the builder fails if it finds a fault.

    Blender needs `__init__.py` and the manifest in one folder. The checkout keeps the manifest at
    its root, so that the package has a name that Python can import.
    """
    with tempfile.TemporaryDirectory(prefix="chain_ik_build_") as temporary:
        source, output = Path(temporary) / "source", Path(temporary) / "output"
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
        shutil.copytree(ROOT / "blender_ik_addon", source, ignore=ignored)
        for name in ("blender_manifest.toml", "LICENSE"):
            shutil.copy(ROOT / name, source)
        output.mkdir()
        folders = ["--source-dir", str(source), "--output-dir", str(output)]
        subprocess.run([*command, "build", *folders, *options], check=True)
        (zip_path,) = output.glob("*.zip")
        subprocess.run([*command, "validate", str(zip_path), *options], check=True)
        destination.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(zip_path, destination))


def main() -> int:
    """Build with a builder of this Python, or start again in an environment that has one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder for the zip")
    options = parser.parse_args()
    builder = find_builder()
    if builder is None:
        import environment

        return environment.run_in("bpy-5.2", __file__, *sys.argv[1:])
    try:
        print(f"built and validated {build(*builder, options.output)}")
    except subprocess.CalledProcessError as error:
        # The builder has already printed the fault.
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
