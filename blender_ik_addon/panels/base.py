"""What all panels about the active chain have in common."""

from __future__ import annotations

import textwrap

import bpy

from ..properties import ChainSettings, active_chain
from .used import USES

CATEGORY = "Chain IK"
# Labels do not wrap by themselves; so many characters fit a sidebar of the usual width.
SIDEBAR_CHARACTERS = 40


class ChainPanel(bpy.types.Panel):
    """What all panels of the tab share."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = CATEGORY


class ActiveChainPanel(ChainPanel):
    """A panel about the active chain.

    Attributes:
        about: A setting; where the solver does not use it, there is nothing in the panel to set.
    """

    bl_parent_id = "VIEW3D_PT_chain_ik"
    about = ""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = active_chain(context)
        return settings is not None and (not cls.about or cls.about in USES[settings.solver])

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
    """Draw a text in as many lines as it takes, which labels do not do by themselves."""
    for line in textwrap.wrap(text, width):
        layout.label(text=line)
