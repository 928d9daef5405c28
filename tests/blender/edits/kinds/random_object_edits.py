"""Edits of objects: moved, parented, renamed, hidden, made, copied and deleted."""

from __future__ import annotations

import bpy
from hypothesis import strategies as st

from tests.blender.edits.random_scene import (
    FLAG,
    SCALE,
    SEED,
    THING,
    angles,
    any_object,
    armature,
    bone_of,
    edit,
    enter,
    make_limb,
    other_object,
    picked,
    place,
    press,
)
from tests.blender.setups import rigs

NAMES = st.sampled_from(("A", "Z", "Rig", "Rig.001", "Target", "Mover", 'A "b" \\ c', "é"))
HIDINGS = st.sampled_from(("hide_viewport", "hide_render", "eye"))
COLLECTION_HIDINGS = st.sampled_from(("hide_viewport", "hide_render", "exclude", "eye"))
TIES = st.sampled_from(("COPY_LOCATION", "COPY_TRANSFORMS", "CHILD_OF", "LIMIT_ROTATION"))


def free_of_scene() -> list[bpy.types.Object]:
    """Return objects that are in the file but not in the scene."""
    present = set(bpy.context.scene.objects.keys())
    return [ob for ob in bpy.data.objects if ob.name not in present and ob.library is None]


def second_collection() -> bpy.types.Collection:
    """Return a collection of the scene besides its own."""
    scene = bpy.context.scene
    if not scene.collection.children:
        scene.collection.children.link(bpy.data.collections.new("Kit"))
    return scene.collection.children[0]


