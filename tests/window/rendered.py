"""What a render shows of a character, and what it needs for that."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector

from window.driver import check


def give_bodies(armature_object: bpy.types.Object) -> None:
    """Hang a wedge on each long bone, as armatures are not rendered."""
    for bone in armature_object.data.bones:
        if bone.length < 0.04:
            continue
        mesh, wide = bpy.data.meshes.new(bone.name), 0.12 * bone.length
        corners = [(x, -bone.length, z) for x, z in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        points = [(wide * x, y, wide * z) for x, y, z in corners]
        faces = [(0, 1, 2, 3), *((i, (i + 1) % 4, 4) for i in range(4))]
        mesh.from_pydata([*points, (0.0, 0.0, 0.0)], [], faces)
        body = bpy.data.objects.new(bone.name, mesh)
        bpy.context.scene.collection.objects.link(body)
        # Children of bones start at their tails.
        body.parent, body.parent_type, body.parent_bone = armature_object, "BONE", bone.name


def check_rendered(path: Path, scene: bpy.types.Scene, place: Vector) -> None:
    """Check that a render shows something where a point of the scene is."""
    image = bpy.data.images.load(str(path))
    (width, height), (x, y, _) = image.size, world_to_camera_view(scene, scene.camera, place)
    pixels = np.array(image.pixels).reshape(height, width, -1)
    bpy.data.images.remove(image)
    drawn = np.abs(pixels - pixels[0, 0]).max(axis=2) > 0.05
    row, column = round(height * y), round(width * x)
    near = drawn[row - 8 : row + 8, column - 8 : column + 8]
    check(near.any(), f"{path.name} shows nothing where {tuple(place)} is.")
