"""What random edits take hold of: things found by number, places by seed, channels written down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from tests.blender.edits.random_draws import Found, Known, press
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
"""Of bones and objects, with how many numbers they have."""


def place(seed: int) -> npt.NDArray[np.float64]:
    """Return a place near the rigs, some of them far off."""
    spread = (0.7, 1.5, 1.5, 4.0)[seed % 4]
    return np.round(make_rng(seed).uniform(-spread, spread, 3) + np.array([0.0, 0.0, 1.0]), 2)


PLACE = Found(lambda number, _: place(number), SEED)


def angles(seed: int) -> npt.NDArray[np.float64]:
    """Return Euler angles; none for seed 0."""
    return np.round(make_rng(seed).uniform(-1.5, 1.5, 3) * (seed > 0), 2)


TURN = Found(lambda number, _: angles(number), SEED)


def picked(things: Any, number: int) -> Any:
    """Return one of things, counted round; None without any."""
    found = list(things)
    return found[number % len(found)] if found else None


def count_objects() -> int:
    return len(bpy.context.scene.objects)


def any_object(number: int, kinds: Callable[[bool], bool] = lambda is_rig: True) -> Any:
    """Return an object of the scene, in the order of names: of any kind, or of some."""
    objects = bpy.context.scene.objects
    name = picked(sorted(ob.name for ob in objects if kinds(ob.type == "ARMATURE")), number)
    return None if name is None else objects.get(name)


def other_object(number: int) -> bpy.types.Object | None:
    """Return one that is no armature: a target or pole."""
    return any_object(number, lambda is_rig: not is_rig)


def armature(number: int) -> bpy.types.Object | None:
    return any_object(number, bool)


def bone_of(ob: bpy.types.Object | None, number: int) -> bpy.types.PoseBone | None:
    return None if ob is None or ob.pose is None else picked(ob.pose.bones, number)


def chain_of(ob: bpy.types.Object, number: int) -> bpy.types.PropertyGroup | None:
    return picked(ob.chain_ik.chains, number)


def _editable(ob: bpy.types.Object | None, part: str = "") -> bpy.types.Object | None:
    """Return an object of which itself, or its data, can be edited."""
    return ob if ob is not None and (ob.data if part else ob).is_editable else None


BONE = Found(lambda number, known: bone_of(known["ob"], number))
CHAIN = Found(lambda number, known: chain_of(known["ob"], number))
OF_OBJECT = {"ob": Found(lambda number, _: any_object(number))}
OF_OWN_OBJECT = {"ob": Found(lambda number, _: _editable(any_object(number)))}
"""Of one that is not linked: Blender keeps what is done to it."""
OF_TARGET = {"ob": Found(lambda number, _: other_object(number))}
OF_RIG = {"ob": Found(lambda number, _: armature(number))}
OF_OWN_RIG = {"ob": Found(lambda number, _: _editable(armature(number)))}
OF_OWN_BONES = {"ob": Found(lambda number, _: _editable(armature(number), "data"))}
OF_BONE = {**OF_RIG, "bone": BONE}
OF_CHAIN = {**OF_RIG, "chain": CHAIN}
OF_OWN_CHAIN = {**OF_OWN_RIG, "chain": CHAIN}


def armatures() -> Iterator[bpy.types.Object]:
    """Yield all armature objects that have a pose, those outside of the scene too."""
    return (ob for ob in bpy.data.objects if ob.type == "ARMATURE" and ob.pose is not None)


def driven_in_order(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> list[str]:
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


def carrying(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> list[str]:
    """Return the names of the bones of its body that carry what a chain drives."""
    own, body = driven_in_order(ob, chain), ob.chain_ik.body
    if not (own and body.use_body):
        return []
    above = [bone.name for bone in ob.pose.bones[own[0]].parent_recursive]
    return above[: above.index(body.root) + 1] if body.root in above else []


def hand_of(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> str:
    """Return the one bone at the tail of the tip if that takes the target's rotation, else ""."""
    if not (chain.use_tail and chain.use_rotation and chain.rotation_bone == "AUTO"):
        return ""
    tip = ob.data.bones[chain.bone]
    at_tail = [
        child.name
        for child in tip.children
        if child.use_connect or (child.head_local - tip.tail_local).length <= 1e-3 * tip.length
    ]
    return at_tail[0] if len(at_tail) == 1 else ""


def driven(ob: bpy.types.Object) -> set[str]:
    """Return the names of the bones that any chain of an object may write, muted ones too.

    That is those that it drives, and those that it has driven and still has to give back.
    """
    found: set[str] = set()
    for chain in ob.chain_ik.chains:
        found.update(name for name in ob.pose.bones.keys() if json.dumps(name) in chain.stored_pose)
        found.update(driven_in_order(ob, chain), carrying(ob, chain))
    return found


