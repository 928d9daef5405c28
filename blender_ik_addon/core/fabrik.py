"""FABRIK: one iteration is a sweep inward from the target and one outward from the root."""

from __future__ import annotations

import numpy as np

from .vectors import NO_DIRECTION, Array, unit


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
    with np.errstate(divide="ignore", invalid="ignore"):
        inward, is_clear = _swept(points[::-1], lengths[::-1], target)
        if is_clear:
            outward, is_clear = _swept(inward[::-1], lengths, np.zeros_like(target))
    if not is_clear:
        return _guarded(points, lengths, target), damping
    return outward, damping


def _swept(old: Array, lengths: Array, start: Array) -> tuple[Array, bool]:
    """Return joints laid one after the other towards the old ones, and whether none of them met.

    All work is elementwise and in place: a chain gets the same numbers alone and in any batch,
    and a segment costs eight calls of NumPy.
    """
    new, gaps = np.empty(old.shape), np.empty(lengths.shape)
    square = np.empty(start.shape)
    new[0] = start
    joint = new[0]
    for towards, length, gap, following in zip(old[1:], lengths, gaps, new[1:], strict=True):
        np.subtract(towards, joint, out=following)
        np.multiply(following, following, out=square)
        np.add(square[0], square[1], out=gap)
        np.add(gap, square[2], out=gap)
        np.sqrt(gap, out=gap)
        np.divide(following, gap, out=following)
        np.multiply(following, length, out=following)
        np.add(following, joint, out=following)
        joint = following
    # Written so that NaN, from joints after those that met, is not clear either.
    return new, bool((gaps > NO_DIRECTION).all())


def _guarded(points: Array, lengths: Array, target: Array) -> Array:
    """Return the joints as ``step`` does, with the old direction where two joints meet."""
    directions = np.diff(points, axis=0) / lengths[:, None, :]
    inward = np.empty(points.shape)
    inward[-1] = target
    for i in reversed(range(len(lengths))):
        back = unit(points[i] - inward[i + 1], -directions[i])
        inward[i] = inward[i + 1] + lengths[i] * back
    outward = np.empty(points.shape)
    outward[0] = 0.0
    for i in range(len(lengths)):
        forth = unit(inward[i + 1] - outward[i], directions[i])
        outward[i + 1] = outward[i] + lengths[i] * forth
    return outward
