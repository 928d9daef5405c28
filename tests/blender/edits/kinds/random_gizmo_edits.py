"""Edits of somebody who drags gizmos: their operators, and all that is asked to show them."""

from __future__ import annotations

from contextlib import suppress

import bpy
from hypothesis import strategies as st

from blender_ik_addon.core import IKError
from blender_ik_addon.properties import bones_of_chain, chain_spec, moved_by_hand
from blender_ik_addon.rig.shapes.limit_ends import find_ends
from blender_ik_addon.rig.tools.placing import place_of
from blender_ik_addon.rig.tools.pole_axis import pole_axis
from tests.blender.edits.random_scene import (
    SEED,
    THING,
    armature,
    bone_of,
    chain_of,
    edit,
    place,
    press,
)

MOVES = st.sampled_from(("chain_ik_move_target", "chain_ik_move_pole"))
AXES = st.sampled_from("XYZ")
ENDS = st.sampled_from(("MIN", "MAX"))
ANGLES = st.sampled_from((0.0, 0.4, -1.2, 3.2, -7.0))


class GizmoEdits:
    """What gizmos do; ``pose`` is that of a day's edits."""

    @edit(i=THING, bone=THING, chain=THING, how=MOVES, seed=SEED)
    def drag_control(self, i, bone, chain, how, seed):
        if self.pose(i, bone, chain):
            press(getattr(bpy.ops.pose, how), location=place(seed))

    @edit(i=THING, bone=THING, chain=THING, angle=ANGLES)
    def turn_dial(self, i, bone, chain, angle):
        if self.pose(i, bone, chain):
            press(bpy.ops.pose.chain_ik_turn_pole, angle=angle)

    @edit(i=THING, bone=THING, chain=THING, axis=AXES, end=ENDS, angle=ANGLES)
    def drag_limit(self, i, bone, chain, axis, end, angle):
        if self.pose(i, bone, chain):
            name = bone_of(armature(i), bone).name
            press(bpy.ops.pose.chain_ik_set_limit, bone=name, turn=axis, end=end, angle=angle)

    @edit(i=THING, bone=THING, chain=THING)
    def click_handle(self, i, bone, chain):
        if self.pose(i, bone):
            press(bpy.ops.pose.chain_ik_activate, index=chain)

    @edit(i=THING, chain=THING)
    def look_at_gizmos(self, i, chain):
        """Ask for all that gizmos ask for at each redraw; a sentence that refuses is all right."""
        ob = armature(i)
        settings = chain_of(ob, chain)
        if settings is None or ob.pose is None:
            return
        for anchor in moved_by_hand(settings):
            with suppress(IKError):
                place_of(anchor)
        with suppress(IKError):
            pole_axis(ob, chain_spec(settings))
        for name in bones_of_chain(settings):
            with suppress(IKError):
                find_ends(ob, chain_spec(settings), name)
