"""The scene of random edits: things by number, places by seed, and channels as arrays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from tests.blender.edits.random_draws import Arguments, Lookup, press
from tests.blender.edits.random_values import FLAG, SEED, integers, sampled
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_bones
from tests.helpers import make_rng

Values = npt.NDArray[np.float32]

CHANNELS = {
    "location": 3,
    "scale": 3,
    "rotation_quaternion": 4,
    "rotation_euler": 3,
    "rotation_axis_angle": 4,
}
"""Channels of bones and objects, with their sizes."""


def place(seed: int) -> npt.NDArray[np.float64]:
    """Return a place near the rigs, or far from them for one seed of four."""
    spread = (0.7, 1.5, 1.5, 4.0)[seed % 4]
    return np.round(make_rng(seed).uniform(-spread, spread, 3) + np.array([0.0, 0.0, 1.0]), 2)


PLACE = Lookup(lambda number, _: place(number), SEED)


def angles(seed: int) -> npt.NDArray[np.float64]:
    """Return Euler angles; zeros for seed 0."""
    return np.round(make_rng(seed).uniform(-1.5, 1.5, 3) * (seed > 0), 2)


TURN = Lookup(lambda number, _: angles(number), SEED)


def pick(things: Any, number: int) -> Any:
    """Return the thing of a number, modulo their count; None if there are none."""
    choices = list(things)
    return choices[number % len(choices)] if choices else None


def count_objects() -> int:
    return len(bpy.context.scene.objects)


def any_object(number: int, kinds: Callable[[bool], bool] = lambda is_rig: True) -> Any:
    """Return an object of the scene, in the order of names: of any kind, or of some kinds."""
    objects = bpy.context.scene.objects
    name = pick(sorted(ob.name for ob in objects if kinds(ob.type == "ARMATURE")), number)
    return None if name is None else objects.get(name)


def other_object(number: int) -> bpy.types.Object | None:
    """Return an object other than an armature: a target or pole."""
    return any_object(number, lambda is_rig: not is_rig)


def armature(number: int) -> bpy.types.Object | None:
    return any_object(number, bool)


def bone_of(ob: bpy.types.Object | None, number: int) -> bpy.types.PoseBone | None:
    return None if ob is None or ob.pose is None else pick(ob.pose.bones, number)


def chain_of(ob: bpy.types.Object, number: int) -> bpy.types.PropertyGroup | None:
    return pick(ob.chain_ik.chains, number)


def _editable(ob: bpy.types.Object | None, part: str = "") -> bpy.types.Object | None:
    """Return an object if it, or with ``part`` its data, can be edited, otherwise None."""
    return ob if ob is not None and (ob.data if part else ob).is_editable else None


BONE = Lookup(lambda number, arguments: bone_of(arguments["ob"], number))
CHAIN = Lookup(lambda number, arguments: chain_of(arguments["ob"], number))
OF_OBJECT = {"ob": Lookup(lambda number, _: any_object(number))}
EDITABLE_OBJECT = {"ob": Lookup(lambda number, _: _editable(any_object(number)))}
"""An object that is not linked: Blender saves its changes."""
OF_TARGET = {"ob": Lookup(lambda number, _: other_object(number))}
OF_RIG = {"ob": Lookup(lambda number, _: armature(number))}
EDITABLE_RIG = {"ob": Lookup(lambda number, _: _editable(armature(number)))}
EDITABLE_BONES = {"ob": Lookup(lambda number, _: _editable(armature(number), "data"))}
OF_BONE = {**OF_RIG, "bone": BONE}
OF_CHAIN = {**OF_RIG, "chain": CHAIN}
EDITABLE_CHAIN = {**EDITABLE_RIG, "chain": CHAIN}


def armatures() -> Iterator[bpy.types.Object]:
    """Yield all armature objects that have a pose, also those outside the scene."""
    return (ob for ob in bpy.data.objects if ob.type == "ARMATURE" and ob.pose is not None)


def chain_bones(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> list[str]:
    """Return the names of the bones that a chain drives, root first."""
    tip = ob.pose.bones.get(chain.bone)
    if tip is None:
        return []
    upward = [tip, *tip.parent_recursive]
    bones = upward if chain.use_tail else upward[1:]
    bones = bones[: chain.chain_count or len(bones)][::-1]
    hand = hand_of(ob, chain)
    if chain.use_rotation and not chain.use_tail:
        bones.append(tip)
    elif hand:
        bones.append(ob.pose.bones[hand])
    return [bone.name for bone in bones]


def body_bones(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> list[str]:
    """Return the names of the bones of a body that are above the bones of a chain."""
    bones, body = chain_bones(ob, chain), ob.chain_ik.body
    if not (bones and body.use_body):
        return []
    above = [bone.name for bone in ob.pose.bones[bones[0]].parent_recursive]
    return above[: above.index(body.root) + 1] if body.root in above else []


def hand_of(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> str:
    """Return the only bone at the tip's tail if it takes the target's rotation, otherwise ""."""
    if not (chain.use_tail and chain.use_rotation and chain.rotation_bone == "AUTO"):
        return ""
    tip = ob.data.bones[chain.bone]
    at_tail = [
        child.name
        for child in tip.children
        if child.use_connect or (child.head_local - tip.tail_local).length <= 1e-3 * tip.length
    ]
    return at_tail[0] if len(at_tail) == 1 else ""


def driven_bones(ob: bpy.types.Object) -> set[str]:
    """Return the names of the bones that the chains of an object may write, muted chains too.

    These are the bones that a chain drives, and those of its stored pose, not yet restored.
    """
    names: set[str] = set()
    for chain in ob.chain_ik.chains:
        names.update(name for name in ob.pose.bones.keys() if json.dumps(name) in chain.stored_pose)
        names.update(chain_bones(ob, chain), body_bones(ob, chain))
    return names


class Channels(NamedTuple):
    """The values of all channels, as stored, with the names of the rows."""

    names: tuple[str, ...]
    values: Values


def channels_of(ob: bpy.types.Object) -> Channels:
    """Return the channels of all bones of an armature object, one row for each bone."""
    bones = ob.pose.bones
    columns = []
    for name, size in CHANNELS.items():
        buffer = np.empty(len(bones) * size, dtype=np.float32)
        bones.foreach_get(name, buffer)
        columns.append(buffer.reshape(-1, size))
    return Channels(tuple(bones.keys()), np.hstack(columns))


def enter(ob: bpy.types.Object, mode: str) -> bool:
    """Make an object active and switch its mode if possible; return whether it has this mode."""
    view_layer = bpy.context.view_layer
    active = view_layer.objects.active
    if active is not None and active.mode != "OBJECT" and active != ob:
        press(bpy.ops.object.mode_set, mode="OBJECT")
    if not ob.is_editable or ob.data is None or not ob.data.is_editable:
        return False
    view_layer.update()
    if ob.name not in view_layer.objects or not ob.visible_get() or ob.hide_viewport:
        return False
    view_layer.objects.active = ob
    press(bpy.ops.object.mode_set, mode=mode)
    return ob.mode == mode


def leave_modes() -> None:
    """Go to object mode, which most operators need."""
    active = bpy.context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        press(bpy.ops.object.mode_set, mode="OBJECT")


def update_layers_of_edited() -> None:
    """Evaluate all view layers if an armature is in edit mode, the shown one last.

    Blender 5.2 itself crashes when it evaluates a view layer where this armature had fewer bones.
    It does not if the armature has been tagged just before.
    """
    edited = [ob.data for ob in bpy.context.scene.objects if ob.mode == "EDIT"]
    layers = [*bpy.context.scene.view_layers, bpy.context.view_layer]
    for layer in layers if edited else ():
        for data in edited:
            data.update_tag()
        layer.update()


def select(ob: bpy.types.Object, number: int, chain: int = 0) -> str | None:
    """Select a bone in pose mode and activate a chain; return its name, or None if impossible."""
    bone = bone_of(ob, number)
    name = None if bone is None else bone.name
    if name is None or not enter(ob, "POSE"):
        return None
    select_bones(ob, [name])
    if ob.chain_ik.chains:
        ob.chain_ik.active_index = chain % len(ob.chain_ik.chains)
    return name


def _activate(number: int, arguments: Arguments) -> int:
    ob = arguments["ob"]
    if ob.chain_ik.chains:
        ob.chain_ik.active_index = number % len(ob.chain_ik.chains)
    return number


SELECTED = Lookup(lambda number, values: select(values["ob"], number, values.get("chain", 0)))
OF_SELECTED = {**OF_RIG, "bone": SELECTED}
"""A rig in pose mode, and the name of its only selected bone."""
OF_ACTIVE = {**OF_SELECTED, "chain": Lookup(_activate)}
"""The same, and the number of the active chain."""


def make_limb(seed: int, name: str = "Rig") -> bpy.types.Object:
    """Return a rig of one to four bones in a line, one beside them, and a parent above."""
    ob = rigs.make_armature(name)
    mode = rigs.ROTATION_MODES[seed % len(rigs.ROTATION_MODES)] if seed % 3 else "QUATERNION"
    rigs.add_bones(ob, ((0, 0, -0.5), (0, 0, 0)), prefix="Above")
    joints = rigs.zigzag(1 + seed % 4, seed, 2.0 / (1 + seed % 4))
    rigs.add_bones(ob, joints, parent="Above.0", is_connected=seed % 2 == 0, modes=mode)
    rigs.add_bones(ob, ((0.2, 0, 1), (0.8, 0, 1)), prefix="Beside", parent="Bone.0")
    if seed % 2:
        rigs.turn_bones(ob, seed)
    ob.location = np.round(make_rng(seed).uniform(-1.0, 1.0, 3), 1)
    return ob


def make_legs(seed: int, count: int) -> bpy.types.Object:
    """Return hips with two legs, ``count`` of them set up with feet that roll."""
    ob = rigs.make_rig([(0, 0, 1), (0, 0, 1.2), (0, 0, 1.6)], name="Other")
    joints = np.array([(0.1, 0, 1), (0.1, -0.05, 0.5), (0.1, 0, 0.1), (0.1, -0.2, 0)])
    for side, sign in (("L", 1.0), ("R", -1.0)):
        ends = np.vstack((joints, (0.1, -0.3, 0.0))) * (sign, 1.0, 1.0)
        for old, part in zip(
            rigs.add_bones(ob, ends, prefix="New", parent="Bone.0"),
            ("thigh", "shin", "foot", "toe"),
            strict=True,
        ):
            ob.data.bones[old].name = f"{part}.{side}"
    select_bones(ob, [f"foot.{side}" for side in "LR"[:count]])
    press(bpy.ops.pose.chain_ik_setup, scope="SELECTED", control="BONE")
    rigs.enter(ob, "OBJECT")
    ob.location = np.round(make_rng(seed).uniform(-1.0, 1.0, 3), 1)
    return ob


START = {
    "first": SEED,
    "second": SEED,
    "layers": integers(1, 3),
    "is_tree": FLAG,
    "is_limited": FLAG,
    "is_keyed": FLAG,
    "settings": sampled(
        (
            {},
            {"start_from": "CURRENT"},
            {"solver": "FABRIK"},
            {"influence": 0.4},
            {"solver": "CCD", "start_from": "CURRENT", "influence": 0.7},
            {"weight": 0.3},
        )
    ),
    "feet": sampled((0, 0, 0, 1, 2)),
}
"""Parameters of the start scene of a file.

