"""The edges of ranges that joints are near to, as a step of ``feasible_newton`` keeps to them.

Chains come first, as in ``algebra.chains_first``.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import apply, chains_last, measure
from ..kinematics.compiled_joints import JointRows
from ..kinematics.limit_edges import LEAST_LEAVING, LEAST_MOBILITY, LEAST_RATE, ON_EDGE, EdgeArrays

# Edges farther away than this, in radians or sines, are not looked at before they are hit.
NEAR = 0.2


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

    def __init__(self, joints: JointRows, turn: Array, near: float = NEAR) -> None:
        """Take joints, their turns (B, n, 4), and how near edges are.

        Turns are taken apart as they are, not as they were before they were brought inside: else
        what becomes of a chain would hang on when others leave it alone.
        """
        parts = joints.take_apart(turn)
        self._joints, self._turn, self.is_locked = joints, turn, joints.is_locked
        self.has_locks, self._edges = joints.has_locks, EdgeArrays(joints.ranges, parts, near)
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

    @cached_property
    def free(self) -> Array:
        """What of turns leads along locks, (B, n, 3, 3)."""
        return self._block(self._joints.weigh_axes(self._turn), self.is_locked)

    def hold(self, is_shut: Flags) -> Array:
        """Return what of turns leads along shut edges (B, n, 3 edges), (B, n, 3, 3)."""
        return self._block(self.free, is_shut)

    def _block(self, held: Array, is_shut: Flags) -> Array:
        """Return what of turns leads along flagged edges as well, (B, n, 3, 3)."""
        among = is_shut.any(axis=0)
        edges = among.any(axis=0).nonzero()[0]
        if edges.size:
            held = held.copy("K") if len(held) > 1 else held.repeat(len(is_shut), axis=0)
        for edge in edges:
            bones = among[:, edge].nonzero()[0]
            normal = self.normals[:, bones, edge]
            way = apply(held[:, bones], normal)
            size = np.einsum("...i,...i->...", way, normal)
            leads = is_shut[:, bones, edge] & (size > LEAST_MOBILITY)
            share = leads / np.where(leads, size, 1.0)
            held[:, bones] -= (way * share[..., None])[..., None] * way[..., None, :]
        return held

    def follow(self, torque: Array) -> Array:
        """Return the moves (B, n, 3) of torques, none across edges that joints stand on."""
        way = apply(self.free, torque)
        if not self.has_any:
            return way
        # What goes along an edge counts as leaving: else rounding would decide.
        leaves = apply(self.normals, way) > -LEAST_LEAVING
        return apply(self.hold(self.is_near & (self.rooms <= ON_EDGE) & leaves), torque)

    def store_chains_last(self) -> None:
        """Store arrays with the chains last: products of many chains are several times as fast."""
        self.free = _store_last(
            np.broadcast_to(self.free, (len(self.is_near), *self.free.shape[1:]))
        )
        if self.has_any:
            self.normals = _store_last(self.normals)


def _store_last(values: Array) -> Array:
    return np.moveaxis(chains_last(values), -1, 0)
