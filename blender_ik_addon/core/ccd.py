"""CCD: one iteration turns every joint, tip first, so that the effector points at the target."""

from __future__ import annotations

import numpy as np

from . import vectors
from .vectors import Array, cross, norm, smoothstep, unit

# Where effector or target come closer to a joint than this share of the chain, the direction from
# that joint means little, and turning it all the way makes the chain jitter near its root.
SHORT_LEVER = 0.05


def step(points: Array, lengths: Array, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the joints after one iteration.

    Args:
        points: Joints relative to the root, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        target: Relative to the root, shape (3, B).
        damping: Shape (B,); not used, handed through.

    Returns:
        The new joints, and the damping.

    Source: Wang and Chen, "A combined optimization method for solving the inverse kinematics
    problem of mechanical manipulators", IEEE Trans. Robotics and Automation 7 (1991), section
    III; the fade for short levers is derived for this project.
    """
    short = SHORT_LEVER * lengths.sum(axis=0)
    effector = points[-1]
    turns = []
    for i in reversed(range(len(lengths))):
        to_effector, to_target = effector - points[i], target - points[i]
        lever = np.minimum(norm(to_effector), norm(to_target))
        turn = _aim(
            to_effector, to_target, points[i + 1] - points[i], smoothstep(lever, 0.0, short)
        )
        effector = points[i] + vectors.rotate(turn, to_effector)
        turns.append(turn)
    segments = np.diff(points, axis=0)
    moved = np.zeros_like(points)
    carried = turns.pop()
    for i in range(len(lengths)):
        direction = vectors.rotate(carried, segments[i])
        moved[i + 1] = moved[i] + direction * (lengths[i] / norm(direction))
        if turns:
            carried = vectors.compose(carried, turns.pop())
    return moved, damping


def _aim(to_effector: Array, to_target: Array, segment: Array, share: Array) -> Array:
    """Return rotations by a share of the way from one direction to the other."""
    along = segment / norm(segment)
    source = unit(to_effector, along)
    wanted = unit(to_target, source)
    aside = vectors.any_perpendicular(source)
    axis = unit(cross(source, wanted), aside)
    sine = norm(cross(source, wanted))
    angle = np.arctan2(sine, vectors.dot(source, wanted))
    return vectors.turn(axis, share * angle)
