"""Poses that jointed chains start from anew: the middle of their ranges, and others at random."""

from __future__ import annotations

import numpy as np

from . import limits, turns
from .jointed import Jointed
from .model.joints import JointKind
from .vectors import Array, norm

# An axis without a limit starts anew within this of where it starts, in radians.
OPEN_RANGE = 1.2
# The same poses every time: a frame solved again gives the same pose.
SEED = 20110705


def drawn(chain: Jointed, start: Array, count: int) -> Array:
    """Return turns (n, 4, B * count) to start from anew: of each chain in turn, all of its own.

    Args:
        chain: The chains, B of them.
        start: Turns of their start poses, shape (n, 4, B).
        count: How many poses for each chain; the first is the middle of the ranges.
    """
    bones, chains = len(start), start.shape[-1]
    shares = np.random.default_rng(SEED).uniform(-1.0, 1.0, (count, bones, 3))
    shares[0] = 0.0
    found = np.empty((bones, 4, chains * count))
    for i, kind in enumerate(chain.kinds):
        own, low, high = (
            np.repeat(values[i], count, axis=-1) for values in (start, chain.low, chain.high)
        )
        found[i] = _drawn(kind, own, low, high, np.tile(shares[:, i].T, chains))
    return found


def nearest_drawn(chain: Jointed, start: Array, target: Array, count: int, few: int) -> Array:
    """Return as many turns (n, 4, B * few): the middle of the ranges, and those nearest to targets.

    Args:
        chain: The chains, B of them.
        start: The states of their start poses, shape (n + 1, 7, B).
        target: Shape (3, B).
        count: How many poses to draw for each chain.
        few: How many of them to return.
    """
    bones, chains = len(start) - 1, start.shape[-1]
    found = drawn(chain, start[:-1, :4], count).reshape(bones, 4, chains, count)
    gap = norm((target[:, :, None] - chain.effectors(found, start[:-1, 4])).swapaxes(0, 1))
    gap[:, 0] = 0.0
    nearest = np.argsort(gap, axis=1, kind="stable")[:, :few]
    return np.take_along_axis(found, nearest[None, None], axis=3).reshape(bones, 4, -1)


def _drawn(kind: JointKind, start: Array, low: Array, high: Array, share: Array) -> Array:
    """Return turns (4, B) at shares (3, B) of the ways from the middles of ranges to their ends."""
    if kind is JointKind.FIXED:
        return start
    least = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0) - OPEN_RANGE)
    most = np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0.0) + OPEN_RANGE)
    angle = 0.5 * (least + most) + 0.5 * share * (most - least)
    whole = turns.by_vectors(np.stack((angle[0], np.zeros_like(angle[0]), angle[2])))
    if kind in limits.HINGES:
        whole = turns.by_vectors(angle * np.eye(3)[limits.HINGES[kind]][:, None])
    elif kind in limits.ELBOWS:
        whole = turns.by_vectors(angle * np.eye(3)[limits.ELBOWS[kind]][:, None])
    if kind not in limits.HINGES and kind is not JointKind.SWING:
        about_bone = turns.by_vectors(angle * np.eye(3)[1][:, None])
        whole = turns.multiply(whole, about_bone)
    return limits.clamped(kind, turns.normalised(whole), low, high)
