"""What joints allow, with the chains first, as ``algebra.chains_first`` lays arrays out."""

from __future__ import annotations

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array
from ..algebra.chains_first import chains_first
from ..algebra.nested import transform_leaves
from ..kinematics.compiled_joints import CompiledJoints
from ..kinematics.swing_twist import TurnParts, stack_ranges, take_apart


class JointRows:
    """What joints of B trees allow, chains first.

    Attributes:
        ranges: Shape (..., B, n).
        has_room: Which axes have some, shape (B, n, 3).
        is_locked: Those that the kinds of the joints do not tell, likewise.
        has_locks: Whether there are any of those.
        has_edges: Whether turns have to be taken apart.
    """

    def __init__(self, joints: CompiledJoints) -> None:
        """Take joints."""
        self.has_edges = joints.has_edges or joints.has_stiffness
        self.ranges = stack_ranges(transform_leaves(lambda each: each.T, joints.ranges))
        is_held = np.moveaxis(joints.is_held, -1, 0)
        self.has_room, self.is_locked = ~is_held, np.zeros_like(is_held)
        self.is_locked[:, joints.held_bones] = is_held[:, joints.held_bones]
        self.has_locks = joints.held_bones.size > 0
        self._mobility = chains_first(joints.mobility) if joints.has_stiffness else None
        self._free = joints.axis_shares[None, :, :, 0, None] * np.eye(3)

    def take_apart(self, turn: Array) -> TurnParts:
        """Return turns (B, n, 4) brought inside their ranges, taken apart."""
        return take_apart(self.ranges, turn.transpose(2, 0, 1))

    def weigh_axes(self, turn: Array) -> Array:
        """Return how torques turn joints but for edges, (B, n, 3, 3), of turns (B, n, 4)."""
        if self._mobility is None:
            return self._free
        axes = turns.to_matrices(turn[..., None])[..., 0]
        weighed: Array = (axes * self._mobility[..., None, :]) @ axes.swapaxes(-1, -2)
        return weighed
