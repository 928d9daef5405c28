"""Armatures, empties and chains built in code, and their poses as Blender evaluates them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np
from mathutils import Vector

from tests.helpers import Array, assert_positions_close, make_rng

ROTATION_MODES = ("QUATERNION", "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "AXIS_ANGLE")
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")
INHERITED = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")
"""Ways in which bones inherit scale."""
ARM = ((0.0, 0.0, 0.0), (0.0, -0.1, 1.0), (0.0, 0.0, 2.0))
"""Joints of two bones, a little bent toward -Y; they reach 2.01 from the origin."""


def zigzag(count: int, seed: int = 0, length: float = 1.0) -> Array:
    """Return joints (count + 1, 3) of a chain up Z from the origin; each segment tilts a little."""
    steps = np.array([0.0, 0.0, 1.0]) + make_rng(seed).uniform(-0.4, 0.4, (count, 3))
    steps *= length / np.linalg.norm(steps, axis=1, keepdims=True)
    return np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))


@contextmanager
def live_off() -> Iterator[None]:
    """Switch live off in the block: otherwise each building step solves the chains so far."""
    settings = bpy.context.scene.chain_ik
    settings.use_live = False
    try:
        yield
    finally:
        settings.use_live = True


def link(ob: bpy.types.Object, collection: bpy.types.Collection | None = None) -> bpy.types.Object:
    (collection or bpy.context.scene.collection).objects.link(ob)
    return ob


def make_collection(name: str, above: bpy.types.Collection | None = None) -> bpy.types.Collection:
    """Return a collection below another one, or below the scene's."""
    collection = bpy.data.collections.new(name)
    (above or bpy.context.scene.collection).children.link(collection)
    return collection


def make_armature(name: str = "Rig") -> bpy.types.Object:
    return link(bpy.data.objects.new(name, bpy.data.armatures.new(name)))


def enter(ob: bpy.types.Object, mode: str) -> None:
    """Make an object the active one and switch its mode."""
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.mode_set(mode=mode)


def add_bones(
    ob: bpy.types.Object,
    joints: Sequence[Sequence[float]] | Array,
    *,
    prefix: str = "Bone",
    names: Sequence[str] = (),
    parent: str = "",
    is_connected: bool = True,
    tails: Sequence[Sequence[float]] | Array | None = None,
    rolls: Sequence[float] | None = None,
    modes: str | Sequence[str] = "QUATERNION",
) -> list[str]:
    """Add a chain of n bones to an armature object and return their names, root first.

    Args:
        ob: The armature object; left in object mode.
        joints: Heads in armature space, and the last tail, shape (n + 1, 3).
        prefix: Start of the names ``prefix.0``, ``prefix.1``, ...
        names: Names of all bones, instead of a prefix.
        parent: Name of the first bone's parent; the first bone is never connected to it.
        is_connected: Whether the other bones are connected to their parents.
        tails: Tails of bones that do not end at the next head, shape (n, 3).
        rolls: Rolls of the bones in radians.
        modes: Rotation mode of all bones, or one mode for each.
    """
    enter(ob, "EDIT")
    added: list[str] = []
    for i in range(len(joints) - 1):
        bone = ob.data.edit_bones.new(names[i] if names else f"{prefix}.{i}")
        bone.head = joints[i]
        bone.tail = joints[i + 1] if tails is None else tails[i]
        bone.roll = 0.0 if rolls is None else rolls[i]
        above = added[-1] if added else parent
        if above:
            bone.parent = ob.data.edit_bones[above]
            bone.use_connect = bool(added) and is_connected and tails is None
        added.append(bone.name)
    bpy.ops.object.mode_set(mode="OBJECT")
    for i, name in enumerate(added):
        ob.pose.bones[name].rotation_mode = modes if isinstance(modes, str) else modes[i]
    return added


@contextmanager
def editing(ob: bpy.types.Object) -> Iterator[bpy.types.bpy_prop_collection]:
    """Yield the edit bones of an armature in edit mode, and restore the mode after the block."""
    mode = ob.mode
    enter(ob, "EDIT")
    yield ob.data.edit_bones
    bpy.ops.object.mode_set(mode=mode)


