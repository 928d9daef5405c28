"""A tail that is dragged: the solver Follow, led by its root."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.parts import bodies, rigs, studio
from examples.parts.bodies import Stick
from examples.parts.rigs import Bone, Example, Point

# Metres: a giant salamander of 1.2 m that swims an eight.
FRAMES, COUNT, TAIL, HEIGHT = 168, 16, 0.66, 0.35
BODY, HOLD = "Body", "Rump"


def place(passed: float) -> Matrix:
    """Return where the body is: an eight, the head along the way."""
    at, before = _path(passed), _path(passed - 1e-3)
    return rigs.placed(at, tuple(Vector(at) - Vector(before)))


def _path(passed: float) -> Point:
    turn = math.tau * passed
    return (
        1.05 * math.sin(turn),
        0.55 * math.sin(2.0 * turn),
        HEIGHT + 0.12 * math.sin(turn + 0.6),
    )


def build() -> bpy.types.Object:
    names = [f"Tail {i + 1}" for i in range(COUNT)]
    joints = [_at(0.0, -TAIL * i / COUNT) for i in range(COUNT + 1)]
    # At rest they are where the animation has them on its first frame.
    body = Bone(_at(0.0, 0.0), _at(0.0, 0.3)), Bone(_at(0.0, 0.0), _at(0.0, -0.06), BODY)
    table = {**dict(zip((BODY, HOLD), body)), **rigs.bones_along(names, joints)}
    rig = rigs.add_rig("Salamander", table)
    rigs.colour_chain(rig, names, "THEME04")
    options = {"subtarget": HOLD, "chain_count": COUNT, "solver": "FOLLOW", "follow_lead": "ROOT"}
    rigs.hang_chain(rig, "Tail", names[-1], rig, max_bend=math.radians(20.0), **options)
    radii = [0.062 * (1.0 - i / (COUNT + 1.5)) for i in range(COUNT + 1)]
    along = bodies.sticks_along(names, joints, radii, ("sand", "chain"))
    bodies.give_body(rig, _sticks() + along)
    _give_shape(rig)
    rigs.key_bone(rig, BODY, FRAMES, place)
    studio.add_floor(12.0)
    return rig


def _at(x: float, y: float, z: float = 0.0) -> Point:
    """Return a point of the body as it is on the first frame."""
    return tuple(place(0.0) @ Vector((x, y, z)))


def _sticks() -> list[Stick]:
    sticks = [
        Stick(BODY, _at(0.0, 0.42), _at(0.0, 0.52), 0.082, 0.062, "green", 0.6),
        Stick(BODY, _at(0.0, 0.36), _at(0.0, 0.16), 0.07, 0.082, "green", 0.75),
        Stick(BODY, _at(0.0, 0.16), _at(0.0, 0.0), 0.082, 0.06, "green", 0.8),
    ]
    for sign in (1.0, -1.0):
        sticks.append(Stick(BODY, *[_at(sign * 0.05, 0.5, 0.035)] * 2, 0.012, colour="dark"))
        for y in (0.33, 0.06):
            knee, foot = _at(sign * 0.15, y - 0.05, -0.02), _at(sign * 0.16, y - 0.15, -0.03)
            sticks.append(Stick(BODY, _at(sign * 0.05, y), knee, 0.026, 0.02, "green"))
            sticks.append(Stick(BODY, knee, foot, 0.02, 0.024, "green", 0.6))
    return sticks


def _give_shape(rig: bpy.types.Object) -> None:
    """Draw the control around the body: an oval that lies level."""
    points = [
        (1.0 * math.sin(math.tau * i / 48), 1.4 * math.cos(math.tau * i / 48) + 0.8, 0.0)
        for i in range(48)
    ]
    mesh = bpy.data.meshes.new("WGT-Body")
    mesh.from_pydata(points, [(i, (i + 1) % 48) for i in range(48)], [])
    bone = rig.pose.bones[BODY]
    bone.custom_shape = bpy.data.objects.new("WGT-Body", mesh)
    bone.color.palette = "THEME09"


LOOK = (0.25, -0.15, 0.25), 3.3, (62.0, 20.0)
EXAMPLE = Example("tail", build, BODY, FRAMES, 66, LOOK)
