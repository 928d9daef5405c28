"""Make the example files: out/examples/<name>.blend and a picture of each.

    python3 scripts/examples.py                  all of them
    python3 scripts/examples.py arm spider       some of them

Needs nothing but this Python (3.9 or newer): Blender comes as a Python package, installed inside
the checkout on first use. The files are made with the oldest Blender that Chain IK knows, so that
every later one opens them. Fails if a chain does not follow its target.
"""

from __future__ import annotations

import argparse
import os
import sys

import environment
from common.console import ROOT

OUTPUT = ROOT / "out" / "examples"
OLDEST = "bpy-4.2"

# What examples/scene.py says to the person who waits; Blender's own words are left out.
MARK = "examples: "


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="of examples; all of them if left out")
    module = "-m", "examples.scene", OUTPUT, *parser.parse_args().names
    code = environment.run_in(OLDEST, *module, mark=MARK)
    if code == 0:
        print(f"written: {os.path.relpath(OUTPUT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
