"""Pictures of a window made small enough for a page, and one that moves made of many.

    python -m figures.shrinking out/docs docs/images        # a Python with Pillow, in scripts/

Started by docs_pictures.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

# Pixels: a page shows no more.
WIDTH, MOVING_WIDTH = 1280, 880
COLOURS, MOVING_COLOURS = 256, 160
MILLISECONDS = 120
LARGEST = 2_000_000


def shrink(path: Path, folder: Path) -> None:
    """Write a picture smaller, with a palette."""
    picture = _resized(Image.open(path).convert("RGB"), WIDTH)
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(folder / path.name, optimize=True)


def join(paths: list[Path], file: Path) -> None:
    """Write pictures as one that moves, without the menus above and the hints below."""
    pictures = []
    for path in paths:
        whole = Image.open(path).convert("RGB")
        width, height = whole.size
        cut = whole.crop((round(0.16 * width), round(0.07 * height), width, round(0.96 * height)))
        pictures.append(_resized(cut, MOVING_WIDTH))
    # One palette for all, so that what does not move takes no room.
    palette = pictures[0].quantize(MOVING_COLOURS, dither=Image.Dither.NONE)
    frames = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in pictures]
    frames[0].save(
        file, save_all=True, append_images=frames[1:], duration=MILLISECONDS, loop=0, optimize=True
    )
    if file.stat().st_size > LARGEST:
        sys.exit(f"{file.name} has {file.stat().st_size} bytes: take fewer frames.")


def _resized(picture: Image.Image, width: int) -> Image.Image:
    height = round(picture.height * width / picture.width)
    return picture.resize((width, height), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    source, destination = map(Path, sys.argv[1:])
    for each in sorted(source.glob("start_*.png")):
        shrink(each, destination)
    join(sorted(source.glob("drag_*.png")), destination / "drag.gif")
