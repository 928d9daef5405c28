"""Edit files at random in one Blender; print what fails, and the command that repeats it.

python3 scripts/edit_at_random.py --steps 10000                    on the newest Blender
python3 scripts/edit_at_random.py --only 4.2 --steps 5000          on another one
python3 scripts/edit_at_random.py --seed 7 --steps 43 --shrink     the fewest steps of a finding
"""

from __future__ import annotations

import argparse
import sys

import environment

MODULE = "tests.blender.edits.random_run"


def main() -> int:
    """Make the environment if there is none, and pass all other options on."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--only", default="5.2", help="version of Blender")
    options, passed_on = parser.parse_known_args()
    return environment.run_in(f"bpy-{options.only}", "-m", MODULE, *passed_on)


if __name__ == "__main__":
    sys.exit(main())
