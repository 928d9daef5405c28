"""Where targets go: a waltz box for the feet, a circle and a figure eight for the hands.

Every path is closed and a function of the share of the loop that has passed, from 0 to 1. The
figure looks along -Y, its left is +X; metres and radians.
"""

from __future__ import annotations

import math

from mathutils import Vector

from examples.parts import rigs

# Side and depth of the box. The feet start at its left rear corner, which is centred below.
BOX = (0.3, 0.22)
HALF_STANCE = 0.1
ANKLE_HEIGHT = 0.085
BEATS = 6

# Where a foot goes, in units of the box (to the right, to the front), and in which beat.
LEFT_STEPS = {0: (0, 1), 2: (1, 1), 4: (0, 0)}
RIGHT_STEPS = {1: (1, 1), 3: (1, 0), 5: (0, 0)}

# A step lifts the ankle by this much, and tips the foot toward its toes, then toward its heel.
STEP_HEIGHT = 0.15
STEP_PITCH = 0.9


def foot(side: str, passed: float) -> tuple[Vector, float]:
    """Return position of an ankle, and how far the foot is tipped toward its toes."""
    steps, sign = (LEFT_STEPS, 1) if side == "L" else (RIGHT_STEPS, -1)
    beat, progress = divmod(passed % 1.0 * BEATS, 1.0)
    start = end = (0, 0)
    for number, corner in steps.items():
        if number <= beat:
            start, end = end, corner
    if int(beat) not in steps:
        start, progress = end, 0.0
    eased = rigs.eased(progress)
    right, front = (a + (b - a) * eased for a, b in zip(start, end))
    swing = math.sin(math.pi * progress) ** 2
    side_way, depth = sign * HALF_STANCE + BOX[0] * (0.5 - right), BOX[1] * (0.5 - front)
    position = Vector((side_way, depth, ANKLE_HEIGHT + STEP_HEIGHT * swing))
    return position, STEP_PITCH * swing * (0.6 - progress)


def hips(passed: float) -> Vector:
    """Return how far the hips have moved from their rest position: round, between the feet."""
    side = math.cos(math.tau * (passed - 1.0 / 12.0))
    depth = math.cos(math.tau * (passed + 1.0 / 12.0))
    # Fall into the first step of each half of the box, rise on the other two.
    rise = -math.cos(2.0 * math.tau * (passed - 0.08))
    return Vector((0.5 * BOX[0] * side, 0.5 * BOX[1] * depth - 0.03, 0.02 * rise - 0.055))


def head(passed: float) -> Vector:
    """Return the position of the top of the neck: it stays behind while the hips go round."""
    angle = math.tau * passed
    sway = Vector((0.08 * math.sin(2.0 * angle), -0.05 - 0.04 * math.cos(angle), 1.69))
    sway.z += 0.035 * math.cos(2.0 * angle)
    return hips(passed) * Vector((0.1, 0.2, 1.0)) + sway


def left_hand(passed: float) -> Vector:
    angle = 3.0 * math.tau * passed
    across, up = math.cos(angle), math.sin(angle)
    return Vector((0.39 + 0.13 * across, -0.2 + 0.06 * up, 1.34 + 0.13 * up))


def right_hand(passed: float) -> Vector:
    angle = math.tau * (passed + 0.1)
    across, up = math.cos(angle), math.sin(2.0 * angle)
    return Vector((-0.42 + 0.16 * across, -0.26 + 0.096 * across, 1.62 + 0.1 * up))


# Position and forward tip of each limb's target.
TARGETS = {
    "spine": lambda passed: (head(passed), 0.0),
    "left arm": lambda passed: (left_hand(passed), 0.0),
    "right arm": lambda passed: (right_hand(passed), 0.0),
    "left leg": lambda passed: foot("L", passed),
    "right leg": lambda passed: foot("R", passed),
}
