"""To which side chains bend where no pole says so: mirrored, flipped, or as they stand."""

from __future__ import annotations

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import ARRAYS, Array, Flags, Indices
from ...core.algebra.vectors import NO_DIRECTION, smoothstep
from ...core.kinematics.bend_plane import MIN_BULGE
from .batch_settings import BatchSettings
from .chain_frames import ChainFrames
from .chain_poses import ChainPoses
from .places import Places

# Between two segments, in radians: up to the first a limb counts as straight, from the second on as
# bent. With ten times more, elbows that a body has led aside would be seen to go back.
STRAIGHT, BENT = 0.03, 0.1

Bending = tuple[Array, Array]
"""Joints (b, n, 3) of chains that bend, and where they would bend if they were straight (b, 3)."""


def flips(
    settings: BatchSettings,
    places: Places,
    rows: Indices,
    frames: ChainFrames,
    start: ChainPoses,
) -> Flags:
    """Return whether chains without poles bend to the other side than their start poses, (b,).

    Chains that start from their own last poses would change sides at every update, so there a flip
    is relative to the stored pose, and what negative scale has mirrored to the rest pose.

    Args:
        settings: Of all chains.
        places: Where all of them hang.
        rows: Which ones, shape (b,).
        frames: These.
        start: The poses that they start from.
    """
    use_flip: Flags = np.asarray(settings.options.use_flip_bend)[rows]
    keeps = places.keeps[rows, 0]
    if not (keeps.any() or (settings.is_current and use_flip.any())):
        return use_flip

    def bending(pose: ChainPoses) -> Bending:
        joints = pose.joints[:, :-1] if settings.plan.bends_without_tip else pose.joints
        return joints, frames.natural_sides(pose)[:, 0]

    side = find_sides(*bending(start))
    keeps = keeps & (np.einsum("bi,bij,bj->b", side, places.unmirrored[rows], side) < 0.0)
    if settings.is_current:
        stored = rotation.matrix_from_quaternion(settings.zero[rows])
        is_on_stored = is_on_side_of(bending(start), bending(frames.posed(stored)))
        use_flip = use_flip & is_on_stored
        rest = frames.posed(np.broadcast_to(np.eye(3), start.rotations.shape))
        is_on_rest = is_on_side_of(bending(start), bending(rest))
        keeps = keeps & np.where(frames.is_bent[:, 0], is_on_rest, is_on_stored)
    flipped: Flags = use_flip ^ keeps
    return flipped


def is_on_side_of(pose: Bending, reference: Bending) -> Flags:
    """Tell which poses bend to the side of other ones swung to the same chords, shape (b,)."""
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
    """Return where poses bend, or would if they were bent, unit vectors but for the natural ones.

    Args:
        joints: That bend, shape (b, n, 3).
        natural: Where straight chains bend, shape (b, 3).
    """
    if joints.shape[1] < 3:
        return natural
    points = joints - joints[:, :1]
    reach = np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1, keepdims=True)
    chord = points[:, -1]
    size = np.linalg.norm(chord, axis=1, keepdims=True)
    chord = np.where(size > NO_DIRECTION * reach, chord, points[:, 1])
    chord = chord / np.linalg.norm(chord, axis=1, keepdims=True)
    inner = points[:, 1:-1].mean(axis=1)
    offset = inner - chord * (inner * chord).sum(axis=1, keepdims=True)
    bulge = np.linalg.norm(offset, axis=1, keepdims=True)
    is_straight = bulge <= MIN_BULGE * reach
    return np.where(is_straight, natural, offset / np.where(is_straight, 1.0, bulge))


def bent_to(first: Array, second: Array, side: Array) -> tuple[Array, Array] | None:
    """Return two segments (..., 3), bent to a side (..., 3) as far as they are straight.

    Their ends stay, and how much they bend; None where none is nearly straight.
    """
    chord = first + second
    chord = chord / np.maximum(np.linalg.norm(chord, axis=-1, keepdims=True), NO_DIRECTION)
    off, across = _reject(first, chord), _reject(side, chord)
    lengths = [np.linalg.norm(each, axis=-1) for each in (first, second)]
    bend = np.linalg.norm(off, axis=-1) * sum(1.0 / length for length in lengths)
    if (bend >= BENT).all():
        return None
    turned = np.cross(chord, off)
    angle = np.arctan2((turned * across).sum(axis=-1), (off * across).sum(axis=-1))
    angle = (angle * (1.0 - smoothstep(ARRAYS, bend, STRAIGHT, BENT)))[..., None]
    moved = off - np.cos(angle) * off - np.sin(angle) * turned
    return first - moved, second + moved


def _reject(way: Array, axis: Array) -> Array:
    """Return what of ways (..., 3) is across unit vectors."""
    return way - axis * (way * axis).sum(axis=-1, keepdims=True)
