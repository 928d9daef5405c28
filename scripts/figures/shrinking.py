"""Small pictures for pages: single pictures, an animation, films and the featured tiles.

    python -m figures.shrinking ../out ../docs/images        # in scripts/, with Pillow

docs_pictures.py starts this. Pictures that do not exist are skipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

# Files of tours and examples -> name in the pages, and width in pixels.
PICTURES = {
    "docs/docs/start_*.png": ("{}", 1280),
    "docs/interface/interface_*.png": ("{}", 1280),
    "docs/workflow/clips_*.png": ("{}", 1280),
    "docs/workflow/3_turned_by_hand.png": ("posed_by_hand.png", 1280),
    "docs/whole_body/whole_body_*.png": ("{}", 1280),
    "examples/*.png": ("example_{}", 640),
}
# Example -> left, top and width in the featured image of the extensions site.
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
# Left, top, right and bottom of the visible part of a window, as shares of its size.
WHOLE, MOVING, FILMED = (0.0, 0.0, 1.0, 1.0), (0.16, 0.07, 1.0, 0.96), (0.34, 0.09, 0.66, 0.95)
# Film -> width of a frame, and visible part.
FILMS = {
    "crouch": (212, FILMED),
    "kick": (212, FILMED),
    "whole_body_climb": (212, FILMED),
    "whole_body_sit": (400, (0.2, 0.12, 0.8, 0.95)),
}
COLOURS, RARE, MOVING_COLOURS, MILLISECONDS = 256, 96, 160, 120


def crop(path: Path, width: int, shares: tuple[float, ...] = WHOLE) -> Image.Image:
    """Return a part of a picture with at most a width in pixels."""
    picture = Image.open(path).convert("RGB")
    picture = picture.crop([round(a * b) for a, b in zip(shares, picture.size * 2)])
    picture.thumbnail((width, picture.height), Image.Resampling.LANCZOS)
    return picture


def write(pictures: list[Image.Image], file: Path) -> None:
    """Write pictures side by side, with a palette."""
    step = pictures[0].width + FILM_GAP
    sheet = Image.new("RGB", (len(pictures) * step - FILM_GAP, pictures[0].height), "white")
    for number, picture in enumerate(pictures):
        sheet.paste(picture, (number * step, 0))
    reduced = sheet.quantize(palette=_palette(sheet, COLOURS), dither=Image.Dither.NONE)
    reduced.save(file, optimize=True)
    print(f"written: {file.name}, {file.stat().st_size // 1000} kB")


def write_animation(pictures: list[Image.Image], file: Path) -> None:
    """Write pictures as an animation."""
    # One palette for all frames, so that still parts need no space.
    palette = _palette(pictures[0], MOVING_COLOURS)
    first, *more = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in pictures]
    options = {"save_all": True, "duration": MILLISECONDS, "loop": 0, "optimize": True}
    first.save(file, append_images=more, **options)


def _palette(picture: Image.Image, colour_count: int) -> Image.Image:
    """Return a palette of a picture's frequent colours and the rare colours of thin lines."""
    colours = []
    for count, method in ((colour_count - RARE, "MEDIANCUT"), (RARE, "MAXCOVERAGE")):
        values = picture.quantize(count, Image.Quantize[method]).getpalette() or []
        colours += values[: 3 * count]
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours)
    return palette


def main(source: Path, folder: Path) -> None:
    """Write small copies of all pictures that exist."""
    for pattern, (name, width) in PICTURES.items():
        for path in source.glob(pattern):
            write([crop(path, width)], folder / name.format(path.name))
    frames = [crop(path, MOVING_WIDTH, MOVING) for path in sorted(source.glob("docs/docs/drag_*"))]
    if frames:
        write_animation(frames, folder / "drag.gif")
    for name, film in FILMS.items():
        paths = sorted(source.glob(f"docs/docs/{name}_?.png"))
        if paths:
            write([crop(path, *film) for path in paths], folder / f"{name}.png")
    tiles = {source / "examples" / f"{name}.png": tile for name, tile in TILES.items()}
    if all(path.is_file() for path in tiles):
        featured = Image.new("RGB", FEATURED)
        for path, (left, top, width) in tiles.items():
            featured.paste(crop(path, width), (left, top))
        write([featured], folder / "release" / "featured.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
