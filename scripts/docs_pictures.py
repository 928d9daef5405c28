"""Take the pictures of the documentation in a real window, and make them small.

    BLENDER=/path/to/blender python3 scripts/docs_pictures.py              all of them
    BLENDER=/path/to/blender python3 scripts/docs_pictures.py interface    those of one tour
    python3 scripts/docs_pictures.py examples                              those of the examples
    python3 scripts/docs_pictures.py solvers                               figures of the solvers

Builds the zip and has each tour below install and use it in that Blender. What they leave in
out/docs, and what scripts/examples.py leaves in out/examples, is made small and put into
docs/images. Look at every picture before you commit it. Needs this Python (3.9 or newer), an X
screen (1600 x 900 is right; a virtual one will do) and the program `import` of ImageMagick.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys

import environment
from common.console import ROOT

# Tours that take them, by the folder that they leave them in.
TOURS = {name: name for name in ("docs", "interface")}
TOURS |= {name: f"tests.window.{name}" for name in ("workflow", "whole_body")}


def take(blender: str, tour: str) -> int:
    """Take the pictures of a tour in the window; return Blender's exit code."""
    zips = (ROOT / "dist").glob("chain_ik-*.zip")
    newest, folder = max(zips, key=lambda path: path.stat().st_mtime), ROOT / "out" / "docs" / tour
    shutil.rmtree(folder, ignore_errors=True)
    command = [blender, "--factory-startup", "--enable-event-simulate", "--python"]
    command += [str(ROOT / "scripts" / "window" / "play.py")]
    command += ["--", str(newest), str(folder), TOURS[tour], "fine"]
    with environment.own_variables() as env:
        return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = (*TOURS, "examples", "solvers")
    parser.add_argument("names", nargs="*", default=[*known], metavar="NAME", help=", ".join(known))
    names = parser.parse_args().names
    tours = [name for name in names if name in TOURS]
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no pictures {', '.join(unknown)}; there are {', '.join(known)}")
    blender, code = shutil.which(os.environ.get("BLENDER", "blender")), 0
    if tours and blender is None:
        sys.exit("Set BLENDER to the program: the pictures are taken in its window.")
    if tours:
        code = environment.run_in("bpy-5.2", ROOT / "scripts" / "build_extension.py")
    for tour in tours:
        code = code or take(os.path.abspath(blender), tour)
    images = ROOT / "docs" / "images"
    if "solvers" in names:
        # Without Blender: from what the core really does.
        code = code or environment.run_in("drawing-3.13", "-m", "figures.drawings", images)
    shrink = "-m", "figures.shrinking", ROOT / "out", images
    return code or environment.run_in("drawing-3.13", *shrink)


if __name__ == "__main__":
    sys.exit(main())
