"""An arm: two bones, a pole for the elbow, a hand that turns with its target."""

from __future__ import annotations

import math

import bpy
from mathutils import Matrix

from examples.example import Example, Point
from examples.parts import human, rigs, studio

FRAMES = 96
TARGET, POLE = "hand Target.L", "hand Pole.L"

NOTE = """ARM

Press Space: the left hand writes a figure eight. Only the control at the hand is animated; the \
arm follows it live, with the solver Two-Bone.

LOOK AT
Sidebar of the 3D view (N), tab Chain IK. The list has one chain, and its status says what the \
last solve did: "Reached".

TRY
1. Stop playing. Click the box at the left hand, press G and move it. The elbow keeps pointing to \
the ball behind it, the pole. Alt+G puts the box back where it was at first.
2. Press R: the hand turns with its control. In the tab this is Rotation.
3. Move the control far away: the arm goes straight, and the status tells how far it is off.
4. Move the pole (the ball): the elbow swings toward it.
5. Bring the control close to the shoulder. The elbow does not fold farther than 130 degrees: \
the forearm has limits (Properties > Bone > Inverse Kinematics). Untick Limits in the tab to \
compare.
6. Press Bake Chains: the bones get keyframes, and the chain is muted. The animation can go to any \
program.
"""


def path(passed: float) -> Point:
    """Return where the wrist is, metres: a lying eight in front of the chest."""
    turn = math.tau * passed
    return (
        0.25 + 0.14 * math.cos(turn),
        -0.30 + 0.04 * math.cos(2.0 * turn),
        1.29 + 0.10 * math.sin(2.0 * turn),
    )


def place(passed: float) -> Matrix:
    """Return where the hand's control is, and how it is turned."""
    turn = math.tau * passed
    return rigs.placed(path(passed), (0.35 * math.cos(turn), -1.0, 0.35 + 0.3 * math.sin(turn)))


def build() -> bpy.types.Object:
    """Fill the file: a person whose left arm follows."""
    rig = human.add_person("Arm")
    chain = human.add_limb(rig, "Arm.L", human.ARM, "L")
    human.give_body(rig, {"upper_arm.L": "chain", "forearm.L": "chain", "hand.L": "second"})
    rigs.key_bone(rig, chain.subtarget, FRAMES, place)
    studio.draw_path("hand", [path(step / 64) for step in range(64)], "target")
    studio.add_floor(12.0)
    return rig


EXAMPLE = Example(
    name="arm",
    build=build,
    control=TARGET,
    frames=FRAMES,
    pictured=10,
    look=((0.06, -0.1, 1.33), 2.9, (80.0, 42.0)),
    note=NOTE,
)
