"""Pictures made small enough for a page, one that moves made of many, films, and sets of tiles.

    python -m figures.shrinking ../out ../docs/images        # in scripts/, with Pillow

Started by docs_pictures.py. What has not been taken is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

# By where a tour or an example has left it: its name in the pages, and how many pixels wide.
PICTURES = {
    "docs/docs/start_*.png": ("{}", 1280),
    "docs/interface/interface_*.png": ("{}", 1280),
    "docs/workflow/clips_*.png": ("{}", 1280),
    "docs/workflow/3_turned_by_hand.png": ("posed_by_hand.png", 1280),
    "docs/whole_body/whole_body_*.png": ("{}", 1280),
    "examples/*.png": ("example_{}", 640),
}
# By example: left, top and width in the featured image of the extensions site.
FEATURED = (1920, 1080)
TILES = {
    "spider": (0, 0, 1280),
    "dragon_neck": (1280, 0, 640),
    "climb_a_ladder": (1280, 360, 640),
    "arm": (0, 720, 640),
    "snake": (640, 720, 640),
    "crowd": (1280, 720, 640),
}
MOVING_WIDTH, FILM_GAP = 880, 2
# Shares of width and height: left, top, right and bottom of what is shown of a window.
WHOLE, MOVING, FILMED = (0.0, 0.0, 1.0, 1.0), (0.16, 0.07, 1.0, 0.96), (0.34, 0.09, 0.66, 0.95)
# Of each film the width of a frame, and what is shown of it.
FILMS = {
    "crouch": (212, FILMED),
    "kick": (212, FILMED),
    "whole_body_climb": (212, FILMED),
    "whole_body_sit": (400, (0.2, 0.12, 0.8, 0.95)),
}
COLOURS, RARE, MOVING_COLOURS, MILLISECONDS = 256, 96, 160, 120


def take(path: Path, width: int, shares: tuple[float, ...] = WHOLE) -> Image.Image:
    """Return a part of a picture, no wider than so many pixels."""
    picture = Image.open(path).convert("RGB")
    picture = picture.crop([round(a * b) for a, b in zip(shares, picture.size * 2)])
    picture.thumbnail((width, picture.height), Image.Resampling.LANCZOS)
    return picture


def write(pictures: list[Image.Image], file: Path) -> None:
    """Write pictures beside each other, with a palette."""
    step = pictures[0].width + FILM_GAP
    sheet = Image.new("RGB", (len(pictures) * step - FILM_GAP, pictures[0].height), "white")
    for number, picture in enumerate(pictures):
        sheet.paste(picture, (number * step, 0))
    small = sheet.quantize(palette=_palette(sheet, COLOURS), dither=Image.Dither.NONE)
    small.save(file, optimize=True)
    print(f"written: {file.name}, {file.stat().st_size // 1000} kB")


def join(pictures: list[Image.Image], file: Path) -> None:
    """Write pictures as one that moves."""
    # One palette for all, so that what does not move takes no room.
    palette = _palette(pictures[0], MOVING_COLOURS)
    first, *more = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in pictures]
    how = {"save_all": True, "duration": MILLISECONDS, "loop": 0, "optimize": True}
    first.save(file, append_images=more, **how)


def _palette(picture: Image.Image, colour_count: int) -> Image.Image:
    """Return the usual colours of a picture, and beside them the rare ones of thin lines."""
    colours = []
    for count, method in ((colour_count - RARE, "MEDIANCUT"), (RARE, "MAXCOVERAGE")):
        found = picture.quantize(count, Image.Quantize[method]).getpalette() or []
        colours += found[: 3 * count]
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours)
    return palette


def main(source: Path, folder: Path) -> None:
    """Make all pictures small that have been taken."""
    for pattern, (name, width) in PICTURES.items():
        for path in source.glob(pattern):
            write([take(path, width)], folder / name.format(path.name))
    moving = [take(path, MOVING_WIDTH, MOVING) for path in sorted(source.glob("docs/docs/drag_*"))]
    if moving:
        join(moving, folder / "drag.gif")
    for name, film in FILMS.items():
        paths = sorted(source.glob(f"docs/docs/{name}_?.png"))
        if paths:
            write([take(path, *film) for path in paths], folder / f"{name}.png")
    tiles = {source / "examples" / f"{name}.png": tile for name, tile in TILES.items()}
    if all(path.is_file() for path in tiles):
        featured = Image.new("RGB", FEATURED)
        for path, (left, top, width) in tiles.items():
            featured.paste(take(path, width), (left, top))
        write([featured], folder / "release" / "featured.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
