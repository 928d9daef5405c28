"""Put the featured image of the extensions site together out of the pictures of the examples.

    python scripts/release_pictures.py          # a Python with matplotlib, which brings Pillow

They are out/examples/*.png: run scripts/examples.py first. The image is kept in docs/images/release
and is not part of the zip. The pictures of docs/examples.md are made of the same ones.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from figures import shrinking

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES, PAGES = ROOT / "out" / "examples", ROOT / "docs" / "images"
FEATURED = "docs/images/release/featured.png"
# Pixels, of an example on its page.
WIDTH = 640

# Name of an example, and where its picture goes: left, top, width, height.
TILES = {
    "spider": (0, 0, 1280, 720),
    "dragon_neck": (1280, 0, 640, 360),
    "leg": (1280, 360, 640, 360),
    "arm": (0, 720, 640, 360),
    "snake": (640, 720, 640, 360),
    "crowd": (1280, 720, 640, 360),
}


def featured() -> Image.Image:
    """Return the pictures of six examples side by side."""
    image = Image.new("RGB", (1920, 1080))
    for name, (left, top, wide, high) in TILES.items():
        with Image.open(EXAMPLES / f"{name}.png") as picture:
            small = picture.convert("RGB").resize((wide, high), Image.Resampling.LANCZOS)
        image.paste(small, (left, top))
    # With a palette it takes a part of the room, and looks the same.
    return image.quantize()


def main() -> None:
    """Write all pictures."""
    featured().save(ROOT / FEATURED, optimize=True)
    print(f"written: {FEATURED}")
    for path in sorted(EXAMPLES.glob("*.png")):
        shrinking.shrink(path, PAGES / f"example_{path.name}", WIDTH)


if __name__ == "__main__":
    main()