class Channels(NamedTuple):
    """What all channels of a thing hold, as stored."""

    names: tuple[str, ...]
    values: Values


def channels_of(ob: bpy.types.Object) -> Channels:
    """Return the channels of all bones of an armature object, one row a bone."""
    bones = ob.pose.bones
    columns = []
    for name, size in CHANNELS.items():
        buffer = np.empty(len(bones) * size, dtype=np.float32)
        bones.foreach_get(name, buffer)
        columns.append(buffer.reshape(-1, size))
    return Channels(tuple(bones.keys()), np.hstack(columns))


def enter(ob: bpy.types.Object, mode: str) -> bool:
    """Make an object the active one and switch its mode, if it can be; tell whether it was."""
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
    """Go to object mode, as most operators want."""
    active = bpy.context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        press(bpy.ops.object.mode_set, mode="OBJECT")


def select(ob: bpy.types.Object, number: int, chain: int = 0) -> str | None:
    """Select a bone in pose mode and make a chain the active one; None if that cannot be done."""
    bone = bone_of(ob, number)
    name = None if bone is None else bone.name
    if name is None or not enter(ob, "POSE"):
        return None
    select_bones(ob, [name])
    if ob.chain_ik.chains:
        ob.chain_ik.active_index = chain % len(ob.chain_ik.chains)
    return name


def _activate(number: int, known: Known) -> int:
    ob = known["ob"]
    if ob.chain_ik.chains:
        ob.chain_ik.active_index = number % len(ob.chain_ik.chains)
    return number


SELECTED = Found(lambda number, known: select(known["ob"], number, known.get("chain", 0)))
OF_SELECTED = {**OF_RIG, "bone": SELECTED}
"""A rig in pose mode, and the name of the one bone that is selected."""
OF_ACTIVE = {**OF_SELECTED, "chain": Found(_activate)}
"""The same, and the number of the active chain."""


def make_limb(seed: int, name: str = "Rig") -> bpy.types.Object:
    """Return a rig of one to four bones in a line, one beside them and one that they hang on."""
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
    """Return hips with two legs, of which so many are set up with feet that roll."""
    ob = rigs.make_rig([(0, 0, 1), (0, 0, 1.2), (0, 0, 1.6)], name="Other")
    joints = np.array([(0.1, 0, 1), (0.1, -0.05, 0.5), (0.1, 0, 0.1), (0.1, -0.2, 0)])
    for side, sign in (("L", 1.0), ("R", -1.0)):
        ends = np.vstack((joints, (0.1, -0.3, 0.0))) * (sign, 1.0, 1.0)
        for old, word in zip(
            rigs.add_bones(ob, ends, prefix="New", parent="Bone.0"),
            ("thigh", "shin", "foot", "toe"),
            strict=True,
        ):
            ob.data.bones[old].name = f"{word}.{side}"
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
"""What the scene of a file is drawn of.

Seeds of two rigs, how many view layers, and of the first rig: whether a second chain shares a bone
with its first one, its bones have limits, its target and influence are keyed, and the settings of
its chain. Of the second one how many feet roll; it is a limb if none does.
"""


def make_scene(drawn: dict[str, Any]) -> None:
    for number in range(1, drawn["layers"]):
        bpy.context.scene.view_layers.new(f"Layer {number}")
    first = drawn["first"]
    for name, seed in (("Rig", first), ("Other", drawn["second"])):
        target = rigs.make_empty(f"{name} Target", place(seed + 1))
        rigs.make_empty(f"{name} Pole", place(seed + 2))
        if drawn["feet"] and name == "Other":
            make_legs(seed, drawn["feet"])
        else:
            rigs.add_chain(make_limb(seed, name), f"Bone.{seed % 4}", target)
    ob, target = bpy.data.objects["Rig"], bpy.data.objects["Rig Target"]
    chain = ob.chain_ik.chains[0]
    for name, value in drawn["settings"].items():
        setattr(chain, name, value)
    if drawn["is_tree"]:
        rigs.add_chain(ob, "Beside.0", rigs.make_empty("Side Target", place(first + 3)))
    if drawn["is_limited"]:
        rigs.limit_bones(ob, x=(-0.3, 0.5), z=(-0.4, 0.4))
    if drawn["is_keyed"]:
        rigs.key(target, "location", {1: place(first + 1), 4: place(first + 4)})
        ramp_influence(ob.chain_ik.chains[0], 0.0)
    bpy.context.view_layer.update()


def ramp_influence(chain: bpy.types.PropertyGroup, value: float) -> None:
    for frame, influence in ((2, value), (4, 1.0)):
        chain.influence = influence
        chain.keyframe_insert("influence", frame=frame)
