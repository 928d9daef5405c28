"""The scene of the demonstration: a rig that nobody here made, targets, chains, a camera."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Sequence

import bpy
from mathutils import Euler, Quaternion, Vector

from demo import motion
from demo.limbs import LIMBS, Limb

# The last key is past the end, where the loop closes.
KEY_FRAMES = range(1, motion.FRAMES + 2, 2)
HIPS = "spine"
TARGET_SIZE = 0.045
POLE_SIZE = 0.03
VIEW = Euler((math.radians(80.0), 0.0, math.radians(30.0)))
VIEW_CENTRE = Vector((0.0, 0.0, 0.95))


def build() -> bpy.types.Object:
    """Fill an empty file and return the armature object with its live chains."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, motion.FRAMES
    armature_object = _add_metarig()
    _key_hips(armature_object)
    for limb in LIMBS:
        _add_chain(armature_object, limb)
    return armature_object


def _add_metarig() -> bpy.types.Object:
    """Add the human metarig of Rigify, which Blender brings along but keeps switched off."""
    is_enabled = "rigify" in bpy.context.preferences.addons
    # It prints what it loads.
    with contextlib.redirect_stdout(io.StringIO()):
        if not is_enabled:
            bpy.ops.preferences.addon_enable(module="rigify")
        bpy.ops.object.armature_human_metarig_add()
        if not is_enabled:
            bpy.ops.preferences.addon_disable(module="rigify")
    armature_object = bpy.context.object
    armature_object.name = "Figure"
    armature_object.data.collections_all["Face"].is_visible = False
    move_to_collection(armature_object, "Figure")
    return armature_object


def _key_hips(armature_object: bpy.types.Object) -> None:
    """Key the bone that carries legs and spine: chains hang under bones that move."""
    pose_bone = armature_object.pose.bones[HIPS]
    to_local = pose_bone.bone.matrix_local.to_3x3().inverted()
    for frame in KEY_FRAMES:
        pose_bone.location = to_local @ Vector(motion.hips(motion.share(frame)))
        pose_bone.keyframe_insert("location", frame=frame)


def _add_chain(armature_object: bpy.types.Object, limb: Limb) -> None:
    """Add a chain with its animated target and its pole, through the settings of the add-on."""
    chain = armature_object.chain_ik.chains.add()
    chain.name = limb.name
    chain.bone = limb.end or limb.bones[-1]
    chain.chain_count = len(limb.bones)
    chain.use_tail = limb.end is None
    chain.use_rotation = limb.end is not None
    chain.target = _add_target(armature_object, limb)
    if limb.has_pole:
        chain.pole_target = _add_empty(f"pole of {limb.name}", "Poles", limb.colour)
        chain.pole_target.empty_display_type = "CUBE"
        chain.pole_target.empty_display_size = POLE_SIZE
        chain.pole_target.location = motion.POLES[limb.name]
    for name in (*limb.bones, *([limb.end] if limb.end else [])):
        _colour(armature_object.pose.bones[name], limb.colour)


def _add_target(armature_object: bpy.types.Object, limb: Limb) -> bpy.types.Object:
    """Add an empty, keyed along its path; one that turns a bone starts with its axes."""
    target = _add_empty(f"target of {limb.name}", "Targets", limb.colour)
    target.empty_display_type = "ARROWS" if limb.end else "SPHERE"
    target.empty_display_size = TARGET_SIZE * (2 if limb.end else 1)
    target.rotation_mode = "QUATERNION"
    axes = Quaternion()
    if limb.end:
        axes = armature_object.data.bones[limb.end].matrix_local.to_quaternion()
    for frame in KEY_FRAMES:
        position, tip = motion.target(limb.name, motion.share(frame))
        target.location = position
        target.rotation_quaternion = Quaternion((1.0, 0.0, 0.0), tip) @ axes
        target.keyframe_insert("location", frame=frame)
        if limb.end:
            target.keyframe_insert("rotation_quaternion", frame=frame)
    return target


