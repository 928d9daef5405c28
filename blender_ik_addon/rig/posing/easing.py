"""How joints ease: the faster the farther they have to go, and alike at any frame rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..reading.rows import Alike
from ..reading.spec import Easing

# Times are cut into spans of so many seconds at most: within one, what is aimed at stands still.
LONGEST_SPAN = 1.0 / 240.0
# After so many, ten seconds, nobody sees how a chain got there: longer times have longer spans.
MOST_SPANS = 2400


@dataclass(frozen=True)
class Stance(Alike):
    """How B chains stand.

    Attributes:
        turn: Turns of the joints, unit quaternions wxyz, shape (B, n, 4).
        way: What of them moves along a line, such as slides, shape (B, w).
    """

    turn: Array
    way: Array


def eased(
    now: Stance,
    before: Stance,
    wanted: Stance,
    sizes: Array,
    easing: Easing,
    seconds: float,
    clamped: Callable[[Array], Array],
) -> Stance:
    """Return how chains stand some time later.

    Args:
        now: How they stand.
        before: What they aimed at then.
        wanted: What they aim at after the time; in between it moves evenly.
        sizes: Which way counts as a radian does, above 0, shape (B, w).
        easing: How to go there.
        seconds: Zero or more.
        clamped: Brings turns (B, n, 4) into the ranges of their joints.

    Source: exact solution of dq/dt = -min(q / ease, fastest) span by span; derived for this project
    and tested in tests/blender/solvers/test_easing.py.
    """
    turn, way = now.turn, now.way
    count = min(math.ceil(seconds / LONGEST_SPAN - 1e-6), MOST_SPANS)
    for span in range(count):
        share = (span + 0.5) / count
        aim = rotation.interpolate(before.turn, wanted.turn, share)
        turn = clamped(_nearer(turn, aim, easing, seconds / count))
        left = before.way + share * (wanted.way - before.way) - way
        way = way + _share(np.abs(left) / sizes, easing, seconds / count) * left
    return Stance(turn, way)


def _nearer(turn: Array, aim: Array, easing: Easing, seconds: float) -> Array:
    """Return turns (B, n, 4) some time nearer to what they aim at."""
    way = rotation.vector_from_quaternion(rotation.multiply(rotation.conjugate(turn), aim))
    share = _share(np.linalg.norm(way, axis=-1, keepdims=True), easing, seconds)
    return rotation.normalize(rotation.multiply(turn, rotation.quaternion_from_vector(way * share)))


def _share(distance: Array, easing: Easing, seconds: float) -> Array:
    """Return which share of distances is gone within a time."""
    left, rest = distance, np.full_like(distance, seconds)
    if easing.fastest < math.inf:
        # Far away the bound rules; below this distance the ease is slower by itself.
        ahead = np.maximum(distance - easing.fastest * easing.ease, 0.0)
        spent = np.minimum(ahead / easing.fastest, seconds)
        left, rest = distance - easing.fastest * spent, seconds - spent
    if easing.ease > 0.0:
        left = left * np.exp(-rest / easing.ease)
    elif easing.fastest == math.inf:
        left = np.zeros_like(distance)
    return 1.0 - left / np.where(distance > 0.0, distance, 1.0)
