"""Make the example files: out/examples/<name>.blend and a picture of each.

    python3 scripts/examples.py                  all of them
    python3 scripts/examples.py arm spider       some of them

The oldest Blender that Chain IK supports makes the files, so that every later one opens them.
Fails if a chain does not follow its target.
"""

from __future__ import annotations

import sys

import environment
from common.console import ROOT

if __name__ == "__main__":
    module = "-m", "examples.scene", ROOT / "out" / "examples"
    sys.exit(environment.run_in("bpy-4.2", *module, *sys.argv[1:], mark="examples: "))