def delete_bones(ob: bpy.types.Object, *names: str) -> None:
    with editing(ob) as bones:
        for name in names:
            bones.remove(bones[name])


def delete_selected(ob: bpy.types.Object, *names: str) -> None:
    """Delete bones as a user does in edit mode: constraints on bones lose their names, too."""
    with editing(ob) as bones:
        for bone in bones:
            bone.select = bone.select_head = bone.select_tail = bone.name in names
        bpy.ops.armature.delete()


def hang_bone(ob: bpy.types.Object, name: str, parent: str = "") -> None:
    """Parent a bone to another one, or to none."""
    with editing(ob) as bones:
        bones[name].parent = bones[parent] if parent else None


def make_rig(
    joints: Sequence[Sequence[float]] | Array = ARM, name: str = "Rig", **bones: object
) -> bpy.types.Object:
    """Return an armature object with one chain of bones ``Bone.0``, ``Bone.1``, ..."""
    ob = make_armature(name)
    add_bones(ob, joints, **bones)
    return ob


def make_empty(
    name: str = "Target",
    location: Sequence[float] = (0.6, 0.5, 1.2),
    *,
    parent: bpy.types.Object | None = None,
    parent_bone: str = "",
    collection: bpy.types.Collection | None = None,
) -> bpy.types.Object:
    """Return a linked empty; its location is relative to the parent or to its bone's tail."""
    ob = link(bpy.data.objects.new(name, None), collection)
    ob.location = location
    if parent is not None:
        ob.parent = parent
        if parent_bone:
            ob.parent_type, ob.parent_bone = "BONE", parent_bone
    return ob


def add_chain(
    ob: bpy.types.Object, bone: str, target: bpy.types.Object | None, **settings: object
) -> bpy.types.PropertyGroup:
    """Add a chain as a script does: first the settings, then the tip bone, last the target."""
    chain = ob.chain_ik.chains.add()
    for name, value in settings.items():
        setattr(chain, name, value)
    chain.bone = bone
    chain.target = target
    return chain


def follow(
    ob: bpy.types.Object,
    bone: str,
    place: Sequence[float],
    *,
    empty: str = "Target",
    **settings: object,
) -> tuple[bpy.types.Object, bpy.types.PropertyGroup]:
    """Add a chain that follows a new empty at a place; return the empty and the chain."""
    target = make_empty(empty, place)
    return target, add_chain(ob, bone, target, **settings)


