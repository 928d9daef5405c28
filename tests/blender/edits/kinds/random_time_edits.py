"""Edits in time and of files: frames, keys, drivers, undo, save and load, libraries, live."""

from __future__ import annotations

import os

import bpy

import blender_ik_addon
from tests.blender.edits import random_scene as scene
from tests.blender.edits.kinds import random_round_trips as trips
from tests.blender.edits.random_checks import tag_all
from tests.blender.edits.random_draws import EDITS, draw, edit, press
from tests.blender.edits.random_scene import OF_BONE, OF_OWN_CHAIN, OF_OWN_OBJECT, leave_modes
from tests.blender.edits.random_values import FLAG, SEED, THING, integers, one_of, sampled
from tests.blender.setups import rigs
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
    """Drive a property by where an object lies along Z, if that is there."""
    owner, ob, path = holder.id_data, scene.other_object(source), f"{holder.path_from_id()}.{name}"
    drivers = owner.animation_data.drivers if owner.animation_data else ()
    if ob is None or not owner.is_editable or any(each.data_path == path for each in drivers):
        return
    driver = owner.driver_add(path, index).driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id = ob
    variable.targets[0].transform_type = "LOC_Z"


def channel(bone: bpy.types.PoseBone, what: str) -> str:
    return rigs.rotation_property(bone) if what == "rotation" else what


@edit(frame=FRAMES)
def set_frame(frame):
    rigs.go_to(frame)


@edit(frame=FRAMES)
def set_frame_again(frame):
    rigs.go_to(frame)


@edit(OF_OWN_OBJECT, seed=SEED)
def key_object(ob, seed):
    for frame in (1, 4):
        ob.location, ob.rotation_euler = scene.place(seed + frame), scene.angles(seed)
        ob.keyframe_insert("location", frame=frame)
        ob.keyframe_insert("rotation_euler", frame=frame)


@edit(OF_BONE, what=BONE_PATHS, frame=integers(1, 4))
def key_bone(ob, bone, what, frame):
    if ob.is_editable:
        bone.keyframe_insert(channel(bone, what), frame=frame)
        # Blender's own buttons tell of the object as well, which a script does not.
        ob.update_tag()


@edit(OF_OWN_CHAIN, setting=SETTINGS)
def key_setting(chain, setting):
    *of_force, name = setting.split(".")
    owner = chain.force if of_force else chain
    for frame in (1, 4):
        value = getattr(owner, name)
        setattr(owner, name, not value if isinstance(value, bool) else 0.6)
        owner.keyframe_insert(name, frame=frame)


@edit(OF_OWN_CHAIN, value=sampled((0.0, 0.4, 0.9)))
def key_influence(chain, value):
    scene.ramp_influence(chain, value)


@edit(OF_OWN_OBJECT)
def clear_animation(ob):
    ob.animation_data_clear()


@edit(OF_OWN_OBJECT)
def push_action_down(ob):
    data = ob.animation_data
    if data is not None and data.action is not None:
        track = data.nla_tracks.new()
        track.strips.new("Strip", 1, data.action)
        data.action = None


@edit(OF_OWN_CHAIN, setting=SETTINGS, j=THING)
def drive_setting(chain, setting, j):
    drive(chain, setting, -1, j)


@edit(OF_BONE, what=BONE_PATHS, j=THING)
def drive_bone(bone, what, j):
    drive(bone, channel(bone, what), 1, j)


@edit(OF_OWN_OBJECT)
def remove_drivers(ob):
    for driver in list(ob.animation_data.drivers) if ob.animation_data else ():
        ob.animation_data.drivers.remove(driver)


@edit()
def push_undo():
    press(bpy.ops.ed.undo_push, message="edit")


@edit()
def undo(machine):
    # Blender crashes where a script has changed things since the last step.
    if not machine.is_undone:
        press(bpy.ops.ed.undo_push, message="edit")
    shown = bpy.context.scene.name
    press(bpy.ops.ed.undo)
    if bpy.context.scene.name != shown:
        # Of a scene that comes back Blender tells no handler in the background.
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
    """Make changes with a step each, take all back, and make them again."""
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
    # Steps of undo keep what files keep.
    exempt = set.union(trips.with_unsaved(), *(each.exempt for each in shown))
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
    """Go back and forth in a row, without an update between: Blender must stay up."""
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
    """Drawn only where it is asked for: shows that a process that goes down is told."""
    os.abort()


@edit()
def save_and_load(machine):
    leave_modes()
    trips.save_and_load_in(machine.folder)


@edit(i=THING, j=THING, is_linked=FLAG, is_override=FLAG)
def take_from_library(machine, i, j, is_linked, is_override):
    """Write objects to a file, and bring them into the scene from there."""
    present = [ob for ob in (scene.armature(i), scene.other_object(j)) if ob is not None]
    present = [ob for ob in present if ob.library is None and ob.override_library is None]
    if not present or len(bpy.data.objects) > 14 or len(bpy.data.libraries) > 1:
        return
    leave_modes()
    names = [ob.name for ob in present]
    path = os.path.join(machine.folder, f"library{len(os.listdir(machine.folder))}.blend")
    bpy.data.libraries.write(path, set(present))
    with bpy.data.libraries.load(path, link=is_linked) as (_found, wanted):
        wanted.objects = names
    for ob in wanted.objects:
        if ob is not None and is_linked and is_override:
            ob = ob.override_create(remap_local_usages=False)
        if ob is not None:
            rigs.link(ob)


@edit(i=THING)
def override_linked(i):
    linked = [ob for ob in bpy.context.scene.objects if ob.library is not None]
    if linked:
        found = scene.picked(sorted(linked, key=lambda ob: ob.name), i)
        override = found.override_create(remap_local_usages=True)
        if override is not None and override.name not in bpy.context.scene.collection.objects:
            rigs.link(override)


@edit(value=FLAG)
def set_live(value):
    bpy.context.scene.chain_ik.use_live = value


@edit()
def register_again():
    blender_ik_addon.unregister()
    blender_ik_addon.register()
    # Nothing is solved until something is tagged: what is forgotten shows then.
    tag_all()