class ObjectEdits:
    """What is done to objects."""

    @edit(i=THING, place_of=SEED)
    def move_target(self, i, place_of):
        if (ob := other_object(i)) is not None:
            ob.location = place(place_of)

    @edit(i=THING, place_of=SEED)
    def move_target_again(self, i, place_of):
        if (ob := other_object(i)) is not None:
            ob.location = place(place_of)

    @edit(i=THING, turn=SEED)
    def turn_target(self, i, turn):
        if (ob := other_object(i)) is not None:
            ob.rotation_euler = angles(turn)

    @edit(i=THING, place_of=SEED, turn=SEED)
    def move_armature(self, i, place_of, turn):
        if (ob := armature(i)) is not None:
            ob.location, ob.rotation_euler = place(place_of), angles(turn)

    @edit(i=THING, scale=SCALE)
    def scale_object(self, i, scale):
        if (ob := any_object(i)) is not None:
            ob.scale = scale

    @edit(i=THING)
    def unscale_object(self, i):
        if (ob := any_object(i)) is not None:
            ob.scale = (1.0, 1.0, 1.0)

    @edit(i=THING, j=THING, bone=THING, on_bone=FLAG)
    def parent(self, i, j, bone, on_bone):
        child, owner = any_object(i), any_object(j)
        if child is None or child == owner:
            return
        child.parent = owner
        pose_bone = bone_of(owner, bone)
        if child.parent == owner and on_bone and pose_bone is not None:
            child.parent_type, child.parent_bone = "BONE", pose_bone.name
        else:
            child.parent_type = "OBJECT"

    @edit(i=THING)
    def unparent(self, i):
        if (ob := any_object(i)) is not None:
            ob.parent = None

    @edit(i=THING, name=NAMES)
    def rename_object(self, i, name):
        if (ob := any_object(i)) is not None and ob.is_editable:
            ob.name = name

    @edit(i=THING)
    def delete_object(self, i):
        if (ob := any_object(i)) is not None:
            bpy.data.objects.remove(ob)

    @edit(i=THING)
    def unlink_object(self, i):
        if (ob := any_object(i)) is not None:
            for collection in list(ob.users_collection):
                collection.objects.unlink(ob)

    @edit(i=THING)
    def link_object(self, i):
        if (ob := picked(free_of_scene(), i)) is not None:
            rigs.link(ob)

    @edit(place_of=SEED)
    def add_empty(self, place_of):
        if len(bpy.context.scene.objects) < 16:
            rigs.make_empty(location=place(place_of))

    @edit(limb=SEED)
    def add_armature(self, limb):
        if sum(ob.type == "ARMATURE" for ob in bpy.data.objects) < 5:
            make_limb(limb)

    @edit(i=THING, how=HIDINGS, value=FLAG)
    def hide_object(self, i, how, value):
        ob = any_object(i)
        if ob is None or ob.name not in bpy.context.view_layer.objects:
            return
        if how == "eye":
            ob.hide_set(value)
        else:
            setattr(ob, how, value)

    @edit(i=THING)
    def move_to_other_collection(self, i):
        ob = any_object(i)
        if ob is None:
            return
        kit, own = second_collection(), bpy.context.scene.collection
        old, new = (kit, own) if ob.name in kit.objects else (own, kit)
        if ob.name in old.objects and ob.name not in new.objects:
            new.objects.link(ob)
            old.objects.unlink(ob)

    @edit(how=COLLECTION_HIDINGS, value=FLAG)
    def hide_collection(self, how, value):
        children = bpy.context.view_layer.layer_collection.children
        if not children:
            return
        if how in ("exclude", "eye"):
            setattr(children[0], "exclude" if how == "exclude" else "hide_viewport", value)
        else:
            setattr(children[0].collection, how, value)

    @edit(i=THING, is_linked=FLAG)
    def copy_object(self, i, is_linked):
        ob = any_object(i)
        if ob is None or len(bpy.context.scene.objects) > 15:
            return
        copy = ob.copy()
        if ob.data is not None and not is_linked:
            copy.data = ob.data.copy()
        rigs.link(copy)

    @edit(i=THING, j=THING, is_linked=FLAG)
    def duplicate_by_operator(self, i, j, is_linked):
        view_layer = bpy.context.view_layer
        view_layer.update()
        if len(bpy.context.scene.objects) > 14:
            return
        present = [ob for ob in (any_object(i), any_object(j)) if ob is not None]
        if not present or not all(ob.name in view_layer.objects for ob in present):
            return
        self.leave_modes()
        for ob in view_layer.objects:
            ob.select_set(ob in present)
        view_layer.objects.active = present[0]
        press(bpy.ops.object.duplicate, linked=is_linked)

    @edit(i=THING, j=THING, tie=TIES, is_muted=FLAG)
    def tie_object(self, i, j, tie, is_muted):
        ob, target = any_object(i), any_object(j)
        if ob is None or len(ob.constraints) > 1:
            return
        constraint = ob.constraints.new(tie)
        constraint.mute = is_muted
        if tie == "LIMIT_ROTATION":
            constraint.use_limit_x = constraint.use_limit_z = True
        elif target != ob:
            constraint.target = target

    @edit(i=THING, remove=FLAG)
    def untie_object(self, i, remove):
        ob = any_object(i)
        if ob is None or not ob.constraints:
            return
        if remove:
            ob.constraints.remove(ob.constraints[0])
        else:
            ob.constraints[0].mute = not ob.constraints[0].mute

    @edit(i=THING, j=THING)
    def exchange_data(self, i, j):
        ob, other = armature(i), armature(j)
        if ob is not None and ob != other and ob.mode == other.mode == "OBJECT":
            ob.data, other.data = other.data, ob.data

    @edit(i=THING, mode=st.sampled_from(("OBJECT", "POSE", "EDIT")))
    def enter_mode(self, i, mode):
        if (ob := armature(i)) is not None:
            enter(ob, mode)

    def leave_modes(self) -> None:
        """Go to object mode, as most operators want."""
        active = bpy.context.view_layer.objects.active
        if active is not None and active.mode != "OBJECT":
            press(bpy.ops.object.mode_set, mode="OBJECT")
