"""Edits that break things: numbers that are none, texts that nobody can read."""

from __future__ import annotations

import math

import bpy
from hypothesis import strategies as st

from tests.blender.edits.random_scene import (
    AXIS,
    BONE_CHANNELS,
    THING,
    any_object,
    armature,
    bone_of,
    chain_of,
    edit,
)
from tests.blender.setups import rigs

BROKEN = st.sampled_from((math.nan, math.inf, -math.inf))
CHANNELS = st.sampled_from(("location", "rotation", "scale"))
NUMBERS = st.sampled_from(
    (
        "influence",
        "pole_angle",
        "tolerance",
        "soft_distance",
        "orient_weight",
        "weight",
        "max_bend",
        "force.gravity",
        "force.mass",
        "force.stiffness_root",
    )
)
TEXTS = st.sampled_from(
    (("stored_pose", "{"), ("stored_pose", "[1]"), ("force.creature", "{"), ("bone", "\x01"))
)
HOME = {"location": 0.0, "scale": 1.0, "rotation_quaternion": 0.5}


def put(holder: bpy.types.bpy_struct, path: str, value: object) -> None:
    """Set a property by its path from a chain."""
    *above, name = path.split(".")
    for each in above:
        holder = getattr(holder, each)
    setattr(holder, name, value)


class BrokenEdits:
    """What nobody means, and scripts and imports do all the same."""

    @edit(i=THING, channel=CHANNELS, axis=AXIS, value=BROKEN)
    def break_object(self, i, channel, axis, value):
        ob = any_object(i)
        if ob is not None:
            name = rigs.rotation_property(ob) if channel == "rotation" else channel
            getattr(ob, name)[axis] = value

    @edit(i=THING, bone=THING, channel=CHANNELS, axis=AXIS, value=BROKEN)
    def break_bone(self, i, bone, channel, axis, value):
        pose_bone = bone_of(armature(i), bone)
        if pose_bone is not None:
            name = rigs.rotation_property(pose_bone) if channel == "rotation" else channel
            getattr(pose_bone, name)[axis] = value

    @edit(i=THING, chain=THING, name=NUMBERS, value=BROKEN)
    def break_setting(self, i, chain, name, value):
        if (settings := chain_of(armature(i), chain)) is not None:
            put(settings, name, value)

    @edit(i=THING, chain=THING, text=TEXTS)
    def break_text(self, i, chain, text):
        if (settings := chain_of(armature(i), chain)) is not None:
            put(settings, *text)
            settings.id_data.update_tag()  # nobody sees that the stored pose is another one

    @edit()
    def mend_channels(self):
        """Give all things that are not finite a place again."""
        for ob in bpy.data.objects:
            for thing in (ob, *(ob.pose.bones if ob.pose is not None else ())):
                for name in BONE_CHANNELS:
                    if not all(map(math.isfinite, getattr(thing, name))):
                        setattr(thing, name, [HOME.get(name, 0.0)] * BONE_CHANNELS[name])

    @edit(i=THING, chain=THING)
    def mend_settings(self, i, chain):
        settings = chain_of(armature(i), chain)
        if settings is None:
            return
        for name in ("influence", "orient_weight", "weight", "force.mass"):
            put(settings, name, 1.0)
        for name in ("pole_angle", "soft_distance", "force.gravity", "force.stiffness_root"):
            put(settings, name, 0.0)
        settings.tolerance, settings.max_bend = 1e-5, math.pi
        settings.stored_pose = settings.force.creature = ""
        settings.id_data.update_tag()  # nobody sees that the stored pose is another one
