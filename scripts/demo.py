"""Show the main job: chains on a human rig follow moving targets, live, with each solver.

    python3 scripts/demo.py                          in Blender 5.2
    python3 scripts/demo.py --blender-version 4.2    in another one

Needs nothing but this Python (3.9 or newer): Blender comes as a Python package, installed inside
the checkout on first use. Prints a table; writes out/demo.png, out/demo.blend and what it measured,
out/demo.json, and the same of three creatures: a snake, a neck and a rope. Fails if a target in
reach is missed by more than 1e-4 of the limb's length.
"""

from __future__ import annotations

import argparse
import os
import sys

import environment
from common.console import ROOT
from common.python_finder import UnavailableError
from demo.report import ALLOWED, Report

OUTPUT = ROOT / "out"
NEWEST = "5.2"
WRITTEN = [f"{name}.{kind}" for name in ("demo", "creatures") for kind in ("png", "blend", "json")]
VERSIONS = [name[4:] for name in environment.ENVIRONMENTS if name.startswith("bpy-")]

# What demo/scene.py says to the person who waits; Blender's own words are left out.
MARK = "demo: "


def run(version: str, *modules: str) -> None:
    """Run parts of the demonstration; leave with the exit code of one that fails."""
    code = environment.run_modules(f"bpy-{version}", MARK, modules, [str(OUTPUT)])
    if code != 0:
        sys.exit(code)


def main() -> int:
    """Play, print the table, draw, and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blender-version", choices=VERSIONS, default=NEWEST, help=NEWEST)
    version = parser.parse_args().blender_version
    OUTPUT.mkdir(exist_ok=True)
    try:
        run(version, "demo.scene", "demo.creatures_scene")
        report = Report.load(OUTPUT / "demo.json")
        print(f"\nBlender {report.blender}\n\n{report.table()}\n", flush=True)
        run(version, "demo.pictures")
    except (UnavailableError, environment.InstallError) as error:
        sys.exit(str(error))
    for name in WRITTEN:
        print(f"written: {os.path.relpath(OUTPUT / name)}")
    if not report.is_good:
        print(f"FAILED: a limb misses targets in reach by more than {ALLOWED:g} of its length.")
        return 1
    print(f"Every limb follows its target to within {ALLOWED:g} of its length.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
