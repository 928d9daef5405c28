"""Sheets of frames that Blender renders, each with words burnt in."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import bpy
import numpy as np
import numpy.typing as npt

from window.driver import read_pixels

Picture = npt.NDArray[np.float32]

# Pixels: of a sheet, and of words.
WIDTH, WORDS = 1280, 14


def render(frame: int, words: str, count: int, height: int) -> Picture:
    """Return a frame of the open file as one of so many pictures side by side, last line first."""
    scene = bpy.context.scene
    scene.frame_set(frame)
    settings = scene.render
    settings.resolution_x, settings.resolution_y = WIDTH // count, height
    for name in [name for name in dir(settings) if name.startswith("use_stamp_")]:
        setattr(settings, name, False)
    settings.use_stamp = settings.use_stamp_note = True
    settings.stamp_note_text, settings.stamp_font_size = words, WORDS
    settings.stamp_foreground, settings.stamp_background = (1.0,) * 4, (0.0, 0.0, 0.0, 0.6)
    with tempfile.TemporaryDirectory() as folder:
        settings.filepath = str(Path(folder) / "frame.png")
        bpy.ops.render.render(write_still=True)
        return read_pixels(Path(settings.filepath))


def save(strips: Sequence[Sequence[Picture]], path: Path) -> None:
    """Write strips of pictures, from the top down, as one picture."""
    sheet = np.concatenate([np.concatenate(strip, axis=1) for strip in reversed(strips)])
    image = bpy.data.images.new("Sheet", sheet.shape[1], sheet.shape[0])
    image.pixels.foreach_set(np.ascontiguousarray(sheet).ravel())
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()
    bpy.data.images.remove(image)
