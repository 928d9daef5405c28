"""Limbs of a clip with planted feet: their contacts, held motions, and the drop of the hips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Counts, Flags
from ...core.clips.contacts import Planted, find_contacts, lowest_around
from ...core.clips.footholds import Motion, hold, smooth_drop
from ...core.kinematics.reach import distances_in_reach
from ..reading.spaces import transform_point
from .feet import ClipLimb, measure_height

# Largest drop of the hips for a leg, as a share of its length: a foot too far to the side is not
# reached by going down.
MAX_HIP_DROP = 0.3
# Least distance of a leg from full extension, as a share of its length: there a knee has no side.
LEG_MARGIN = 1e-4
# Largest miss of a limb without a message, as a share of its length: 1 mm of a human's leg.
MISS_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Ground:
    """The ground below feet.

    Attributes:
        frames: Its matrices, world space, frame by frame, without scale, Z up, (F, 4, 4).
        is_floor: Whether its XY plane is a floor that contacts lie on and feet never pass.
    """

    frames: Array
    is_floor: bool


def find_contacts_of(
    limbs: Mapping[int, ClipLimb],
    known: Mapping[int, Counts],
    ground: Ground,
    rate: float,
    share: Array,
) -> dict[int, Counts]:
    """Return the contacts of limbs at each frame, by chain; limbs without any are left out.

    ``known`` are contacts that are known already, and ``rate`` is in frames per second. There are
    none where the ``share`` of corrections, shape (F,), is less than 1.
    """
    height, back = measure_height(limbs.values()), np.linalg.inv(ground.frames)
    # The paths of heel and toe in the space of the ground.
    paths = {
        index: [transform_point(back, limb.motion.path(point)) for point in limb.foot.points]
        for index, limb in limbs.items()
        if limb.foot is not None
    }
    if not paths:
        return {}
    heights: Array = np.array(list(paths.values()))[..., 2].min(axis=(0, 1))
    lowest = lowest_around(heights, rate)
    kinds = {}
    for index, (heel, toe) in paths.items():
        kind = known.get(index)
        kind = find_contacts(heel, toe, lowest, rate, height) if kind is None else kind
        kinds[index] = np.where(share < 1.0, Planted.NONE, kind)
    return {index: kind for index, kind in kinds.items() if kind.any()}


def hold_planted(
    limbs: Mapping[int, ClipLimb], kinds: Mapping[int, Counts], ground: Ground, rate: float
) -> dict[int, Motion]:
    """Return the motions of limbs with contacts, held still in these, world space."""
    height, held = measure_height(limbs.values()), {}
    for index, contacts in kinds.items():
        foot = limbs[index].foot
        assert foot is not None
        motion = _move_motion(limbs[index].motion, np.linalg.inv(ground.frames))
        held_motion = hold(motion, contacts, foot, rate, height, has_floor=ground.is_floor)
        held[index] = _move_motion(held_motion, ground.frames)
    return held


def find_moves(before: Motion, after: Motion) -> Array:
    """Return matrices from a foot in one motion to that in another, with shear, (F, 4, 4)."""
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
    """Return the drop of the hips with which feet reach their places, world space, (F,).

    No leg is straightened beyond its extension in the clip, nor into its soft distance. Limbs,
    contacts and held motions are by index of their chains; ``carried`` are those below the hips.
    The rate is in frames per second.
    """
    needed = np.zeros(len(next(iter(limbs.values())).motion.places))
    for index in carried:
        limb, joints = limbs[index], _find_bending_joints(limbs[index])
        way = _find_way(limb, held[index])
        before = np.linalg.norm(joints[:, -1] - joints[:, 0], axis=1)
        length = _measure_segments(joints).sum(axis=1)
        soft = max(float(limb.spec.options.soft_distance), LEG_MARGIN * float(np.max(length)))
        allowed = np.minimum(float(np.max(before)), length - soft)
        allowed = np.where(kinds[index] != Planted.NONE, allowed, np.maximum(allowed, before))
        across = np.minimum(np.linalg.norm(way[:, :2], axis=1), allowed)
        down = -way[:, 2] - np.sqrt(allowed**2 - across**2)
        down = np.where(np.linalg.norm(way, axis=1) > allowed, down, 0.0)
        needed = np.maximum(needed, np.clip(down, 0.0, MAX_HIP_DROP * length))
    return smooth_drop(needed, rate)


def is_too_short(limb: ClipLimb, held: Motion, down: Array) -> Flags:
    """Return whether a limb with a drop of its root (F,) does not reach its held foot, (F,)."""
    if limb.spec.use_stretch:
        return np.zeros(len(down), dtype=np.bool_)
    segments, way = _measure_segments(_find_bending_joints(limb)), _find_way(limb, held)
    way[:, 2] += down
    distance, soft = np.linalg.norm(way, axis=1), np.array(limb.spec.options.soft_distance)
    missing = distance - distances_in_reach(segments, distance, soft)
    return np.asarray(missing > MISS_TOLERANCE * segments.sum(axis=1))


def _find_bending_joints(limb: ClipLimb) -> Array:
    """Return the joints of a limb, without the end of a tip that only turns, shape (F, n, 3)."""
    joints = limb.placed.joints
    return joints[:, :-1] if limb.plan.bends_without_tip else joints


def _measure_segments(joints: Array) -> Array:
    return np.linalg.norm(np.diff(joints, axis=1), axis=2)


def _find_way(limb: ClipLimb, held: Motion) -> Array:
    """Return vectors from root to last joint for a held foot and a root that stays, (F, 3)."""
    joints = _find_bending_joints(limb)
    return transform_point(find_moves(limb.motion, held), joints[:, -1]) - joints[:, 0]


def _move_motion(motion: Motion, frames: Array) -> Motion:
    """Return a motion transformed by rigid matrices (F, 4, 4)."""
    linear = frames[:, :3, :3]
    turns = rotation.multiply(rotation.quaternion_from_matrix(linear), motion.turns)
    return Motion(transform_point(frames, motion.places), turns, linear @ motion.spaces)
