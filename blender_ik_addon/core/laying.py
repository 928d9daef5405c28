"""Jointed bones turned toward points, each as far as its joint allows."""

from __future__ import annotations

import numpy as np

from . import rotation, turns
from .jointed import Jointed
from .limits import HINGES
from .vectors import Array, norm, unit

# A direction across a hinge shorter than this share of its vector tells no angle.
NO_ANGLE = 1e-9


def aimed(
    chain: Jointed, bone: int, turn: Array, lever: Array, wanted: Array, share: Array | float = 1.0
) -> Array:
    """Return the turns (4, B) of one bone that bring its lever toward a wanted direction.

    Args:
        chain: The chains.
        bone: Which bone of theirs.
        turn: Present turns, shape (4, B).
        lever: What shall point there, told in the frame of the bone, shape (3, B).
        wanted: Where it shall point, in the same frame, shape (3, B).
        share: Of the way to turn, shape (B,).
    """
    axis = HINGES.get(chain.kinds[bone])
    if axis is not None:
        # A hinge turns in its plane only: what lies along its axis is not its to change.
        lever, wanted = _across_axis(lever, axis), _across_axis(wanted, axis)
    nowhere = np.zeros_like(lever)
    source, target = unit(lever, nowhere), unit(wanted, nowhere)
    has_both = (norm(source) > 0.5) & (norm(target) > 0.5)
    swing = turns.between(source, np.where(has_both, target, source))
    if axis is not None:
        swing = _opposite_in_plane(swing, axis)
    swing = np.where(has_both, swing, _NOT_TURNED)
    if not isinstance(share, float):
        swing = turns.by_vectors(turns.vectors_of(swing) * share)
    if chain.has_stiffness:
        swing = _stiff(swing, turn, chain.readiness[bone])
    return chain.clamped_at(bone, turns.normalised(turns.multiply(swing, turn)))


_NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])[:, None]


def rotations_of(frames: Array) -> Array:
    """Return the turns (n, 4, B) that frames (n, 3, 3, B) of any scale, mirrored too, make."""
    by_chain = frames.transpose(0, 3, 1, 2)
    scale = np.cbrt(np.linalg.det(by_chain))
    unit_frames = by_chain / scale[..., None, None]
    turned: Array = rotation.quaternion_from_matrix(unit_frames).transpose(0, 2, 1)
    return turned


def _across_axis(vector: Array, axis: int) -> Array:
    across = vector.copy()
    across[axis] = 0.0
    size, whole = norm(across), norm(vector)
    return np.where(size > NO_ANGLE * whole, across, 0.0)


def _opposite_in_plane(swing: Array, axis: int) -> Array:
    """Return swings of which half turns are about the hinge's axis too."""
    about = np.zeros_like(swing)
    about[1 + axis] = 1.0
    is_half_turn = swing[0] < 1e-7
    return np.where(is_half_turn, about, swing)


def _stiff(swing: Array, turn: Array, readiness: Array) -> Array:
    """Return swings (4, B) of which stiff axes of the posed bone take their shares (3, B) only."""
    axes = turns.matrices(turn)
    weighted = np.einsum("ikb,kb,jkb,jb->ib", axes, readiness, axes, turns.vectors_of(swing))
    return turns.by_vectors(weighted)
