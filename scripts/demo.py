"""Demonstrate the main task: chains of a human rig follow moving targets, live, by each solver.

    python3 scripts/demo.py

Prints a table. Writes out/demo.png and out/demo.blend, and a picture and a file of three creatures:
a snake, a neck and a rope. Fails if a limb misses a target in reach by more than 1e-4 of its
length.
"""

from __future__ import annotations

import sys

import environment
from common.console import ROOT

if __name__ == "__main__":
    sys.exit(environment.run_in("bpy-5.2", "-m", "demo.scene", ROOT / "out", mark="demo: "))
