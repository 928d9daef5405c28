"""Surroundings of an example: floor, blocks, views, camera and note."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import bpy
from mathutils import Euler, Vector

from examples.parts import bodies, rigs
from examples.parts.rigs import Example, Point
from window.driver import select_bones

NOTES = Path(__file__).parents[1] / "notes"
FOOT = """
ABOUT THIS TEXT
This text is in place of the Properties editor. To get that back, click the icon in the corner of \
this header. The file needs the extension Chain IK. Without it, nothing follows the targets.
"""
# Saved by Blender 4.2 with one workspace whose sidebar shows our tab: only a window can select a
# tab. It has a camera and a sun, hidden where their outlines would disturb; Workbench, so that F12
# quickly shows the same as the viewport; and no *Lock Object Modes*, so that a click selects target
# objects while a rig is in pose mode.
STAGE = Path(__file__).with_name("stage.blend")


def build(example: Example) -> None:
    """Open a file with camera, light and views, and build an example and its note in it."""
    bpy.ops.wm.open_mainfile(filepath=str(STAGE))
    scene = bpy.context.scene
    scene.frame_end = example.frames
    # Otherwise each added chain would cause a solve of all others.
    scene.chain_ik.use_live = False
    rig = example.build()
    look(*example.look)
    # The text editor replaces the properties editor.
    text, editor = bpy.data.texts.new("READ ME"), _space("TEXT_EDITOR")
    text.write((NOTES / f"{example.name}.txt").read_text(encoding="utf-8") + FOOT)
    text.cursor_set(0)
    editor.text, editor.top = text, 0
    scene.chain_ik.use_live = True
    scene.frame_set(1)
    _select(example, rig)


def look(centre: Point, distance: float, angles: tuple[float, float]) -> None:
    """Turn the camera and the 3D view to a point; parameters as in ``Look``."""
    turn = Euler((math.radians(angles[0]), 0.0, math.radians(angles[1])))
    camera = bpy.context.scene.camera
    camera.rotation_euler, camera.data.clip_start = turn, 0.01 * distance
    camera.location = Vector(centre) + turn.to_matrix() @ Vector((0.0, 0.0, distance))
    view = _space("VIEW_3D")
    view.clip_start = 0.01 * distance
    view.region_3d.view_rotation, view.region_3d.view_location = turn.to_quaternion(), centre
    view.region_3d.view_distance = 0.7 * distance


def draw_path(
    name: str, points: Sequence[Sequence[float]], colour: str, radius: float = 0.004
) -> bpy.types.Object:
    """Return a new thin closed curve along a path, world space, metres."""
    curve = bpy.data.curves.new(f"path of {name}", "CURVE")
    curve.dimensions, curve.bevel_depth = "3D", radius
    curve.materials.append(bodies.material(colour))
    spline = curve.splines.new("POLY")
    spline.use_cyclic_u = True
    spline.points.add(len(points) - 1)
    for point, position in zip(spline.points, points):
        point.co = (*position, 1.0)
    path = bpy.data.objects.new(curve.name, curve)
    path.hide_select = True
    rigs.move_to_collection(path, "Paths")
    return path


def add_floor(size: float) -> None:
    """Add a square floor, metres."""
    add_prop("Floor", "plane", (0.0, 0.0, 0.0), (0.5 * size, 0.5 * size, 1.0), "floor")


def add_block(name: str, low: Vector, high: Vector) -> None:
    """Add a box between two corners, metres."""
    add_prop(name, "cube", 0.5 * (low + high), 0.5 * (high - low), "stone")


def add_prop(
    name: str, kind: str, place: Sequence[float], half_size: Sequence[float], colour: str
) -> bpy.types.Object:
    """Return a new primitive mesh with half sizes along its axes; clicks do not select it."""
    getattr(bpy.ops.mesh, f"primitive_{kind}_add")(location=place)
    prop = bpy.context.object
    prop.name, prop.scale, prop.hide_select = name, half_size, True
    prop.data.materials.append(bodies.material(colour))
    rigs.move_to_collection(prop, "Stage")
    return prop


def save(path: Path) -> None:
    """Save the file; remove the old one first, so that Blender makes no backup."""
    path.unlink(missing_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True)


def take_picture(example: Example, path: Path) -> None:
    """Render a frame of the open file, after a bake of chains that depend on earlier frames."""
    scene = bpy.context.scene
    for rig in [item for item in scene.objects if item.type == "ARMATURE"]:
        if any(chain.solver == "FOLLOW" for chain in rig.chain_ik.chains):
            bake(rig, example.pictured)
    scene.frame_set(example.pictured)
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)


def bake(rig: bpy.types.Object, last: int) -> None:
    """Bake the first chain of a rig up to a frame."""
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.chain_ik_bake(frame_start=1, frame_end=last)


def _space(kind: str) -> bpy.types.Space:
    (area,) = (area for area in bpy.context.screen.areas if area.type == kind)
    return area.spaces.active


def _select(example: Example, rig: bpy.types.Object) -> None:
    """Select the control, so that G moves it."""
    is_bone = example.control in rig.pose.bones
    control = rig if is_bone else bpy.data.objects[example.control]
    rig.select_set(is_bone)
    control.select_set(True)
    bpy.context.view_layer.objects.active = control
    if is_bone:
        bpy.ops.object.mode_set(mode="POSE")
        select_bones(rig, example.control)
