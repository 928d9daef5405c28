"""Plant the feet of recorded clips and bake them as clips; print figures, and draw what changed.

    python3 scripts/recorded            docs/images/recorded_*.png

The clips come with the source package of bvhtools on the package index. They are fetched, and not
kept. Needs nothing but this Python (3.9 or newer).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

# Python puts the folder that it runs on its path, and not the one above.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import environment
from common.console import ROOT

PACKAGE = "bvhtools==1.6.0"
FOLDER = ROOT / "out" / "recorded"
BLENDER, DRAWING = "bpy-5.2", "drawing-3.13"
# By what they show: the file, and the first and the last frame of it.
CLIPS = {
    "walk": ("tutorials/test1.bvh", 1500, 1740),
    "dance": ("tutorials/test2.bvh", 900, 1140),
}


def fetch() -> Path:
    """Return the folder with the clips, fetched if they are not there yet."""
    if not list(FOLDER.glob("bvhtools-*/")):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary"]
        subprocess.run([*command, ":all:", "--dest", str(FOLDER), PACKAGE], check=True)
        for path in FOLDER.glob("bvhtools-*.tar.gz"):
            shutil.unpack_archive(path, FOLDER)
    return next(FOLDER.glob("bvhtools-*/"))


def main() -> int:
    """Fetch, measure in Blender, and draw."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    clips, code = fetch(), 0
    for name, (file, *frames) in CLIPS.items():
        arrays, picture = FOLDER / f"{name}.npz", ROOT / "docs" / "images" / f"recorded_{name}.png"
        measure = "-m", "recorded.measured", clips / file, *frames, arrays
        code = code or environment.run_in(BLENDER, *measure)
        code = code or environment.run_in(DRAWING, "-m", "recorded.drawn", arrays, picture)
    return code


if __name__ == "__main__":
    sys.exit(main())
