"""Bodies of rigs: rounded sticks, each of which moves with one bone, as one mesh."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import bpy
import numpy as np
import numpy.typing as npt
from mathutils import Vector

from examples.example import Point
from examples.parts import rigs

Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Stick:
    """A stick with round ends, metres, in the armature's rest pose.

    Attributes:
        bone: That it moves with.
        start: Centre of one end.
        end: Centre of the other; the same for a ball.
        radius: Of the start.
        end_radius: Of the end; left out, the same.
        colour: As ``material`` takes it.
        flat: Its height in its own width, for what is flatter than it is wide.
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
# Points around a stick, and rings of each round end.
ROUND, END = 16, 5


def sticks_along(
    names: Sequence[str], joints: Sequence[Point], radii: Sequence[float], colours: Sequence[str]
) -> list[Stick]:
    """Return a stick for each bone of a chain, with colours in turn; radii at the joints."""
    return [
        Stick(name, *joints[i : i + 2], *radii[i : i + 2], colours[i % len(colours)])
        for i, name in enumerate(names)
    ]


def give_body(
    rig: bpy.types.Object, sticks: Sequence[Stick], round_: int = ROUND
) -> bpy.types.Object:
    """Hang a mesh of sticks on a rig and return it."""
    points, faces, slots, groups = [], [], [], {}
    colours = sorted({stick.colour for stick in sticks})
    for stick in sticks:
        first = sum(map(len, points))
        rows = _points(stick, round_)
        points.append(rows)
        new = faces_between(len(rows) // round_, round_, first)
        faces += new
        slots += [colours.index(stick.colour)] * len(new)
        groups.setdefault(stick.bone, []).extend(range(first, first + len(rows)))
    body = add_mesh(f"{rig.name} Body", np.concatenate(points).tolist(), faces, colours)
    body.data.polygons.foreach_set("material_index", slots)
    for bone, indices in groups.items():
        body.vertex_groups.new(name=bone).add(indices, 1.0, "REPLACE")
    body.modifiers.new("Armature", "ARMATURE").object = rig
    body.parent = rig
    body.hide_select = True  # clicks are for controls
    rigs.move_to_collection(body, rig.name)
    return body


def add_mesh(
    name: str,
    points: Sequence[Sequence[float]],
    faces: Sequence[Sequence[int]],
    colours: list[str],
    *,
    is_smooth: bool = True,
) -> bpy.types.Object:
    """Return a new mesh with one material a colour, in no collection yet."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([*points], [], [*faces])
    mesh.polygons.foreach_set("use_smooth", [is_smooth] * len(mesh.polygons))
    for colour in colours:
        mesh.materials.append(material(colour))
    return bpy.data.objects.new(name, mesh)


def add_ball(name: str, radius: float, colour: str) -> bpy.types.Object:
    """Return a new ball that is seen through whatever is before it, to serve as a target."""
    bpy.ops.mesh.primitive_uv_sphere_add(radius=radius)
    ball = bpy.context.object
    ball.name, ball.show_in_front = name, True
    ball.data.materials.append(material(colour))
    rigs.move_to_collection(ball, "Targets")
    return ball


def material(colour: str) -> bpy.types.Material:
    """Return the material of a colour, which looks alike in the viewport and in a render.

    Args:
        colour: Name of one of ``COLOURS``, or "#rrggbb".
    """
    known = bpy.data.materials.get(colour)
    if known is not None:
        return known
    made = bpy.data.materials.new(colour)
    # Linear: Blender converts what it shows.
    rgb = [(value / 255.0) ** 2.2 for value in bytes.fromhex(COLOURS.get(colour, colour)[1:])]
    made.diffuse_color = (*rgb, 1.0)
    if made.node_tree is None:  # before Blender 5.0
        made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*rgb, 1.0)
    shader.inputs["Roughness"].default_value = 0.6
    return made


def _points(stick: Stick, round_: int) -> Array:
    """Return rings of points from the one round end to the other, shape (rings * round_, 3)."""
    ends = END if round_ >= ROUND else 3
    start, end = Vector(stick.start), Vector(stick.end)
    last = stick.radius if stick.end_radius is None else stick.end_radius
    along = (end - start).normalized() if start != end else Vector((0.0, 0.0, 1.0))
    level = Vector((0.0, 0.0, 1.0)).cross(along)
    side = level.normalized() if level.length > 1e-3 else Vector((1.0, 0.0, 0.0))
    up = along.cross(side) * stick.flat
    turns = np.linspace(0.0, math.tau, round_, endpoint=False)
    circle = np.outer(np.cos(turns), side) + np.outer(np.sin(turns), up)
    rings = []
    for centre, radius, angles in (
        (start, stick.radius, np.linspace(-0.49 * math.pi, 0.0, ends)),
        (end, last, np.linspace(0.0, 0.49 * math.pi, ends)),
    ):
        for angle in angles:
            middle = np.array(centre + along * (radius * math.sin(angle)))
            rings.append(middle + radius * math.cos(angle) * circle)
    return np.concatenate(rings)


def faces_between(rings: int, round_: int, first: int) -> list[tuple[int, ...]]:
    """Return the faces between rings, and the two that close the ends."""
    faces: list[tuple[int, ...]] = []
    for ring in range(rings - 1):
        for i in range(round_):
            a, b = first + ring * round_ + i, first + ring * round_ + (i + 1) % round_
            faces.append((a, b, b + round_, a + round_))
    top = first + (rings - 1) * round_
    faces.append(tuple(first + i for i in reversed(range(round_))))
    faces.append(tuple(top + i for i in range(round_)))
    return faces
