"""Edits of feet that roll: their properties set, keyed and driven, their bones deleted."""

from __future__ import annotations

import bpy
from hypothesis import strategies as st

from tests.blender.edits.kinds.random_round_trips import round_trip
from tests.blender.edits.random_feet import CHANNELS, bones_of_feet, feet_of
from tests.blender.edits.random_scene import FLAG, THING, armature, edit, enter, picked

CHANNEL = st.sampled_from(CHANNELS)
ANGLES = st.sampled_from((0.0, 0.3, 0.8, 1.4, -0.4, 3.2, -9.0))


def roll(foot: bpy.types.PoseBone, channel: str, angle: float) -> None:
    """Roll a foot, and tell Blender of it as its own slider does."""
    foot[channel] = angle
    foot.id_data.update_tag()


class FootEdits:
    """What is done to feet."""

    @edit(i=THING, foot=THING, channel=CHANNEL, angle=ANGLES)
    def roll_foot(self, i, foot, channel, angle):
        if (found := picked(feet_of(armature(i)), foot)) is not None:
            roll(found, channel, angle)

    @edit(i=THING, foot=THING, channel=CHANNEL, angle=ANGLES, update=FLAG)
    def roll_foot_and_back(self, i, foot, channel, angle, update):
        if picked(feet_of(armature(i)), foot) is None:
            return
        with round_trip(f"{channel} to {angle} and back"):
            found = picked(feet_of(armature(i)), foot)
            former = found[channel]
            roll(found, channel, angle)
            if update:
                bpy.context.view_layer.update()
            roll(found, channel, former)

    @edit(i=THING, foot=THING, channel=CHANNEL, angle=ANGLES)
    def key_foot(self, i, foot, channel, angle):
        found = picked(feet_of(armature(i)), foot)
        if found is None or not found.id_data.is_editable:
            return
        for frame, value in ((1, 0.0), (4, angle)):
            roll(found, channel, value)
            found.keyframe_insert(f'["{channel}"]', frame=frame)

    @edit(i=THING, which=THING)
    def delete_bone_of_foot(self, i, which):
        """Delete a part of what rolls a foot, or its toes; what is left says what it lacks."""
        ob = armature(i)
        name = None if ob is None else picked(bones_of_feet(ob), which)
        if name is not None and enter(ob, "EDIT"):
            ob.data.edit_bones.remove(ob.data.edit_bones[name])
        self.leave_modes()
