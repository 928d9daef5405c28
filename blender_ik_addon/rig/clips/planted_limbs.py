"""Limbs of a clip with their feet planted: what stands, where it is kept, and how hips give way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Counts, Flags
from ...core.clips.contacts import Planted, find_contacts, lowest_around
from ...core.clips.footholds import Motion, give_way, hold
from ...core.kinematics.reach import distances_in_reach
from ..reading.spaces import transform_point
from .feet import ClipLimb, height_of

# Share of its length by which hips go down at most for a leg: one that is too far to the side is
# not reached by going down.
DEEPEST = 0.3
# Share of its length that a leg is always short of full reach: at it a knee has no direction.
STRAIGHT = 1e-4
# Share of its length by which a limb may miss its place without a word: 1 mm of a human's leg.
SHORT = 1e-3


@dataclass(frozen=True)
class Ground:
    """What feet stand on.

    Attributes:
        frames: Where that is, world space, frame by frame, without scale, Z up, (F, 4, 4).
        is_floor: Whether its XY plane is a floor that feet stand on and never pass.
    """

    frames: Array
    is_floor: bool


def find_planted(
    limbs: Mapping[int, ClipLimb], known: Mapping[int, Counts], ground: Ground, rate: float
) -> dict[int, Counts]:
    """Return what of limbs stands at each frame, of those of which anything ever does.

    Args:
        limbs: By index of their chains.
        known: What is known of some already.
        ground: What they stand on.
        rate: Frames a second.
    """
    standing = {index: limb for index, limb in limbs.items() if limb.foot is not None}
    height = height_of(list(limbs.values()))
    paths = {index: _paths(limb, ground) for index, limb in standing.items()}
    if not paths:
        return {}
    heights: Array = np.array([each[:, :, 2] for each in paths.values()]).min(axis=(0, 1))
    lowest = lowest_around(heights, rate)
    kinds = {}
    for index, (heel, toe) in paths.items():
        found = known.get(index)
        kinds[index] = find_contacts(heel, toe, lowest, rate, height) if found is None else found
    return {index: found for index, found in kinds.items() if found.any()}


def hold_planted(
    limbs: Mapping[int, ClipLimb], kinds: Mapping[int, Counts], ground: Ground, rate: float
) -> dict[int, Motion]:
    """Return the motions of the limbs that stand, kept in their contacts, world space."""
    height, held = height_of(list(limbs.values())), {}
    for index, own in kinds.items():
        foot = limbs[index].foot
        assert foot is not None
        seen = _moved(limbs[index].motion, np.linalg.inv(ground.frames))
        kept = hold(seen, own, foot, rate, height, has_floor=ground.is_floor)
        held[index] = _moved(kept, ground.frames)
    return held


def moves_between(before: Motion, after: Motion) -> Array:
    """Return what takes a foot from one motion to another, also its shear, shape (F, 4, 4)."""
    moves = np.tile(np.eye(4), (len(before.places), 1, 1))
    moves[:, :3, :3] = after.axes @ np.linalg.inv(before.axes)
    moves[:, :3, 3] = after.places - transform_point(moves, before.places)
    return moves


def lower_hips(
    limbs: Mapping[int, ClipLimb],
    kinds: Mapping[int, Counts],
    held: Mapping[int, Motion],
    carried: Sequence[int],
    rate: float,
) -> Array:
    """Return how far down the hips have to go for feet to reach their places, world space, (F,).

    No leg is straightened beyond what it was in the clip, nor into its soft distance.

    Args:
        limbs: By index of their chains.
        kinds: What of them stands.
        held: Where their feet are to be.
        carried: Which ones hang on the hips.
        rate: Frames a second.
    """
    needed = np.zeros(len(next(iter(limbs.values())).motion.places))
    for index in carried:
        limb, joints = limbs[index], _bending(limbs[index])
        way = _way(limb, held[index])
        before = np.linalg.norm(joints[:, -1] - joints[:, 0], axis=1)
        length = _segments(joints).sum(axis=1)
        soft = max(float(limb.spec.options.soft_distance), STRAIGHT * float(np.max(length)))
        most = np.minimum(float(np.max(before)), length - soft)
        most = np.where(kinds[index] != Planted.NONE, most, np.maximum(most, before))
        across = np.minimum(np.linalg.norm(way[:, :2], axis=1), most)
        down = -way[:, 2] - np.sqrt(most**2 - across**2)
        down = np.where(np.linalg.norm(way, axis=1) > most, down, 0.0)
        needed = np.maximum(needed, np.clip(down, 0.0, DEEPEST * length))
    return give_way(needed, rate)


def is_too_short(limb: ClipLimb, held: Motion, down: Array) -> Flags:
    """Return at which frames a limb does not reach its foot, shape (F,).

    Args:
        limb: In the clip.
        held: Where its foot is to be.
        down: How far its root goes down, shape (F,).
    """
    if limb.spec.use_stretch:
        return np.zeros(len(down), dtype=np.bool_)
    segments, way = _segments(_bending(limb)), _way(limb, held)
    way[:, 2] += down
    distance, soft = np.linalg.norm(way, axis=1), np.array(limb.spec.options.soft_distance)
    missing = distance - distances_in_reach(segments, distance, soft)
    return np.asarray(missing > SHORT * segments.sum(axis=1))


def _bending(limb: ClipLimb) -> Array:
    """Return the joints of a limb without a tip that only turns, shape (F, n, 3)."""
    joints = limb.placed.joints
    return joints[:, :-1] if limb.plan.bends_without_tip else joints


def _segments(joints: Array) -> Array:
    return np.linalg.norm(np.diff(joints, axis=1), axis=2)


def _way(limb: ClipLimb, held: Motion) -> Array:
    """Return the way from root to last joint if a foot is held while the root stays, (F, 3)."""
    joints = _bending(limb)
    return transform_point(moves_between(limb.motion, held), joints[:, -1]) - joints[:, 0]


def _paths(limb: ClipLimb, ground: Ground) -> Array:
    """Return the ways of heel and toe as the ground sees them, shape (2, F, 3)."""
    assert limb.foot is not None
    back = np.linalg.inv(ground.frames)
    paths = [limb.motion.path(point) for point in limb.foot.points]
    return np.array([transform_point(back, path) for path in paths])


def _moved(motion: Motion, frames: Array) -> Motion:
    """Return a motion in the space that rigid matrices (F, 4, 4) lead to."""
    linear = frames[:, :3, :3]
    turns = rotation.multiply(rotation.quaternion_from_matrix(linear), motion.turns)
    return Motion(transform_point(frames, motion.places), turns, linear @ motion.spaces)
