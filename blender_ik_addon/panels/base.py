"""Base classes of panels, and drawing of texts and targets for several panels."""

from __future__ import annotations

import textwrap
import unicodedata

import bpy

from ..properties.chains import active_chain
from ..properties.choices import uses
from ..properties.settings import ChainSettings
from ..translations import translate

CATEGORY = "Chain IK"
# Number of characters in a sidebar of the usual width. Blender does not wrap labels.
SIDEBAR_CHARACTERS = 40


class ChainPanel(bpy.types.Panel):
    """The base of all panels of the tab."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = CATEGORY


class ActiveChainPanel(ChainPanel):
    """A panel about the active chain.

    Attributes:
        about: Name of a setting, or empty; the panel is hidden if the solver does not use it.
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


class TickedPanel(ActiveChainPanel):
    """A panel with a checkbox in its header, which is the setting in ``about``."""

    def draw_header(self, context: bpy.types.Context) -> None:
        settings = active_chain(context)
        self.layout.active = not settings.mute
        self.layout.prop(settings, self.about, text="")


def draw_used(layout: bpy.types.UILayout, settings: ChainSettings, *names: str) -> None:
    """Draw those of the named settings that the chain's solver uses, in this order."""
    for name in names:
        if uses(settings, name):
            layout.prop(settings, name)


def draw_anchor(
    layout: bpy.types.UILayout, settings: ChainSettings, target: str, bone: str
) -> None:
    """Draw the fields of a target or pole: the object, and the bone if it is an armature."""
    layout.prop(settings, target)
    followed = getattr(settings, target)
    if followed is not None and followed.type == "ARMATURE":
        layout.prop_search(settings, bone, followed.data, "bones")


def sidebar_width(context: bpy.types.Context) -> float:
    """Return the width of the sidebar, in pixels at an interface scale of 1."""
    region, user = context.region, context.preferences
    # Without a window there is no sidebar that could be too narrow.
    return 1e4 if region is None or user is None else region.width / (user.system.ui_scale or 1.0)


def draw_text(layout: bpy.types.UILayout, text: str, width: int = SIDEBAR_CHARACTERS) -> None:
    """Translate a text and draw it in several lines, because Blender does not wrap labels."""
    for line in lines_of(text, width):
        layout.label(text=line, translate=False)


def lines_of(text: str, width: int) -> list[str]:
    """Return an English sentence in Blender's language, wrapped into lines.

    The width is the number of letters that fit; half as many Chinese characters fit.
    """
    shown = translate(text)
    is_wide = any(unicodedata.east_asian_width(character) in "FW" for character in shown)
    return textwrap.wrap(shown, width // 2 if is_wide else width)
