"""Example of a dragon's neck: the solver Force with springs that are stiff at the body."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.parts import bodies, rigs, studio
from examples.parts.bodies import Stick
from examples.parts.rigs import Bone, Example, Point

# Metres: a neck of 3.6 m on shoulders 2.3 m high. The dragon looks along -Y.
FRAMES, COUNT = 144, 12
ROOT, RISE = Vector((0.0, 0.0, 2.4)), 3.6
HEAD = "head"
TARGET = "head Target"


def build() -> bpy.types.Object:
    joints = _joints()
    names = [f"neck {i + 1}" for i in range(COUNT)]
    table = {"chest": Bone((0.0, 1.6, 2.2), tuple(ROOT))}
    table |= rigs.bones_along(names, joints, "chest", (0.0, -1.0, 0.0))
    nose = tuple(Vector(joints[-1]) + Vector((0.0, -0.75, -0.1)))
    rig = rigs.add_rig("Dragon", {**table, HEAD: Bone(joints[-1], nose, names[-1])})
    chain = rigs.add_chain(rig, "Neck", [*names, HEAD], solver="FORCE", use_pole=False)
    # Stiff at the body, flexible at the head.
    chain.force.stiffness_root, chain.force.stiffness_tip = 5.0, 0.5
    chain.force.mass, chain.force.gravity = 1.0, 0.3
    rigs.colour_chain(rig, names, "THEME04")
    rigs.key_bone(rig, chain.subtarget, FRAMES, make_control_matrix, step=3)
    bodies.add_body(rig, _sticks(joints, names))
    studio.add_floor(40.0)
    return rig


def make_control_matrix(share: float) -> Matrix:
    """Return the matrix of the head's control: the head looks left, right and to the ground."""
    turn = math.tau * share
    position = (
        1.9 * math.sin(turn),
        -1.9 - 0.35 * math.cos(2.0 * turn),
        3.6 + 0.9 * math.cos(2.0 * turn + 0.5),
    )
    along = (0.75 * math.sin(turn), -1.0, -0.15 + 0.25 * math.sin(2.0 * turn))
    return rigs.make_matrix(position, along)


def _joints() -> list[Point]:
    """Return the joints at rest: an S that rises from the chest."""
    joints = [ROOT.copy()]
    for i in range(COUNT):
        share = (i + 0.5) / COUNT
        angle = math.radians(62.0 + 45.0 * math.sin(math.pi * share) - 25.0 * share)
        step = Vector((0.0, -math.cos(angle), math.sin(angle))) * RISE / COUNT
        joints.append(joints[-1] + step)
    return [tuple(joint) for joint in joints]


def _sticks(joints: list[Point], names: list[str]) -> list[Stick]:
    elbow, hand = (0.72, 0.75, 1.0), (0.75, 0.3, 0.16)
    sticks = [
        Stick("chest", (0.0, 2.2, 1.9), (0.0, 0.55, 2.05), 0.78, 0.72, "green"),
        Stick("chest", (0.0, 0.55, 2.05), tuple(ROOT), 0.66, 0.42, "green"),
        *bodies.with_mirrored(
            Stick("chest", (0.55, 0.5, 1.9), elbow, 0.34, 0.2, "green"),
            Stick("chest", elbow, hand, 0.2, 0.16, "green"),
            Stick("chest", hand, (0.75, 0.02, 0.1), 0.16, 0.1, "green"),
        ),
    ]
    radii = [0.40 - 0.21 * (i / COUNT) ** 0.8 for i in range(COUNT + 1)]
    for stick in bodies.sticks_along(names, joints, radii, ["green"]):
        sticks += stick, _spike(stick)
    return sticks + _head(Vector(joints[-1]))


def _spike(neck: Stick) -> Stick:
    """Return a spike on the back of a neck bone."""
    head, tail, radius = Vector(neck.start), Vector(neck.end), neck.radius
    along, middle = (tail - head).normalized(), 0.5 * (head + tail)
    out = radius * along.cross(Vector((1.0, 0.0, 0.0)))
    ends = tuple(middle + 0.8 * out), tuple(middle + 1.75 * out - 0.08 * along)
    return Stick(neck.bone, *ends, 0.3 * radius, 0.06 * radius, "chain")


def _head(base: Vector) -> list[Stick]:
    def at(x: float, y: float, z: float) -> Point:
        return tuple(base + Vector((x, y, z)))

    return [
        Stick(HEAD, at(0.0, 0.0, 0.0), at(0.0, -0.22, 0.02), 0.20, 0.23, "green"),
        Stick(HEAD, at(0.0, -0.25, 0.02), at(0.0, -0.72, -0.06), 0.20, 0.12, "green", 0.75),
        Stick(HEAD, at(0.0, -0.2, -0.12), at(0.0, -0.66, -0.22), 0.13, 0.08, "sand", 0.6),
        *bodies.with_mirrored(
            Stick(HEAD, *[at(0.15, -0.3, 0.12)] * 2, 0.055, colour="target"),
            Stick(HEAD, *[at(0.05, -0.8, 0.0)] * 2, 0.025, colour="dark"),
            Stick(HEAD, at(0.12, 0.0, 0.16), at(0.24, 0.5, 0.34), 0.06, 0.012, "light"),
        ),
    ]


LOOK = (0.0, -0.3, 2.75), 15.0, (82.0, 62.0)
EXAMPLE = Example("dragon_neck", build, TARGET, FRAMES, 122, LOOK)
