"""What every example has; armatures from tables of bones, chains, controls that are keyed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import bpy
from mathutils import Matrix, Vector

from window.driver import select_bones

Point = tuple[float, float, float]
# What a camera looks at and how far away it is, metres; its angles about X and Z, degrees.
Look = tuple[Point, float, tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Example:
    """One example file.

    Attributes:
        name: Of the file, without its ending.
        build: Fills the empty file and returns the armature object to pose first.
        control: Bone of that armature, or else object, that a person is to grab first.
        frames: The loop goes from frame 1 to this one.
        pictured: Frame of the picture.
        look: Of the camera, and of the 3D view.
        giving_way: Chains of a whole body that need not reach: others go before them.
    """

    name: str
    build: Callable[[], bpy.types.Object]
    control: str
    frames: int
    pictured: int
    look: Look
    giving_way: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Bone:
    """One bone at rest, metres.

    Attributes:
        head: Where it begins.
        tail: Where it ends.
        parent: Name of the bone that it hangs under; empty for none.
        bends_to: Where a positive turn about its own X axis takes its tail; None for no roll.
    """

    head: Point
    tail: Point
    parent: str = ""
    bends_to: Point | None = (0.0, 0.0, 1.0)


def bones_along(
    names: Sequence[str],
    joints: Sequence[Point],
    parent: str = "",
    bends_to: Point | None = (0.0, 0.0, 1.0),
) -> dict[str, Bone]:
    """Return the bones of a chain from joint to joint, the first of them under a parent."""
    above = [parent, *names]
    return {
        name: Bone(joints[i], joints[i + 1], above[i], bends_to) for i, name in enumerate(names)
    }


def add_rig(name: str, bones: dict[str, Bone]) -> bpy.types.Object:
    """Return a new armature object with these bones, active and in object mode."""
    armature = bpy.data.armatures.new(name)
    armature.display_type = "STICK"
    rig = bpy.data.objects.new(name, armature)
    move_to_collection(rig, name)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for key, bone in bones.items():
        edit_bone = armature.edit_bones.new(key)
        edit_bone.head, edit_bone.tail = bone.head, bone.tail
        if bone.bends_to:
            edit_bone.align_roll(Vector(bone.bends_to))
        if bone.parent:
            edit_bone.parent = armature.edit_bones[bone.parent]
            gap = (edit_bone.head - edit_bone.parent.tail).length
            edit_bone.use_connect = gap < 1e-6
    bpy.ops.object.mode_set(mode="OBJECT")
    collection = armature.collections.new("Bones")
    for key in bones:
        collection.assign(armature.bones[key])
        rig.pose.bones[key].rotation_mode = "QUATERNION"
    return rig


def hang_chain(
    rig: bpy.types.Object, name: str, bone: str, target: bpy.types.Object, **settings: object
) -> bpy.types.PropertyGroup:
    """Add a chain to a rig by its settings alone, and return it."""
    chain = rig.chain_ik.chains.add()
    chain.name, chain.target = name, target
    # Last: its tip says that the chain is complete.
    for key, value in (*settings.items(), ("bone", bone)):
        setattr(chain, key, value)
    return chain


def add_empty(
    name: str, place: Iterable[float], size: float, kind: str = "PLAIN_AXES", collection: str = ""
) -> bpy.types.Object:
    """Return a new empty in a collection, else in the scene's own."""
    empty = bpy.data.objects.new(name, None)
    empty.empty_display_type, empty.empty_display_size = kind, size
    empty.location = place
    if collection:
        move_to_collection(empty, collection)
    else:
        bpy.context.scene.collection.objects.link(empty)
    return empty


def add_chain(
    rig: bpy.types.Object, name: str, bones: list[str], **options: object
) -> bpy.types.PropertyGroup:
    """Put a chain on bones as the button + of the sidebar does, and return its settings.

    The rig is the active object; bones come root first, with the hand or foot that is to turn.
    """
    bpy.ops.object.mode_set(mode="POSE")
    select_bones(rig, *bones)
    bpy.ops.pose.chain_ik_add(**options)
    bpy.ops.object.mode_set(mode="OBJECT")
    chain = rig.chain_ik.chains[-1]
    chain.name = name
    return chain


def key_bone(
    rig: bpy.types.Object, name: str, frames: int, place: Callable[[float], Matrix], step: int = 2
) -> None:
    """Key a bone without parents along a loop, as ``key_object`` does; in armature space."""
    to_rest = rig.data.bones[name].matrix_local.inverted()
    key_object(rig.pose.bones[name], frames, lambda passed: to_rest @ place(passed), step)


def key_object(
    item: bpy.types.Object | bpy.types.PoseBone,
    frames: int,
    place: Callable[[float], Matrix],
    step: int = 2,
) -> None:
    """Key an object along a loop, by its matrix at a share of it, each so many frames."""
    item.rotation_mode = "QUATERNION"
    for frame in key_frames(frames, step):
        item.matrix_basis = place((frame - 1) / frames)
        item.keyframe_insert("location", frame=frame)
        item.keyframe_insert("rotation_quaternion", frame=frame)


def eased(share: float) -> float:
    """Return a share of a way that begins and ends slowly."""
    return share * share * (3.0 - 2.0 * share)


def key_frames(frames: int, step: int) -> Iterable[int]:
    """Return frames to key; the last one is past the end, where the loop closes."""
    return range(1, frames + step + 1, step)


def placed(position: Iterable[float], along: Point, up: Point = (0.0, 0.0, 1.0)) -> Matrix:
    """Return the matrix of a bone at a position whose Y points along, and Z up if it can."""
    y = Vector(along).normalized()
    x = y.cross(Vector(up)).normalized()
    matrix = Matrix((x, y, x.cross(y))).transposed().to_4x4()
    matrix.translation = Vector(position)
    return matrix


def colour_chain(rig: bpy.types.Object, names: Iterable[str], palette: str) -> None:
    """Give bones one of the colours of the theme."""
    for name in names:
        rig.pose.bones[name].color.palette = palette


def move_to_collection(item: bpy.types.Object, name: str) -> None:
    """Put an object into one collection of the scene, which is made if there is none."""
    collection = bpy.data.collections.get(name)
    if collection is None:
        collection = bpy.data.collections.new(name)
        bpy.context.scene.collection.children.link(collection)
    for former in item.users_collection:
        former.objects.unlink(item)
    collection.objects.link(item)
