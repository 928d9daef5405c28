"""The sides that chains without poles bend to: the start pose's, flipped or mirrored."""

from __future__ import annotations

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import ARRAYS, Array, Flags, Indices
from ...core.algebra.vectors import MIN_LENGTH
from ...core.kinematics.bend_plane import MIN_BULGE, measure_facing
from ..reading.spaces import across
from .batch_settings import BatchSettings
from .chain_frames import ChainFrames
from .chain_poses import ChainPoses
from .places import Places

# Most turns of a side until it stays, and the angle in radians below which it does.
FACING_TURNS, FACING_ANGLE = 200, 1e-9

Bending = tuple[Array, Array]
"""Joints (b, n, 3) of the bending parts of chains; their sides if they were straight (b, 3)."""


def find_flips(
    settings: BatchSettings, rows: Indices, places: Places, frames: ChainFrames, start: ChainPoses
) -> Flags:
    """Return which chains without poles bend to the other side than their start poses, (b,).

    Chains that start from their last poses would change sides at every update. For these a flip
    is relative to the stored pose, and the mirroring of negative scale to the rest pose.

    Settings are of all chains, the other inputs of the chains in ``rows``, (b,).
    """
    use_flip: Flags = np.asarray(settings.options.use_flip_bend)[rows]
    keeps_bend = places.keeps_bend[:, 0]
    if not (keeps_bend.any() or (settings.is_current and use_flip.any())):
        return use_flip

    def bending(pose: ChainPoses) -> Bending:
        joints = pose.joints[:, :-1] if settings.plan.bends_without_tip else pose.joints
        return joints, frames.natural_sides(pose)[:, 0]

    side = find_sides(*bending(start))
    keeps_bend = keeps_bend & (np.einsum("bi,bij,bj->b", side, places.unmirrored, side) < 0.0)
    if settings.is_current:
        stored = rotation.matrix_from_quaternion(settings.zero[rows])
        is_on_stored = is_on_side_of(bending(start), bending(frames.posed(stored)))
        use_flip = use_flip & is_on_stored
        rest = frames.posed(np.broadcast_to(np.eye(3), start.rotations.shape))
        is_on_rest = is_on_side_of(bending(start), bending(rest))
        keeps_bend = keeps_bend & np.where(frames.is_bent[:, 0], is_on_rest, is_on_stored)
    flipped: Flags = use_flip ^ keeps_bend
    return flipped


def is_on_side_of(pose: Bending, reference: Bending) -> Flags:
    """Return which poses bend to the side of reference poses swung to the same chords, (b,)."""
    source, goal = (joints[:, -1] - joints[:, 0] for joints, _ in (reference, pose))
    sizes = [np.linalg.norm(chord, axis=1, keepdims=True) for chord in (source, goal)]
    has_chords = (sizes[0] > 0.0) & (sizes[1] > 0.0)
    source, goal = (
        np.where(has_chords, chord / np.where(has_chords, size, 1.0), [1.0, 0.0, 0.0])
        for chord, size in zip((source, goal), sizes, strict=True)
    )
    swung = rotation.rotate(rotation.between(source, goal), find_sides(*reference))
    is_on_side: Flags = (find_sides(*pose) * swung).sum(axis=1) >= 0.0
    return is_on_side | ~has_chords[:, 0]


def find_sides(joints: Array, natural: Array) -> Array:
    """Return the sides that poses bend to: unit vectors, or ``natural`` for straight chains.

    Args:
        joints: Joints of the bending part, shape (b, n, 3).
        natural: Sides that straight chains bend to, shape (b, 3).
    """
    if joints.shape[1] < 3:
        return natural
    points = joints - joints[:, :1]
    reach = np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1, keepdims=True)
    chord = points[:, -1]
    size = np.linalg.norm(chord, axis=1, keepdims=True)
    chord = np.where(size > MIN_LENGTH * reach, chord, points[:, 1])
    chord = chord / np.linalg.norm(chord, axis=1, keepdims=True)
    inner = points[:, 1:-1].mean(axis=1)
    offset = inner - chord * (inner * chord).sum(axis=1, keepdims=True)
    bulge = np.linalg.norm(offset, axis=1, keepdims=True)
    is_straight = bulge <= MIN_BULGE * reach
    return np.where(is_straight, natural, offset / np.where(is_straight, 1.0, bulge))


def find_facing_sides(joints: Array, side: Array, carried: Array) -> Array:
    """Return the sides (b, 3) whose poles keep limbs that bend in a plane as they are.

    Nearly straight limbs face their poles with their first bones, as ``measure_facing`` tells.

    Args:
        joints: Joints of the bending part, shape (b, n, 3).
        side: Sides that the limbs bend to, unit vectors (b, 3).
        carried: Sides that their first bones carry, unit vectors or zero, (b, 3).
    """
    points = joints - joints[:, :1]
    reach = np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1)
    distance = np.linalg.norm(points[:, -1], axis=1)
    chord = points[:, -1] / np.maximum(distance, MIN_LENGTH * reach)[:, None]
    inner = points[:, 1:-1].mean(axis=1)
    # A bulge square to the carried side would count alone, but solves do not end there.
    aside = across(carried, chord)
    size = np.linalg.norm(aside, axis=1, keepdims=True)
    side = np.where(size > MIN_LENGTH, aside / np.maximum(size, MIN_LENGTH), side)
    for _ in range(FACING_TURNS):
        frame = np.stack((side, np.cross(chord, side)))
        bulge, aside = (np.einsum("sbi,bi->sb", frame, vector) for vector in (inner, carried))
        components = (bulge[0], bulge[1]), (aside[0], aside[1])
        angle = measure_facing(ARRAYS, *components, reach, distance).angle[:, None]
        side = np.cos(angle) * frame[0] + np.sin(angle) * frame[1]
        if np.abs(angle).max(initial=0.0) <= FACING_ANGLE:
            break
    return side
