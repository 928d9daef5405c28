"""Edits of an animator's day: what buttons and gizmos do, and feet that roll."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import bpy
from hypothesis import strategies as st

from blender_ik_addon.core import IKError
from blender_ik_addon.properties import bones_of_chain, chain_spec, moved_by_hand
from blender_ik_addon.rig.shapes.limit_ends import find_ends
from blender_ik_addon.rig.tools.placing import place_of
from blender_ik_addon.rig.tools.pole_axis import pole_axis
from tests.blender.edits import random_checks as checks
from tests.blender.edits.kinds.random_chain_edits import MOST_CHAINS
from tests.blender.edits.kinds.random_round_trips import round_trip
from tests.blender.edits.random_draws import FLAG, SEED, THING, Found, edit
from tests.blender.edits.random_feet import CHANNELS, bones_of_feet, feet_of
from tests.blender.edits.random_scene import (
    OF_OWN_CHAIN,
    OF_RIG,
    angles,
    armature,
    bone_of,
    chain_of,
    count_objects,
    enter,
    leave_modes,
    other_object,
    picked,
    place,
    press,
    select,
)
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_bones

CONTROLS = st.sampled_from(("BONE", "EMPTY"))
BUTTONS = st.sampled_from(
    (
        *("chain_ik_remove", "chain_ik_restore", "chain_ik_store", "chain_ik_joints_copy"),
        *("chain_ik_joint_add", "chain_ik_joint_to_selected", "chain_ik_joint_preset"),
        "chain_ik_joint_remove",
    )
)
CREATURES = st.sampled_from(("SNAKE", "DINOSAUR_NECK", "HANGING_ARM"))
MATCHINGS = st.sampled_from(("chain_ik_snap_target", "chain_ik_apply"))
MOVES = st.sampled_from(("chain_ik_move_target", "chain_ik_move_pole"))
DIRECTIONS = st.sampled_from(("TO_CHAINS", "TO_CONSTRAINTS"))
ANGLES = st.sampled_from((0.0, 0.4, -1.2, 3.2, -7.0))
# So that files stay small enough to be edited a thousand times.
MOST_BONES, MOST_OBJECTS = 28, 14


def has_room(ob: bpy.types.Object, chains: int = 1) -> bool:
    """Tell whether a rig and the scene may get more chains, control bones or empties."""
    return (
        ob.pose is not None
        and len(ob.chain_ik.chains) + chains <= MOST_CHAINS
        and len(ob.pose.bones) <= MOST_BONES
        and count_objects() <= MOST_OBJECTS
    )


def room_for(chains: int) -> dict[str, Found]:
    """Return what finds a rig that may get so many more chains, and selects a bone of it."""

    def find(number: int, _known: dict[str, Any]) -> bpy.types.Object | None:
        ob = armature(number)
        return ob if ob is not None and has_room(ob, chains) else None

    return {"ob": Found(find), "bone": SELECTED}


def _select(number: int, known: dict[str, Any]) -> str | None:
    return select(known["ob"], number, known.get("chain", 0))


def _activate(number: int, known: dict[str, Any]) -> int:
    ob = known["ob"]
    if ob.chain_ik.chains:
        ob.chain_ik.active_index = number % len(ob.chain_ik.chains)
    return number


SELECTED, ACTIVE = Found(_select), Found(_activate)
OF_SELECTED = {**OF_RIG, "bone": SELECTED}
"""A rig in pose mode, and the name of the one bone that is selected."""
OF_ACTIVE = {**OF_SELECTED, "chain": ACTIVE}
"""The same, and the number of the active chain."""


@edit(OF_RIG, chain=THING, bone=SELECTED, button=BUTTONS)
def press_button(button):
    press(getattr(bpy.ops.pose, button))


@edit(OF_SELECTED, j=st.none() | THING, use_pole=FLAG, use_rotation=FLAG)
def add_by_button(ob, bone, j, use_pole, use_rotation):
    if len(ob.chain_ik.chains) < MOST_CHAINS and count_objects() <= MOST_OBJECTS:
        if select_with_target(ob, bone, j):
            press(bpy.ops.pose.chain_ik_add, use_pole=use_pole, use_rotation=use_rotation)


@edit(OF_SELECTED, j=THING)
def solve_once(ob, bone, j):
    if select_with_target(ob, bone, j):
        press(bpy.ops.pose.chain_ik_solve)


def select_with_target(ob: bpy.types.Object, bone: str, number: int | None) -> bool:
    """Select a bone, and a target if there is a number; tell whether that can be selected."""
    target = None if number is None else other_object(number)
    if target is not None and target.name not in bpy.context.view_layer.objects:
        return False
    leave_modes()
    select_bones(ob, [bone], *([target] if target else []))
    return True


@edit(OF_RIG, chain=THING, use_all=FLAG, mute=FLAG, seed=SEED)
def bake(ob, chain, use_all, mute, seed):
    target = other_object(seed)
    if target is None or select(ob, 0, chain) is None:
        return
    rigs.key(target, "location", {1: place(seed), 4: place(seed + 1)})
    which = "ALL" if use_all else "ACTIVE"
    press(bpy.ops.pose.chain_ik_bake, frame_start=1, frame_end=4, which=which, mute=mute)


@edit(OF_RIG, chain=THING, creature=CREATURES)
def load_creature(ob, chain, creature):
    if select(ob, 0, chain) is not None:
        press(bpy.ops.pose.chain_ik_creature_load, creature=creature)


@edit(room_for(1), control=CONTROLS, use_pole=FLAG, parent=THING)
def add_with_controls(ob, control, use_pole, parent):
    hung_on = "" if parent % 2 else bone_of(ob, parent).name
    press(bpy.ops.pose.chain_ik_add, control=control, use_pole=use_pole, parent=hung_on)


@edit(room_for(0), chain=ACTIVE, control=CONTROLS)
def add_pole(control):
    press(bpy.ops.pose.chain_ik_pole_add, control=control)


@edit(OF_ACTIVE, keep_pose=FLAG)
def remove_with_controls(keep_pose):
    press(bpy.ops.pose.chain_ik_remove, keep_pose=keep_pose, delete_controls=True)


@edit(OF_SELECTED, turn=st.integers(0, 9))
def move_bone_by_hand(ob, bone, turn):
    """Move what may be a control bone or a bone of a chain, as G and R do."""
    ob.pose.bones[bone].location = 0.3 * angles(turn)
    ob.update_tag()


@edit(OF_ACTIVE, how=MATCHINGS, use_keys=FLAG)
def match(how, use_keys):
    press(getattr(bpy.ops.pose, how), use_keys=use_keys)


@edit(OF_ACTIVE, to=st.sampled_from(("TOGGLE", "FK", "IK")))
def switch(to):
    press(bpy.ops.pose.chain_ik_switch, to=to)


@edit(OF_ACTIVE, other=THING, which=st.sampled_from(("TARGET", "POLE")), by_button=FLAG)
def switch_space(ob, chain, other, which, by_button):
    """Have a control go along with the world, a bone or an object."""
    names = ["", *ob.pose.bones.keys(), *[each.name for each in bpy.context.scene.objects]]
    space, settings = names[other % len(names)], chain_of(ob, chain)
    if by_button:
        press(bpy.ops.pose.chain_ik_switch_space, which=which, space=space)
    elif settings is not None and ob.is_editable:
        setattr(settings, "space" if which == "TARGET" else "pole_space", space)


@edit(OF_SELECTED, direction=DIRECTIONS, use_all=FLAG)
def convert(direction, use_all):
    press(bpy.ops.pose.chain_ik_convert, direction=direction, use_all=use_all)


@edit(room_for(2), control=CONTROLS)
def set_up_limbs(control):
    press(bpy.ops.pose.chain_ik_setup, control=control)


@edit(room_for(1), chain=ACTIVE)
def mirror():
    press(bpy.ops.pose.chain_ik_mirror)


@edit(
    OF_SELECTED,
    step=st.integers(1, 3),
    tolerance=st.sampled_from((0.0, 0.01)),
    which=st.sampled_from(("ACTIVE", "SELECTED", "ALL")),
)
def bake_by_steps(step, tolerance, which):
    options = {"step": step, "which": which, "tolerance": tolerance}
    press(bpy.ops.pose.chain_ik_bake, frame_start=1, frame_end=4, **options)


@edit(OF_ACTIVE)
def compare():
    """Compare the solvers: whatever becomes of that, nothing in the file is moved by it."""
    poses, places = checks.poses(), checks.placings()
    press(bpy.ops.pose.chain_ik_compare)
    assert (poses.keys(), places.keys()) == (checks.poses().keys(), checks.placings().keys())
    moved = checks.not_stable(poses, checks.poses(), checks.with_history())
    moved += checks.moved_objects(places, checks.placings())
    assert not moved, f"moved by comparing: {moved}"


@edit(OF_OWN_CHAIN, mode=st.sampled_from(("OBJECT", "POSE", "EDIT")))
def switch_modes_and_undo(ob, chain, mode):
    """Change a setting, switch the mode, and take both back."""
    press(bpy.ops.ed.undo_push, message="before")
    chain.use_flip_bend = not chain.use_flip_bend
    press(bpy.ops.ed.undo_push, message="flip")
    if enter(ob, mode) and mode == "EDIT":
        for bone in ob.data.edit_bones[:1]:
            bone.roll += 0.3
        bpy.ops.object.mode_set(mode="POSE")
    press(bpy.ops.ed.undo_push, message="mode")
    press(bpy.ops.ed.undo)
    press(bpy.ops.ed.undo)


@edit(OF_ACTIVE, how=MOVES, seed=SEED)
def drag_control(how, seed):
    press(getattr(bpy.ops.pose, how), location=place(seed))


@edit(OF_ACTIVE, angle=ANGLES)
def turn_dial(angle):
    press(bpy.ops.pose.chain_ik_turn_pole, angle=angle)


@edit(OF_ACTIVE, axis=st.sampled_from("XYZ"), end=st.sampled_from(("MIN", "MAX")), angle=ANGLES)
def drag_limit(bone, axis, end, angle):
    press(bpy.ops.pose.chain_ik_set_limit, bone=bone, turn=axis, end=end, angle=angle)


@edit(OF_SELECTED, chain=THING)
def click_handle(chain):
    press(bpy.ops.pose.chain_ik_activate, index=chain)


@edit(OF_RIG, chain=Found(lambda number, known: chain_of(known["ob"], number)))
def look_at_gizmos(ob, chain):
    """Ask for all that gizmos ask for at each redraw; a sentence that refuses is all right."""
    if ob.pose is None:
        return
    for anchor in moved_by_hand(chain):
        with suppress(IKError):
            place_of(anchor)
    with suppress(IKError):
        pole_axis(ob, chain_spec(chain))
    for name in bones_of_chain(chain):
        with suppress(IKError):
            find_ends(ob, chain_spec(chain), name)


OF_FOOT = {**OF_RIG, "foot": Found(lambda number, known: picked(feet_of(known["ob"]), number))}
CHANNEL = st.sampled_from(CHANNELS)
ROLLS = st.sampled_from((0.0, 0.3, 0.8, 1.4, -0.4, 3.2, -9.0))


def roll(foot: bpy.types.PoseBone, channel: str, angle: float) -> None:
    """Roll a foot, and tell Blender of it as its own slider does."""
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
    """Delete a part of what rolls a foot, or its toes; what is left says what it lacks."""
    name = picked(bones_of_feet(ob), which)
    if name is not None and enter(ob, "EDIT"):
        ob.data.edit_bones.remove(ob.data.edit_bones[name])
    leave_modes()
