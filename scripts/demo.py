"""Show the main job: chains on a human rig follow moving targets, live, with each solver.

    python3 scripts/demo.py

Prints a table; writes out/demo.png and out/demo.blend, and a picture and a file of three creatures:
a snake, a neck and a rope. Fails if a target in reach is missed by more than 1e-4 of the limb's
length.
"""

from __future__ import annotations

import sys

import environment
from common.console import ROOT

if __name__ == "__main__":
    sys.exit(environment.run_in("bpy-5.2", "-m", "demo.scene", ROOT / "out", mark="demo: "))
