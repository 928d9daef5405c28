"""FABRIK: one iteration is a sweep inward from the target and one outward from the root."""

from __future__ import annotations

import numpy as np

from .vectors import Array, unit


def step(points: Array, lengths: Array, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the joints after one iteration.

    Args:
        points: Joints relative to the root, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        target: Relative to the root, shape (3, B).
        damping: Shape (B,); not used, handed through.

    Returns:
        The new joints, and the damping.

    Source: Aristidou and Lasenby, "FABRIK: A fast, iterative solver for the Inverse Kinematics
    problem", Graphical Models 73 (2011), algorithm 1.
    """
    segments = np.diff(points, axis=0)
    directions = segments / lengths[:, None, :]
    inward = np.empty_like(points)
    inward[-1] = target
    for i in reversed(range(len(lengths))):
        back = unit(points[i] - inward[i + 1], -directions[i])
        inward[i] = inward[i + 1] + lengths[i] * back
    outward = np.empty_like(points)
    outward[0] = 0.0
    for i in range(len(lengths)):
        forth = unit(inward[i + 1] - outward[i], directions[i])
        outward[i + 1] = outward[i] + lengths[i] * forth
    return outward, damping
