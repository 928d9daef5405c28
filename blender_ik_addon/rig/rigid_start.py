"""The start poses of chains of rigid bones, in the spaces that their root bones turn in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core import Joints, rotation
from .limb import Limb, RigidBones

Array = npt.NDArray[np.float64]

NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class RigidStart:
    """B chains of k written bones, of which the first m have a segment.

    Attributes:
        local: Local rotations wxyz, shape (B, k, 4).
        rest: Rotations of the frames that those act in, shape (B, k, 4).
        tip: Rotations of the tip bones, shape (B, 4).
        joints: Heads and effectors, shape (B, m + 1, 3).
        hints: Where straight chains bend, shape (B, 3).
    """

    local: Array
    rest: Array
    tip: Array
    joints: Array
    hints: Array


def posed_start(bones: Sequence[RigidBones]) -> RigidStart:
    """Return the start poses of chains alike: each bone after the one that it hangs on."""
    local = np.array([each.local_wxyz for each in bones])
    offsets = np.array([each.offsets_wxyz for each in bones])
    segments = np.array([each.segments for each in bones])
    sizes = np.array([each.sizes for each in bones])
    count, written = local.shape[:2]
    rest = np.empty((count, written, 4))
    posed = np.empty((count, written, 4))
    rest[:, 0] = NOT_TURNED
    size, head = np.ones(count), np.zeros((count, 3))
    joints = [head]
    for i in range(written):
        if i:
            rest[:, i] = rotation.multiply(posed[:, i - 1], offsets[:, i])
        posed[:, i] = rotation.multiply(rest[:, i], local[:, i])
        if i < segments.shape[1]:
            head = head + size[:, None] * rotation.rotate(posed[:, i], segments[:, i])
            joints.append(head)
        size = size * sizes[:, i]
    hints = rotation.rotate(posed[:, 0], np.array([each.hint for each in bones]))
    return RigidStart(local, rest, posed[:, -1], np.stack(joints, axis=1), hints)


def rigid_joints(limbs: Sequence[Limb]) -> Joints | None:
    """Return the joints of chains alike, in the spaces of their bases; None for free ones."""
    bones = [limb.rigid for limb in limbs if limb.rigid is not None]
    joints = [limb.joints for limb in limbs if limb.joints is not None]
    if not joints:
        return None
    offsets = rotation.matrix_from_quaternion(np.array([each.offsets_wxyz for each in bones]))
    sizes = np.array([each.sizes for each in bones])
    # A base is the space that the root turns in: nothing is left of its own offset.
    offsets[:, 0] = np.eye(3)
    offsets[:, 1:] *= sizes[:, :-1, None, None]
    local = np.array([each.local_wxyz for each in bones])
    zero = rigid_zeros(limbs)
    if zero is not None:
        offsets = offsets @ rotation.matrix_from_quaternion(zero)
        local = rotation.multiply(rotation.conjugate(zero), local)
    nothing = np.zeros(sizes.shape)
    return Joints(
        kinds=joints[0].kinds,
        offsets=offsets,
        start_wxyz=local,
        low=np.array([each.low for each in joints]),
        high=np.array([each.high for each in joints]),
        mobility=1.0 - np.array([each.stiffness for each in joints]),
        slide_low=nothing,
        slide_high=nothing,
    )


def rigid_zeros(limbs: Sequence[Limb]) -> Array | None:
    """Return the local rotations that count as no turn, wxyz (B, k, 4); None where all are rest."""
    zeros = [None if limb.joints is None else limb.joints.zero_wxyz for limb in limbs]
    if all(zero is None for zero in zeros):
        return None
    rest = np.tile(NOT_TURNED, (len(limbs[0].modes), 1))
    return np.array([rest if zero is None else zero for zero in zeros])
