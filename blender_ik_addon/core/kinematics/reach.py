"""The reach of chains, and the soft distance, which draws targets in before a chain is straight.

A knee straightens with the square root of the distance left to full reach: infinitely fast at the
end, so it pops. The soft distance draws the target in, so that the knee never straightens
completely. Solvers see only the softened target.

Nor do limits let every knee straighten or fold. Two bones beside a joint about one axis are a pair:
the distance of its ends depends on one angle, so its greatest and its least value are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algebra import arrays
from ..algebra.arithmetic import ARRAYS, Arithmetic, Array, Condition, Flags, Number
from ..algebra.chains_first import chains_last
from ..algebra.nested import Rows
from ..algebra.vectors import MIN_LENGTH, Vector, add, choose, norm, scale, subtract
from ..model.joints import JointKind
from .compiled_joints import CompiledJoints
from .joint_limits import BENDING_AXES, ELBOWS, clamp_rotations, lock_axes
from .swing_twist import clamp_angle, find_middle

# A dead zone smaller than this share of the chain's length is rounding: segments of equal length.
MIN_DEAD_ZONE = 1e-9
# Largest soft zone, as a share of the way from folded to stretched.
MAX_SOFT_SHARE = 0.5
# Share of its length by which a bone may lead away from its Y axis: a twist does not move its end.
OFF_TWIST_AXIS = 1e-6
# Share of its length that a pair cannot reach; less is rounding.
MIN_LACK = 1e-12


@dataclass(frozen=True)
class LimitedReach(Rows):
    """How far from their roots, and how near, ranges let the effectors of B chains come.

    Attributes:
        lack: By how much less they reach than their lengths would, at least, shape (B,). Chains of
            one pair lack no more.
        nearest: Least distance of chains of one pair whose ends it keeps apart, else 0, shape (B,).
        pairs: Bones that joints about one axis join to the bones before them.
        kinds: Kinds of these joints.
        low: Their smallest turns, shape (pairs, 3, B).
        high: Their greatest turns, shape (pairs, 3, B).
        bends: Their turns about the one axis where the ends of pairs are farthest apart, and where
            they are nearest, shape (2, pairs, B).
        is_bent: Which pairs cannot straighten, shape (pairs, B).
    """

    lack: Array
    nearest: Array
    pairs: tuple[int, ...]
    kinds: tuple[JointKind, ...]
    low: Array
    high: Array
    bends: Array
    is_bent: Flags

    def lay_pairs(self, turn: Array, is_folded: Flags) -> Array:
        """Return turns (n, 4, B) with bent pairs stretched, or in flagged chains (B,) folded."""
        laid, pairs, low, high = turn.copy(), list(self.pairs), self.low.copy(), self.high.copy()
        rows, axes = np.arange(len(pairs)), [BENDING_AXES[kind] for kind in self.kinds]
        bend, is_laid = np.where(is_folded, *self.bends[::-1]), self.is_bent | is_folded
        low[rows, axes] = np.where(is_laid, bend, low[rows, axes])
        high[rows, axes] = np.where(is_laid, bend, high[rows, axes])
        inputs = (np.moveaxis(array, -1, 0) for array in (turn[pairs], low, high))
        laid[pairs] = chains_last(clamp_rotations(self.kinds, *inputs))
        return laid

    def find_ways(self, points: Array, line: Array, is_folded: Flags) -> Array:
        """Return directions of segments between points (n + 1, 3, B), or of the pairs laid before.

        They are unit vectors (n, 3, B); segments without length have that of the line (3, B).
        """
        segments = np.diff(points, axis=0)
        for bone, is_bent in zip(self.pairs, self.is_bent, strict=True):
            joined = points[bone + 1] - points[bone - 1], segments[bone - 1 : bone + 1]
            segments[bone - 1 : bone + 1] = np.where(is_bent | is_folded, *joined)
        lengths = arrays.norm(segments)[:, None]
        ways: Array = np.where(
            lengths > MIN_LENGTH, segments / np.maximum(lengths, MIN_LENGTH), line
        )
        return ways


def compile_limited_reach(joints: CompiledJoints, heads: Array, ends: Array) -> LimitedReach:
    """Return how far and how near the effectors of chains come.

    Args:
        joints: The joints of their bones.
        heads: Vectors from the heads of the parents, in posed axes of these, shape (n, 3, B).
        ends: The same from the heads of the last bones to the effectors, shape (1, 3, B).

    Source: derived for this project; tested in tests/core/solving/limits/test_bent_limbs.py.
    """
    rows, pairs = heads.shape[-1], list[int]()
    for bone, kind in enumerate(joints.kinds[1:], 1):
        if kind in BENDING_AXES and bone - 1 not in pairs:
            pairs.append(bone)
    kinds = tuple(joints.kinds[bone] for bone in pairs)
    ranges = joints.low[pairs], joints.high[pairs]
    if not pairs:
        none = np.zeros((2, 0, rows)), np.zeros((0, rows), dtype=np.bool_)
        return LimitedReach(np.zeros(rows), np.zeros(rows), (), (), *ranges, *none)
    joined, axes = [bone - 1 for bone in pairs], [BENDING_AXES[kind] for kind in kinds]
    above, below = (part[joined] for part in _find_segments(joints, heads, ends))
    axis = np.eye(3)[axes][..., None]
    # The product of the segments at a bend is along + cosine cos(bend) + sine sin(bend).
    cosine = arrays.dot(arrays.reject(above, axis), below)
    sine = arrays.dot(above, arrays.cross(np.broadcast_to(axis, below.shape), below))
    along = arrays.dot(above, axis) * arrays.dot(below, axis)
    low, high = (end[np.arange(len(pairs)), axes] for end in ranges)
    middle = find_middle(ARRAYS, low, high)
    lengths = arrays.norm(above), arrays.norm(below)
    bends, spans = [], []
    for sign in (1.0, -1.0):
        straight = np.arctan2(sign * sine, sign * cosine)
        bend = clamp_angle(ARRAYS, straight, low, high, middle)
        product = along + cosine * np.cos(bend) + sine * np.sin(bend)
        square = lengths[0] ** 2 + lengths[1] ** 2 + 2.0 * product
        bends.append(bend)
        spans.append(np.sqrt(np.maximum(square, 0.0)))
    whole = sum(lengths)
    is_elbow = np.array([kind in ELBOWS for kind in kinds])[:, None]
    is_twisted = is_elbow & (np.hypot(below[:, 0], below[:, 2]) > OFF_TWIST_AXIS * lengths[1])
    is_known = joints.are_rigid & ~joints.has_slides & ~is_twisted
    is_bent = is_known & (whole - spans[0] > MIN_LACK * whole)
    lack = np.where(is_bent, whole - spans[0], 0.0).sum(axis=0)
    is_apart = is_known & (spans[1] > MIN_DEAD_ZONE * whole) & (len(heads) == 2)
    nearest = np.where(is_apart, spans[1], 0.0).sum(axis=0)
    return LimitedReach(lack, nearest, tuple(pairs), kinds, *ranges, np.array(bends), is_bent)


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
    return distance >= reach, is_too_near & m.negate(distance >= reach)


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
