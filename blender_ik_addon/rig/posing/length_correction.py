"""Corrections of laid chains whose bones change length as they turn, so that they reach targets.

Under parents that scale unevenly the length of a segment depends on its direction. The core does
not know this and solves for rigid segments; the remaining gap is closed here, on the bones.
"""

from __future__ import annotations

import numpy as np

from ...core.algebra.arithmetic import Array
from ...core.solving.joint_run import SLOW_ERROR_SHARE, SLOW_WINDOW
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import ChainPoses
from ..reading import spaces
from ..reading.batch_record import take_rows

MAX_STEPS = 40
START_DAMPING = 1e-4
MAX_DAMPING = 1e6
# The linear model of a step says little beyond this turn, in radians.
MAX_TURN = 0.5


def close_gaps(
    frames: ChainFrames, pose: ChainPoses, target: Array, tip: Array | None, tolerance: Array
) -> ChainPoses:
    """Return poses turned further, as little as possible, until their effectors meet targets.

    Damped Gauss-Newton on local swings. Where bones below inherit the whole matrix of the bone that
    turns, the derivative is exact. For others it is approximate; only better steps count.

    Args:
        frames: Frames of the chains.
        pose: Poses near the targets.
        target: Targets, armature space, shape (b, 3).
        tip: Pose matrices that the last bones take and keep, shape (b, 3, 3), or None.
        tolerance: Accepted distances, armature space, shape (b,).

    Returns:
        The poses, or the closest ones found.

    Source: derived for this project; proved on evaluated bones in
    tests/blender/rig/test_rig_reaches.py.
    """
    if frames.hanging.count == (tip is not None):
        return pose  # the only bone is turned as its target is
    damping = np.full(len(target), START_DAMPING)
    rows = np.arange(len(target))
    best, error = pose, target - pose.joints[:, -1]
    before = np.full(len(target), np.inf)
    for step in range(MAX_STEPS):
        size = np.linalg.norm(error, axis=1)
        is_open = (size > tolerance[rows]) & (damping <= MAX_DAMPING)
        if step % SLOW_WINDOW == 0:
            # A gap that no longer shrinks never closes: the target is out of reach.
            is_open &= size <= SLOW_ERROR_SHARE * before
            before = size
        if not is_open.all():
            rest = np.flatnonzero(is_open)
            if not rest.size:
                break
            rows, damping, error, before = rows[rest], damping[rest], error[rest], before[rest]
            frames, pose, tip = frames.take(rest), pose.take(rest), take_rows(tip, rest)
        columns = _find_jacobian(frames, pose, fixed=tip is not None)
        system = columns @ columns.transpose(0, 2, 1)
        trace = np.einsum("bii->b", system)
        system = system + np.eye(3) * (damping * trace / 3.0)[:, None, None]
        multiplier = np.linalg.solve(system, error[..., None])
        turns = (columns.transpose(0, 2, 1) @ multiplier).reshape(len(rows), -1, 3)
        largest = np.abs(turns).max(axis=(1, 2))
        turns *= np.minimum(1.0, MAX_TURN / np.maximum(largest, 1e-12))[:, None, None]
        trial = frames.nudged(pose, turns, tip)
        trial_error = target[rows] - trial.joints[:, -1]
        is_better = np.linalg.norm(trial_error, axis=1) < np.linalg.norm(error, axis=1)
        better = np.flatnonzero(is_better)
        pose = pose.put(better, trial.take(better))
        best = best.put(rows[better], trial.take(better))
        error = np.where(is_better[:, None], trial_error, error)
        damping = np.where(is_better, damping * 0.3, np.maximum(8.0 * damping, 1e-2))
    return best


def _find_jacobian(frames: ChainFrames, pose: ChainPoses, *, fixed: bool) -> Array:
    """Return the derivatives of effectors by local rotation vectors, shape (b, 3, 3 m).

    A bone's frame ``rs`` maps its local space to armature space, so a small turn w moves the
    effector by ``rs @ (w x inverse(rs) @ (effector - head))``. Turns about the bone's own segment
    are left out: rolls stay.
    """
    count = frames.hanging.count - fixed
    rs, joints = pose.frames[:, :count], pose.joints
    to_local = np.linalg.pinv(rs)
    lever = spaces.transform_direction(to_local, joints[:, -1:] - joints[:, :count])
    segment = spaces.transform_direction(to_local, joints[:, 1 : count + 1] - joints[:, :count])
    size = np.linalg.norm(segment, axis=2, keepdims=True)
    along = segment / np.maximum(size, 1e-300)
    swing_only = np.eye(3) - along[..., None] * along[..., None, :]
    # Column k of this matrix is e_k x lever.
    turned = np.cross(np.eye(3), lever[..., None, :]).swapaxes(-1, -2)
    columns = np.zeros((len(joints), 3, 3 * frames.hanging.count))
    columns[:, :, : 3 * count] = np.concatenate(np.moveaxis(rs @ turned @ swing_only, 1, 0), axis=2)
    return columns
