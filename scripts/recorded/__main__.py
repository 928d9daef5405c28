"""Plant the feet of recorded clips and bake them as clips; print figures, and draw what changed.

    python3 scripts/recorded            docs/images/recorded_*.png

The clips come with the source package of bvhtools on the package index. They are fetched, and not
kept. Needs nothing but this Python (3.9 or newer).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
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


def fetch(python: Path) -> Path:
    """Return the folder with the clips, fetched if they are not there yet."""
    found = sorted(FOLDER.glob("bvhtools-*/"))
    if not found:
        wanted = ["--no-deps", "--no-binary", ":all:", "--dest", str(FOLDER), PACKAGE]
        subprocess.run([str(python), "-m", "pip", "download", "-q", *wanted], check=True)
        for path in FOLDER.glob("bvhtools-*.tar.gz"):
            with tarfile.open(path) as archive:
                archive.extractall(FOLDER, filter="data")
        found = sorted(FOLDER.glob("bvhtools-*/"))
    return found[0]


def main() -> int:
    """Fetch, measure in Blender, and draw."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    blender, drawing = environment.ensure(BLENDER), environment.ensure(DRAWING)
    clips = fetch(drawing)
    places = [str(ROOT / "scripts"), str(ROOT)]
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(places),
        "MPLCONFIGDIR": str(environment.FOLDER / DRAWING / "matplotlib"),
    }
    for name, (file, first, last) in CLIPS.items():
        arrays = FOLDER / f"{name}.npz"
        words = ["-m", "recorded.measured", str(clips / file), str(first), str(last), str(arrays)]
        subprocess.run([str(blender), *words], env=variables, check=True)
        picture = ROOT / "docs" / "images" / f"recorded_{name}.png"
        words = ["-m", "recorded.drawn", str(arrays), str(picture)]
        subprocess.run([str(drawing), *words], env=variables, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
