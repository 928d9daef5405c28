"""Which bones follow what."""

from __future__ import annotations

import bpy

from ...properties import ChainSettings
from ..base import ActiveChainPanel, draw_anchor
from ..used import USES


class VIEW3D_PT_chain_ik_goal(ActiveChainPanel):
    """Which bones follow what."""

    bl_label = "Bones and Target"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        owner = settings.id_data
        layout.prop_search(settings, "bone", owner.data, "bones")
        layout.prop(settings, "chain_count")
        draw_anchor(layout, settings, "target", "subtarget")
        layout.prop(settings, "use_tail")
        if "use_rotation" in USES[settings.solver]:
            row = layout.row(heading="Rotation")
            row.prop(settings, "use_rotation", text="")
            weight = row.row()
            weight.active = settings.use_rotation
            weight.prop(settings, "orient_weight", text="")
            turned = layout.row()
            turned.active = settings.use_rotation
            turned.prop(settings, "rotation_bone")


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_chain_ik_goal,))
