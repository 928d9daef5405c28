"""Edits of time and files: frames, keys, drivers, undo, save and load, libraries, live."""

from __future__ import annotations

import os

import bpy

import blender_ik_addon
from tests.blender.edits import random_scene as scene
from tests.blender.edits.kinds import random_round_trips as trips
from tests.blender.edits.random_checks import tag_all
from tests.blender.edits.random_draws import EDITS, draw, edit, press
from tests.blender.edits.random_scene import EDITABLE_CHAIN, EDITABLE_OBJECT, OF_BONE, leave_modes
from tests.blender.edits.random_values import FLAG, SEED, THING, integers, one_of, sampled
from tests.blender.setups import rigs, ties
from tests.helpers import make_rng

FRAMES = sampled((1.0, 2.0, 3.0, 4.0, 2.5, 1.25, 10.0, 40.0))
SETTINGS = one_of(
    "influence pole_angle mute use_flip_bend soft_distance orient_weight weight force.gravity"
)
BONE_PATHS = one_of("location scale rotation")
CHANGES = integers(1, 5)
UNDOABLE = (
    "move_target turn_bone set_number set_flag mute_chain set_solver key_setting key_influence"
    " key_bone drive_setting aim_at_own_bone rename_bone rename_object add_chain remove_chain"
    " hide_object add_joint set_joint limit_bone add_view_layer set_start"
).split()


def drive(holder: bpy.types.bpy_struct, name: str, index: int, source: int) -> None:
    """Drive a property by the Z location of an object, if there is one."""
    owner, ob, path = holder.id_data, scene.other_object(source), f"{holder.path_from_id()}.{name}"
    drivers = owner.animation_data.drivers if owner.animation_data else ()
    if ob is None or not owner.is_editable or any(curve.data_path == path for curve in drivers):
        return
    ties.drive(owner, path, ob, "LOC_Z", index=index, space="WORLD_SPACE")


def channel(bone: bpy.types.PoseBone, what: str) -> str:
    return rigs.rotation_property(bone) if what == "rotation" else what


@edit(frame=FRAMES)
def set_frame(frame):
    rigs.go_to(frame)


@edit(frame=FRAMES)
def set_frame_again(frame):
    rigs.go_to(frame)


@edit(EDITABLE_OBJECT, seed=SEED)
def key_object(ob, seed):
    for frame in (1, 4):
        ob.location, ob.rotation_euler = scene.place(seed + frame), scene.angles(seed)
        ob.keyframe_insert("location", frame=frame)
        ob.keyframe_insert("rotation_euler", frame=frame)


@edit(OF_BONE, what=BONE_PATHS, frame=integers(1, 4))
def key_bone(ob, bone, what, frame):
    if ob.is_editable:
        bone.keyframe_insert(channel(bone, what), frame=frame)
        # The buttons of Blender tag the object as well, a script does not.
        ob.update_tag()


@edit(EDITABLE_CHAIN, setting=SETTINGS)
def key_setting(chain, setting):
    *of_force, name = setting.split(".")
    owner = chain.force if of_force else chain
    for frame in (1, 4):
        value = getattr(owner, name)
        setattr(owner, name, not value if isinstance(value, bool) else 0.6)
        owner.keyframe_insert(name, frame=frame)


@edit(EDITABLE_CHAIN, value=sampled((0.0, 0.4, 0.9)))
def key_influence(chain, value):
    scene.ramp_influence(chain, value)


@edit(EDITABLE_OBJECT)
def clear_animation(ob):
    ob.animation_data_clear()


@edit(EDITABLE_OBJECT)
def push_action_down(ob):
    data = ob.animation_data
    if data is not None and data.action is not None:
        track = data.nla_tracks.new()
        track.strips.new("Strip", 1, data.action)
        data.action = None


@edit(EDITABLE_CHAIN, setting=SETTINGS, j=THING)
def drive_setting(chain, setting, j):
    drive(chain, setting, -1, j)


@edit(OF_BONE, what=BONE_PATHS, j=THING)
def drive_bone(bone, what, j):
    drive(bone, channel(bone, what), 1, j)


@edit(EDITABLE_OBJECT)
def remove_drivers(ob):
    for driver in list(ob.animation_data.drivers) if ob.animation_data else ():
        ob.animation_data.drivers.remove(driver)


