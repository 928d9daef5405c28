"""Draw the figures of docs/solvers/ from what the solvers really do.

    python3 scripts/docs_figures.py            docs/images/solver_*.png

Needs nothing but this Python (3.9 or newer): Matplotlib is installed inside the checkout.
"""

from __future__ import annotations

import sys

import environment
from common.console import ROOT

if __name__ == "__main__":
    # The core needs Python 3.11.
    images = ROOT / "docs" / "images"
    sys.exit(environment.run_in("drawing-3.13", "-m", "figures.drawings", images))
