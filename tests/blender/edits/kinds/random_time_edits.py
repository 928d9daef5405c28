"""Edits in time and of files: frames, keys, drivers, undo, save and load, libraries, live."""

from __future__ import annotations

import os

import bpy
from hypothesis import strategies as st

import blender_ik_addon
from tests.blender.edits.random_checks import tag_all
from tests.blender.edits.random_scene import (
    FLAG,
    SEED,
    THING,
    angles,
    any_object,
    armature,
    bone_of,
    chain_of,
    edit,
    key_influence,
    other_object,
    picked,
    place,
    press,
)
from tests.blender.setups import rigs

FRAMES = st.sampled_from((1.0, 2.0, 3.0, 4.0, 2.5, 1.25, 10.0, 40.0))
SETTINGS = st.sampled_from(
    (
        "influence",
        "pole_angle",
        "mute",
        "use_flip_bend",
        "soft_distance",
        "orient_weight",
        "weight",
        "force.gravity",
    )
)
BONE_PATHS = st.sampled_from(("location", "scale", "rotation"))


def set_path(chain: bpy.types.PropertyGroup, path: str) -> None:
    """Give a setting a value to be keyed."""
    holder, _, name = path.rpartition(".")
    owner = chain.force if holder else chain
    value = getattr(owner, name)
    setattr(owner, name, not value if isinstance(value, bool) else 0.6)


def is_driven(owner: bpy.types.ID, path: str) -> bool:
    data = owner.animation_data
    return data is not None and any(each.data_path == path for each in data.drivers)


def drive(owner: bpy.types.ID, path: str, index: int, source: bpy.types.Object) -> None:
    """Drive a property by where an object lies along Z."""
    if is_driven(owner, path):
        return
    driver = owner.driver_add(path, index).driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id = source
    variable.targets[0].transform_type = "LOC_Z"


class TimeEdits:
    """Frames, keys and drivers."""

    @edit(frame=FRAMES)
    def set_frame(self, frame):
        rigs.go_to(frame)

    @edit(frame=FRAMES)
    def set_frame_again(self, frame):
        rigs.go_to(frame)

    @edit(i=THING, seed=SEED)
    def key_object(self, i, seed):
        if (ob := any_object(i)) is not None and ob.is_editable:
            for frame in (1, 4):
                ob.location, ob.rotation_euler = place(seed + frame), angles(seed)
                ob.keyframe_insert("location", frame=frame)
                ob.keyframe_insert("rotation_euler", frame=frame)

    @edit(i=THING, bone=THING, what=BONE_PATHS, frame=st.integers(1, 4))
    def key_bone(self, i, bone, what, frame):
        pose_bone = bone_of(armature(i), bone)
        if pose_bone is not None and pose_bone.id_data.is_editable:
            name = rigs.rotation_property(pose_bone) if what == "rotation" else what
            pose_bone.keyframe_insert(name, frame=frame)
            # Blender's own buttons tell of the object as well, which a script does not.
            pose_bone.id_data.update_tag()

    @edit(i=THING, chain=THING, setting=SETTINGS)
    def key_setting(self, i, chain, setting):
        ob = armature(i)
        settings = chain_of(ob, chain)
        if settings is None or not ob.is_editable:
            return
        index = chain % len(ob.chain_ik.chains)
        for frame in (1, 4):
            set_path(settings, setting)
            ob.keyframe_insert(f"chain_ik.chains[{index}].{setting}", frame=frame)

    @edit(i=THING, chain=THING, value=st.sampled_from((0.0, 0.4, 0.9)))
    def key_influence(self, i, chain, value):
        ob = armature(i)
        if chain_of(ob, chain) is not None and ob.is_editable:
            key_influence(ob, chain % len(ob.chain_ik.chains), value)

    @edit(i=THING)
    def clear_animation(self, i):
        if (ob := any_object(i)) is not None and ob.is_editable:
            ob.animation_data_clear()

    @edit(i=THING)
    def push_action_down(self, i):
        ob = any_object(i)
        data = None if ob is None else ob.animation_data
        if data is not None and data.action is not None and ob.is_editable:
            track = data.nla_tracks.new()
            track.strips.new("Strip", 1, data.action)
            data.action = None

    @edit(i=THING, chain=THING, setting=SETTINGS, j=THING)
    def drive_setting(self, i, chain, setting, j):
        ob, source = armature(i), other_object(j)
        if chain_of(ob, chain) is not None and source is not None and ob.is_editable:
            index = chain % len(ob.chain_ik.chains)
            drive(ob, f"chain_ik.chains[{index}].{setting}", -1, source)

    @edit(i=THING, bone=THING, what=BONE_PATHS, j=THING)
    def drive_bone(self, i, bone, what, j):
        pose_bone, source = bone_of(armature(i), bone), other_object(j)
        if pose_bone is not None and source is not None and pose_bone.id_data.is_editable:
            name = rigs.rotation_property(pose_bone) if what == "rotation" else what
            path = f'pose.bones["{bpy.utils.escape_identifier(pose_bone.name)}"].{name}'
            drive(pose_bone.id_data, path, 1, source)

    @edit(i=THING)
    def remove_drivers(self, i):
        ob = any_object(i)
        data = None if ob is None else ob.animation_data
        if data is not None and ob.is_editable:
            for driver in list(data.drivers):
                data.drivers.remove(driver)


