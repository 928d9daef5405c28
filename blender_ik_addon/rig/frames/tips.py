"""Orientations that tips shall take."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core import Goals
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..reading.bone_joints import NOT_TURNED
from ..reading.rows import Alike
from .chain_frames import ChainFrames
from .chain_poses import ChainPoses


@dataclass(frozen=True)
class Tips(Alike):
    """Which of the E chains of b trees alike turn their tips, and to what; a chain is the only one.

    Attributes:
        chains: Their numbers.
        wanted: Orientations, armature space, a matrix for each of them, shape (b, t, 3, 3).
        shares: Shares of the way that tips beyond effectors turn there, from 0 to 1.
    """

    chains: tuple[int, ...]
    wanted: Array
    shares: tuple[float, ...]

    def nearer_to(self, frames: ChainFrames, pose: ChainPoses, share: Array) -> Tips:
        """Return tips that shall turn a share (b, t) of the way from how they stand in poses."""
        hang = frames.hanging
        rows = [
            hang.tips[chain] if hang.turns_afterwards(chain) else hang.carriers[chain]
            for chain in self.chains
        ]
        turns = (rotation.orientation(pose.matrices[:, rows]), self.wanted)
        here, there = (rotation.quaternion_from_matrix(each) for each in turns)
        between = rotation.matrix_from_quaternion(rotation.interpolate(here, there, share))
        wanted = np.where((share < 1.0)[..., None, None], between, self.wanted)
        return replace(self, wanted=wanted)


def turned_to(matrices: Array, wanted: Array) -> Array:
    """Return pose matrices (..., 3, 3) turned until they show wanted orientations (..., 3, 3)."""
    return wanted @ rotation.orientation(matrices).swapaxes(-1, -2) @ matrices


def turned_goals(goals: Goals, frames: ChainFrames, pose: ChainPoses, tips: Tips | None) -> Goals:
    """Return goals with the turns of tips that carry effectors, told from poses to start from."""
    hang = frames.hanging
    chains = () if tips is None else tips.chains
    within = [i for i, chain in enumerate(chains) if not hang.turns_afterwards(chain)]
    if tips is None or not within:
        return goals
    of_chains = [tips.chains[i] for i in within]
    here = rotation.orientation(pose.matrices[:, [hang.carriers[chain] for chain in of_chains]])
    there = tips.wanted[:, within]
    turns = rotation.quaternion_from_matrix(there @ here.swapaxes(-1, -2))
    if hang.topology is None:
        return replace(goals, tip_rotation_wxyz=turns[:, 0])
    every = np.tile(NOT_TURNED, (*goals.target_position.shape[:2], 1))
    every[:, of_chains] = turns
    has_turns = [chain in of_chains for chain in range(len(hang.carriers))]
    return replace(goals, tip_rotation_wxyz=every, has_tip_rotation=has_turns)
