"""The reach of chains, and the soft distance, which draws targets in before a chain is straight.

A knee straightens with the square root of the distance left to full reach: infinitely fast at the
end, so it pops. The soft distance draws the target in, so that the knee never straightens
completely. Solvers see only the softened target.

Nor do limits let every knee straighten or fold. The distance of the ends of two bones with a joint
about one axis between them depends on one angle, so its greatest and its least value are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra import arrays
from ..algebra.arithmetic import ARRAYS, Arithmetic, Array, Condition, Flags, Number
from ..algebra.chains_first import chains_last
from ..algebra.nested import Rows
from ..algebra.vectors import Vector, add, choose, norm, scale, subtract
from ..model.joints import JointKind
from .compiled_joints import CompiledJoints
from .joint_limits import BENDING_AXES, ELBOWS, clamp_rotations, lock_axes
from .swing_twist import clamp_angle, find_middle

# A dead zone smaller than this share of the chain's length is rounding: segments of equal length.
MIN_DEAD_ZONE = 1e-9
# Largest soft zone, as a share of the way from folded to stretched.
MAX_SOFT_SHARE = 0.5
# Share of its length by which a bone may lead away from its Y axis, about which elbows twist it: so
# much do rest axes in single precision. Ten times more, and ends are off by a millionth.
OFF_TWIST_AXIS = 1e-6
# A target nearer to full reach than this share of it is at full reach: chains that grow to their
# targets are as long as the way up to rounding, which must not decide how straight they are.
REACH_TOLERANCE = 1e-12


@dataclass(frozen=True)
class LimitedReach(Rows):
    """How far from their roots, and how near, ranges let the ends of B pairs of bones come.

    Attributes:
        lack: By how much less they reach than their lengths, shape (B,).
        nearest: Their least distance, 0 where they fold completely, shape (B,).
        kind: Kind of the joint between the bones.
        low: Its smallest turns, shape (3, B).
        high: Its greatest turns, shape (3, B).
        bends: Its turns about its axis in the pose that reaches farthest, and in the one that comes
            nearest, shape (2, B).
    """

    lack: Array
    nearest: Array
    kind: JointKind
    low: Array
    high: Array
    bends: Array

    def is_bent(self, is_folded: Flags) -> Flags:
        """Return which pairs are bent where they reach no farther, or are flagged, (B,)."""
        is_bent: Flags = (self.lack > 0.0) | is_folded
        return is_bent

    def lay_pairs(self, turn: Array, is_folded: Flags) -> Array:
        """Return turns (2, 4, B) with pairs that lack reach stretched, and flagged ones folded."""
        axis, is_laid = BENDING_AXES[self.kind], self.is_bent(is_folded)
        low, high, bend = self.low.copy(), self.high.copy(), np.where(is_folded, *self.bends[::-1])
        low[axis] = np.where(is_laid, bend, low[axis])
        high[axis] = np.where(is_laid, bend, high[axis])
        rows = (np.moveaxis(array[None], -1, 0) for array in (turn[1], low, high))
        laid = turn.copy()
        laid[1:] = chains_last(clamp_rotations((self.kind,), *rows))
        return laid


def compile_limited_reach(joints: CompiledJoints, heads: Array, ends: Array) -> LimitedReach | None:
    """Return how far and how near the ends of pairs come; None if the joint bends about two axes.

    Args:
        joints: The joints of the two bones.
        heads: Vectors from the heads of the parents, in posed axes of these, shape (2, 3, B).
        ends: The same from the heads of the last bones to the effectors, shape (1, 3, B).

    Source: derived for this project; tested in tests/core/solving/limits/test_bent_limbs.py.
    """
    kind, low, high = joints.kinds[1], joints.low[1], joints.high[1]
    if kind not in BENDING_AXES:
        return None
    axis, (above, below) = BENDING_AXES[kind], _find_segments(joints, heads, ends)
    (above,), (below,), way = above, below, np.eye(3)[axis][:, None]
    # The product of the segments at a bend is along + cosine cos(bend) + sine sin(bend).
    cosine = arrays.dot(arrays.reject(above, way), below)
    sine = arrays.dot(above, arrays.cross(np.broadcast_to(way, below.shape), below))
    along, lengths = above[axis] * below[axis], (arrays.norm(above), arrays.norm(below))
    middle, bends, spans = find_middle(ARRAYS, low[axis], high[axis]), [], []
    for sign in (1.0, -1.0):
        straight = np.arctan2(sign * sine, sign * cosine)
        bend = clamp_angle(ARRAYS, straight, low[axis], high[axis], middle)
        product = along + cosine * np.cos(bend) + sine * np.sin(bend)
        square = lengths[0] ** 2 + lengths[1] ** 2 + 2.0 * product
        bends.append(bend)
        spans.append(np.sqrt(np.maximum(square, 0.0)))
    whole, least = lengths[0] + lengths[1], np.abs(lengths[0] - lengths[1])
    is_twisted = np.hypot(below[0], below[2]) > OFF_TWIST_AXIS * lengths[1]
    is_known = joints.are_rigid & ~joints.has_slides & ~(is_twisted & (kind in ELBOWS))
    lack, room = whole - spans[0], spans[1] - least
    lack = np.where(is_known & (lack > REACH_TOLERANCE * whole), lack, 0.0)
    nearest = np.where(is_known & (room > REACH_TOLERANCE * whole), spans[1], 0.0)
    return LimitedReach(lack, nearest, kind, low, high, np.array(bends))


def _find_segments(joints: CompiledJoints, heads: Array, ends: Array) -> tuple[Array, Array]:
    """Return the segments before and after each joint but the first, in its axes at zero."""
    before = np.einsum("nijb,nib->njb", joints.offsets[1:], heads[1:])
    return before, np.concatenate((heads[1:], ends))[1:]


def bound_least_reach(joints: CompiledJoints, heads: Array, ends: Array) -> Array:
    """Return distances (B,): no pose brings the effectors of chains nearer to their roots.

    Arguments are those of ``compile_limited_reach``.

    Source: Schur's comparison theorem (O'Rourke, "An extension of Cauchy's arm lemma", 2000): if no
    bend is greater than that of a convex arc of the same segments, the ends are no nearer.
    """
    before, after = _find_segments(joints, heads, ends)
    if not len(before):
        return np.zeros(before.shape[-1])
    locked = map(lock_axes, joints.kinds[1:], joints.low[1:], joints.high[1:])
    low, high = np.array(list(locked))[:, :, ::2].swapaxes(0, 1)
    sines = np.sin(0.5 * np.minimum(np.maximum(-low, high), np.pi))
    # Ranges with zero are ellipses about it. Others lie in a rectangle.
    is_round = ((low <= 0.0) & (high >= 0.0)).all(axis=1)
    sine = np.where(is_round, sines.max(axis=1), np.minimum(arrays.norm(sines), 1.0))
    leans = (np.arctan2(np.hypot(v[:, 0], v[:, 2]), v[:, 1]) for v in (before, after))
    bends = np.cumsum(2.0 * np.arcsin(sine) + sum(leans), axis=0)
    lengths = np.concatenate((arrays.norm(before[:1]), arrays.norm(after)))
    along = lengths[0] + (lengths[1:] * np.cos(bends)).sum(axis=0)
    across = (lengths[1:] * np.sin(bends)).sum(axis=0)
    is_known = joints.are_rigid & ~joints.has_slides & (bends <= np.pi).all(axis=0)
    least: Array = np.where(is_known, np.hypot(along, across), 0.0)
    return least


def measure_reach(lengths: Array) -> tuple[Array, Array]:
    """Return the greatest and smallest distances (B,) that segments (n, B) reach.

    Source: polygon inequality; a dead zone exists if one segment exceeds the sum of the others.
    """
    reach: Array = lengths.sum(axis=0)
    least = 2.0 * lengths.max(axis=0) - reach
    return reach, np.where(least > MIN_DEAD_ZONE * reach, least, 0.0)


def check_reach(
    m: Arithmetic, distance: Number, reach: Number, least: Number
) -> tuple[Condition, Condition]:
    """Tell whether targets are too far, and whether they are too near."""
    is_too_near = (distance <= least) & (least > 0.0)
    is_too_far = distance >= reach * (1.0 - REACH_TOLERANCE)
    return is_too_far, is_too_near & m.negate(is_too_far)


def is_soft(soft_distance: float | Array) -> bool:
    """Tell whether any chain has a soft distance."""
    if isinstance(soft_distance, np.ndarray):
        return bool(soft_distance.any())
    return soft_distance > 0.0


def ease_distance(
    m: Arithmetic, distance: Number, reach: Number, least: Number, soft: Number
) -> Number:
    """Return the distance to which a target is drawn in.

    Source: Nicholas, "Soft IK", softimageblog 2009: D below a = L - s stays. Beyond a it becomes
    a + s (1 - exp((a - D) / s)), which has the same slope at a and stays below L. Then the bend of
    two bones never turns faster than the root of L / (2 l1 l2 s).
    """
    zone = m.minimum(soft, MAX_SOFT_SHARE * (reach - least))
    first = reach - zone
    # Zero before the zone, where the exponential could overflow.
    past = m.divide(m.maximum(distance - first, 0.0), zone)
    near = first + zone * (1.0 - m.exp(-past))
    return m.where(past > 0.0, m.minimum(near, distance), distance)


def soften_target(
    m: Arithmetic, root: Any, target: Any, reach: Number, least: Number, soft: Number
) -> tuple[Vector, Number, Condition]:
    """Return a target drawn toward the root, by what distance, and whether it is out of reach."""
    offset = subtract(target, root)
    distance = norm(m, offset)
    near = ease_distance(m, distance, reach, least, soft)
    moved = add(root, scale(offset, m.divide(near, distance)))
    return choose(m, near < distance, moved, target), distance - near, distance >= reach


def distances_in_reach(lengths: Array, distance: Array, soft_distance: Array) -> Array:
    """Return the distances of effectors from their roots for targets not too near, (B,).

    Args:
        lengths: Lengths of the segments, shape (B, n).
        distance: Distances from roots to targets, shape (B,).
        soft_distance: As in ``SolveOptions``.
    """
    most, least = measure_reach(lengths.T)
    near: Array = ease_distance(ARRAYS, distance, most, least, soft_distance)
    return np.minimum(near, most)
