"""The edges of ranges near to joints, as constraints of a step of ``feasible_newton``.

Chains come first, as in ``algebra.chains_first``.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import apply, chains_last, measure
from ..kinematics.compiled_joints import JointRows
from ..kinematics.limit_edges import LEAST_LEAVING, LEAST_MOBILITY, LEAST_RATE, ON_EDGE, EdgeArrays

# Distance to an edge, in radians or sines, beyond which a step ignores it until a joint reaches it.
EDGE_DISTANCE = 0.2


class NearEdges:
    """The edges that a step may reach: those about X, Y and Z of each joint.

    Attributes:
        normals: Unit turns that lead out of the range, shape (B, n, 3 edges, 3).
        rooms: Turns in radians that joints may make along the normals, shape (B, n, 3 edges).
        is_near: Which edges bound the step, shape (B, n, 3 edges).
        is_locked: Which edges no step leaves, shape (B, n, 3 edges).
        has_locks: Whether any edge is locked.
        has_any: Whether any edge is near.
    """

    def __init__(self, joints: JointRows, turn: Array, near: float = EDGE_DISTANCE) -> None:
        """Find the edges of joints with turns (B, n, 4) that are nearer than ``near``.

        Turns are decomposed as they are, not as they were before the clamp: otherwise the result
        for a chain would depend on when other chains leave the arrays.
        """
        parts = joints.split_swing_twist(turn)
        self._joints, self._turn, self.is_locked = joints, turn, joints.is_locked
        self.has_locks, self._edges = joints.has_locks, EdgeArrays(joints.ranges, parts, near)
        self.is_near: Flags = self._edges.is_near.transpose(1, 2, 0) & joints.has_room
        self.has_any = bool(self.is_near.any())
        if self.has_any or joints.has_locks:
            slopes = self._edges.find_slopes()
            self._rates = np.maximum(measure(slopes), LEAST_RATE)
            self.normals = slopes / self._rates[..., None]
            self.rooms = np.maximum(self._edges.left.transpose(1, 2, 0) / self._rates, 0.0)

    def curve(self, duals: Array) -> Array | None:
        """Return the curvature (B, n, 3, 3) of edges and locks with multipliers (B, n, 3 edges)."""
        if not (self.has_any or self.has_locks):
            return None
        shares = np.where(self.is_near | self.is_locked, duals / self._rates, 0.0)[:, :, ::2]
        return self._edges.bend(shares) if shares.any() else None

    def push(self, is_active: Flags, duals: Array) -> Array:
        """Return the slope (B, 3 n) of active edges with multipliers (B, n, 3 edges)."""
        if not self.has_any:
            return np.zeros((len(duals), duals[0].size))
        acting = np.where(self.is_near & is_active, duals, 0.0)
        return apply(self.normals.swapaxes(-1, -2), acting).reshape(len(duals), -1)

    def press(self, move: Array, is_active: Flags) -> Array:
        """Return moves (B, n, 3) after which joints on active edges (B, n, 3 edges) stay on them.

        Edges are curved, so a turn along one may end inside the range, and what holds the joint at
        its edge saves less energy there. These moves press outward by as much as the second
        derivatives tell and by a cube for what they do not tell: the clamp takes back what is too
        much.
        """
        if not is_active.any():
            return move
        across, bent = apply(self.normals, move), self.curve(is_active.astype(np.float64))
        along = (move * move).sum(axis=2)[..., None] - across * across
        inward = along * np.sqrt(np.maximum(along, 0.0))
        if bent is not None:
            inward += np.maximum(-0.5 * (move * apply(bent, move)).sum(axis=2), 0.0)[..., None]
        # A step that is bounded on the way to an edge does not end there.
        outward = np.where(is_active & (self.rooms - across <= inward), inward, 0.0)
        pressed: Array = move + apply(self.normals.swapaxes(-1, -2), outward)
        return pressed

    def find_reached(self, move: Array) -> Flags:
        """Return which edges moves (B, n, 3) reach or cross, (B, n, 3 edges)."""
        if not self.has_any:
            return self.is_near
        is_reached: Flags = self.is_near & (apply(self.normals, move) >= self.rooms)
        return is_reached

    @cached_property
    def free(self) -> Array:
        """Matrices from torques to the turns that locks leave, shape (B, n, 3, 3)."""
        return self._project(self._joints.weigh_axes(self._turn), self.is_locked)

    def hold(self, is_active: Flags) -> Array:
        """Return matrices (B, n, 3, 3) from torques to turns along active edges (B, n, 3 edges)."""
        return self._project(self.free, is_active)

    def _project(self, free: Array, is_active: Flags) -> Array:
        """Return matrices (B, n, 3, 3) without the turns across active edges (B, n, 3 edges)."""
        is_used = is_active.any(axis=0)
        edges = is_used.any(axis=0).nonzero()[0]
        if edges.size:
            free = free.copy("K") if len(free) > 1 else free.repeat(len(is_active), axis=0)
        for edge in edges:
            bones = is_used[:, edge].nonzero()[0]
            normal = self.normals[:, bones, edge]
            turn = apply(free[:, bones], normal)
            length = np.einsum("...i,...i->...", turn, normal)
            is_free = is_active[:, bones, edge] & (length > LEAST_MOBILITY)
            inverse = is_free / np.where(is_free, length, 1.0)
            free[:, bones] -= (turn * inverse[..., None])[..., None] * turn[..., None, :]
        return free

    def follow(self, torque: Array) -> Array:
        """Return the moves (B, n, 3) of torques, none across edges that joints are on."""
        move = apply(self.free, torque)
        if not self.has_any:
            return move
        # A turn along an edge counts as leaving the range: otherwise rounding would decide.
        leaves = apply(self.normals, move) > -LEAST_LEAVING
        return apply(self.hold(self.is_near & (self.rooms <= ON_EDGE) & leaves), torque)

    def store_chains_last(self) -> None:
        """Store arrays with the chains last: products of many chains are several times faster."""
        self.free = _store_last(
            np.broadcast_to(self.free, (len(self.is_near), *self.free.shape[1:]))
        )
        if self.has_any:
            self.normals = _store_last(self.normals)


def _store_last(values: Array) -> Array:
    return np.moveaxis(chains_last(values), -1, 0)
