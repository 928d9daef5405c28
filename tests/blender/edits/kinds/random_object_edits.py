"""Edits of objects, scenes and view layers: transforms, parents, names, visibility."""

import bpy

from tests.blender.edits import random_scene as scene
from tests.blender.edits.random_draws import add_setters, edit, press
from tests.blender.edits.random_scene import OF_OBJECT, OF_RIG, OF_TARGET, PLACE, TURN, pick
from tests.blender.edits.random_values import FLAG, SCALE, SEED, THING, one_of, sampled
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects

NAMES = sampled(("A", "Z", "Rig", "Rig.001", "Target", "Mover", 'A "b" \\ c', "é"))
TIES = one_of("COPY_LOCATION COPY_TRANSFORMS CHILD_OF LIMIT_ROTATION")

add_setters(
    OF_TARGET,
    move_target=("location", PLACE),
    move_target_again=("location", PLACE),
    turn_target=("rotation_euler", TURN),
)
add_setters(
    OF_OBJECT,
    scale_object=("scale", SCALE),
    unscale_object=("scale", (1.0, 1.0, 1.0)),
    unparent=("parent", None),
)
add_setters(scene.EDITABLE_OBJECT, rename_object=("name", NAMES))


@edit(OF_RIG, place_of=PLACE, turn=TURN)
def move_armature(ob, place_of, turn):
    ob.location, ob.rotation_euler = place_of, turn


@edit(OF_OBJECT, j=THING, bone=THING, on_bone=FLAG)
def parent(ob, j, bone, on_bone):
    owner = scene.any_object(j)
    if ob == owner:
        return
    ob.parent = owner
    pose_bone = scene.bone_of(owner, bone)
    if ob.parent == owner and on_bone and pose_bone is not None:
        ob.parent_type, ob.parent_bone = "BONE", pose_bone.name
    else:
        ob.parent_type = "OBJECT"


@edit(OF_OBJECT)
def delete_object(ob):
    bpy.data.objects.remove(ob)


@edit(OF_OBJECT)
def unlink_object(ob):
    for collection in list(ob.users_collection):
        collection.objects.unlink(ob)


@edit(i=THING)
def link_object(i):
    present = set(bpy.context.scene.objects.keys())
    free = [ob for ob in bpy.data.objects if ob.name not in present and ob.library is None]
    if free:
        rigs.link(pick(free, i))


@edit(place_of=PLACE)
def add_empty(place_of):
    if scene.count_objects() < 16:
        rigs.make_empty(location=place_of)


@edit(limb=SEED)
def add_armature(limb):
    if sum(ob.type == "ARMATURE" for ob in bpy.data.objects) < 5:
        scene.make_limb(limb)


@edit(OF_OBJECT, how=one_of("hide_viewport hide_render eye"), value=FLAG)
def hide_object(ob, how, value):
    if ob.name not in bpy.context.view_layer.objects:
        return
    if how == "eye":
        ob.hide_set(value)
    else:
        setattr(ob, how, value)


@edit(OF_OBJECT)
def move_to_other_collection(ob):
    root = bpy.context.scene.collection
    if not root.children:
        root.children.link(bpy.data.collections.new("Kit"))
    kit = root.children[0]
    old, new = (kit, root) if ob.name in kit.objects else (root, kit)
    if ob.name in old.objects and ob.name not in new.objects:
        new.objects.link(ob)
        old.objects.unlink(ob)


@edit(how=one_of("hide_viewport hide_render exclude eye"), value=FLAG)
def hide_collection(how, value):
    children = bpy.context.view_layer.layer_collection.children
    if not children:
        return
    if how in ("exclude", "eye"):
        setattr(children[0], "exclude" if how == "exclude" else "hide_viewport", value)
    else:
        setattr(children[0].collection, how, value)


@edit(OF_OBJECT, is_linked=FLAG)
def copy_object(ob, is_linked):
    if scene.count_objects() > 15:
        return
    copy = ob.copy()
    if ob.data is not None and not is_linked:
        copy.data = ob.data.copy()
    rigs.link(copy)


