"""The edges of ranges that joints are near to, as a step of ``feasible_newton`` keeps to them.

Chains come first, as in ``algebra.chains_first``.
"""

from __future__ import annotations

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import apply, measure
from ..kinematics.limit_edges import LEAST_LEAVING, LEAST_RATE, ON_EDGE, EdgeArrays
from ..kinematics.swing_twist import TurnParts
from .joint_rows import JointRows

# Edges farther away than this, in radians or sines, are not looked at before they are hit.
NEAR = 0.2
# A joint that turns less readily than this across an edge does not cross it.
NO_WAY = 1e-12


class NearEdges:
    """The edges that a step may come to: those about X, about Y and about Z of each joint.

    Attributes:
        normals: Unit turns that lead out of the range, shape (B, n, 3 edges, 3).
        rooms: By how many radians joints may turn along them, shape (B, n, 3 edges).
        is_near: Which edges bound the step, shape (B, n, 3 edges).
        is_locked: Which no step leaves, likewise.
        has_locks: Whether there are such ones.
        has_any: Whether there are any near ones.
    """

    def __init__(self, joints: JointRows, turn: Array, parts: TurnParts) -> None:
        """Take joints, their turns (B, n, 4), and these taken apart."""
        self._joints, self._turn, self.is_locked = joints, turn, joints.is_locked
        self.has_locks, self._edges = joints.has_locks, EdgeArrays(joints.ranges, parts, NEAR)
        self.is_near: Flags = self._edges.is_near.transpose(1, 2, 0) & joints.has_room
        self.has_any = bool(self.is_near.any())
        if self.has_any or joints.has_locks:
            slopes = self._edges.find_slopes()
            self._rates = np.maximum(measure(slopes), LEAST_RATE)
            self.normals = slopes / self._rates[..., None]
            self.rooms = np.maximum(self._edges.left.transpose(1, 2, 0) / self._rates, 0.0)

    def bend(self, press: Array) -> Array | None:
        """Return what presses (B, n, 3 edges) on edges add to the curvature, (B, n, 3, 3)."""
        if not self.has_any:
            return None
        shares = np.where(self.is_near, press / self._rates, 0.0)[:, :, ::2]
        return self._edges.bend(shares) if shares.any() else None

    def push(self, is_shut: Flags, press: Array) -> Array:
        """Return the slope (B, 3 n) of what presses (B, n, 3 edges) on edges that are shut."""
        if not self.has_any:
            return np.zeros((len(press), press[0].size))
        shut = np.where(self.is_near & is_shut, press, 0.0)
        return apply(self.normals.swapaxes(-1, -2), shut).reshape(len(press), -1)

    def stop(self, move: Array) -> Flags:
        """Return which edges moves (B, n, 3) lead to or over, (B, n, 3 edges)."""
        if not self.has_any:
            return self.is_near
        is_over: Flags = self.is_near & (apply(self.normals, move) >= self.rooms)
        return is_over

    def hold(self, is_shut: Flags) -> Array:
        """Return what of turns leads along shut edges (B, n, 3 edges), (B, n, 3, 3)."""
        held, is_shut = self._joints.weigh_axes(self._turn), is_shut | self.is_locked
        for edge in np.flatnonzero(is_shut.any(axis=(0, 1))):
            normal = self.normals[:, :, edge]
            way = apply(held, normal)
            size = (way * normal).sum(axis=-1)
            leads = is_shut[:, :, edge] & (size > NO_WAY)
            share = leads / np.where(leads, size, 1.0)
            held = held - (way * share[..., None])[..., None] * way[..., None, :]
        return held

    def follow(self, torque: Array) -> Array:
        """Return the moves (B, n, 3) of torques, none across edges that joints stand on."""
        is_shut = np.zeros_like(self.is_near)
        way = apply(self.hold(is_shut), torque)
        if not self.has_any:
            return way
        # What goes along an edge counts as leaving: else rounding would decide.
        leaves = apply(self.normals, way) > -LEAST_LEAVING
        return apply(self.hold(self.is_near & (self.rooms <= ON_EDGE) & leaves), torque)
