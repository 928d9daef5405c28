"""Edit files at random on one Blender, and print what does not hold, with the command to see it.

python3 scripts/edit_at_random.py --steps 10000                    on the newest Blender
python3 scripts/edit_at_random.py --only 4.2 --steps 5000          on another one
python3 scripts/edit_at_random.py --seed 7 --steps 43 --shrink     the fewest steps of a finding
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import environment
from common.console import ROOT

MODULE = "tests.blender.edits.random_run"


def main() -> int:
    """Make the environment if there is none yet, and hand the other words on."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--only", default="5.2", help="version of Blender")
    asked, others = parser.parse_known_args()
    python = environment.ensure(f"bpy-{asked.only}")
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([str(python), "-m", MODULE, *others], cwd=ROOT, env=variables).returncode


if __name__ == "__main__":
    sys.exit(main())
