"""Bring a laid chain all the way to its target where its bones change length as they turn.

Under parents that scale unevenly the length of a segment depends on its direction, which the core
does not know: it solves for rigid segments. What is left is closed here, on the bones themselves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import spaces
from .chain_pose import ChainFrame, ChainPose

Array = npt.NDArray[np.float64]

MAX_STEPS = 40
FIRST_DAMPING = 1e-4
MOST_DAMPING = 1e6
# The linear model of a step says little beyond this turn, in radians.
LARGEST_TURN = 0.5


def settled(
    frame: ChainFrame, pose: ChainPose, target: Array, tip: Array | None, tolerance: float
) -> ChainPose:
    """Return the pose turned on, as little as it takes, until its effector meets a target.

    Damped Gauss-Newton on local swings. Where bones below inherit the whole matrix of the bone
    that turns, its derivative is exact; for other modes it is near, and only steps that bring the
    effector closer are taken.

    Args:
        frame: The chain.
        pose: Near the target.
        target: Armature space, shape (3,).
        tip: Pose matrix that the last bone takes and keeps, shape (3, 3), or None.
        tolerance: Accepted distance, armature space.

    Returns:
        The pose, or the closest one found.

    Source: derived for this project; proved on evaluated bones in tests/blender/test_rig_scales.py.
    """
    damping = FIRST_DAMPING
    error = target - pose.joints[-1]
    for _ in range(MAX_STEPS):
        if np.linalg.norm(error) <= tolerance or damping > MOST_DAMPING:
            break
        columns = _columns(frame, pose, fixed=tip is not None)
        system = columns @ columns.T
        system += np.eye(3) * (damping * np.trace(system) / 3.0)
        turns = (columns.T @ np.linalg.solve(system, error)).reshape(-1, 3)
        turns *= min(1.0, LARGEST_TURN / max(float(np.abs(turns).max()), 1e-12))
        trial = frame.nudged(pose, turns, tip)
        trial_error = target - trial.joints[-1]
        if np.linalg.norm(trial_error) < np.linalg.norm(error):
            pose, error, damping = trial, trial_error, damping * 0.3
        else:
            damping = max(8.0 * damping, 1e-2)
    return pose


def _columns(frame: ChainFrame, pose: ChainPose, *, fixed: bool) -> Array:
    """Return how the effector moves with each local rotation vector, shape (3, 3 m).

    A bone's frame ``rs`` maps its local space to armature space, so a small turn w moves the
    effector by ``rs @ (w x inverse(rs) @ (effector - head))``. Turns about the bone's own segment
    are left out: rolls stay.
    """
    count = len(frame.segments) - fixed
    parent = frame.parent
    columns = np.zeros((3, 3 * len(frame.segments)))
    for i in range(count):
        rs = spaces.parent_frames(parent, frame.frames[i]).rs
        lever = np.linalg.pinv(rs) @ (pose.joints[-1] - pose.joints[i])
        segment = np.linalg.pinv(rs) @ (pose.joints[i + 1] - pose.joints[i])
        along = segment / max(float(np.linalg.norm(segment)), 1e-300)
        swing_only = np.eye(3) - np.outer(along, along)
        skew = np.array(
            [
                [0.0, lever[2], -lever[1]],
                [-lever[2], 0.0, lever[0]],
                [lever[1], -lever[0], 0.0],
            ]
        )
        columns[:, 3 * i : 3 * i + 3] = rs @ skew @ swing_only
        parent = pose.matrices[i]
    return columns