def draw_path(
    name: str,
    points: Sequence[Sequence[float]],
    colour: str,
    radius: float = 0.004,
    *,
    is_closed: bool = True,
) -> bpy.types.Object:
    """Add a thin curve where a target goes, and return it.

    Args:
        name: What goes there.
        points: World space, metres.
        colour: "#rrggbb".
        radius: Half the thickness, metres.
        is_closed: Whether it goes on from its last point to its first.
    """
    curve = bpy.data.curves.new(f"path of {name}", "CURVE")
    curve.dimensions = "3D"
    curve.bevel_depth = radius
    spline = curve.splines.new("POLY")
    spline.use_cyclic_u = is_closed
    spline.points.add(len(points) - 1)
    for point, position in zip(spline.points, points):
        point.co = (*position, 1.0)
    path = bpy.data.objects.new(curve.name, curve)
    path.color = rgba(colour)
    path.hide_select = True
    move_to_collection(path, "Paths")
    return path


def dress(armature_object: bpy.types.Object) -> None:
    """Make the file pleasant to open: coloured bones, a near view, a camera for renders."""
    scene = bpy.context.scene
    scene.tool_settings.lock_object_mode = False  # else targets cannot be clicked in pose mode
    bpy.context.view_layer.objects.active = armature_object
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    armature_object.data.bones.active = armature_object.data.bones["forearm.R"]
    add_camera(VIEW_CENTRE, 5.2, VIEW)
    scene.render.resolution_x, scene.render.resolution_y = 1080, 1350
    for view in views():
        view.shading.light = "FLAT"
        view.shading.color_type = "OBJECT"
        look(view, VIEW_CENTRE, 3.4, VIEW)


def add_camera(centre: Vector, distance: float, angles: Euler) -> bpy.types.Object:
    """Add the scene's camera, turned by angles and that far from the point it looks at."""
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.data.lens = 60.0
    camera.rotation_euler = angles
    camera.location = centre + angles.to_matrix() @ Vector((0.0, 0.0, distance))
    move_to_collection(camera, "Stage")
    bpy.context.scene.camera = camera
    return camera


def views() -> list[bpy.types.SpaceView3D]:
    """Return the 3D views of the file."""
    areas = [area for screen in bpy.data.screens for area in screen.areas]
    return [area.spaces.active for area in areas if area.type == "VIEW_3D"]


def look(view: bpy.types.SpaceView3D, centre: Vector, distance: float, angles: Euler) -> None:
    """Turn a 3D view to a point, and open its sidebar."""
    view.show_region_ui = True
    view.region_3d.view_perspective = "PERSP"
    view.region_3d.view_rotation = angles.to_quaternion()
    view.region_3d.view_location = centre
    view.region_3d.view_distance = distance


def _add_empty(name: str, collection: str, colour: str) -> bpy.types.Object:
    empty = bpy.data.objects.new(name, None)
    empty.color = rgba(colour)
    empty.show_in_front = True
    move_to_collection(empty, collection)
    return empty


def move_to_collection(item: bpy.types.Object, name: str) -> None:
    """Put an object into one collection of the scene, which is made if there is none."""
    collection = bpy.data.collections.get(name)
    if collection is None:
        collection = bpy.data.collections.new(name)
        bpy.context.scene.collection.children.link(collection)
    for former in item.users_collection:
        former.objects.unlink(item)
    collection.objects.link(item)


def _colour(pose_bone: bpy.types.PoseBone, colour: str) -> None:
    pose_bone.color.palette = "CUSTOM"
    red, green, blue, _ = rgba(colour)
    pose_bone.color.custom.normal = (red, green, blue)
    pose_bone.color.custom.select = (1.0, 1.0, 1.0)
    pose_bone.color.custom.active = (1.0, 1.0, 1.0)


def rgba(colour: str) -> tuple[float, float, float, float]:
    """Return the colour "#rrggbb" as Blender takes it."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue, 1.0
