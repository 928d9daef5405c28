"""Show the main job: chains on a human rig follow moving targets, live, with each solver.

    python3 scripts/demo.py

Needs nothing but this Python (3.9 or newer): Blender comes as a Python package, installed inside
the checkout on first use. Prints a table; writes out/demo.png, out/demo.blend and what it measured,
out/demo.json, and a picture and a file of three creatures: a snake, a neck and a rope. Fails if a
target in reach is missed by more than 1e-4 of the limb's length.
"""

from __future__ import annotations

import json
import os
import sys

import environment
from common.console import ROOT

OUTPUT = ROOT / "out"
WRITTEN = ("demo.png", "demo.blend", "demo.json", "creatures.png", "creatures.blend")

# What demo/scene.py says to the person who waits; Blender's own words are left out.
MARK = "demo: "


def main() -> int:
    code = environment.run_in("bpy-5.2", "-m", "demo.scene", OUTPUT, mark=MARK)
    if code != 0:
        return code
    measured = json.loads((OUTPUT / "demo.json").read_text(encoding="utf-8"))
    print(f"\nBlender {measured['blender']}\n\n{measured['table']}\n")
    for name in WRITTEN:
        print(f"written: {os.path.relpath(OUTPUT / name)}")
    print(measured["verdict"])
    return 0 if measured["is_good"] else 1


if __name__ == "__main__":
    sys.exit(main())
