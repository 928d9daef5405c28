"""The fields of one joint of a chain, for the sidebar and for the tab of a bone."""

from __future__ import annotations

import bpy

from ..properties.joints.joint_definitions import RANGED_AXES, STIFF_AXES, JointSettings
from ..properties.settings import ChainSettings


def draw_joint(layout: bpy.types.UILayout, joint: JointSettings, chain: ChainSettings) -> None:
    """Draw the settings of a joint that its kind and the solver of its chain use."""
    layout.prop(joint, "kind")
    layout.prop(joint, "relative_to")
    if joint.kind == "CONE":
        layout.prop(joint, "cone_angle")
    for axis in RANGED_AXES[joint.kind]:
        _draw_range(layout, joint, f"use_limit_{axis}", (f"min_{axis}", f"max_{axis}"))
    if chain.solver == "FOLLOW":
        # Follow uses neither stiffness nor slides.
        return
    column = layout.column(align=True)
    for axis in STIFF_AXES[joint.kind]:
        column.prop(joint, f"stiffness_{axis}", slider=True)
    _draw_range(layout, joint, "use_slide", ("slide_min", "slide_max"))


def _draw_range(
    layout: bpy.types.UILayout, joint: JointSettings, switch: str, ends: tuple[str, str]
) -> None:
    """Draw a checkbox with its two numbers, as Blender draws the IK limits of a bone."""
    column = layout.column(align=True)
    column.prop(joint, switch)
    numbers = column.column(align=True)
    numbers.active = getattr(joint, switch)
    numbers.prop(joint, ends[0], text="Min")
    numbers.prop(joint, ends[1], text="Max")
