"""Build and validate the extension: dist/chain_ik-<version>.zip.

    python3 scripts/build_extension.py
    BLENDER=/path/to/blender python3 scripts/build_extension.py      with that application

The work is done by Blender's own builder, from the bpy package of the Python that runs this, else
of the environment bpy-5.2, which is installed if needed.
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
    """Return what starts a builder that is at hand, and its options; or None."""
    blender = shutil.which(os.environ.get("BLENDER", ""))
    if blender:
        # It knows the tags that a manifest may have.
        return [os.path.abspath(blender), "--factory-startup", "--command", "extension"], []
    # Looked up, not imported: starting Blender is not needed.
    bpy = importlib.util.find_spec("bpy")
    if bpy is None or bpy.origin is None:
        return None
    (scripts,) = Path(bpy.origin).parent.glob("*/scripts")
    program = scripts / "addons_core" / "bl_pkg" / "cli" / "blender_ext.py"
    tags = scripts / "modules" / "_bpy_internal" / "extensions" / "tags.py"
    return [sys.executable, str(program)], ["--valid-tags", str(tags)]


def build(command: list[str], options: list[str], destination: Path) -> Path:
    """Build the zip with a builder, which ends where it finds a fault, and return its path.

    Blender wants `__init__.py` and the manifest in one folder; the checkout keeps the manifest at
    its root, where the package has a name that Python can import.
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
        (built,) = output.glob("*.zip")
        subprocess.run([*command, "validate", str(built), *options], check=True)
        destination.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(built, destination))


def main() -> int:
    """Build with the builder at hand, or start again on an environment that has one."""
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
        # The builder has already said what is wrong.
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
