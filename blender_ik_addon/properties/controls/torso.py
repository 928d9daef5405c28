"""The torso of a whole body: the control that the hips follow by a chain of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import bpy
import numpy as np

from ...core.model.message import Message
from ...rig.anatomy.free_bones import free_bones
from ...rig.anatomy.hierarchy import find_hips
from ...rig.anatomy.limbs import Limb, LimbKind
from ...rig.controls.control_spaces import (
    add_space,
    anchor_exists,
    controls_with_space,
    is_keyed,
    move_to,
    replace_space,
    set_space,
    spaces_of,
)
from ...rig.keying.keys import ChannelKeys, write_keys
from ...rig.keying.library_changes import reference_of
from ...rig.keying.playing import live_disabled, preserve_frame
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.planning.order import PlannedChain
from ...rig.planning.written_locations import check_moved
from ...rig.reading.animation import bone_of_path, curves, keyed_frames
from ...rig.reading.chain_plan import plan_chain
from ...rig.reading.dependencies import Dependencies
from ...rig.reading.refusals import RigError
from ...rig.reading.spec import Anchor, BodyGoal, ChainSpec
from ...rig.tools.controls import torso_goal
from ...rig.tools.fk_ik import anchor_channels, key_anchors, match_controls
from ..chain_lists import add_chain
from ..chains import body_of, chains_of
from ..records import bones_of_chains
from .bodies import OTHER_PRIORITY, spaces_muted
from .hierarchy import hips_chain, remove_belt, sharer_of, torso_of
from .space_names import movers

LEGS = frozenset((LimbKind.LEG, LimbKind.SPIDER_LEG))


def hips_of_body(armature_object: bpy.types.Object, limbs: Sequence[Limb]) -> str:
    """Return the bone that can be the root of a whole body.

    The limbs are all that are found by their names.

    Raises:
        RigError: If no bone can, if the body cannot move it, or if there is a whole body already.
    """
    skeleton = skeleton_of(armature_object)
    hips: str = armature_object.chain_ik.body.root
    if not hips:
        is_free = free_bones(armature_object, skeleton)
        index = find_hips(skeleton, is_free, [limb.bones for limb in limbs])
        if index is None:
            # No names tell the limbs: they are the bones that have chains.
            driven = [bones for bones in bones_of_chains(armature_object) if bones]
            index = find_hips(skeleton, is_free, driven)
        if index is None:
            raise RigError(
                "No bone was found that carries all limbs: choose the bone of the hips as Root in"
                " the panel Whole Body."
            )
        hips = skeleton.names[index]
    elif hips not in skeleton.index:
        raise RigError(_missing_root(hips))
    if is_whole_body(armature_object):
        raise RigError("These chains are a whole body already: nothing has changed.")
    _check_hips(armature_object, hips)
    return hips


def has_torso(armature_object: bpy.types.Object, hips: str) -> bool:
    """Tell whether the hips of a body follow a control that still exists."""
    torso = torso_of(armature_object, hips)
    return torso != Anchor(armature_object, hips) and anchor_exists(torso)


def is_whole_body(armature_object: bpy.types.Object) -> bool:
    """Tell whether the chains are one body already, with a control of its hips."""
    body = body_of(armature_object)
    return body is not None and has_torso(armature_object, body.root)


def lost_root(armature_object: bpy.types.Object) -> str:
    """Return a message if the root of a body does not exist; empty otherwise."""
    body = body_of(armature_object)
    if body is None or armature_object.pose is None or body.root in armature_object.pose.bones:
        return ""
    return _missing_root(body.root)


def _missing_root(hips: str) -> str:
    return Message(
        "Bone '{hips}', the root of the body, does not exist: choose another Root.", hips=hips
    )


def _check_hips(armature_object: bpy.types.Object, hips: str) -> None:
    """Raise a ``RigError`` if a body could not move its hips."""
    other, linked = sharer_of(armature_object), reference_of(armature_object)
    # ``other`` may be another copy instead of the linked original, so the original is checked.
    has_chains = isinstance(linked, bpy.types.Object) and bool(chains_of(linked))
    if has_chains and other is not None:
        raise RigError(
            "Object '{name}' is a library override of a character with chains: make the whole body"
            " in the file that it is linked from.",
            name=armature_object.name,
        )
    if other is not None:
        raise RigError(
            "Object '{name}' has chains on the same armature: give this object its own armature"
            " (Object > Relations > Make Single User).",
            name=other.name,
        )
    skeleton = skeleton_of(armature_object)
    spec = replace(_hips_spec(hips), body=BodyGoal(hips))
    moved_by = Dependencies().freeze()
    chain = PlannedChain(armature_object, 0, spec, plan_chain(skeleton, spec), moved_by)
    # A body mutes the spaces of its hips itself.
    with spaces_muted(Anchor(armature_object, hips)):
        check_moved(chain)


def hang_hips(
    armature_object: bpy.types.Object,
    hips: str,
    torso: Anchor,
    scene: bpy.types.Scene,
    view_layer: bpy.types.ViewLayer,
    new: bpy.types.AddonPreferences,
) -> None:
    """Let the hips follow a control, which replaces them as the space of other controls.

    The hips get a chain if they have none. Nothing moves. Keys of the hips stay, and the control
    gets keys at the same frames. The torso must be evaluated, by the view layer; the scene plays
    the keys of the hips.
    """
    pelvis = Anchor(armature_object, hips)
    bone = armature_object.pose.bones[hips]
    goals = {torso: torso_goal(armature_object, hips)}
    carriers = spaces_of(pelvis)
    if bone.parent is not None:
        carriers = [Anchor(armature_object, bone.parent.name)]
    elif not (torso.bone or carriers):
        carriers = [Anchor(armature_object)]
    for carrier in carriers:
        add_space(torso, carrier)
    if carriers:
        set_space(torso, carriers[0])
    match_controls(goals, view_layer)
    if is_keyed(pelvis):
        _key_as_hips(pelvis, torso, scene)
    for control, constraint in controls_with_space(pelvis):
        if control.object.is_editable:
            replace_space(constraint, control, torso)
    remove_belt(bone)
    chain = hips_chain(armature_object, hips)
    if chain is not None:
        # The control of the chain was deleted.
        chain.target, chain.subtarget = torso.object, torso.bone
        return
    spec = replace(_hips_spec(hips), target=torso)
    add_chain(armature_object, spec, 1, new).priority = OTHER_PRIORITY


def _key_as_hips(hips: Anchor, torso: Anchor, scene: bpy.types.Scene) -> None:
    """Key a control at the frames where the hips have keys, at the place of the hips."""
    kinds = {
        point.co.x: point.interpolation
        for curve in curves(hips.object)
        if (bone_of_path(curve.data_path) or ("",))[0] == hips.bone
        for point in curve.keyframe_points
    }
    frames = sorted(keyed_frames(hips.object, {hips.bone}))
    if not frames:
        return
    (channels,) = anchor_channels([torso]).values()
    values = []
    # Chains that do not move the hips need not be solved at each frame.
    moved_by = Dependencies.of(hips)
    is_moved = any(moved_by.has_any(mover.object, mover.bones) for mover in movers())
    with nullcontext() if is_moved else live_disabled(scene), preserve_frame(scene):
        for frame in frames:
            scene.frame_set(math.floor(frame), subframe=frame % 1.0)
            move_to(torso, torso_goal(hips.object, hips.bone))
            values.append([channel.value(torso.object) for channel in channels])
        # Blender creates the action and the groups here, with its usual names.
        key_anchors([torso], frames[-1])
        rows = zip(channels, np.array(values).T, strict=True)
        keys = [ChannelKeys(channel, np.array(frames), row) for channel, row in rows]
        new = bpy.context.preferences.edit.keyframe_new_interpolation_type
        write_keys(torso.object, keys, [kinds.get(frame, new) for frame in frames])


def pin_legs(armature_object: bpy.types.Object, limbs: Sequence[Limb]) -> None:
    """Pin the chains of all legs."""
    feet = {bone for limb in limbs if limb.kind in LEGS for bone in (limb.bones[-1], limb.end)}
    for chain in chains_of(armature_object):
        if chain.bone in feet:
            chain.use_pin = True


def _hips_spec(hips: str) -> ChainSpec:
    """Return the chain of the hips, without a target."""
    return ChainSpec("Hips", hips, chain_count=1, use_rotation=True)