class FileEdits:
    """Undo, files and libraries."""

    @edit()
    def push_undo(self):
        press(bpy.ops.ed.undo_push, message="edit")

    @edit()
    def undo(self):
        # Blender crashes where a script has changed things since the last step.
        if not self.is_undone:
            press(bpy.ops.ed.undo_push, message="edit")
        scene = bpy.context.scene.name
        press(bpy.ops.ed.undo)
        if bpy.context.scene.name != scene:
            # Of a scene that comes back Blender tells no handler in the background.
            tag_all()
        self.is_undone = True

    @edit()
    def redo(self):
        if self.is_undone:
            press(bpy.ops.ed.redo)
            self.is_undone = True

    @edit()
    def save_and_load(self):
        self.leave_modes()
        path = os.path.join(self.folder, "saved.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)

    @edit(i=THING, j=THING, is_linked=FLAG, is_override=FLAG)
    def take_from_library(self, i, j, is_linked, is_override):
        """Write objects to a file, and bring them into the scene from there."""
        present = [ob for ob in (armature(i), other_object(j)) if ob is not None]
        present = [ob for ob in present if ob.library is None and ob.override_library is None]
        if not present or len(bpy.data.objects) > 14 or len(bpy.data.libraries) > 1:
            return
        self.leave_modes()
        path = os.path.join(self.folder, f"library{self.next_number()}.blend")
        names = [ob.name for ob in present]
        bpy.data.libraries.write(path, set(present))
        with bpy.data.libraries.load(path, link=is_linked) as (_found, wanted):
            wanted.objects = names
        for ob in wanted.objects:
            if ob is not None and is_linked and is_override:
                ob = ob.override_create(remap_local_usages=False)
            if ob is not None:
                rigs.link(ob)

    @edit(i=THING)
    def override_linked(self, i):
        linked = sorted(ob.name for ob in bpy.context.scene.objects if ob.library is not None)
        name = picked(linked, i)
        if name is not None:
            found = [ob for ob in bpy.context.scene.objects if ob.name == name and ob.library]
            override = found[0].override_create(remap_local_usages=True)
            if override is not None and override.name not in bpy.context.scene.collection.objects:
                rigs.link(override)

    @edit(value=FLAG)
    def set_live(self, value):
        bpy.context.scene.chain_ik.use_live = value

    @edit()
    def register_again(self):
        blender_ik_addon.unregister()
        blender_ik_addon.register()
        # Nothing is solved until something is tagged: what is forgotten shows then.
        tag_all()
