"""The reach of chains, and the soft distance, which draws targets in before a chain is straight.

A knee straightens with the square root of the distance left to full reach: infinitely fast at the
end, so it pops. The soft distance draws the target in, so that the knee never straightens
completely. Solvers see only the softened target.

Nor do limits let every knee straighten. Two bones beside a joint about one axis are a pair: the
distance of its ends depends on one angle, and so the greatest one is known.
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
from .joint_limits import ELBOWS, HINGES, clamp_rotations
from .swing_twist import clamp_angle, find_middle

# A dead zone smaller than this share of the chain's length is rounding: segments of equal length.
MIN_DEAD_ZONE = 1e-9
# Largest soft zone, as a share of the way from folded to stretched.
MAX_SOFT_SHARE = 0.5
# Share of its length by which a bone may lead away from its Y axis: a twist does not move its end.
OFF_TWIST_AXIS = 1e-6
# Share of its length that a pair cannot reach; less is rounding.
MIN_LACK = 1e-12
BEND_AXES = {kind: axis for kind, axis in {**HINGES, **ELBOWS}.items() if axis != 1}
"""The kinds of joints between pairs, and the axes that they bend about."""


@dataclass(frozen=True)
class Stretch(Rows):
    """How far B chains reach inside the ranges of their joints.

    Attributes:
        lack: By how much less they reach than their lengths would, at least, shape (B,). Chains of
            one pair lack no more.
        pairs: Bones that joints about one axis join to the bones before them.
        kinds: Kinds of these joints.
        is_bent: Which pairs cannot straighten, shape (pairs, B).
        low: Smallest turns of their joints where their ends are farthest apart, (pairs, 3, B).
        high: Greatest turns there, about the one axis the same; the ranges of all other pairs.
    """

    lack: Array
    pairs: tuple[int, ...]
    kinds: tuple[JointKind, ...]
    is_bent: Flags
    low: Array
    high: Array

    def apply(self, turn: Array) -> Array:
        """Return turns (n, 4, B) of joints with the pairs stretched that cannot straighten."""
        stretched, pairs = turn.copy(), list(self.pairs)
        rows = (np.moveaxis(array, -1, 0) for array in (turn[pairs], self.low, self.high))
        stretched[pairs] = chains_last(clamp_rotations(self.kinds, *rows))
        return stretched

    def find_ways(self, points: Array, line: Array) -> Array:
        """Return the directions of segments between points (n + 1, 3, B), or of bent pairs.

        They are unit vectors (n, 3, B); segments without length have that of the line (3, B).
        """
        segments = np.diff(points, axis=0)
        for bone, is_bent in zip(self.pairs, self.is_bent, strict=True):
            joined = points[bone + 1] - points[bone - 1], segments[bone - 1 : bone + 1]
            segments[bone - 1 : bone + 1] = np.where(is_bent, *joined)
        lengths = arrays.norm(segments)[:, None]
        ways: Array = np.where(
            lengths > MIN_LENGTH, segments / np.maximum(lengths, MIN_LENGTH), line
        )
        return ways


def compile_stretch(joints: CompiledJoints, heads: Array, ends: Array) -> Stretch:
    """Return how far chains stretch.

    Args:
        joints: The joints of their bones.
        heads: Vectors from the heads of the parents, in posed axes of these, shape (n, 3, B).
        ends: The same from the heads of the last bones to the effectors, shape (1, 3, B).

    Source: derived for this project; tested in tests/core/kinematics/test_reach.py.
    """
    pairs: list[int] = []
    for bone, kind in enumerate(joints.kinds[1:], 1):
        if kind in BEND_AXES and bone - 1 not in pairs:
            pairs.append(bone)
    between = joints.take_bones(pairs)
    low, high, rows = between.low.copy(), between.high.copy(), np.arange(len(pairs))
    axes = [BEND_AXES[kind] for kind in between.kinds]
    above = np.einsum("nijb,nib->njb", between.offsets, heads[pairs])
    below = np.concatenate((heads[1:], ends))[pairs]
    axis = np.eye(3)[axes][..., None]
    cosine = arrays.dot(arrays.reject(above, axis), below)
    sine = arrays.dot(above, arrays.cross(np.broadcast_to(axis, below.shape), below))
    ends_of_range = low[rows, axes], high[rows, axes]
    bend = clamp_angle(
        ARRAYS, np.arctan2(sine, cosine), *ends_of_range, find_middle(ARRAYS, *ends_of_range)
    )
    lengths = arrays.norm(above), arrays.norm(below)
    along = arrays.dot(above, axis) * arrays.dot(below, axis)
    product = along + cosine * np.cos(bend) + sine * np.sin(bend)
    whole = sum(lengths)
    lack = whole - np.sqrt(lengths[0] ** 2 + lengths[1] ** 2 + 2.0 * product)
    is_elbow = np.array([kind in ELBOWS for kind in between.kinds], dtype=np.bool_)[:, None]
    is_twisted = is_elbow & (np.hypot(below[:, 0], below[:, 2]) > OFF_TWIST_AXIS * lengths[1])
    is_bent = joints.are_rigid & ~joints.has_slides & ~is_twisted & (lack > MIN_LACK * whole)
    low[rows, axes] = np.where(is_bent, bend, low[rows, axes])
    high[rows, axes] = np.where(is_bent, bend, high[rows, axes])
    lack = np.where(is_bent, lack, 0.0).sum(axis=0)
    return Stretch(lack, tuple(pairs), between.kinds, is_bent, low, high)


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
