"""Sentences as panels show them: in a person's language, in lines that fit."""

from __future__ import annotations

import textwrap
import unicodedata

import bpy

from ..translations import translate
from .base import SIDEBAR_CHARACTERS


def lines_of(sentence: str, most: int | None = None) -> list[str]:
    """Return an English sentence in Blender's language, in lines that fit the sidebar.

    Args:
        sentence: What a chain says.
        most: How many lines there may be; None for as many as it takes.
    """
    text = translate(sentence)
    is_wide = any(unicodedata.east_asian_width(each) in "FW" for each in text)
    width = SIDEBAR_CHARACTERS // 2 if is_wide else SIDEBAR_CHARACTERS
    return textwrap.wrap(text, width, max_lines=most, placeholder=" ...")


def draw_lines(layout: bpy.types.UILayout, lines: list[str]) -> None:
    """Draw lines that are translated already."""
    for line in lines:
        layout.label(text=line, translate=False)
