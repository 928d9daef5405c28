"""What the last solve did: one line, and behind a button all of it."""

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
# Pixels at an interface scale of 1: what stands beside the text, and a letter of usual width.
BESIDE, LETTER, LEAST_CHARACTERS = 70.0, 6.2, 10
# Pixels of the icon of a dot: its sides, and the dot's radius.
SIZE, RADIUS = 32, 10.0


class VIEW3D_PT_chain_ik_status(ActiveChainPanel):
    """What the last solve did, in one line whatever it says, so that nothing below moves."""

    bl_label = "Status"

    def draw_header_preset(self, _context: bpy.types.Context) -> None:
        # A popover covers the panels below; a sub-panel would move them.
        self.layout.popover("VIEW3D_PT_chain_ik_details", text="Details")

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        look = LOOKS[state(settings)]
        room = (sidebar_width(bpy.context) - BESIDE) / LETTER
        left, unit = residual(settings), length_unit(bpy.context.scene)
        distance = length_in_words(left, unit) if left >= 0.0 else ""
        text = _in_one_line(settings.status, max(int(room), LEAST_CHARACTERS), distance)
        row = layout.row(align=True)
        row.label(text="", icon_value=_dot_icon(colours(bpy.context)[look.colour]))
        row.label(text=text, icon=look.icon, translate=False)


class VIEW3D_PT_chain_ik_details(bpy.types.Panel):
    """The whole status, however long it is."""

    bl_label = "Details"
    bl_space_type = "VIEW_3D"
    # Panels of other regions would be shown without the button as well.
    bl_region_type = "HEADER"
    bl_ui_units_x = DETAILS_UNITS

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return active_chain(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        settings = active_chain(context)
        column = self.layout.column(align=True)
        draw_text(column, settings.status, DETAILS_CHARACTERS)


def _in_one_line(status: str, width: int, distance: str) -> str:
    """Return how a status begins; Blender would cut a long one in its middle.

    Args:
        status: The whole text.
        width: How many letters fit.
        distance: What is left to the target; it is shown even if the text says it too late.
    """
    line, *others = lines_of(status, width)
    if not others:
        return line
    if distance not in status or distance in line:
        return f"{line} ..."
    room = max(width - len(distance) - 1, LEAST_CHARACTERS)
    begun = lines_of(status, room)[0].rstrip(",:;")
    return f"{begun} ... {distance}"


# ``Any``: the stubs do not know what ``new`` returns.
@cache
def _icons() -> Any:
    return bpy.utils.previews.new()


def _dot_icon(colour: tuple[float, float, float]) -> int:
    """Return the number of the icon of a dot in a colour, sRGB, made where it is new."""
    icons, name = _icons(), str(colour)
    if name not in icons:
        steps = np.arange(SIZE) - 0.5 * (SIZE - 1)
        alpha = np.clip(RADIUS + 0.5 - np.hypot(steps, steps[:, None]), 0.0, 1.0)[..., None]
        icon = icons.new(name)
        icon.icon_size = SIZE, SIZE
        # Blender expects colours that are multiplied with their alpha.
        icon.icon_pixels_float.foreach_set((alpha * (*colour, 1.0)).astype(np.float32).ravel())
    return int(icons[name].icon_id)


def unregister() -> None:
    """Remove the icons."""
    bpy.utils.previews.remove(_icons())
    _icons.cache_clear()
