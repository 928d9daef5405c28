"""Example of a whole body: a hand reaches for a shelf beyond its arm, and the feet stay."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.parts import human, rigs, studio
from examples.parts.rigs import Example

FRAMES = 96
LEFT, RIGHT = "Arm Target.L", "Arm Target.R"
# Positions of wrists, metres: of the left hand at the jar and the counter, of the right hand.
AT_JAR, AT_COUNTER = Vector((0.16, -0.54, 1.86)), Vector((0.27, -0.34, 1.02))
HOLDING = Vector((-0.27, -0.34, 0.98))
COUNTER = Vector((-0.75, -0.85, 0.0)), Vector((0.75, -0.42, 0.90))
SHELF = Vector((-0.75, -0.85, 1.79)), Vector((0.75, -0.61, 1.82))
JAR = Vector((0.16, -0.71, 1.895))


def build() -> bpy.types.Object:
    rig = human.add_person("Reach")
    human.make_whole_body(rig)
    human.add_body(rig, human.limb_colours())
    rigs.key_bone(rig, LEFT, FRAMES, _make_left_matrix)
    right = rig.pose.bones[RIGHT]
    # The right hand rests on the counter.
    hand_matrix = rigs.make_matrix(HOLDING, (0.0, -1.0, -0.25))
    right.matrix_basis = right.bone.matrix_local.inverted() @ hand_matrix
    studio.add_floor(12.0)
    studio.add_block("Counter", *COUNTER)
    studio.add_block("Shelf", *SHELF)
    studio.add_prop("Jar", "cylinder", JAR, (0.045, 0.045, 0.075), "target")
    return rig


def _make_left_matrix(share: float) -> Matrix:
    """Return the matrix of the left hand: from the counter to the jar, a pause, and back."""
    progress = rigs.ease(min(1.0, 1.15 * (0.5 - 0.5 * math.cos(math.tau * share))))
    place = AT_COUNTER.lerp(AT_JAR, progress)
    # Move around the edge of the shelf, not through it.
    place.y += 0.16 * math.sin(math.pi * progress)
    level, raised = Vector((0.0, -1.0, -0.2)), Vector((0.0, -0.75, 0.55))
    along = level.lerp(raised, math.sin(0.5 * math.pi * progress))
    return rigs.make_matrix(place, tuple(along), (0.0, 0.3, 1.0))


LOOK = (0.0, -0.3, 1.0), 6.0, (80.0, 118.0)
EXAMPLE = Example(
    "reach_for_a_shelf", build, LEFT, FRAMES, 49, LOOK, giving_way=frozenset({"Spine", "Hips"})
)