def make_arm(
    target_location: Sequence[float] = (0.6, 0.5, 1.2), name: str = "Rig", **settings: object
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return an armature object with a two-bone chain, and its target; already solved."""
    ob = make_rig(name=name)
    target = make_empty(f"{name} Target", target_location)
    add_chain(ob, "Bone.1", target, **settings)
    bpy.context.view_layer.update()
    return ob, target


def evaluated(
    ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None
) -> bpy.types.Object:
    """Return the evaluated object of a graph as it is; without a graph evaluate the scene first."""
    return ob.evaluated_get(depsgraph or bpy.context.evaluated_depsgraph_get())


def world_matrix(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None) -> Array:
    return np.array(evaluated(ob, depsgraph).matrix_world)


def position(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None) -> Array:
    return world_matrix(ob, depsgraph)[:3, 3]


def tail(ob: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph | None = None) -> Array:
    """Return the tail of an evaluated bone, world space, shape (3,)."""
    posed = evaluated(ob, depsgraph)
    return np.array(posed.matrix_world @ posed.pose.bones[bone].tail)


def head(ob: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph | None = None) -> Array:
    """Return the head of an evaluated bone, world space, shape (3,)."""
    posed = evaluated(ob, depsgraph)
    return np.array(posed.matrix_world @ posed.pose.bones[bone].head)


def pose(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None) -> Array:
    """Return the evaluated pose matrices of all bones, armature space, shape (n, 4, 4)."""
    return np.array([bone.matrix for bone in evaluated(ob, depsgraph).pose.bones])


def matrices(ob: bpy.types.Object) -> dict[str, Array]:
    """Return the evaluated pose matrices of all bones, armature space, by name."""
    return {bone.name: np.array(bone.matrix) for bone in evaluated(ob).pose.bones}


def rotation_property(pose_bone: bpy.types.PoseBone) -> str:
    names = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return names.get(pose_bone.rotation_mode, "rotation_euler")


def rotations(ob: bpy.types.Object) -> dict[str, tuple[float, ...]]:
    """Return the exact rotation channels of the original object's bones, by name."""
    return {bone.name: tuple(getattr(bone, rotation_property(bone))) for bone in ob.pose.bones}


def channels(ob: bpy.types.Object) -> dict[str, tuple[float, ...]]:
    """Return location, rotation and scale channels of the original object's bones, by name."""
    turns = rotations(ob)
    return {bone.name: (*bone.location, *turns[bone.name], *bone.scale) for bone in ob.pose.bones}


def turn_bones(
    ob: bpy.types.Object, seed: int = 1, angle: float = 0.4, names: Iterable[str] = ()
) -> None:
    """Pose bones, by default all, with random rotations in their rotation modes."""
    rng = make_rng(seed)
    for bone in [ob.pose.bones[name] for name in names] or ob.pose.bones:
        axis = Vector(rng.normal(size=3)).normalized()
        matrix_angle = float(rng.uniform(-angle, angle))
        if bone.rotation_mode == "AXIS_ANGLE":
            bone.rotation_axis_angle = (matrix_angle, *axis)
        elif bone.rotation_mode == "QUATERNION":
            half = matrix_angle / 2.0
            bone.rotation_quaternion = (np.cos(half), *(axis * np.sin(half)))
        else:
            bone.rotation_euler = rng.uniform(-angle, angle, 3)
    bpy.context.view_layer.update()


def set_by_path(owner: bpy.types.bpy_struct, path: str, value: object) -> None:
    """Set a property or a custom property of an ID, or of a part of one, by its path."""
    is_custom = path.endswith('"]')
    holder_path, _, name = path.removesuffix('"]').rpartition('["' if is_custom else ".")
    holder = owner.path_resolve(holder_path) if holder_path else owner
    if is_custom:
        holder[name] = value
    else:
        setattr(holder, name, value)


def key(owner: bpy.types.bpy_struct, path: str, values: dict[float, object]) -> None:
    """Key values, by frame, of a property of an ID or of a part of one; interpolate linearly."""
    for frame, value in values.items():
        set_by_path(owner, path, value)
        owner.keyframe_insert(path, frame=frame)
    for curve in curves_of(owner.id_data):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"


def curves_of(owner: bpy.types.ID) -> list[bpy.types.FCurve]:
    """Return the F-curves of an ID's action, under the APIs of 4.2 to 5.2."""
    data = owner.animation_data
    if data is None or data.action is None:
        return []
    if not hasattr(data.action, "layers"):
        return list(data.action.fcurves)
    bag = data.action.layers[0].strips[0].channelbag(data.action_slot)
    return [] if bag is None else list(bag.fcurves)


def keys_of(owner: bpy.types.ID) -> dict[tuple[str, int], list[tuple[float, float]]]:
    """Return all keys of an ID's action, frame and value, by path and component."""
    return {
        (curve.data_path, curve.array_index): [tuple(point.co) for point in curve.keyframe_points]
        for curve in curves_of(owner)
    }


TARGET_GAP = 1.2e-5
"""Tolerance of a reached target in world space: the default one and float32 on 2 units."""


def updated(view_layer: bpy.types.ViewLayer | None = None) -> bpy.types.Depsgraph:
    """Update a view layer once and return its graph, evaluated."""
    view_layer = view_layer or bpy.context.view_layer
    view_layer.update()
    return view_layer.depsgraph


def change(owner: object, **values: object) -> bpy.types.Depsgraph:
    """Set properties as a user does: Blender updates afterwards. Return the updated graph."""
    for name, value in values.items():
        setattr(owner, name, value)
    return updated()


def shift(owner: bpy.types.Object | bpy.types.PoseBone, **steps: float) -> bpy.types.Depsgraph:
    """Move an object or bone along axes of its location, as ``change`` does; return the graph."""
    for axis, step in steps.items():
        setattr(owner.location, axis, getattr(owner.location, axis) + step)
    return updated()


def set_each(owners: Iterable[object], **values: object) -> None:
    """Set properties of all owners to the same values."""
    for owner in owners:
        for name, value in values.items():
            setattr(owner, name, value)


@contextmanager
def changed(owner: object, **values: object) -> Iterator[None]:
    """Set properties as ``change`` does, and restore them after the block."""
    former = {name: getattr(owner, name) for name in values}
    for name, value in former.items():
        if hasattr(type(value), "__len__") and not isinstance(value, str):
            former[name] = tuple(value)
    change(owner, **values)
    yield
    change(owner, **former)


def tagged(*owners: bpy.types.ID) -> bpy.types.Depsgraph:
    """Tag IDs that a script has changed unnoticed by Blender, update, and return the graph."""
    for owner in owners:
        owner.update_tag()
    return updated()


def assert_reaches(
    ob: bpy.types.Object,
    bone: str,
    target: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph | None = None,
) -> None:
    """Check that a bone's tail lies on a target, both as Blender evaluates them."""
    assert_positions_close(tail(ob, bone, depsgraph), position(target, depsgraph), TARGET_GAP)


def assert_same_pose(
    ob: bpy.types.Object, expected: bpy.types.Object | Array, tolerance: float = 3e-6
) -> None:
    """Check an object's evaluated pose against that of another object, or against matrices."""
    depsgraph = bpy.context.view_layer.depsgraph
    if isinstance(expected, bpy.types.Object):
        expected = pose(expected, depsgraph)
    np.testing.assert_allclose(pose(ob, depsgraph), expected, atol=tolerance)


def assert_stays(ob: bpy.types.Object, *moved: bpy.types.Object) -> None:
    """Check that further updates of an armature and of objects that it follows move nothing."""
    before, channels_before = pose(ob), channels(ob)
    for _ in range(4):
        tagged(ob, *moved)
        assert_same_pose(ob, before, 0.0)
        assert channels(ob) == channels_before


def release_chain(ob: bpy.types.Object, name: str, value: object = None) -> None:
    """Change a setting of the first chain of an armature, or press a button of its list."""
    if value is None:
        bpy.context.view_layer.objects.active = ob
        assert getattr(bpy.ops.pose, f"chain_ik_{name}")() == {"FINISHED"}
    else:
        set_by_path(ob, f"chain_ik.chains[0].{name}", value)
    updated()


def mute_all_but(ob: bpy.types.Object, *names: str) -> None:
    for chain in ob.chain_ik.chains:
        chain.mute = chain.name not in names
    updated()


def limit_bones(ob: bpy.types.Object, **ranges: tuple[float, float]) -> None:
    """Set Blender's IK limits of all bones of an armature, ``x=(-0.3, 0.3)``, in radians."""
    for bone in ob.pose.bones:
        for axis, (lowest, highest) in ranges.items():
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", lowest)
            setattr(bone, f"ik_max_{axis}", highest)


def go_to(frame: float) -> bpy.types.Depsgraph:
    """Set a frame, with its subframe, without any further update, and return the graph."""
    bpy.context.scene.frame_set(int(frame), subframe=frame % 1.0)
    return bpy.context.view_layer.depsgraph


def each_frame(frames: Iterable[float]) -> Iterator[float]:
    """Set frames one after the other, and yield each."""
    for frame in frames:
        go_to(frame)
        yield frame


def play(ob: bpy.types.Object, frames: Iterable[float]) -> Array:
    """Return the evaluated pose matrices at frames, set in this order, shape (f, n, 4, 4)."""
    return np.array([pose(ob, go_to(frame)) for frame in frames])


def key_rotations(ob: bpy.types.Object, frame: float, names: Iterable[str] = ()) -> None:
    """Key the present rotations of bones, by default of all, in their rotation modes."""
    for bone in [ob.pose.bones[name] for name in names] or ob.pose.bones:
        bone.keyframe_insert(rotation_property(bone), frame=frame)


def key_bones(ob: bpy.types.Object, seed: int = 0, frames: Sequence[int] = (1, 8, 16)) -> None:
    """Key random rotations on all bones."""
    for frame in frames:
        turn_bones(ob, seed=seed + frame)
        key_rotations(ob, frame)
