"""Legs: feet that stay on the ground or step onto a block while the hips move."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.parts import human, rigs, studio
from examples.parts.rigs import Example, Point

FRAMES = 96
TARGET = "foot Target.L"
STEP = 0.20
BLOCK = Vector((-0.04, -0.62, 0.0)), Vector((0.30, -0.24, STEP))
# The ankle on the block, and how far the hips follow, metres from where they are at rest.
FORWARD, HIPS_TO = -0.36, Vector((0.05, -0.12, -0.01))


def build() -> bpy.types.Object:
    rig = human.add_person("Leg")
    driven = {}
    for side, colour in (("L", "chain"), ("R", "second")):
        human.add_limb(rig, f"Leg.{side}", human.LEG, side)
        driven |= {f"{part}.{side}": colour for part in human.LEG}
        driven[f"toes.{side}"] = colour
    human.give_body(rig, driven)
    rest = rig.pose.bones[TARGET].bone.matrix_local.copy()
    rigs.key_bone(rig, TARGET, FRAMES, lambda passed: stepped(rest, passed))
    hips = rig.pose.bones["hips"].bone.matrix_local.copy()
    rigs.key_bone(rig, "hips", FRAMES, lambda passed: swayed(hips, passed))
    studio.add_floor(12.0)
    studio.add_block("Block", *BLOCK)
    return rig


def stepped(rest: Matrix, passed: float) -> Matrix:
    """Return the matrix of the left foot's control: up, a while there, and back."""
    share, lift = _share(passed)
    toes_down = 0.5 * lift * (1.0 if passed < 0.5 else -0.6)
    # Up before forward: the toes clear the edge.
    height = STEP * min(1.0, 2.2 * share) + 0.10 * lift
    moved = Vector((0.02 * share, FORWARD * share**1.6, height))
    turned = Matrix.Rotation(toes_down, 4, "X") @ rest
    turned.translation = rest.translation + moved
    return turned


def swayed(rest: Matrix, passed: float) -> Matrix:
    """Return the matrix of the hips: toward the leg that stands, lower while the other swings."""
    share, lift = _share(passed)
    moved = HIPS_TO * share + Vector(
        (-0.04 * lift, 0.0, -0.03 - 0.02 * math.sin(math.tau * passed))
    )
    return Matrix.Translation(moved) @ rest


def _share(passed: float) -> tuple[float, float]:
    """Return how much of the step is done, 1 on the block, and how far the foot swings."""
    ways: tuple[Point, ...] = ((0.1, 0.4, 0.0), (0.6, 0.9, 1.0))
    for start, end, begun in ways:
        if start <= passed % 1.0 < end:
            progress = (passed % 1.0 - start) / (end - start)
            eased = rigs.eased(progress)
            return abs(begun - eased), math.sin(math.pi * progress) ** 2
    return (1.0 if 0.4 <= passed % 1.0 < 0.6 else 0.0), 0.0


LOOK = (0.0, -0.12, 0.66), 4.4, (78.0, 60.0)
EXAMPLE = Example("leg", build, TARGET, FRAMES, 27, LOOK)
