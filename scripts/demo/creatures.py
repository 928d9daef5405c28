"""Three creatures: a snake and a neck that forces pull, and a rope that is dragged.

The unit is the length of a bone. Every creature is on the floor, Z is up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import bpy
from mathutils import Vector

from examples.parts import bodies, rigs, studio
from examples.parts.rigs import Example, Look, Point

# Distance of the creatures in the saved file.
SPACING = 60.0


class Creature(NamedTuple):
    """A creature: its joints at rest, root first, and the place of its target by frame.

    ``drawn`` are the frames of its pictures. Its bones have two colours in turn.
    """

    name: str
    solver: str
    joints: tuple[Point, ...]
    target: Callable[[int], Point]
    frames: int
    drawn: tuple[int, ...]
    radius: float
    colours: tuple[str, str]
    look: Look
    front: Point = (0.0, -1.0, 0.0)
    """Direction of the bones' Z axes at rest."""


def _snake_target(frame: int) -> Point:
    angle = math.tau * frame / 60.0
    return 13.0 * math.cos(angle), 13.0 * math.sin(angle), 6.0 + 4.0 * math.sin(2.0 * angle)


def _neck_target(frame: int) -> Point:
    # The target waits, then jumps three times.
    places = ((4.0, -3.0, 9.0), (-6.0, -2.0, 4.0), (6.5, -2.0, 6.0), (-2.0, -4.0, 9.5))
    return places[min((frame - 1) // 40, 3)]


def _rope_target(frame: int) -> Point:
    turn = math.tau * (frame - 1) / 160.0
    height = 0.4 + 3.0 * math.sin(0.5 * turn) ** 2
    return 10.0 * math.cos(turn) - 10.0, 7.0 * math.sin(2.0 * turn), height


_SNAKE = tuple((0.12 * (i % 2), 0.0, 0.8 * i) for i in range(31))
_NECK = tuple((0.0, 0.06 * (i % 2), float(i)) for i in range(13))
_ROPE = tuple((-24.0 + i, 0.05 * (i % 2), 0.4) for i in range(25))
ALL_CREATURES = (
    Creature(
        "snake", "FORCE", _SNAKE, _snake_target, 60, (10, 22, 34, 46, 58), 0.4,
        ("green", "sand"), ((0.0, 0.0, 5.0), 48.0, (69.7, 34.4)),
    ),
    Creature(
        "neck", "FORCE", _NECK, _neck_target, 160, (40, 46, 56, 80, 92), 0.4,
        ("#8f5bd7", "chain"), ((0.0, 0.0, 5.0), 26.0, (81.7, 19.1)),
    ),
    Creature(
        "rope", "FOLLOW", _ROPE, _rope_target, 160, (24, 56, 88, 120, 152), 0.25,
        ("second", "#e05c9a"), ((-11.5, 0.0, 1.0), 45.0, (60.7, 24.5)), (0.0, 0.0, 1.0),
    ),
)  # fmt: skip


def place(creature: Creature) -> Vector:
    return Vector((SPACING * ALL_CREATURES.index(creature), 0.0, 0.0))


def build() -> bpy.types.Object:
    studio.add_floor(2000.0)
    first, *_ = [_add(creature) for creature in ALL_CREATURES]
    return first


def _add(creature: Creature) -> bpy.types.Object:
    """Return a rig with a body and a chain that follows a keyed target."""
    joints = [tuple(place(creature) + Vector(joint)) for joint in creature.joints]
    names = [f"Bone {number}" for number in range(len(joints) - 1)]
    path = [
        place(creature) + Vector(creature.target(frame)) for frame in range(1, creature.frames + 1)
    ]
    target = bodies.add_ball(f"target of {creature.name}", 1.5 * creature.radius, "light")
    for frame, target.location in enumerate(path, start=1):
        target.keyframe_insert("location", frame=frame)
    if creature.name != "neck":  # the neck's target jumps
        studio.draw_path(creature.name, path, creature.colours[1], 0.08)
    rig = rigs.add_rig(creature.name, rigs.bones_along(names, joints, "", creature.front))
    radii = [creature.radius] * len(joints)
    bodies.add_body(rig, bodies.sticks_along(names, joints, radii, creature.colours))
    chain = rigs.add_chain_data(rig, creature.name, names[-1], target, solver=creature.solver)
    bpy.ops.object.mode_set(mode="POSE")
    if creature.name == "snake":
        bpy.ops.pose.chain_ik_creature_load(creature="SNAKE")
        # A chain so flexible has many equally good poses: start from the present one.
        chain.start_from = "CURRENT"
    elif creature.name == "neck":
        bpy.ops.pose.chain_ik_creature_load(creature="DINOSAUR_NECK")
        chain.force.use_gradual = True
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


FRAMES = max(creature.frames for creature in ALL_CREATURES)
CREATURES = Example("creatures", build, "target of snake", FRAMES, 10, ALL_CREATURES[0].look)
