"""Example of an arm: two bones, a pole for the elbow, a hand that turns with its target."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix

from examples.parts import human, rigs, studio
from examples.parts.rigs import Example, Point

FRAMES = 96
TARGET, POLE = "hand Target.L", "hand Pole.L"


def path(share: float) -> Point:
    """Return the position of the wrist, metres: a sideways eight in front of the chest."""
    turn = math.tau * share
    return (
        0.25 + 0.14 * math.cos(turn),
        -0.30 + 0.04 * math.cos(2.0 * turn),
        1.29 + 0.10 * math.sin(2.0 * turn),
    )


def make_control_matrix(share: float) -> Matrix:
    """Return the matrix of the hand's control."""
    turn = math.tau * share
    return rigs.make_matrix(path(share), (0.35 * math.cos(turn), -1.0, 0.35 + 0.3 * math.sin(turn)))


def build() -> bpy.types.Object:
    rig = human.add_person("Arm")
    chain = human.add_arm(rig, "L")
    human.add_body(rig, {"upper_arm.L": "chain", "forearm.L": "chain", "hand.L": "second"})
    rigs.key_bone(rig, chain.subtarget, FRAMES, make_control_matrix)
    studio.draw_path("hand", [path(step / 64) for step in range(64)], "target")
    studio.add_floor(12.0)
    return rig


LOOK = (0.06, -0.1, 1.33), 2.9, (80.0, 42.0)
EXAMPLE = Example("arm", build, TARGET, FRAMES, 10, LOOK)
