"""Draw the figures of docs/solvers/ from what the solvers really do.

    python3 scripts/docs_figures.py            docs/images/solver_*.png

Needs nothing but this Python (3.9 or newer): Matplotlib is installed inside the checkout.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import environment
from common.console import ROOT

IMAGES = ROOT / "docs" / "images"
SOLVERS = ("two_bone", "newton", "fabrik", "ccd", "force", "follow")
# Any of the environments that draw; the core needs Python 3.11.
DRAWING = "drawing-3.13"


def main() -> int:
    """Draw, in an environment that can."""
    if "--draw" not in sys.argv:
        return environment.run_in(DRAWING, __file__, "--draw")
    from figures import drawings

    for solver in SOLVERS:
        path = IMAGES / f"solver_{solver}.png"
        getattr(drawings, f"draw_{solver}")(path)
        print(f"written: {Path(os.path.relpath(path))}, {path.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
