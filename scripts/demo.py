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
import tempfile
from pathlib import Path

import environment
from common.console import ROOT, say, stream
from common.python_finder import UnavailableError
from demo.report import ALLOWED, Report

OUTPUT = ROOT / "out"
NEWEST = "5.2"
WRITTEN = [f"{name}.{kind}" for name in ("demo", "creatures") for kind in ("png", "blend", "json")]
VERSIONS = [name[4:] for name in environment.ENVIRONMENTS if name.startswith("bpy-")]

# What demo/scene.py says to the person who waits; Blender's own words are left out.
MARK = "demo: "


def play(version: str) -> Report:
    """Play and measure in a Blender of this version, which writes JSON and .blend files."""
    label = f"bpy-{version}"
    python = environment.ensure(label)
    # A Blender without this person's preferences, and nothing written into them.
    with tempfile.TemporaryDirectory(prefix="chain_ik_demo_") as user_folder:
        own = {"BLENDER_USER_RESOURCES": user_folder}
        for module in ("demo.scene", "demo.creatures_scene"):
            _run(label, python, module, own)
    return Report.load(OUTPUT / "demo.json")


def draw(version: str) -> None:
    """Draw both pictures from what was measured."""
    label = f"drawing-{environment.ENVIRONMENTS[f'bpy-{version}'].python}"
    python = environment.ensure(label)
    say(label, "drawing the pictures")
    # Matplotlib's list of fonts would else go into the person's own folder.
    own = {"MPLCONFIGDIR": str(environment.FOLDER / label / "matplotlib")}
    for module in ("demo.drawn.picture", "demo.drawn.creatures_picture"):
        _run(label, python, module, own)


def _run(label: str, python: Path, module: str, own: dict[str, str]) -> None:
    """Run a part of the demonstration; leave with all of its output if it fails."""
    command = [str(python), "-m", module, str(OUTPUT)]
    code, output = stream(label, command, _condense, env=environment.python_variables(own))
    if code != 0:
        say(label, *output)
        sys.exit(f"{module} ended with exit code {code}.")


def _condense(line: str) -> str | None:
    return line[len(MARK) :] if line.startswith(MARK) else None


def main() -> int:
    """Play, print the table, draw, and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blender-version", choices=VERSIONS, default=NEWEST, help=NEWEST)
    version = parser.parse_args().blender_version
    OUTPUT.mkdir(exist_ok=True)
    try:
        report = play(version)
        print(f"\nBlender {report.blender}\n\n{report.table()}\n", flush=True)
        draw(version)
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
