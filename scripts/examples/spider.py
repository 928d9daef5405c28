"""A spider: eight legs that share its body are one tree, so the body goes along with its feet."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import bpy
import numpy as np
from mathutils import Matrix, Vector

from examples.parts import bodies, rigs, studio
from examples.parts.bodies import Stick
from examples.parts.human import SIDES
from examples.parts.rigs import Bone, Example, Point

# The walk is once around a circle; metres.
FRAMES, STEPS, RADIUS, HEIGHT = 192, 32, 0.22, 0.045
WALK, BODY = "Walk", "Body"
# Where the legs leave the body, and where they stand; of the left side, front to rear.
LEGS = {
    "1": ((0.016, -0.020), (0.065, -0.115)),
    "2": ((0.020, -0.007), (0.120, -0.045)),
    "3": ((0.020, 0.007), (0.120, 0.045)),
    "4": ((0.016, 0.020), (0.075, 0.130)),
}
# No "foot": that name would make the last bone one that only turns.
PARTS = ("hip", "thigh", "shin", "tip")
# Share of a step in which a foot is in the air, and how high, metres.
SWING, LIFT = 0.42, 0.03
# Where stones lie, how wide and how high they are.
STONES = [
    (
        *(RADIUS + (-0.085, 0.10, -0.02, 0.07)[i % 4]) * np.array((math.cos(way), -math.sin(way))),
        *(0.055 + 0.008 * (i % 3), 0.014 + 0.004 * (i % 4)),
    )
    for i, way in enumerate(0.55 + 0.785 * np.arange(8))
]


def build() -> bpy.types.Object:
    table = {
        WALK: Bone((RADIUS, 0.0, 0.0), (RADIUS, -0.06, 0.0)),
        BODY: Bone((RADIUS, 0.0, HEIGHT), (RADIUS, -0.035, HEIGHT), WALK),
    }
    for _, names, joints in _legs():
        table |= rigs.bones_along(names, joints, BODY)
    rig = rigs.add_rig("Spider", table)
    for leg, names, _ in _legs():
        rigs.add_chain(rig, f"Leg {leg}", [BODY, *names], solver="NEWTON", use_pole=False)
        rigs.colour_chain(rig, names, "THEME04" if leg.endswith("L") else "THEME03")
    bodies.give_body(rig, _sticks())
    rigs.key_bone(rig, WALK, FRAMES, _walk, step=4)
    for number, (chain, (*_, joints)) in enumerate(zip(rig.chain_ik.chains, _legs())):
        # Neighbours and opposite feet take turns.
        turn = 0.5 * ((number + number // 4) % 2)
        place = partial(_foot, Vector(joints[-1]), turn)
        rigs.key_bone(rig, chain.subtarget, FRAMES, place, step=1)
    studio.add_floor(2.0)
    for x, y, wide, high in STONES:
        dome = studio.add_prop("Stone", "uv_sphere", (x, y, 0.0), (wide, wide, high), "stone")
        dome.data.shade_smooth()
    return rig


def _legs() -> Iterator[tuple[str, list[str], list[Point]]]:
    """Yield number and side of each leg, its bones, and its joints at rest, to the ground."""
    shape = ((0.0, HEIGHT), (0.10, HEIGHT + 0.004), (0.42, 0.112), (0.84, 0.06), (1.0, 0.0))
    for side, sign in SIDES.items():
        for leg, ends in LEGS.items():
            start, end = map(Vector, ends)
            ways = [start.lerp(end, share) for share, _ in shape]
            joints = [(RADIUS + sign * x, y, z) for (x, y), (_, z) in zip(ways, shape)]
            yield f"{leg}.{side}", [f"{part}.{leg}.{side}" for part in PARTS], joints


def _walk(passed: float) -> Matrix:
    """Return where the spider is; at the start it is at rest and looks along -Y."""
    rest = Matrix.Translation((RADIUS, 0.0, 0.0)) @ Matrix.Rotation(math.pi, 4, "Z")
    return Matrix.Rotation(-math.tau * passed, 4, "Z") @ rest


def _foot(start: Vector, turn: float, passed: float) -> Matrix:
    """Return where a foot is: planted, or on its way to the next place."""
    whole, share = divmod(passed * STEPS + turn, 1.0)
    progress = max(0.0, share - (1.0 - SWING)) / SWING
    eased = rigs.eased(progress)
    # Planted where the spider is in the middle of this step.
    places = [_at(start, whole + ahead - turn + 0.5 * (1.0 - SWING)) for ahead in (0.0, 1.0)]
    place = places[0].lerp(places[1], eased)
    place.z += LIFT * math.sin(math.pi * progress) ** 2
    return Matrix.Translation(place)


def _at(start: Vector, step: float) -> Vector:
    """Return where a foot stands in the middle of a step, on the floor or on a stone."""
    place = Matrix.Rotation(-math.tau * step / STEPS, 3, "Z") @ start
    for *middle, wide, high in STONES:
        share = (place.xy - Vector(middle)).length_squared / wide**2
        place.z = max(place.z, high * math.sqrt(max(0.0, 1.0 - share)))
    return place


def _sticks() -> list[Stick]:
    def at(x: float, y: float, z: float) -> Point:
        return RADIUS + x, y, HEIGHT + z

    sticks = [
        Stick(BODY, at(0.0, -0.022, 0.0), at(0.0, 0.012, 0.002), 0.017, 0.020, "dark", 0.7),
        Stick(BODY, at(0.0, 0.045, 0.008), at(0.0, 0.075, 0.006), 0.026, 0.031, "dark", 0.85),
    ]
    for sign in (1.0, -1.0):
        eye, fang = at(sign * 0.006, -0.036, 0.009), at(sign * 0.008, -0.034, -0.003)
        sticks.append(Stick(BODY, eye, eye, 0.004, colour="light"))
        sticks.append(Stick(BODY, fang, at(sign * 0.012, -0.052, -0.02), 0.006, 0.003, "dark"))
    radii, colours = (0.0085, 0.008, 0.0062, 0.0045, 0.002), ("chain", "chain", "second", "chain")
    for _, names, joints in _legs():
        sticks += bodies.sticks_along(names, joints, radii, colours)
    return sticks


LOOK = (0.03, -0.06, 0.03), 1.35, (58.0, 25.0)
EXAMPLE = Example("spider", build, "tip.1 Target.L", FRAMES, 31, LOOK)
