"""Take the pictures of docs/quick_start.md, and the moving one of the README, in a real window.

    BLENDER=/path/to/blender python3 scripts/docs_pictures.py

Builds the zip, has docs_tour.py install and use it in that Blender, and makes the pictures small:
docs/images/start_*.png and docs/images/drag.gif. Needs this Python (3.9 or newer), an X screen
(1600 x 900 is right; a virtual one will do) and the program `import` of ImageMagick.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import environment
from console import ROOT

SCRIPTS, IMAGES, TAKEN = ROOT / "scripts", ROOT / "docs" / "images", ROOT / "out" / "docs"
BUILDER, DRAWING = "bpy-5.2", "drawing-3.13"


def build_zip() -> Path:
    """Build the extension and return its path."""
    python = environment.ensure(BUILDER)
    subprocess.run([str(python), str(SCRIPTS / "build_extension.py")], check=True)
    return max((ROOT / "dist").glob("chain_ik-*.zip"), key=lambda path: path.stat().st_mtime)


def take(blender: str, zip_path: Path) -> int:
    """Take all pictures in the window; return Blender's exit code."""
    shutil.rmtree(TAKEN, ignore_errors=True)
    command = [blender, "--factory-startup", "--enable-event-simulate"]
    command += ["--python", str(SCRIPTS / "docs_tour.py"), "--", str(zip_path), str(TAKEN)]
    # A Blender without this person's preferences, and nothing written into them.
    with tempfile.TemporaryDirectory(prefix="chain_ik_docs_") as user_folder:
        variables = {**os.environ, "BLENDER_USER_RESOURCES": user_folder}
        return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


def main() -> int:
    """Build, take, and make small."""
    blender = shutil.which(os.environ.get("BLENDER", "blender"))
    if blender is None:
        sys.exit("Set BLENDER to the program: the pictures are taken in its window.")
    code = take(os.path.abspath(blender), build_zip())
    if code != 0:
        return code
    python = environment.ensure(DRAWING)
    command = [str(python), "-m", "figures.shrinking", str(TAKEN), str(IMAGES)]
    subprocess.run(command, cwd=SCRIPTS, check=True)
    for path in (*sorted(IMAGES.glob("start_*.png")), IMAGES / "drag.gif"):
        print(f"written: {path.relative_to(ROOT)}, {path.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
