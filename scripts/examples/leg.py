"""Legs: feet that stay on the ground or step onto a block while the hips move."""

from __future__ import annotations

import math
from functools import partial

import bpy
from mathutils import Matrix, Vector

from examples.parts import human, rigs, studio
from examples.parts.rigs import Example

FRAMES = 96
TARGET = "foot Target.L"
STEP = 0.20
BLOCK = Vector((-0.04, -0.62, 0.0)), Vector((0.30, -0.24, STEP))
# The ankle on the block, and how far the hips follow, metres from where they are at rest.
FORWARD, HIPS_TO = -0.36, Vector((0.05, -0.12, -0.01))


def build() -> bpy.types.Object:
    rig = human.add_person("Leg")
    for side in human.SIDES:
        human.add_limb(rig, f"Leg.{side}", human.LEG, side)
    legs, colours = (*human.LEG, "toes"), human.limb_colours()
    human.give_body(rig, {name: colours[name] for name in colours if name.split(".")[0] in legs})
    for name, moved in ((TARGET, _stepped), ("hips", _swayed)):
        rest = rig.pose.bones[name].bone.matrix_local.copy()
        rigs.key_bone(rig, name, FRAMES, partial(moved, rest))
    studio.add_floor(12.0)
    studio.add_block("Block", *BLOCK)
    return rig


def _stepped(rest: Matrix, passed: float) -> Matrix:
    """Return the matrix of the left foot's control: up, a while there, and back."""
    share = rigs.there_and_back(passed)
    lift = 4.0 * share * (1.0 - share)
    # Up before forward: the toes clear the edge.
    height = STEP * min(1.0, 2.2 * share) + 0.10 * lift
    turned = Matrix.Rotation(lift * (0.5 if passed < 0.5 else -0.3), 4, "X") @ rest
    turned.translation = rest.translation + Vector((0.02 * share, FORWARD * share**1.6, height))
    return turned


def _swayed(rest: Matrix, passed: float) -> Matrix:
    """Return the matrix of the hips: toward the leg that stands, lower while the other swings."""
    share = rigs.there_and_back(passed)
    down = 0.03 + 0.02 * math.sin(math.tau * passed)
    aside = Vector((-0.16 * share * (1.0 - share), 0.0, -down))
    return Matrix.Translation(HIPS_TO * share + aside) @ rest


LOOK = (0.0, -0.12, 0.66), 4.4, (78.0, 60.0)
EXAMPLE = Example("leg", build, TARGET, FRAMES, 25, LOOK)
