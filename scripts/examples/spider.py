"""Example of a spider: eight legs that share its body are one tree, so feet move the body."""

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

# The spider walks once around a circle; metres.
FRAMES, STEPS, RADIUS, HEIGHT = 192, 32, 0.22, 0.045
WALK, BODY = "Walk", "Body"
# X and Y of hips and feet of the left side, from front to rear.
LEGS = {
    "1": ((0.016, -0.020), (0.065, -0.115)),
    "2": ((0.020, -0.007), (0.120, -0.045)),
    "3": ((0.020, 0.007), (0.120, 0.045)),
    "4": ((0.016, 0.020), (0.075, 0.130)),
}
# A bone named "foot" at the end would only take the target's rotation.
PARTS = ("hip", "thigh", "shin", "tip")
# Share of a step in which a foot is in the air, and its height there, metres.
SWING, LIFT = 0.42, 0.03
# X, Y, radius and height of stones.
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
    bodies.add_body(rig, _sticks())
    rigs.key_bone(rig, WALK, FRAMES, _make_walk_matrix, step=4)
    for number, (chain, (*_, joints)) in enumerate(zip(rig.chain_ik.chains, _legs())):
        # Neighbours and opposite feet alternate.
        turn = 0.5 * ((number + number // 4) % 2)
        make_matrix = partial(_make_foot_matrix, Vector(joints[-1]), turn)
        rigs.key_bone(rig, chain.subtarget, FRAMES, make_matrix, step=1)
    studio.add_floor(2.0)
    for x, y, wide, high in STONES:
        dome = studio.add_prop("Stone", "uv_sphere", (x, y, 0.0), (wide, wide, high), "stone")
        dome.data.shade_smooth()
    return rig


def _legs() -> Iterator[tuple[str, list[str], list[Point]]]:
    """Yield number and side of each leg, its bones, and its joints at rest down to the ground."""
    shape = ((0.0, HEIGHT), (0.10, HEIGHT + 0.004), (0.42, 0.112), (0.84, 0.06), (1.0, 0.0))
    for side, sign in SIDES.items():
        for leg, ends in LEGS.items():
            start, end = map(Vector, ends)
            points = [start.lerp(end, share) for share, _ in shape]
            joints = [(RADIUS + sign * x, y, z) for (x, y), (_, z) in zip(points, shape)]
            yield f"{leg}.{side}", [f"{part}.{leg}.{side}" for part in PARTS], joints


def _make_walk_matrix(share: float) -> Matrix:
    """Return the matrix of the spider, which starts at rest and looks along -Y."""
    rest = Matrix.Translation((RADIUS, 0.0, 0.0)) @ Matrix.Rotation(math.pi, 4, "Z")
    return Matrix.Rotation(-math.tau * share, 4, "Z") @ rest


def _make_foot_matrix(start: Vector, turn: float, loop_share: float) -> Matrix:
    """Return the matrix of a foot, planted or moving to its next place."""
    whole, share = divmod(loop_share * STEPS + turn, 1.0)
    progress = max(0.0, share - (1.0 - SWING)) / SWING
    eased = rigs.ease(progress)
    # A foot is planted beside the spider's place in the middle of a step.
    places = [_foothold(start, whole + ahead - turn + 0.5 * (1.0 - SWING)) for ahead in (0.0, 1.0)]
    position = places[0].lerp(places[1], eased)
    position.z += LIFT * math.sin(math.pi * progress) ** 2
    return Matrix.Translation(position)


def _foothold(start: Vector, step: float) -> Vector:
    """Return the place of a foot for the middle of a step, on the floor or on a stone."""
    position = Matrix.Rotation(-math.tau * step / STEPS, 3, "Z") @ start
    for *middle, wide, high in STONES:
        share = (position.xy - Vector(middle)).length_squared / wide**2
        position.z = max(position.z, high * math.sqrt(max(0.0, 1.0 - share)))
    return position


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
