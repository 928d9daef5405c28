"""Armatures from tables of bones, chains, and keyed controls of the examples."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

import bpy
from mathutils import Matrix, Vector

from window.driver import select_bones

Point = tuple[float, float, float]
# Centre of a view and distance of the camera, metres; its angles about X and Z, degrees.
Look = tuple[Point, float, tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Example:
    """An example file.

    Attributes:
        name: Name of the file without its ending.
        build: Function that fills the empty file and returns the armature object to pose first.
        control: Bone of that armature, otherwise an object, that a person grabs first.
        frames: Last frame of the loop, which starts at frame 1.
        pictured: Frame of the picture.
        look: View of the camera and the 3D view.
        giving_way: Chains of a whole body that may miss their targets in favour of others.
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
    """A bone at rest, metres.

    Attributes:
        head: Position of the head.
        tail: Position of the tail.
        parent: Name of the parent bone; empty for none.
        bends_to: Direction of its Z axis, to which a turn about X moves the tail; None for no roll.
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
    """Return the bones of a chain from joint to joint, the first one with a parent."""
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


def add_chain_data(
    rig: bpy.types.Object, name: str, bone: str, target: bpy.types.Object, **settings: object
) -> bpy.types.PropertyGroup:
    """Add a chain to a rig through its properties, without an operator, and return it."""
    chain = rig.chain_ik.chains.add()
    chain.name, chain.target = name, target
    # Set the tip bone last: with it, the chain is complete.
    for key, value in (*settings.items(), ("bone", bone)):
        setattr(chain, key, value)
    return chain


def add_empty(
    name: str, place: Iterable[float], size: float, kind: str = "PLAIN_AXES", collection: str = ""
) -> bpy.types.Object:
    """Return a new empty in a collection, otherwise in the collection of the scene."""
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
    """Add a chain to bones as the button + of the sidebar does, and return its settings.

    The rig is the active object. Bones are root first, with the hand or foot that rotates.
    """
    bpy.ops.object.mode_set(mode="POSE")
    select_bones(rig, *bones)
    bpy.ops.pose.chain_ik_add(**options)
    bpy.ops.object.mode_set(mode="OBJECT")
    chain = rig.chain_ik.chains[-1]
    chain.name = name
    return chain


def key_bone(
    rig: bpy.types.Object, name: str, frames: int, pose_at: Callable[[float], Matrix], step: int = 2
) -> None:
    """Key a bone without parents along a loop as ``key_object`` does, in armature space."""
    to_rest = rig.data.bones[name].matrix_local.inverted()
    key_object(rig.pose.bones[name], frames, lambda share: to_rest @ pose_at(share), step)


def key_object(
    item: bpy.types.Object | bpy.types.PoseBone,
    frames: int,
    pose_at: Callable[[float], Matrix],
    step: int = 2,
) -> None:
    """Key an object along a loop every ``step`` frames, by its matrix at a share of the loop."""
    item.rotation_mode = "QUATERNION"
    for frame in key_frames(frames, step):
        item.matrix_basis = pose_at((frame - 1) / frames)
        item.keyframe_insert("location", frame=frame)
        item.keyframe_insert("rotation_quaternion", frame=frame)


def ease(share: float) -> float:
    """Return an eased share, with a slow start and a slow end."""
    return share * share * (3.0 - 2.0 * share)


def key_frames(frames: int, step: int) -> Iterable[int]:
    """Return frames to key; the last one is after the end, where the loop closes."""
    return range(1, frames + step + 1, step)


def make_matrix(position: Iterable[float], along: Point, up: Point = (0.0, 0.0, 1.0)) -> Matrix:
    """Return a bone's matrix at a position, with Y along a direction and Z upward if possible."""
    y = Vector(along).normalized()
    x = y.cross(Vector(up)).normalized()
    matrix = Matrix((x, y, x.cross(y))).transposed().to_4x4()
    matrix.translation = Vector(position)
    return matrix


def colour_chain(rig: bpy.types.Object, names: Iterable[str], palette: str) -> None:
    """Set the colour of bones to one of the theme."""
    for name in names:
        rig.pose.bones[name].color.palette = palette


def move_to_collection(item: bpy.types.Object, name: str) -> None:
    """Move an object into a collection of the scene, which is created if it is missing."""
    collection = bpy.data.collections.get(name)
    if collection is None:
        collection = bpy.data.collections.new(name)
        bpy.context.scene.collection.children.link(collection)
    for former in item.users_collection:
        former.objects.unlink(item)
    collection.objects.link(item)
