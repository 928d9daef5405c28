"""Joints for chains that have none, for what only acts on joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..algebra import arrays, turns
from ..model.joints import Joints, free_joints
from .start_pose import StartPose


def align_free_joints(start: StartPose) -> Joints:
    """Return free joints of bones that lie along the segments of start poses.

    The bones' Y axes point along the segments. X axes point to the side that the chain bends to and
    are carried from bone to bone the short way. All bones stand at their zero.

    Args:
        start: Start poses of B chains.
    """
    directions = np.diff(start.points, axis=0) / start.lengths[:, None, :]
    across, before, frames = arrays.cross(start.side, start.chord), start.chord, []
    frame = np.stack((start.side, start.chord, across), axis=1)
    for direction in directions:
        swing = turns.between(before, direction, frame[:, 0])
        frame, before = arrays.compose(turns.to_matrices(swing), frame), direction
        frames.append(frame)
    offsets = np.array(frames)
    offsets[1:] = np.einsum("njib,njkb->nikb", offsets[:-1], offsets[1:])
    joints = make_free_joints(start.points.shape[-1], len(directions))
    return replace(joints, offsets=np.ascontiguousarray(offsets.transpose(3, 0, 1, 2)))


def make_free_joints(chains: int, bones: int) -> Joints:
    """Return free joints of so many chains; axes and start rotations are the identity."""
    start = np.zeros((chains, bones, 4))
    start[..., 0] = 1.0
    return free_joints(np.broadcast_to(np.eye(3), (chains, bones, 3, 3)), start)
