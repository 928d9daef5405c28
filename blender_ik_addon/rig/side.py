"""To which side a chain bends where no pole says so: mirrored, flipped, or as it stands."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.algebra import rotation
from ..core.algebra.vectors import NO_DIRECTION
from ..core.kinematics.bend_plane import STRAIGHT, bend_side
from .chain_pose import ChainFrame, ChainPose
from .spec import ChainSpec, NegativeScale, StartFrom
from .targets import Target

Array = npt.NDArray[np.float64]
Bending = tuple[Array, Array]
"""Joints (b, n, 3) of chains that bend, and where they would bend if they were straight (b, 3)."""


def flips(
    spec: ChainSpec, target: Target, frame: ChainFrame, start: ChainPose, stored: ChainPose
) -> bool:
    """Return whether a chain bends to the other side than its start pose, or away from its pole.

    Args:
        spec: The chain's settings.
        target: Tells what negative scale mirrors.
        frame: The chain.
        start: The pose that it starts from.
        stored: Its stored pose.
    """
    use_flip = bool(spec.options.use_flip_bend)
    if spec.pole is not None:
        return use_flip
    side = side_of(spec, frame, start)
    # A chain that starts from its own last pose would change sides at every update, so there a
    # flip is relative to the stored pose, and what negative scale has mirrored to the rest pose.
    is_current = spec.start_from is StartFrom.CURRENT
    if use_flip and is_current:
        use_flip = _is_on_side_of(spec, frame, start, stored)
    if spec.negative_scale is NegativeScale.KEEP and target.unmirrored is not None:
        keeps = bool(side @ target.unmirrored @ side < 0.0)
        if keeps and is_current:
            rest = frame.posed(np.broadcast_to(np.eye(3), start.rotations.shape))
            natural = stored if frame.rest_side is None else rest
            keeps = _is_on_side_of(spec, frame, start, natural)
        use_flip ^= keeps
    return use_flip


def _is_on_side_of(
    spec: ChainSpec, frame: ChainFrame, pose: ChainPose, reference: ChainPose
) -> bool:
    """Tell whether a pose bends to the side of another one swung to the same chord."""
    chords = [bending_joints(each.joints, spec) for each in (reference, pose)]
    source, goal = (joints[-1] - joints[0] for joints in chords)
    if min(np.linalg.norm(source), np.linalg.norm(goal)) == 0.0:
        return True
    swing = rotation.between(source / np.linalg.norm(source), goal / np.linalg.norm(goal))
    swung = rotation.rotate(swing, side_of(spec, frame, reference))
    return bool(side_of(spec, frame, pose) @ swung >= 0.0)


def side_of(spec: ChainSpec, frame: ChainFrame, pose: ChainPose) -> Array:
    """Return where a pose of a chain bends, or would if it were bent: armature space, (3,)."""
    side = bend_side(bending_joints(pose.joints, spec))
    return frame.natural_side(pose) if side is None else side


def bending_joints(joints: Array, spec: ChainSpec) -> Array:
    """Return the joints of a chain that bend: without a tip that takes the target's rotation."""
    has_turned_tip = spec.use_rotation and spec.use_tail and len(joints) > 2
    return joints[:-1] if has_turned_tip else joints


def is_on_side_of(pose: Bending, reference: Bending) -> npt.NDArray[np.bool_]:
    """Tell which poses bend to the side of other ones swung to the same chords, shape (b,)."""
    source, goal = (joints[:, -1] - joints[:, 0] for joints, _ in (reference, pose))
    sizes = [np.linalg.norm(chord, axis=1, keepdims=True) for chord in (source, goal)]
    has_chords = (sizes[0] > 0.0) & (sizes[1] > 0.0)
    source, goal = (
        np.where(has_chords, chord / np.where(has_chords, size, 1.0), [1.0, 0.0, 0.0])
        for chord, size in zip((source, goal), sizes, strict=True)
    )
    swung = rotation.rotate(rotation.between(source, goal), find_sides(*reference))
    is_on_side: npt.NDArray[np.bool_] = (find_sides(*pose) * swung).sum(axis=1) >= 0.0
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
    segments = np.diff(joints, axis=1)
    reach = np.linalg.norm(segments, axis=2).sum(axis=1, keepdims=True)
    chord = points[:, -1]
    size = np.linalg.norm(chord, axis=1, keepdims=True)
    chord = np.where(size > NO_DIRECTION * reach, chord, points[:, 1])
    chord = chord / np.linalg.norm(chord, axis=1, keepdims=True)
    inner = points[:, 1:-1].mean(axis=1)
    offset = inner - chord * (inner * chord).sum(axis=1, keepdims=True)
    bulge = np.linalg.norm(offset, axis=1, keepdims=True)
    is_straight = bulge <= STRAIGHT * reach
    return np.where(is_straight, natural, offset / np.where(is_straight, 1.0, bulge))
