"""Draw the figures of docs/solvers/ from what the solvers really do.

    python3 scripts/docs_figures.py            docs/images/solver_*.png

Needs nothing but this Python (3.9 or newer): Matplotlib is installed inside the checkout.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import environment
from common.console import ROOT

IMAGES = ROOT / "docs" / "images"
# Any of the environments that draw; the core needs Python 3.11.
DRAWING = "drawing-3.13"


def main() -> int:
    """Draw here, or in the environment that can."""
    if importlib.util.find_spec("matplotlib") is None:
        python = environment.ensure(DRAWING)
        # Matplotlib's list of fonts would else go into the person's own folder.
        variables = {**os.environ, "MPLCONFIGDIR": str(environment.FOLDER / DRAWING / "matplotlib")}
        return subprocess.run([str(python), __file__], env=variables, check=False).returncode
    sys.path.insert(0, str(ROOT))
    from figures import force_and_follow, sweeping, two_bone_and_newton

    for draw in (
        two_bone_and_newton.draw_two_bone,
        two_bone_and_newton.draw_newton,
        sweeping.draw_fabrik,
        sweeping.draw_ccd,
        force_and_follow.draw_force,
        force_and_follow.draw_follow,
    ):
        path = IMAGES / f"solver_{draw.__name__[5:]}.png"
        draw(path)
        print(f"written: {Path(os.path.relpath(path))}, {path.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
