"""Edits by buttons and gizmos, and of feet that roll."""

from __future__ import annotations

from contextlib import suppress

import bpy

from blender_ik_addon.core import IKError
from blender_ik_addon.properties.records import bones_of_chain, chain_spec, existing_controls
from blender_ik_addon.rig.shapes.limit_ends import find_ends
from blender_ik_addon.rig.tools.move_by_location import place_of
from blender_ik_addon.rig.tools.pole_axis import pole_axis
from tests.blender.edits import random_checks as checks
from tests.blender.edits import random_scene as scene
from tests.blender.edits.kinds.random_chain_edits import MAX_CHAINS
from tests.blender.edits.kinds.random_round_trips import round_trip
from tests.blender.edits.random_draws import Arguments, Lookup, add_buttons, edit, press
from tests.blender.edits.random_feet import CHANNELS, bones_of_feet, feet_of
from tests.blender.edits.random_scene import OF_ACTIVE, OF_RIG, OF_SELECTED, PLACE
from tests.blender.edits.random_values import FLAG, SEED, THING, integers, maybe, one_of, sampled
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_bones

CONTROLS = one_of("BONE EMPTY")
BUTTONS = one_of(
    "remove restore store joints_copy joint_add joint_to_selected joint_preset joint_remove"
)
ANGLES = sampled((0.0, 0.4, -1.2, 3.2, -7.0))
# Limits that keep files small enough for a thousand edits.
MAX_BONES, MAX_OBJECTS = 28, 14


def has_room(ob: bpy.types.Object, chains: int = 1) -> bool:
    return (
        ob.pose is not None
        and len(ob.chain_ik.chains) + chains <= MAX_CHAINS
        and len(ob.pose.bones) <= MAX_BONES
        and scene.count_objects() <= MAX_OBJECTS
    )


def room_for(chains: int) -> dict[str, Lookup]:
    """Return lookups of a rig with room for this number of chains, and of a selected bone of it."""

    def find(number: int, _arguments: Arguments) -> bpy.types.Object | None:
        ob = scene.armature(number)
        return ob if ob is not None and has_room(ob, chains) else None

    return {"ob": Lookup(find), "bone": OF_SELECTED["bone"]}


def _parent(number: int, arguments: Arguments) -> str:
    """Return the parent bone of controls for an even number, otherwise no bone."""
    return "" if number % 2 else scene.bone_of(arguments["ob"], number).name


add_buttons(
    OF_ACTIVE,
    press_button=(BUTTONS, {}),
    load_creature=("creature_load", {"creature": one_of("SNAKE DINOSAUR_NECK HANGING_ARM")}),
    remove_with_controls=("remove", {"keep_pose": FLAG, "delete_controls": True}),
    match=(one_of("snap_target apply"), {"use_keys": FLAG}),
    switch=("switch", {"to": one_of("TOGGLE FK IK")}),
    drag_control=(one_of("move_target move_pole"), {"location": PLACE}),
    turn_dial=("turn_pole", {"angle": ANGLES}),
)
add_buttons(
    OF_SELECTED,
    convert=("convert", {"direction": one_of("TO_CHAINS TO_CONSTRAINTS"), "use_all": FLAG}),
    click_handle=("activate", {"index": THING}),
    drag_limit=(
        "set_limit",
        {
            "bone": OF_SELECTED["bone"],
            "turn": one_of("X Y Z"),
            "end": one_of("MIN MAX"),
            "angle": ANGLES,
        },
    ),
    bake_by_steps=(
        "bake",
        {
            "frame_start": 1,
            "frame_end": 4,
            "step": integers(1, 3),
            "which": one_of("ACTIVE SELECTED ALL"),
            "tolerance": sampled((0.0, 0.01)),
        },
    ),
)
add_buttons(room_for(0), add_pole=("pole_add", {"control": CONTROLS}))
add_buttons(
    room_for(1),
    mirror=("mirror", {}),
    add_with_controls=("add", {"control": CONTROLS, "use_pole": FLAG, "parent": Lookup(_parent)}),
)
add_buttons(room_for(2), set_up_limbs=("setup", {"control": CONTROLS}))


def select_with_target(ob: bpy.types.Object, bone: str, number: int | None) -> bool:
    """Select a bone, and a target if there is a number; return whether this is possible."""
    target = None if number is None else scene.other_object(number)
    if target is not None and target.name not in bpy.context.view_layer.objects:
        return False
    scene.leave_modes()
    select_bones(ob, [bone], *([target] if target else []))
    return True


@edit(OF_SELECTED, j=maybe(THING), use_pole=FLAG, use_rotation=FLAG)
def add_by_button(ob, bone, j, use_pole, use_rotation):
    if has_room(ob) and select_with_target(ob, bone, j):
        press(bpy.ops.pose.chain_ik_add, use_pole=use_pole, use_rotation=use_rotation)