@edit()
def push_undo():
    press(bpy.ops.ed.undo_push, message="edit")


@edit()
def undo(machine):
    # Blender crashes if a script has changed anything since the last undo step.
    if not machine.is_undone:
        press(bpy.ops.ed.undo_push, message="edit")
    shown = bpy.context.scene.name
    press(bpy.ops.ed.undo)
    if bpy.context.scene.name != shown:
        # In the background, Blender calls no handler for a scene that is shown again.
        tag_all()
    machine.is_undone = True


@edit()
def redo(machine):
    if machine.is_undone:
        press(bpy.ops.ed.redo)


def change(machine: object, name: str, seed: str) -> None:
    EDITS[name].carry_out(machine, draw(EDITS[name].drawn, seed))


@edit(count=CHANGES, seed=SEED)
def undo_and_redo(machine, count, seed):
    """Make changes, one undo step for each, undo all, and redo all."""
    changes = make_rng(seed).choice(UNDOABLE, count).tolist()
    leave_modes()
    trips.settle()
    press(bpy.ops.ed.undo_push, message="before")
    shown = [trips.Snapshot()]
    for number, name in enumerate(changes):
        change(machine, name, f"{seed} {number}")
        trips.settle()
        press(bpy.ops.ed.undo_push, message=name)
        shown.append(trips.Snapshot())
    # Undo steps store what files store.
    exempt = set.union(trips.with_unsaved(), *(snapshot.exempt for snapshot in shown))
    for step, operator in (
        *((step, bpy.ops.ed.undo) for step in reversed(range(count))),
        *((step, bpy.ops.ed.redo) for step in range(1, count + 1)),
    ):
        press(operator)
        trips.settle()
        shown[step].exempt = exempt
        shown[step].check(f"undo and redo of {changes}, at {step}")


@edit(count=CHANGES, seed=SEED, times=integers(1, 4))
def undo_often(machine, count, seed, times):
    """Undo and redo repeatedly without an update between: Blender must not crash."""
    press(bpy.ops.ed.undo_push, message="before")
    for number, name in enumerate(make_rng(seed).choice(UNDOABLE, count).tolist()):
        change(machine, name, f"{seed} {number}")
        press(bpy.ops.ed.undo_push, message=name)
    for _ in range(times):
        for operator in (bpy.ops.ed.undo, bpy.ops.ed.redo):
            for _ in range(count):
                press(operator)
    press(bpy.ops.ed.undo)


@edit()
def _go_down():
    """Crash; drawn only if its name is requested, to show that a crash is reported."""
    os.abort()


@edit()
def save_and_load(machine):
    leave_modes()
    trips.save_and_load_in(machine.folder)


@edit(i=THING, j=THING, is_linked=FLAG, is_override=FLAG)
def take_from_library(machine, i, j, is_linked, is_override):
    """Write objects to a file, and link or append them from there."""
    present = [ob for ob in (scene.armature(i), scene.other_object(j)) if ob is not None]
    present = [ob for ob in present if ob.library is None and ob.override_library is None]
    if not present or len(bpy.data.objects) > 14 or len(bpy.data.libraries) > 1:
        return
    leave_modes()
    names = [ob.name for ob in present]
    path = os.path.join(machine.folder, f"library{len(os.listdir(machine.folder))}.blend")
    bpy.data.libraries.write(path, set(present))
    with bpy.data.libraries.load(path, link=is_linked) as (_available, requested):
        requested.objects = names
    for ob in requested.objects:
        if ob is not None and is_linked and is_override:
            ob = ob.override_create(remap_local_usages=False)
        if ob is not None:
            rigs.link(ob)


@edit(i=THING)
def override_linked(i):
    linked = [ob for ob in bpy.context.scene.objects if ob.library is not None]
    if linked:
        original = scene.pick(sorted(linked, key=lambda ob: ob.name), i)
        override = original.override_create(remap_local_usages=True)
        if override is not None and override.name not in bpy.context.scene.collection.objects:
            rigs.link(override)


@edit(value=FLAG)
def set_live(value):
    bpy.context.scene.chain_ik.use_live = value


@edit()
def register_again():
    blender_ik_addon.unregister()
    blender_ik_addon.register()
    # Nothing is solved until an object is tagged; the tags show lost states.
    tag_all()
