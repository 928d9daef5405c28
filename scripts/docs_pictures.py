"""Take the pictures of the documentation in a real window, and make them small.

    BLENDER=/path/to/blender python3 scripts/docs_pictures.py              all of them
    BLENDER=/path/to/blender python3 scripts/docs_pictures.py interface    those of one tour
    python3 scripts/docs_pictures.py examples                              those of the examples
    python3 scripts/docs_pictures.py solvers                               figures of the solvers

Builds the zip; each tour below installs and uses it in that Blender. Tours write pictures into
out/docs, scripts/examples.py into out/examples. This script makes them small and writes them into
docs/images. Look at every picture before you commit it. Needs this Python (3.9 or newer), an X
screen (1600 x 900 is right; it may be virtual) and the program `import` of ImageMagick.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys

import environment
from common.console import ROOT

# The tours that take pictures, by the folder that they write them into.
TOURS = {name: name for name in ("docs", "interface")}
TOURS |= {name: f"tests.window.{name}" for name in ("workflow", "whole_body")}


def play_tour(blender: str, tour: str) -> int:
    """Play a tour that takes pictures; return Blender's exit code."""
    zips = (ROOT / "dist").glob("chain_ik-*.zip")
    newest, folder = max(zips, key=lambda path: path.stat().st_mtime), ROOT / "out" / "docs" / tour
    shutil.rmtree(folder, ignore_errors=True)
    command = [blender, "--factory-startup", "--enable-event-simulate", "--python"]
    command += [str(ROOT / "scripts" / "window" / "play.py")]
    command += ["--", str(newest), str(folder), TOURS[tour], "fine"]
    with environment.isolated_variables() as env:
        return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    valid = (*TOURS, "examples", "solvers")
    parser.add_argument("names", nargs="*", default=[*valid], metavar="NAME", help=", ".join(valid))
    names = parser.parse_args().names
    tours = [name for name in names if name in TOURS]
    if unknown := [name for name in names if name not in valid]:
        parser.error(f"no pictures {', '.join(unknown)}; there are {', '.join(valid)}")
    blender, code = shutil.which(os.environ.get("BLENDER", "blender")), 0
    if tours and blender is None:
        sys.exit("Set BLENDER to the program: the pictures are taken in its window.")
    if tours:
        code = environment.run_in("bpy-5.2", ROOT / "scripts" / "build_extension.py")
    for tour in tours:
        code = code or play_tour(os.path.abspath(blender), tour)
    images = ROOT / "docs" / "images"
    if "solvers" in names:
        # Without Blender: the figures show results of the core.
        code = code or environment.run_in("drawing-3.13", "-m", "figures.drawings", images)
    shrink = "-m", "figures.shrinking", ROOT / "out", images
    return code or environment.run_in("drawing-3.13", *shrink)


if __name__ == "__main__":
    sys.exit(main())
