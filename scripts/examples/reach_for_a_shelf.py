"""A whole body: a hand reaches for a shelf beyond its arm, and the feet stay."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix, Vector

from examples.example import Example
from examples.parts import human, rigs, studio

FRAMES = 96
LEFT, RIGHT = "Arm Target.L", "Arm Target.R"
# Places of wrists, metres: at the jar on the shelf, on the way there, on the counter.
AT_JAR, AT_COUNTER = Vector((0.16, -0.54, 1.86)), Vector((0.27, -0.34, 1.02))
HOLDING = Vector((-0.27, -0.34, 0.98))
COUNTER = Vector((-0.75, -0.85, 0.0)), Vector((0.75, -0.42, 0.90))
SHELF = Vector((-0.75, -0.85, 1.79)), Vector((0.75, -0.61, 1.82))
JAR, RADIUS, HEIGHT = Vector((0.16, -0.71, 1.82)), 0.045, 0.15
AROUND = 24

NOTE = """REACH FOR A SHELF

Press Space: the left hand reaches for a jar that is farther away than the arm is long, and comes \
back. Animated is the control at the left hand, and nothing else. The body follows.

LOOK AT
The feet. Both are pinned, so they stay exactly where they are while hips, spine and shoulder give \
way to the hand. In the sidebar (N), tab Chain IK, the list has a pin beside each chain; the \
panels of a chain say its Priority and its Pull.

TRY
1. Stop playing. Click the box at the left hand, press G and pull it away: sideways, back, down to \
the floor. Pull it much too far: the hand stops where the body ends, and the status says what \
holds it back.
2. Click the box at the right hand and pull as well. Both hands have priority 2, so they share \
what is left by their Weight.
3. Choose the chain Arm.R and switch its pin on: now the right hand stays, and the left one gives \
way.
4. Set Pull of Arm.L to 0: the body stays, and the arm stops at its length, as without a body.
5. Move the bone "Torso", the ring around the hips: the body crouches on its feet.
"""


def build() -> bpy.types.Object:
    """Fill the file: a person in front of a counter, and a shelf above it."""
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
    _add_jar()
    return rig


def _reached(passed: float) -> Matrix:
    """Return the matrix of the left hand: from the counter to the jar, a while there, and back."""
    share = 0.5 - 0.5 * math.cos(math.tau * passed)
    share = min(1.0, 1.15 * share)
    eased = rigs.eased(share)
    place = AT_COUNTER.lerp(AT_JAR, eased)
    # Around the edge of the shelf, not through it.
    place.y += 0.16 * math.sin(math.pi * eased)
    level, raised = Vector((0.0, -1.0, -0.2)), Vector((0.0, -0.75, 0.55))
    along = level.lerp(raised, math.sin(0.5 * math.pi * eased))
    return rigs.placed(place, tuple(along), (0.0, 0.3, 1.0))


def _add_jar() -> None:
    """Add the jar that the hand reaches for."""
    turns = [math.tau * i / AROUND for i in range(AROUND)]
    circle = [(RADIUS * math.cos(turn), RADIUS * math.sin(turn)) for turn in turns]
    points = [(x, y, z) for z in (0.0, HEIGHT) for x, y in circle]
    wall = [(i, (i + 1) % AROUND) for i in range(AROUND)]
    faces = [(a, b, AROUND + b, AROUND + a) for a, b in wall]
    faces += [tuple(range(AROUND))[::-1], tuple(range(AROUND, 2 * AROUND))]
    studio.add_scenery("Jar", points, faces, "target", place=JAR, is_smooth=False)


EXAMPLE = Example(
    name="reach_for_a_shelf",
    build=build,
    control=LEFT,
    frames=FRAMES,
    pictured=49,
    look=((0.0, -0.3, 1.0), 6.0, (80.0, 118.0)),
    note=NOTE,
    giving_way=frozenset({"Spine", "Hips"}),
)
