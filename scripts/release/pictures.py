"""The pictures that the extensions site wants beside the zip."""

from __future__ import annotations

import struct
from pathlib import Path

FOLDER = "docs/images/release"
ICON, FEATURED = f"{FOLDER}/icon.png", f"{FOLDER}/featured.png"
SIZES = {ICON: (256, 256), FEATURED: (1920, 1080)}
SCREENSHOTS = ("docs/images/window.png", "docs/images/set_up.png", "docs/images/posed_by_hand.png")
SMALLEST = 1280  # pixels across a screenshot: its text has to be readable
LARGEST = 3_000_000  # bytes: people look at them on slow lines, too
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def check(root: Path) -> list[str]:
    """Check that all pictures are there, are PNG files, and have their sizes."""
    faults = []
    for name in (*SIZES, *SCREENSHOTS):
        path = root / name
        if not path.is_file():
            faults.append(f"There is no {name}: make it with scripts/release_pictures.py.")
            continue
        size = size_of(path)
        if size is None:
            faults.append(f"{name} is not a PNG file.")
        elif name in SIZES and size != SIZES[name]:
            wide, high = SIZES[name]
            faults.append(f"{name} has {size[0]} x {size[1]} pixels instead of {wide} x {high}.")
        elif name in SCREENSHOTS and size[0] < SMALLEST:
            faults.append(f"{name} is {size[0]} pixels wide, and {SMALLEST} is the least.")
        if path.stat().st_size > LARGEST:
            faults.append(f"{name} has more than {LARGEST} bytes.")
    return faults


def size_of(path: Path) -> tuple[int, int] | None:
    """Return width and height of a PNG file; None if it is none."""
    head = path.read_bytes()[:24]
    if len(head) < 24 or not head.startswith(_SIGNATURE):
        return None
    wide, high = struct.unpack(">II", head[16:24])
    return wide, high
