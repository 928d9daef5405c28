"""A whole body: a hand reaches for a shelf beyond its arm, and the feet stay."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.parts import human, rigs, studio
from examples.parts.rigs import Example

FRAMES = 96
LEFT, RIGHT = "Arm Target.L", "Arm Target.R"
# Places of wrists, metres: at the jar on the shelf, on the way there, on the counter.
AT_JAR, AT_COUNTER = Vector((0.16, -0.54, 1.86)), Vector((0.27, -0.34, 1.02))
HOLDING = Vector((-0.27, -0.34, 0.98))
COUNTER = Vector((-0.75, -0.85, 0.0)), Vector((0.75, -0.42, 0.90))
SHELF = Vector((-0.75, -0.85, 1.79)), Vector((0.75, -0.61, 1.82))
JAR = Vector((0.16, -0.71, 1.895))


def build() -> bpy.types.Object:
    rig = human.add_person("Reach")
    human.make_whole_body(rig)
    human.give_body(rig, human.limb_colours())
    rigs.key_bone(rig, LEFT, FRAMES, _reached)
    right = rig.pose.bones[RIGHT]
    # A hand that rests on the counter.
    flat = rigs.placed(HOLDING, (0.0, -1.0, -0.25))
    right.matrix_basis = right.bone.matrix_local.inverted() @ flat
    studio.add_floor(12.0)
    studio.add_block("Counter", *COUNTER)
    studio.add_block("Shelf", *SHELF)
    studio.add_prop("Jar", "cylinder", JAR, (0.045, 0.045, 0.075), "target")
    return rig


def _reached(passed: float) -> Matrix:
    """Return the matrix of the left hand: from the counter to the jar, a while there, and back."""
    eased = rigs.eased(min(1.0, 1.15 * (0.5 - 0.5 * math.cos(math.tau * passed))))
    place = AT_COUNTER.lerp(AT_JAR, eased)
    # Around the edge of the shelf, not through it.
    place.y += 0.16 * math.sin(math.pi * eased)
    level, raised = Vector((0.0, -1.0, -0.2)), Vector((0.0, -0.75, 0.55))
    along = level.lerp(raised, math.sin(0.5 * math.pi * eased))
    return rigs.placed(place, tuple(along), (0.0, 0.3, 1.0))


LOOK = (0.0, -0.3, 1.0), 6.0, (80.0, 118.0)
EXAMPLE = Example(
    "reach_for_a_shelf", build, LEFT, FRAMES, 49, LOOK, giving_way=frozenset({"Spine", "Hips"})
)
