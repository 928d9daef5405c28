"""The bases of panels, and drawing of texts and targets that several panels share."""

from __future__ import annotations

import textwrap
import unicodedata

import bpy

from ..properties import ChainSettings, active_chain, uses
from ..translations import translate

CATEGORY = "Chain IK"
# Labels do not wrap by themselves; so many characters fit a sidebar of the usual width.
SIDEBAR_CHARACTERS = 40
STATUS_LINES = 3


class ChainPanel(bpy.types.Panel):
    """The base of all panels of the tab."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = CATEGORY


class ActiveChainPanel(ChainPanel):
    """A panel about the active chain.

    Attributes:
        about: A setting; the panel is hidden if the chain's solver does not use it. May be empty.
    """

    bl_parent_id = "VIEW3D_PT_chain_ik"
    about = ""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = active_chain(context)
        return settings is not None and (not cls.about or uses(settings, cls.about))

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        settings = active_chain(context)
        layout.active = not settings.mute
        self.draw_settings(layout, settings)


def draw_anchor(
    layout: bpy.types.UILayout, settings: ChainSettings, target: str, bone: str
) -> None:
    """Draw the fields of a target or pole: the object, and the bone where it has bones."""
    layout.prop(settings, target)
    followed = getattr(settings, target)
    if followed is not None and followed.type == "ARMATURE":
        layout.prop_search(settings, bone, followed.data, "bones")


def draw_text(layout: bpy.types.UILayout, text: str, width: int = SIDEBAR_CHARACTERS) -> None:
    """Draw what a chain says in as many lines as it takes; labels do not wrap by themselves."""
    draw_lines(layout, _lines_of(text, width))


def draw_lines(layout: bpy.types.UILayout, lines: list[str]) -> None:
    """Draw lines that are translated already."""
    for line in lines:
        layout.label(text=line, translate=False)


def status_lines(text: str) -> list[str]:
    """Return a status in a fixed number of lines, so that what is below stays where it is."""
    lines = _lines_of(text, SIDEBAR_CHARACTERS, STATUS_LINES)
    return lines + [""] * (STATUS_LINES - len(lines))


def is_cut(text: str) -> bool:
    """Tell whether a status has more lines than ``status_lines`` shows of it."""
    return len(_lines_of(text, SIDEBAR_CHARACTERS)) > STATUS_LINES


def _lines_of(text: str, width: int, most: int | None = None) -> list[str]:
    """Return an English sentence in Blender's language, in lines.

    Args:
        text: What a chain says.
        width: How many letters fit; of Chinese characters half as many do.
        most: How many lines there may be; None for any number.
    """
    said = translate(text)
    is_wide = any(unicodedata.east_asian_width(each) in "FW" for each in said)
    fitting = width // 2 if is_wide else width
    return textwrap.wrap(said, fitting, max_lines=most, placeholder=" ...")
