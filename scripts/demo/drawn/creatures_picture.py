"""Draw the contact sheet of the creatures.

    python -m demo.drawn.creatures_picture out      in scripts/, with Matplotlib

Started by demo.py. Reads creatures.json from the folder and writes creatures.png beside it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from demo.drawn import creatures_sheet


def main(folder: Path) -> None:
    """Draw one strip of poses a creature."""
    played = json.loads((folder / "creatures.json").read_text(encoding="utf-8"))
    creatures_sheet.draw(played, folder / "creatures.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
