"""The panel of the bone that turns with the target."""

from __future__ import annotations

import bpy

from ...properties.choices import LABEL_CONTEXT
from ...properties.settings import ChainSettings
from ..base import TickedPanel


class VIEW3D_PT_chain_ik_rotation(TickedPanel):
    """Which bone turns with the target, and how much."""

    bl_label = "Rotation"
    about = "use_rotation"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        turned = layout.column()
        turned.active = settings.use_rotation
        turned.prop(settings, "rotation_bone")
        turned.prop(settings, "orient_weight", text="Weight", text_ctxt=LABEL_CONTEXT, slider=True)
        turned.prop(settings, "use_twist_spread")
