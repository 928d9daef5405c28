"""Bodies of rigs: one mesh of rounded sticks that each move with a bone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import bpy
import numpy as np
import numpy.typing as npt
from mathutils import Vector

from examples.parts import rigs
from examples.parts.rigs import Point

Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Stick:
    """A stick with round ends, metres, in the armature's rest pose.

    Attributes:
        bone: Name of the bone that the stick moves with.
        start: Centre of the first end.
        end: Centre of the second end; equal to the start for a ball.
        radius: Radius at the start.
        end_radius: Radius at the end; None for the same.
        colour: Colour for ``material``.
        flat: Height as a share of the width.
    """

    bone: str
    start: Point
    end: Point
    radius: float
    end_radius: float | None = None
    colour: str = "body"
    flat: float = 1.0


COLOURS = {
    "body": "#c9bfb2",
    "chain": "#e8743b",
    "second": "#3f8fc4",
    "dark": "#3a3f47",
    "light": "#f4efe6",
    "target": "#ffd447",
    "floor": "#dfe3e8",
    "stone": "#9aa3ad",
    "green": "#5f9e58",
    "sand": "#d9c48f",
}
# Points around a stick, and rings of a round end.
ROUND, END = 16, 5


def sticks_along(
    names: Sequence[str], joints: Sequence[Point], radii: Sequence[float], colours: Sequence[str]
) -> list[Stick]:
    """Return a stick for each bone of a chain, with colours in turn and radii of the joints."""
    return [
        Stick(name, *joints[i : i + 2], *radii[i : i + 2], colours[i % len(colours)])
        for i, name in enumerate(names)
    ]


def with_mirrored(*sticks: Stick) -> list[Stick]:
    """Return sticks of the left side and their mirror images."""

    def mirror(stick: Stick) -> Stick:
        (x, *start), (other_x, *end) = stick.start, stick.end
        return dataclasses.replace(stick, start=(-x, *start), end=(-other_x, *end))

    return [*sticks, *map(mirror, sticks)]


def add_body(
    rig: bpy.types.Object, sticks: Sequence[Stick], round_: int = ROUND
) -> bpy.types.Object:
    """Add a mesh of sticks that a rig deforms, and return it."""
    mesh = bpy.data.meshes.new(f"{rig.name} Body")
    colours = sorted({stick.colour for stick in sticks})
    unit, faces = _capsule(round_)
    points = np.concatenate([_points(stick, unit) for stick in sticks])
    firsts = range(0, len(points), len(unit))
    mesh.from_pydata(points.tolist(), [], [[a + i for i in face] for a in firsts for face in faces])
    mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
    for colour in colours:
        mesh.materials.append(material(colour))
    slots = [colours.index(stick.colour) for stick in sticks]
    mesh.polygons.foreach_set("material_index", np.repeat(slots, len(faces)))
    body = bpy.data.objects.new(mesh.name, mesh)
    for first, stick in zip(firsts, sticks):
        groups = body.vertex_groups
        group = groups.get(stick.bone) or groups.new(name=stick.bone)
        group.add(list(range(first, first + len(unit))), 1.0, "REPLACE")
    body.modifiers.new("Armature", "ARMATURE").object = rig
    body.parent = rig
    body.hide_select = True  # clicks are for controls
    rigs.move_to_collection(body, rig.name)
    return body


def add_ball(name: str, radius: float, colour: str) -> bpy.types.Object:
    """Return a new ball as a target, drawn in front of everything."""
    bpy.ops.mesh.primitive_uv_sphere_add(radius=radius)
    ball = bpy.context.object
    ball.name, ball.show_in_front = name, True
    ball.data.materials.append(material(colour))
    rigs.move_to_collection(ball, "Targets")
    return ball


def material(colour: str) -> bpy.types.Material:
    """Return the material of one of ``COLOURS`` or "#rrggbb", equal in viewport and render."""
    existing = bpy.data.materials.get(colour)
    if existing is not None:
        return existing
    new_material = bpy.data.materials.new(colour)
    # Linear values: Blender converts them for display.
    rgb = [(value / 255.0) ** 2.2 for value in bytes.fromhex(COLOURS.get(colour, colour)[1:])]
    new_material.diffuse_color = (*rgb, 1.0)
    if new_material.node_tree is None:  # before Blender 5.0
        new_material.use_nodes = True
    shader = new_material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*rgb, 1.0)
    shader.inputs["Roughness"].default_value = 0.6
    return new_material


def _capsule(round_: int) -> tuple[Array, list[list[int]]]:
    """Return points of two half balls around the origin in rings, and the faces between them."""
    ends = END if round_ >= ROUND else 3
    angles = np.linspace((-0.49 * math.pi, 0.0), (0.0, 0.49 * math.pi), ends).T.reshape(-1, 1)
    turns = np.linspace(0.0, math.tau, round_, endpoint=False)
    flat = np.cos(angles) * np.cos(turns), np.cos(angles) * np.sin(turns)
    unit = np.stack((*flat, np.broadcast_to(np.sin(angles), flat[0].shape)), axis=-1)
    ring = np.arange(unit.size // 3).reshape(-1, round_)
    next_ring = np.roll(ring, -1, axis=1)
    sides = np.stack((ring[:-1], next_ring[:-1], next_ring[1:], ring[1:]), axis=-1).reshape(-1, 4)
    return unit.reshape(-1, 3), [*sides.tolist(), ring[0, ::-1].tolist(), ring[-1].tolist()]


def _points(stick: Stick, unit: Array) -> Array:
    """Return the points of a stick, in the order of the capsule's points."""
    start, end = Vector(stick.start), Vector(stick.end)
    last = stick.radius if stick.end_radius is None else stick.end_radius
    along = (end - start).normalized() if start != end else Vector((0.0, 0.0, 1.0))
    level = Vector((0.0, 0.0, 1.0)).cross(along)
    side = level.normalized() if level.length > 1e-3 else Vector((1.0, 0.0, 0.0))
    axes = np.array((side, along.cross(side) * stick.flat, along))
    (one, other), (near, far) = np.split(unit, 2), np.array((start, end))
    return np.concatenate((near + stick.radius * one @ axes, far + last * other @ axes))
