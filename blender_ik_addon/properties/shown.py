"""Settings of the scene: whether chains are live, and what the overlay shows of them."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, PointerProperty

SHOWN = (
    *("show_chains", "show_joints", "show_target_lines"),
    *("show_reach", "show_poles", "show_limits", "show_text"),
)
"""The items, in the order in which they are listed."""


class ShownSettings(bpy.types.PropertyGroup):
    """Which parts of chains are drawn."""

    show_overlay: BoolProperty(
        name="Chain IK",
        description="Draw chains in the viewport; default on",
        default=True,
        options=set(),
    )
    show_chains: BoolProperty(
        name="Chains",
        description="Draw every chain as a line: green if it reaches its target, amber if limits,"
        " stretch or the soft distance play a part, red if the target is out of reach;"
        " default on",
        default=True,
        options=set(),
    )
    show_joints: BoolProperty(
        name="Joints",
        description="Draw a dot at every joint of every chain; default on",
        default=True,
        options=set(),
    )
    show_reach: BoolProperty(
        name="Reach",
        description="Draw how far the active chain reaches, and what is too near for it;"
        " default on",
        default=True,
        options=set(),
    )
    show_target_lines: BoolProperty(
        name="Target Lines",
        description="Draw a dashed line from the root of every chain to its target; default on",
        default=True,
        options=set(),
    )
    show_poles: BoolProperty(
        name="Pole",
        description="Draw the plane that the active chain bends in, and a line to its pole;"
        " default on",
        default=True,
        options=set(),
    )
    show_limits: BoolProperty(
        name="Limits",
        description="Draw how far each joint of the active chain may turn, and where it stands;"
        " default on",
        default=True,
        options=set(),
    )
    show_text: BoolProperty(
        name="Distances",
        description="Write the distance that is left to a target, in the unit of the scene;"
        " default on",
        default=True,
        options=set(),
    )


def _toggle_live(settings: SceneSettings, _context: bpy.types.Context) -> None:
    for owner in settings.id_data.objects:
        if owner.type == "ARMATURE" and owner.chain_ik.chains:
            owner.update_tag()


class SceneSettings(bpy.types.PropertyGroup):
    """Settings of the scene."""

    use_live: BoolProperty(
        name="Live",
        description="Chains follow whenever their targets move, on playback and in renders."
        " Off: they stand still. Default on",
        default=True,
        options=set(),
        update=_toggle_live,
    )
    overlay: PointerProperty(
        name="Overlay",
        description="What the viewport shows of chains",
        type=ShownSettings,
    )
