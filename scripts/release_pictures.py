"""Draw what the extensions site shows: the icon, and the featured image out of the examples.

    python scripts/release_pictures.py          # a Python with matplotlib, which brings Pillow

The featured image is put together from out/examples/*.png: run scripts/examples.py first. Both are
kept in docs/images/release and are not part of the zip. The pictures of docs/examples.md are made
of the same ones.
"""

from __future__ import annotations

import math
from pathlib import Path

from PIL import Image, ImageDraw

from figures import shrinking
from release import rules

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES, PAGES = ROOT / "out" / "examples", ROOT / "docs" / "images"
# Pixels, of an example on its page.
WIDTH = 640

# Drawn larger, then made smaller: smooth edges.
SHARP = 8
BACK, BONE, SHADE, EDGE, DOT, RING = (
    "#23272e", "#e8743b", "#b9531f", "#ffd9bf", "#ffd447", "#8a7426",
)  # fmt: skip
# In the icon's pixels: the joints of three bones, and the target that the last one has reached.
JOINTS = ((48.0, 212.0), (78.0, 122.0), (150.0, 74.0), (206.0, 112.0))
WAIST, HALF_WIDTH, KNOB = 0.22, 17.0, 11.0

# Name of an example, and where its picture goes: left, top, width, height.
TILES = {
    "spider": (0, 0, 1280, 720),
    "dragon_neck": (1280, 0, 640, 360),
    "leg": (1280, 360, 640, 360),
    "arm": (0, 720, 640, 360),
    "snake": (640, 720, 640, 360),
    "crowd": (1280, 720, 640, 360),
}


def icon() -> Image.Image:
    """Return three bones that reach a dot."""
    wide, high = rules.SIZES[rules.ICON]
    image = Image.new("RGBA", (wide * SHARP, high * SHARP), (0, 0, 0, 0))
    pen = ImageDraw.Draw(image)
    pen.rounded_rectangle((0, 0, wide * SHARP - 1, high * SHARP - 1), 44 * SHARP, fill=BACK)
    for radius, colour in ((40.0, RING), (31.0, BACK), (22.0, DOT)):
        _disc(pen, JOINTS[-1], radius, colour)
    for head, tail in zip(JOINTS, JOINTS[1:]):
        _bone(pen, head, tail)
    for joint in JOINTS[:-1]:
        _disc(pen, joint, KNOB, EDGE)
    _disc(pen, JOINTS[-1], 0.6 * KNOB, EDGE)
    return image.resize((wide, high), Image.Resampling.LANCZOS)


def _bone(pen: ImageDraw.ImageDraw, head: tuple[float, float], tail: tuple[float, float]) -> None:
    """Draw a bone as Blender's users know them: thickest near its head, one side in the shade."""
    x, y = tail[0] - head[0], tail[1] - head[1]
    length = math.hypot(x, y)
    across = -y / length * HALF_WIDTH, x / length * HALF_WIDTH
    waist = head[0] + WAIST * x, head[1] + WAIST * y
    left = waist[0] + across[0], waist[1] + across[1]
    right = waist[0] - across[0], waist[1] - across[1]
    for side, colour in ((left, SHADE), (right, BONE)):
        pen.polygon([_large(point) for point in (head, side, tail)], fill=colour)


def _disc(
    pen: ImageDraw.ImageDraw, centre: tuple[float, float], radius: float, colour: str
) -> None:
    (x, y), r = _large(centre), radius * SHARP
    pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)


def _large(point: tuple[float, float]) -> tuple[float, float]:
    return point[0] * SHARP, point[1] * SHARP


def featured() -> Image.Image:
    """Return the pictures of six examples side by side."""
    image = Image.new("RGB", rules.SIZES[rules.FEATURED])
    for name, (left, top, wide, high) in TILES.items():
        with Image.open(EXAMPLES / f"{name}.png") as picture:
            small = picture.convert("RGB").resize((wide, high), Image.Resampling.LANCZOS)
        image.paste(small, (left, top))
    # With a palette it takes a part of the room, and looks the same.
    return image.quantize()


def main() -> None:
    """Write all pictures."""
    (ROOT / rules.FOLDER).mkdir(parents=True, exist_ok=True)
    for name, image in ((rules.ICON, icon()), (rules.FEATURED, featured())):
        image.save(ROOT / name, optimize=True)
        print(f"written: {name}")
    for path in sorted(EXAMPLES.glob("*.png")):
        shrinking.shrink(path, PAGES / f"example_{path.name}", WIDTH)


if __name__ == "__main__":
    main()
