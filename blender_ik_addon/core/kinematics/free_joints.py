"""Joints for chains that have none, for what only acts on joints."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..algebra import arrays, turns
from ..algebra.arithmetic import Array
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
    across = arrays.cross(start.side, start.chord)
    frame = np.stack((start.side, start.chord, across), axis=1)
    frames = [_swing(frame, start.chord, directions[0], start.side)]
    for before, after in pairwise(directions):
        frames.append(_swing(frames[-1], before, after, frames[-1][:, 0]))
    stacked = np.array(frames)
    offsets = np.concatenate(
        (stacked[:1], np.einsum("njib,njkb->nikb", stacked[:-1], stacked[1:])), axis=0
    )
    chains = start.points.shape[-1]
    return free_joints(
        np.ascontiguousarray(offsets.transpose(3, 0, 1, 2)),
        np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (chains, len(directions), 1)),
    )


def make_free_joints(chains: int, bones: int) -> Joints:
    """Return free joints of so many chains; axes and start rotations are the identity."""
    start = np.zeros((chains, bones, 4))
    start[..., 0] = 1.0
    return free_joints(np.broadcast_to(np.eye(3), (chains, bones, 3, 3)), start)


def _swing(frame: Array, source: Array, target: Array, half_turn_axis: Array) -> Array:
    """Return frames (3, 3, B) that the shortest turn from one direction to another carries."""
    return arrays.compose(turns.to_matrices(turns.between(source, target, half_turn_axis)), frame)
