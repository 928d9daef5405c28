"""The panel of the whole body."""

from __future__ import annotations

from typing import cast

import bpy

from ...core.model.message import Message
from ...properties.chains import active_chain, body_of, owner_of
from ...properties.controls.torso import lost_root
from ...properties.settings import ChainSettings
from ...translations import translate
from ..base import ActiveChainPanel


class VIEW3D_PT_chain_ik_body(ActiveChainPanel):
    """What the chains of the armature are solved as, whichever of them is active."""

    bl_label = "Whole Body"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_header(self, context: bpy.types.Context) -> None:
        chains = owner_of(cast(ChainSettings, active_chain(context))).chain_ik
        # The header is also drawn while the panel is closed. Reading settings that were never set
        # makes Blender store them.
        if chains.is_property_set("body") and chains.body.root:
            self.layout.prop(chains.body, "use_body", text="")

    def draw(self, context: bpy.types.Context) -> None:
        layout = cast(bpy.types.UILayout, self.layout)
        layout.use_property_split = True
        owner = owner_of(cast(ChainSettings, active_chain(context)))
        body = owner.chain_ik.body
        layout.prop_search(body, "root", owner.data, "bones")
        if body_of(owner) is None:
            layout.operator("pose.chain_ik_body", icon="ARMATURE_DATA")
            return
        layout.prop(body, "influence", slider=True)
        layout.prop(body, "floor")
        # The status reports a root that does not exist.
        if not lost_root(owner):
            text = translate(Message("Chain IK sets the location of '{root}'", root=body.root))
            layout.label(text=text, icon="INFO", translate=False)