Seeds of two rigs, and the number of view layers. Of the first rig: whether a second chain shares a
bone with its first one, its bones have limits, or its target and influence are keyed, and the
settings of its chain. Of the second rig: the number of feet that roll; without any it is a limb.
"""


def make_scene(values: dict[str, Any]) -> None:
    for number in range(1, values["layers"]):
        bpy.context.scene.view_layers.new(f"Layer {number}")
    first = values["first"]
    for name, seed in (("Rig", first), ("Other", values["second"])):
        target = rigs.make_empty(f"{name} Target", place(seed + 1))
        rigs.make_empty(f"{name} Pole", place(seed + 2))
        if values["feet"] and name == "Other":
            make_legs(seed, values["feet"])
        else:
            rigs.add_chain(make_limb(seed, name), f"Bone.{seed % 4}", target)
    ob, target = bpy.data.objects["Rig"], bpy.data.objects["Rig Target"]
    chain = ob.chain_ik.chains[0]
    for name, value in values["settings"].items():
        setattr(chain, name, value)
    if values["is_tree"]:
        rigs.add_chain(ob, "Beside.0", rigs.make_empty("Side Target", place(first + 3)))
    if values["is_limited"]:
        rigs.limit_bones(ob, x=(-0.3, 0.5), z=(-0.4, 0.4))
    if values["is_keyed"]:
        rigs.key(target, "location", {1: place(first + 1), 4: place(first + 4)})
        ramp_influence(ob.chain_ik.chains[0], 0.0)
    bpy.context.view_layer.update()


def ramp_influence(chain: bpy.types.PropertyGroup, value: float) -> None:
    for frame, influence in ((2, value), (4, 1.0)):
        chain.influence = influence
        chain.keyframe_insert("influence", frame=frame)
