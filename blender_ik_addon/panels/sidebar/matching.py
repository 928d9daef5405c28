"""The panel of the influence, with operators that match bones to controls and back."""

from __future__ import annotations

from typing import cast

import bpy

from ...properties.chains import active_chain, chain_key, owner_of
from ...properties.choices import uses
from ...properties.controls.space_names import control_of
from ...properties.records import may_be_planted
from ...properties.settings import ChainSettings
from ..base import ActiveChainPanel

SPACES = (("TARGET", "space"), ("POLE", "pole_space"))
"""The controls of a chain, and the settings that show their spaces."""


class VIEW3D_PT_chain_ik_match(ActiveChainPanel):
    """The way from the bones' own pose to the chain's, and what matches the two."""

    bl_label = "FK/IK"

    def draw(self, context: bpy.types.Context) -> None:
        settings = cast(ChainSettings, active_chain(context))
        column = self.layout.column()
        column.use_property_split = True
        column.active = not settings.mute
        column.prop(settings, "influence", slider=True)
        if not uses(settings, "start_from"):
            return
        if chain_key(settings)[1] in may_be_planted(owner_of(settings)):
            column.prop(settings, "planted")
        # Also active for a muted chain: muted is FK, one of the two sides of the switch.
        column = self.layout.column(align=True)
        column.operator("pose.chain_ik_switch", icon="ARROW_LEFTRIGHT")
        column.operator("pose.chain_ik_snap_target", icon="SNAP_ON")
        column.operator("pose.chain_ik_apply", icon="CHECKMARK")
        for which, setting in SPACES:
            if control_of(settings, which) is not None:
                row = self.layout.row(align=True)
                row.use_property_split, row.use_property_decorate = True, False
                row.prop(settings, setting, placeholder="World")
                switch = row.operator("pose.chain_ik_switch_space", text="", icon="KEY_HLT")
                switch.which = which
