"""Joints that ease: speed grows with distance, and the frame rate does not change the motion."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..reading.batch_record import BatchRecord
from ..reading.spec import Easing

# Longest time step in seconds; the aim does not move within a step.
MAX_SPAN = 1.0 / 240.0
# Most time steps, for ten seconds. Longer times have longer steps: nobody sees the difference.
MAX_SPANS = 2400


@dataclass(frozen=True)
class JointPose(BatchRecord):
    """Joint rotations and displacements of B chains.

    Attributes:
        turn: Turns of the joints, unit quaternions wxyz, shape (B, n, 4).
        way: Displacements along lines, as of slides and scales, shape (B, w).
    """

    turn: Array
    way: Array


def eased(
    start: JointPose,
    former_target: JointPose,
    target: JointPose,
    sizes: Array,
    easing: Easing,
    seconds: float,
    clamped: Callable[[Array], Array],
) -> JointPose:
    """Return the poses of chains some time later.

    Args:
        start: Poses at the beginning.
        former_target: Poses that the chains aimed at then.
        target: Poses that they aim at in the end. The aim moves evenly in between.
        sizes: Displacements that count as one radian, above 0, shape (B, w).
        easing: Ease and speed limit.
        seconds: Time that passes, zero or more.
        clamped: Brings turns (B, n, 4) into the ranges of their joints.

    Source: exact solution of dq/dt = -min(q / ease, fastest) span by span; derived for this project
    and tested in tests/blender/solvers/test_easing.py.
    """
    turn, way = start.turn, start.way
    count = min(math.ceil(seconds / MAX_SPAN - 1e-6), MAX_SPANS)
    for span in range(count):
        share = (span + 0.5) / count
        aim = rotation.interpolate(former_target.turn, target.turn, share)
        turn = clamped(_ease_turns(turn, aim, easing, seconds / count))
        left = former_target.way + share * (target.way - former_target.way) - way
        way = way + _find_covered_share(np.abs(left) / sizes, easing, seconds / count) * left
    return JointPose(turn, way)


def _ease_turns(turn: Array, aim: Array, easing: Easing, seconds: float) -> Array:
    """Return turns (B, n, 4) after some time on the way to an aim."""
    way = rotation.vector_from_quaternion(rotation.multiply(rotation.conjugate(turn), aim))
    share = _find_covered_share(np.linalg.norm(way, axis=-1, keepdims=True), easing, seconds)
    return rotation.normalize(rotation.multiply(turn, rotation.quaternion_from_vector(way * share)))


def _find_covered_share(distance: Array, easing: Easing, seconds: float) -> Array:
    """Return the share of distances that is covered in a time."""
    left, left_seconds = distance, np.full_like(distance, seconds)
    if easing.fastest < math.inf:
        # Far from the aim the speed limit rules; below this distance the ease is slower.
        ahead = np.maximum(distance - easing.fastest * easing.ease, 0.0)
        seconds_at_limit = np.minimum(ahead / easing.fastest, seconds)
        left, left_seconds = (
            distance - easing.fastest * seconds_at_limit,
            seconds - seconds_at_limit,
        )
    if easing.ease > 0.0:
        left = left * np.exp(-left_seconds / easing.ease)
    elif easing.fastest == math.inf:
        left = np.zeros_like(distance)
    return 1.0 - left / np.where(distance > 0.0, distance, 1.0)
