"""Pictures made small enough for a page, one that moves made of many, films, and sets of tiles.

    python -m figures.shrinking ../out ../docs/images        # in scripts/, with Pillow

Started by docs_pictures.py. What has not been taken is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

# What pages show, and where a tour has left it; no second name where it is the same.
PICTURES = {
    "docs/docs/start_*.png": "",
    "docs/interface/interface_*.png": "",
    "docs/clip/clips_*.png": "",
    "docs/arm/dragging.png": "window.png",
    "docs/workflow/3_turned_by_hand.png": "posed_by_hand.png",
    "docs/whole_body/whole_body_*.png": "",
}
# By example: left, top, width and height in the featured image of the extensions site.
FEATURED = (1920, 1080)
TILES = {
    "spider": (0, 0, 1280, 720),
    "dragon_neck": (1280, 0, 640, 360),
    "leg": (1280, 360, 640, 360),
    "arm": (0, 720, 640, 360),
    "snake": (640, 720, 640, 360),
    "crowd": (1280, 720, 640, 360),
}
# Pixels: a page shows no more.
WIDTH, MOVING_WIDTH, EXAMPLE_WIDTH = 1280, 880, 640
FILM_WIDTH, WIDE_FILM_WIDTH, FILM_GAP = 212, 400, 2
# Shares of width and height: left, top, right and bottom of what is shown of a window.
MOVING, FILMED = (0.16, 0.07, 1.0, 0.96), (0.34, 0.09, 0.66, 0.95)
FILMED_WIDE = (0.2, 0.12, 0.8, 0.95)
COLOURS, RARE, MOVING_COLOURS = 256, 96, 160
MILLISECONDS = 120
# Of each film the width of a frame, and what is shown of it.
FILMS = {
    "crouch": (FILM_WIDTH, FILMED),
    "kick": (FILM_WIDTH, FILMED),
    "whole_body_climb": (FILM_WIDTH, FILMED),
    "whole_body_sit": (WIDE_FILM_WIDTH, FILMED_WIDE),
}
LARGEST = 2_000_000


def shrink(path: Path, file: Path, width: int = WIDTH) -> None:
    """Write a picture smaller, with a palette."""
    _write(_resized(Image.open(path).convert("RGB"), width), file)


def join(paths: list[Path], file: Path) -> None:
    """Write pictures as one that moves, without the menus above and the hints below."""
    pictures = [_resized(_cut(path, MOVING), MOVING_WIDTH) for path in paths]
    # One palette for all, so that what does not move takes no room.
    palette = _palette(pictures[0], MOVING_COLOURS)
    frames = [each.quantize(palette=palette, dither=Image.Dither.NONE) for each in pictures]
    frames[0].save(
        file, save_all=True, append_images=frames[1:], duration=MILLISECONDS, loop=0, optimize=True
    )
    if file.stat().st_size > LARGEST:
        sys.exit(f"{file.name} has {file.stat().st_size} bytes: take fewer frames.")


def lay_out(
    paths: list[Path], file: Path, width: int, shares: tuple[float, float, float, float]
) -> None:
    """Write pictures of a film beside each other."""
    pictures = [_resized(_cut(path, shares), width) for path in paths]
    step = width + FILM_GAP
    film = Image.new("RGB", (len(pictures) * step - FILM_GAP, pictures[0].height), "white")
    for number, picture in enumerate(pictures):
        film.paste(picture, (number * step, 0))
    _write(film, file)


def feature(folder: Path, file: Path) -> None:
    """Write the pictures of some examples side by side."""
    image = Image.new("RGB", FEATURED)
    for name, (left, top, *size) in TILES.items():
        picture = Image.open(folder / f"{name}.png").convert("RGB")
        image.paste(picture.resize(size, Image.Resampling.LANCZOS), (left, top))
    # With a palette it takes a part of the room, and looks the same.
    image.quantize().save(file, optimize=True)


def _write(picture: Image.Image, file: Path) -> None:
    small = picture.quantize(palette=_palette(picture, COLOURS), dither=Image.Dither.NONE)
    small.save(file, optimize=True)
    print(f"written: {file.name}, {file.stat().st_size // 1000} kB")


def _palette(picture: Image.Image, colour_count: int) -> Image.Image:
    """Return the usual colours of a picture, and beside them the rare ones of thin lines."""
    colours = []
    for count, method in ((colour_count - RARE, "MEDIANCUT"), (RARE, "MAXCOVERAGE")):
        found = picture.quantize(count, Image.Quantize[method]).getpalette() or []
        colours += found[: 3 * count]
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours)
    return palette


def _cut(path: Path, shares: tuple[float, float, float, float]) -> Image.Image:
    whole = Image.open(path).convert("RGB")
    (width, height), (left, top, right, bottom) = whole.size, shares
    box = round(left * width), round(top * height), round(right * width), round(bottom * height)
    return whole.crop(box)


def _resized(picture: Image.Image, width: int) -> Image.Image:
    if picture.width <= width:
        return picture
    height = round(picture.height * width / picture.width)
    return picture.resize((width, height), Image.Resampling.LANCZOS)


def main(source: Path, folder: Path) -> None:
    """Make all pictures small that have been taken."""
    for pattern, name in PICTURES.items():
        for path in sorted(source.glob(pattern)):
            shrink(path, folder / (name or path.name))
    moving = sorted(source.glob("docs/docs/drag_*.png"))
    if moving:
        join(moving, folder / "drag.gif")
    for name, (width, shares) in FILMS.items():
        paths = sorted(source.glob(f"docs/docs/{name}_?.png"))
        if paths:
            lay_out(paths, folder / f"{name}.png", width, shares)
    examples = source / "examples"
    for path in sorted(examples.glob("*.png")):
        shrink(path, folder / f"example_{path.name}", EXAMPLE_WIDTH)
    if all((examples / f"{name}.png").is_file() for name in TILES):
        feature(examples, folder / "release" / "featured.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
