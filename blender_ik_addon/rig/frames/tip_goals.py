"""Goals for the orientations of tips."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core import Goals
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..reading.batch_record import BatchRecord
from ..reading.bone_joints import NOT_TURNED
from .chain_frames import ChainFrames
from .chain_poses import ChainPoses, interpolate_rotations


@dataclass(frozen=True)
class TipGoals(BatchRecord):
    """Goal orientations for the tips of t of the E chains of b similar trees.

    Attributes:
        chains: Numbers of these chains; 0 for a chain alone.
        orientations: Goal orientations in armature space, shape (b, t, 3, 3).
        shares: Shares of the turn to these that tips beyond effectors make, from 0 to 1.
    """

    chains: tuple[int, ...]
    orientations: Array
    shares: tuple[float, ...]

    def interpolated(self, frames: ChainFrames, pose: ChainPoses, share: Array) -> TipGoals:
        """Return goals at a share (b, t) of the turn from the orientations of tips in poses."""
        hanging = frames.hanging
        rows = [
            hanging.tips[chain] if hanging.turns_afterwards(chain) else hanging.carriers[chain]
            for chain in self.chains
        ]
        present = rotation.orientation(pose.matrices[:, rows])
        partial = interpolate_rotations(present, self.orientations, share)
        replaced = np.where((share < 1.0)[..., None, None], partial, self.orientations)
        return replace(self, orientations=replaced)


def turn_to(matrices: Array, orientations: Array) -> Array:
    """Return pose matrices (..., 3, 3) turned until they have orientations (..., 3, 3)."""
    return orientations @ rotation.orientation(matrices).swapaxes(-1, -2) @ matrices


def add_tip_turns(
    goals: Goals, frames: ChainFrames, pose: ChainPoses, tips: TipGoals | None
) -> Goals:
    """Return goals with the turns of tips that carry effectors, relative to start poses."""
    hang = frames.hanging
    chains = () if tips is None else tips.chains
    within = [i for i, chain in enumerate(chains) if not hang.turns_afterwards(chain)]
    if tips is None or not within:
        return goals
    of_chains = [tips.chains[i] for i in within]
    present = rotation.orientation(pose.matrices[:, [hang.carriers[i] for i in of_chains]])
    orientations = tips.orientations[:, within]
    turns = rotation.quaternion_from_matrix(orientations @ present.swapaxes(-1, -2))
    if hang.topology is None:
        return replace(goals, tip_rotation_wxyz=turns[:, 0])
    all_turns = np.tile(NOT_TURNED, (*goals.target_position.shape[:2], 1))
    all_turns[:, of_chains] = turns
    has_turns = [chain in of_chains for chain in range(len(hang.carriers))]
    return replace(goals, tip_rotation_wxyz=all_turns, has_tip_rotation=has_turns)