@edit(i=THING, j=THING, is_linked=FLAG)
def duplicate_by_operator(i, j, is_linked):
    view_layer = bpy.context.view_layer
    view_layer.update()
    present = [ob for ob in (scene.any_object(i), scene.any_object(j)) if ob is not None]
    if not present or scene.count_objects() > 14:
        return
    if all(ob.name in view_layer.objects for ob in present):
        scene.leave_modes()
        select_objects(*present, active=present[0])
        press(bpy.ops.object.duplicate, linked=is_linked)


@edit(OF_OBJECT, j=THING, tie=TIES, is_muted=FLAG)
def tie_object(ob, j, tie, is_muted):
    target = scene.any_object(j)
    if len(ob.constraints) > 1:
        return
    constraint = ob.constraints.new(tie)
    constraint.mute = is_muted
    if tie == "LIMIT_ROTATION":
        constraint.use_limit_x = constraint.use_limit_z = True
    elif target != ob:
        constraint.target = target


@edit(OF_OBJECT, remove=FLAG)
def untie_object(ob, remove):
    if not ob.constraints:
        return
    if remove:
        ob.constraints.remove(ob.constraints[0])
    else:
        ob.constraints[0].mute = not ob.constraints[0].mute


@edit(OF_RIG, j=THING)
def exchange_data(ob, j):
    other = scene.armature(j)
    if ob != other and ob.mode == other.mode == "OBJECT":
        ob.data, other.data = other.data, ob.data


@edit(OF_RIG, mode=one_of("OBJECT POSE EDIT"))
def enter_mode(ob, mode):
    scene.enter(ob, mode)


def show(name: str) -> None:
    rigs.change(bpy.context.window, view_layer=bpy.context.scene.view_layers[name])


@edit(name=NAMES)
def add_view_layer(name):
    if len(bpy.context.scene.view_layers) < 3:
        bpy.context.scene.view_layers.new(name)


@edit(i=THING)
def switch_view_layer(i):
    bpy.context.view_layer.update()
    bpy.context.window.view_layer = pick(bpy.context.scene.view_layers, i)


@edit(i=THING, j=THING, place_of=PLACE, update=FLAG)
def move_target_in_other_layer(i, j, place_of, update):
    """Show another view layer, move a target there, and show the first one again."""
    shown = bpy.context.view_layer.name
    show(pick(bpy.context.scene.view_layers, i).name)
    if (ob := scene.other_object(j)) is not None:
        ob.location = place_of
    if update:
        bpy.context.view_layer.update()
    show(shown)


@edit(i=THING)
def remove_view_layer(i):
    layers = bpy.context.scene.view_layers
    if len(layers) > 1:
        layers.remove(pick(layers, i))


@edit(name=NAMES, with_objects=FLAG)
def add_scene(name, with_objects):
    if len(bpy.data.scenes) > 2:
        return
    former, scene = bpy.context.scene, bpy.data.scenes.new(name)
    for ob in former.objects if with_objects else ():
        scene.collection.objects.link(ob)


def _evaluate_scene() -> None:
    """Evaluate a scene that has replaced another one in the window; Blender 4.2 does not.

    It shows keyed and driven poses, but, as soon as anything is written, the earlier poses until
    the next frame.
    """
    if bpy.app.version < (5, 0):
        bpy.context.view_layer.update()
        rigs.go_to(bpy.context.scene.frame_current)


@edit(i=THING)
def switch_scene(i):
    scene.leave_modes()
    bpy.context.view_layer.update()
    bpy.context.window.scene = pick(bpy.data.scenes, i)
    _evaluate_scene()


@edit(i=THING)
def remove_scene(i):
    if len(bpy.data.scenes) > 1:
        scene.leave_modes()
        bpy.data.scenes.remove(pick(bpy.data.scenes, i))
        _evaluate_scene()
