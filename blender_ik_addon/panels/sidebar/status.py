"""The panel of the status of the last solve: one line, and the whole text in a popover."""

from __future__ import annotations

from functools import cache
from typing import Any

import bpy.utils.previews
import numpy as np

from ...preferences.colours import LOOKS, colours
from ...properties.chains import active_chain
from ...properties.settings import ChainSettings
from ...properties.status import residual, state
from ...rig.tools.lengths import length_in_words, length_unit
from ..base import ActiveChainPanel, draw_text, lines_of, sidebar_width

# Width of the popover, in Blender's interface units and in characters.
DETAILS_UNITS = 20
DETAILS_CHARACTERS = 60
# Pixels at an interface scale of 1: what is beside the text, and a letter of usual width.
RESERVED_WIDTH, LETTER_WIDTH, MIN_CHARACTERS = 70.0, 6.2, 10
# Side of the icon with a dot, and radius of the dot, in pixels.
ICON_SIZE, DOT_RADIUS = 32, 10.0


class VIEW3D_PT_chain_ik_status(ActiveChainPanel):
    """What the last solve did, in one line whatever it says, so that nothing below moves."""

    bl_label = "Status"

    def draw_header_preset(self, _context: bpy.types.Context) -> None:
        # A popover covers the panels below; a sub-panel would move them.
        self.layout.popover("VIEW3D_PT_chain_ik_details", text="Details")

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        look = LOOKS[state(settings)]
        width = (sidebar_width(bpy.context) - RESERVED_WIDTH) / LETTER_WIDTH
        gap, unit = residual(settings), length_unit(bpy.context.scene)
        distance = length_in_words(gap, unit) if gap >= 0.0 else ""
        text = _in_one_line(settings.message, max(int(width), MIN_CHARACTERS), distance)
        row = layout.row(align=True)
        row.label(text="", icon_value=_dot_icon(colours(bpy.context)[look.colour]))
        row.label(text=text, icon=look.icon, translate=False)


class VIEW3D_PT_chain_ik_details(bpy.types.Panel):
    """The whole status, however long it is."""

    bl_label = "Details"
    bl_space_type = "VIEW_3D"
    # In other regions the panel would also be shown without the button.
    bl_region_type = "HEADER"
    bl_ui_units_x = DETAILS_UNITS

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return active_chain(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        settings = active_chain(context)
        column = self.layout.column(align=True)
        draw_text(column, settings.message, DETAILS_CHARACTERS)


def _in_one_line(status: str, width: int, distance: str) -> str:
    """Return the beginning of a status in one line; Blender would cut out the middle.

    The width is the number of letters that fit. The distance is shown even if the text has it too
    late.
    """
    line, *others = lines_of(status, width)
    if not others:
        return line
    if distance not in status or distance in line:
        return f"{line} ..."
    reduced_width = max(width - len(distance) - 1, MIN_CHARACTERS)
    beginning = lines_of(status, reduced_width)[0].rstrip(",:;")
    return f"{beginning} ... {distance}"


# ``Any``: the stubs have no type for the result of ``new``.
@cache
def _icons() -> Any:
    return bpy.utils.previews.new()


def _dot_icon(colour: tuple[float, float, float]) -> int:
    """Return the icon number of a dot in a colour, sRGB; the icons are cached."""
    icons, name = _icons(), str(colour)
    if name not in icons:
        steps = np.arange(ICON_SIZE) - 0.5 * (ICON_SIZE - 1)
        alpha = np.clip(DOT_RADIUS + 0.5 - np.hypot(steps, steps[:, None]), 0.0, 1.0)[..., None]
        icon = icons.new(name)
        icon.icon_size = ICON_SIZE, ICON_SIZE
        # Blender expects premultiplied alpha.
        icon.icon_pixels_float.foreach_set((alpha * (*colour, 1.0)).astype(np.float32).ravel())
    return int(icons[name].icon_id)


def unregister() -> None:
    """Remove the icons."""
    bpy.utils.previews.remove(_icons())
    _icons.cache_clear()
