"""What surrounds the scene of an example: floor, light, camera, view, and the note."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import bpy
from mathutils import Euler, Vector

from examples.example import Example, Point
from examples.parts import bodies, rigs
from window.driver import select_bones

NOTE, NOTES = "READ ME", Path(__file__).parents[1] / "notes"
FOOT = """
ABOUT THIS TEXT
It stands where the Properties editor usually is: the icon in the corner of its header changes it \
back. The file needs the extension Chain IK; without it nothing follows.
"""
FRAME_RATE, AROUND = 24, 32
PICTURE = (1280, 720)


def begin(example: Example) -> None:
    """Set the scene's time before anything is built; nothing is solved until ``finish``."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, example.frames
    scene.render.fps = FRAME_RATE
    scene.unit_settings.system = "METRIC"
    scene.chain_ik.use_live = False


def finish(example: Example, rig: bpy.types.Object) -> None:
    """Surround a built scene, and select what a person is to grab first."""
    scene = bpy.context.scene
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    rigs.move_to_collection(scene.camera, "Stage")
    for item in (scene.camera, _add_light()):
        item.hide_set(True)  # from the viewport, where their outlines would be in the way
    look(*example.look)
    _set_up_render(scene)
    _show_note(example)
    scene.chain_ik.use_live = True
    scene.frame_set(1)
    _select(example, rig)


def look(centre: Point, distance: float, angles: tuple[float, float]) -> None:
    """Turn the camera and the 3D views to a point, as ``Look`` describes it."""
    turn = Euler((math.radians(angles[0]), 0.0, math.radians(angles[1])))
    camera = bpy.context.scene.camera
    camera.data.lens, camera.data.clip_start = 60.0, 0.01 * distance
    camera.rotation_euler = turn
    camera.location = Vector(centre) + turn.to_matrix() @ Vector((0.0, 0.0, distance))
    areas = [area for screen in bpy.data.screens for area in screen.areas]
    for view in (area.spaces.active for area in areas if area.type == "VIEW_3D"):
        view.show_region_ui = True
        view.shading.color_type = "MATERIAL"
        view.shading.show_cavity = True
        view.clip_start = 0.01 * distance
        view.region_3d.view_perspective = "PERSP"
        view.region_3d.view_rotation = turn.to_quaternion()
        view.region_3d.view_location = centre
        view.region_3d.view_distance = 0.7 * distance


def draw_path(
    name: str, points: Sequence[Sequence[float]], colour: str, radius: float = 0.004
) -> bpy.types.Object:
    """Return a new thin closed curve where something goes, world space, metres."""
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


def add_floor(size: float, height: float = 0.0) -> None:
    """Add a square floor, metres."""
    half = 0.5 * size
    corners = [(-half, -half, height), (half, -half, height), (half, half, height)]
    add_scenery("Floor", [*corners, (-half, half, height)], [(0, 1, 2, 3)], "floor")


def add_block(name: str, least: Vector, most: Vector) -> None:
    """Add a box between two corners, metres."""
    corners = [
        (x, y, z) for z in (least.z, most.z) for y in (least.y, most.y) for x in (least.x, most.x)
    ]
    faces = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    add_scenery(name, corners, faces, "stone", is_smooth=False)


def add_scenery(
    name: str,
    points: Sequence[Sequence[float]],
    faces: Sequence[Sequence[int]],
    colour: str,
    *,
    place: Sequence[float] = (0.0, 0.0, 0.0),
    is_smooth: bool = True,
) -> None:
    """Add a mesh that cannot be clicked, at a place in metres."""
    scenery = bodies.add_mesh(name, points, faces, [colour], is_smooth=is_smooth)
    scenery.location = place
    scenery.hide_select = True
    rigs.move_to_collection(scenery, "Stage")


def add_turned(
    name: str,
    profile: Sequence[tuple[float, float]],
    colour: str,
    place: Sequence[float],
    *,
    is_smooth: bool = True,
) -> None:
    """Add scenery that is round about Z, by its radii and heights from the bottom up."""
    turns = [math.tau * i / AROUND for i in range(AROUND)]
    points = [(r * math.cos(turn), r * math.sin(turn), z) for r, z in profile for turn in turns]
    faces = bodies.faces_between(len(profile), AROUND, 0)
    add_scenery(name, points, faces, colour, place=place, is_smooth=is_smooth)


def save(path: Path) -> None:
    """Save the file; Blender keeps no former one beside it."""
    path.unlink(missing_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True)


def take_picture(example: Example, path: Path, share: float = 1.0) -> None:
    """Render a frame of the open file, at a share of its size.

    Chains that go on from their last pose are baked first, as anybody has to who renders parts.
    """
    scene = bpy.context.scene
    for rig in [item for item in scene.objects if item.type == "ARMATURE" and _goes_on(item)]:
        bake(rig, example.pictured)
    scene.frame_set(example.pictured)
    scene.render.resolution_percentage = round(100 * share)
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)


def bake(rig: bpy.types.Object, last: int) -> None:
    """Bake the first chain of a rig up to a frame."""
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.chain_ik_bake(frame_start=1, frame_end=last)


def _goes_on(rig: bpy.types.Object) -> bool:
    return any(chain.solver == "FOLLOW" for chain in rig.chain_ik.chains)


def _add_light() -> bpy.types.Object:
    """Add a sun, for renders other than Workbench's, and return it."""
    sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    sun.data.energy = 3.0
    sun.location = (2.0, -3.0, 5.0)
    sun.rotation_euler = (math.radians(40.0), 0.0, math.radians(35.0))
    rigs.move_to_collection(sun, "Stage")
    world = bpy.data.worlds.new("World")
    world.color = (0.42, 0.45, 0.49)
    bpy.context.scene.world = world
    return sun


def _set_up_render(scene: bpy.types.Scene) -> None:
    """Have F12 show at once what the viewport shows."""
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x, scene.render.resolution_y = PICTURE
    scene.render.use_lock_interface = True
    scene.view_settings.view_transform = "Standard"
    shading = scene.display.shading
    shading.color_type = "MATERIAL"
    shading.show_cavity = shading.show_shadows = True
    shading.shadow_intensity = 0.35


def _show_note(example: Example) -> None:
    """Write the note, and show it in the place of the properties editor."""
    text = bpy.data.texts.new(NOTE)
    note = example.note or (NOTES / f"{example.name}.txt").read_text(encoding="utf-8")
    text.write(note + FOOT)
    text.cursor_set(0)
    (area,) = (area for area in bpy.context.screen.areas if area.type == "PROPERTIES")
    area.type = "TEXT_EDITOR"
    editor = area.spaces.active
    editor.text = text
    editor.show_word_wrap = True
    editor.show_line_numbers = editor.show_syntax_highlight = False
    editor.top = 0


def _select(example: Example, rig: bpy.types.Object) -> None:
    """Select the control: G moves it at once."""
    # Else targets that are objects cannot be clicked while a rig is in pose mode.
    bpy.context.scene.tool_settings.lock_object_mode = False
    if example.control in rig.pose.bones:
        bpy.context.view_layer.objects.active = rig
        rig.select_set(True)
        bpy.ops.object.mode_set(mode="POSE")
        select_bones(rig, example.control)
        return
    control = bpy.data.objects[example.control]
    rig.select_set(False)
    control.select_set(True)
    bpy.context.view_layer.objects.active = control