@edit(OF_SELECTED, j=THING)
def solve_once(ob, bone, j):
    if select_with_target(ob, bone, j):
        press(bpy.ops.pose.chain_ik_solve)


@edit(OF_ACTIVE, use_all=FLAG, mute=FLAG, seed=SEED)
def bake(use_all, mute, seed):
    target = scene.other_object(seed)
    if target is not None:
        rigs.key(target, "location", {1: scene.place(seed), 4: scene.place(seed + 1)})
        which = "ALL" if use_all else "ACTIVE"
        press(bpy.ops.pose.chain_ik_bake, frame_start=1, frame_end=4, which=which, mute=mute)


@edit(OF_SELECTED, turn=integers(0, 9))
def move_bone_by_hand(ob, bone, turn):
    """Move a bone, of a chain or a control, as G does."""
    ob.pose.bones[bone].location = 0.3 * scene.angles(turn)
    ob.update_tag()


@edit(OF_ACTIVE, other=THING, which=one_of("TARGET POLE"), by_button=FLAG)
def switch_space(ob, chain, other, which, by_button):
    """Set the space of a control: the world, a bone or an object."""
    names = ["", *ob.pose.bones.keys(), *[thing.name for thing in bpy.context.scene.objects]]
    space, settings = names[other % len(names)], scene.chain_of(ob, chain)
    if by_button:
        press(bpy.ops.pose.chain_ik_switch_space, which=which, space=space)
    elif settings is not None and ob.is_editable:
        setattr(settings, "space" if which == "TARGET" else "pole_space", space)


@edit(OF_ACTIVE)
def compare():
    """Compare the solvers; with any result, nothing in the file moves."""
    poses, objects = checks.poses(), checks.object_poses()
    press(bpy.ops.pose.chain_ik_compare)
    assert (poses.keys(), objects.keys()) == (checks.poses().keys(), checks.object_poses().keys())
    moved = checks.not_stable(poses, checks.poses(), checks.with_history())
    moved += checks.moved_objects(objects, checks.object_poses())
    assert not moved, f"moved by comparing: {moved}"


@edit(scene.EDITABLE_CHAIN, mode=one_of("OBJECT POSE EDIT"))
def switch_modes_and_undo(ob, chain, mode):
    press(bpy.ops.ed.undo_push, message="before")
    chain.use_flip_bend = not chain.use_flip_bend
    press(bpy.ops.ed.undo_push, message="flip")
    if scene.enter(ob, mode) and mode == "EDIT":
        for bone in ob.data.edit_bones[:1]:
            bone.roll += 0.3
        bpy.ops.object.mode_set(mode="POSE")
    press(bpy.ops.ed.undo_push, message="mode")
    press(bpy.ops.ed.undo)
    press(bpy.ops.ed.undo)


@edit(OF_RIG, chain=scene.CHAIN)
def look_at_gizmos(ob, chain):
    """Compute all that gizmos read at each redraw; errors of the extension are allowed."""
    if ob.pose is None:
        return
    for anchor in existing_controls(chain):
        with suppress(IKError):
            place_of(anchor)
    with suppress(IKError):
        pole_axis(ob, chain_spec(chain))
    for name in bones_of_chain(chain):
        with suppress(IKError):
            find_ends(ob, chain_spec(chain), name)


OF_FOOT = {
    **OF_RIG,
    "foot": Lookup(lambda number, arguments: scene.pick(feet_of(arguments["ob"]), number)),
}
CHANNEL = sampled(CHANNELS)
ROLLS = sampled((0.0, 0.3, 0.8, 1.4, -0.4, 3.2, -9.0))


def roll(foot: bpy.types.PoseBone, channel: str, angle: float) -> None:
    """Roll a foot, and tag its rig as the slider does."""
    foot[channel] = angle
    foot.id_data.update_tag()


@edit(OF_FOOT, channel=CHANNEL, angle=ROLLS)
def roll_foot(foot, channel, angle):
    roll(foot, channel, angle)


@edit(OF_FOOT, channel=CHANNEL, angle=ROLLS, update=FLAG)
def roll_foot_and_back(foot, channel, angle, update):
    with round_trip(f"{channel} to {angle} and back"):
        former = foot[channel]
        roll(foot, channel, angle)
        if update:
            bpy.context.view_layer.update()
        roll(foot, channel, former)


@edit(OF_FOOT, channel=CHANNEL, angle=ROLLS)
def key_foot(foot, channel, angle):
    if foot.id_data.is_editable:
        for frame, value in ((1, 0.0), (4, angle)):
            roll(foot, channel, value)
            foot.keyframe_insert(f'["{channel}"]', frame=frame)


@edit(OF_RIG, which=THING)
def delete_bone_of_foot(ob, which):
    """Delete a bone of a foot's mechanism, or its toes; the rest reports what is missing."""
    name = scene.pick(bones_of_feet(ob), which)
    if name is not None and scene.enter(ob, "EDIT"):
        ob.data.edit_bones.remove(ob.data.edit_bones[name])
    scene.leave_modes()
