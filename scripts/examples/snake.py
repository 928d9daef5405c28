"""Example of a snake: the solver Follow; its head follows an empty on a winding path."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.parts import bodies, rigs, studio
from examples.parts.bodies import Stick
from examples.parts.rigs import Example, Point

# A snake of 1.6 m on a ring with eight bends; metres.
FRAMES, COUNT, LENGTH, RADIUS, RING, BENDS, SWAY = 240, 40, 1.6, 0.032, 0.85, 8, 0.13
TARGET = "Head Target"


def path(share: float) -> Vector:
    """Return the position of the snake's nose at a share of the loop."""
    turn = math.tau * share
    radius = RING + SWAY * math.sin(BENDS * turn)
    return Vector((radius * math.cos(turn), radius * math.sin(turn), RADIUS))


def build() -> bpy.types.Object:
    joints = _joints()
    names = [f"Bone {i + 1}" for i in range(COUNT)]
    rig = rigs.add_rig("Snake", rigs.bones_along(names, joints))
    rigs.colour_chain(rig, names, "THEME04")
    ball = rigs.add_empty(TARGET, (0.0, 0.0, 0.0), 0.05, "SPHERE", "Snake")
    rigs.key_object(ball, FRAMES, lambda share: Matrix.Translation(path(share)))
    options = {"chain_count": COUNT, "solver": "FOLLOW", "max_bend": math.radians(40.0)}
    rigs.add_chain_data(rig, "Snake", names[-1], ball, **options)
    bodies.add_body(rig, _sticks(joints, names))
    curve = studio.draw_path("head", [path(i / 240) for i in range(240)], "sand")
    curve.location.z = -RADIUS
    studio.add_floor(12.0)
    return rig


def _joints() -> list[Point]:
    """Return the joints at rest: on the path behind the head, the end of the tail first.

    From any other start, the first frame would drag the snake onto the path.
    """
    joints, share = [path(0.0)], 0.0
    for _ in range(COUNT):
        while (path(share) - joints[-1]).length < LENGTH / COUNT:
            share -= 1e-4
        direction = path(share) - joints[-1]
        joints.append(joints[-1] + direction.normalized() * LENGTH / COUNT)
    return [tuple(joint) for joint in reversed(joints)]


def _sticks(joints: list[Point], names: list[str]) -> list[Stick]:
    sticks = []
    for i, name in enumerate(names):
        radii = [RADIUS * min(1.0, 0.2 + 1.6 * (i + end) / COUNT) for end in (0, 1)]
        radii = [0.8 * RADIUS] * 2 if i > COUNT - 4 else radii
        sticks.append(Stick(name, *joints[i : i + 2], *radii, "dark" if i % 5 == 0 else "green"))
    nose, previous = Vector(joints[-1]), Vector(joints[-2])
    along = (nose - previous).normalized()
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
