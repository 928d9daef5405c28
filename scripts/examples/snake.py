"""A snake: the solver Follow, led by the head, which is an empty on a winding way."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.parts import bodies, rigs, studio
from examples.parts.bodies import Stick
from examples.parts.rigs import Example, Point

# Metres: 1.6 m long, on a ring with eight bends.
FRAMES, COUNT, LENGTH, THICK, RING, BENDS, SWAY = 240, 40, 1.6, 0.032, 0.85, 8, 0.13
TARGET = "Head Target"


def path(passed: float) -> Vector:
    """Return where the snake's nose is by the share of the loop."""
    turn = math.tau * passed
    away = RING + SWAY * math.sin(BENDS * turn)
    return Vector((away * math.cos(turn), away * math.sin(turn), THICK))


def build() -> bpy.types.Object:
    joints = _joints()
    names = [f"Bone {i + 1}" for i in range(COUNT)]
    rig = rigs.add_rig("Snake", rigs.bones_along(names, joints))
    rigs.colour_chain(rig, names, "THEME04")
    ball = rigs.add_empty(TARGET, (0.0, 0.0, 0.0), 0.05, "SPHERE", "Snake")
    rigs.key_object(ball, FRAMES, lambda passed: Matrix.Translation(path(passed)))
    options = {"chain_count": COUNT, "solver": "FOLLOW", "max_bend": math.radians(40.0)}
    rigs.hang_chain(rig, "Snake", names[-1], ball, **options)
    bodies.give_body(rig, _sticks(joints, names))
    way = studio.draw_path("head", [path(i / 240) for i in range(240)], "sand")
    way.location.z = -THICK
    studio.add_floor(12.0)
    return rig


def _joints() -> list[Point]:
    """Return the joints at rest: on the way that the head has come, the end of the tail first.

    A snake that begins elsewhere would be dragged there at once.
    """
    joints, passed = [path(0.0)], 0.0
    for _ in range(COUNT):
        while (path(passed) - joints[-1]).length < LENGTH / COUNT:
            passed -= 1e-4
        way = path(passed) - joints[-1]
        joints.append(joints[-1] + way.normalized() * LENGTH / COUNT)
    return [tuple(joint) for joint in reversed(joints)]


def _sticks(joints: list[Point], names: list[str]) -> list[Stick]:
    sticks = []
    for i, name in enumerate(names):
        thick = [THICK * min(1.0, 0.2 + 1.6 * (i + more) / COUNT) for more in (0, 1)]
        thick = [0.8 * THICK] * 2 if i > COUNT - 4 else thick
        sticks.append(Stick(name, *joints[i : i + 2], *thick, "dark" if i % 5 == 0 else "green"))
    nose, before = Vector(joints[-1]), Vector(joints[-2])
    along = (nose - before).normalized()
    side = along.cross(Vector((0.0, 0.0, 1.0)))
    back = nose - 0.045 * along
    sticks.append(Stick(names[-1], tuple(back), tuple(nose), 0.038, 0.024, "green", 0.75))
    for sign in (1.0, -1.0):
        eye = tuple(nose - 0.02 * along + sign * 0.022 * side + Vector((0.0, 0.0, 0.017)))
        sticks.append(Stick(names[-1], eye, eye, 0.008, colour="target"))
    tongue = tuple(nose + 0.02 * along), tuple(nose + 0.06 * along)
    sticks.append(Stick(names[-1], *tongue, 0.004, 0.002, "chain"))
    return sticks


LOOK = (0.0, -0.12, 0.0), 3.9, (52.0, 15.0)
EXAMPLE = Example("snake", build, TARGET, FRAMES, 190, LOOK)
