"""The edges of ranges that joints are near to, as a step of ``feasible_newton`` keeps to them.

Chains come first, as in ``posed_rows``.
"""

from __future__ import annotations

import numpy as np

from ..algebra.arithmetic import ARRAYS, Array, Flags
from ..kinematics.limit_edges import (
    LEAST_COSINE,
    LEAST_LEAVING,
    LEAST_RATE,
    ON_EDGE,
    ListedEdges,
    grow_parts,
    list_edges,
)
from ..kinematics.swing_twist import SwingTwist
from .posed_rows import JointRows, apply, join_last, measure

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
        has_any: Whether there are any near ones.
    """

    def __init__(self, joints: JointRows, turn: Array, parts: SwingTwist) -> None:
        """Take joints, their turns (B, n, 4), and these taken apart."""
        self._at, self._joints, self._turn = parts, joints, turn
        self._listed = listed = list_edges(ARRAYS, joints.ranges, parts, NEAR)
        self.is_locked = joints.is_locked
        self.is_near: Flags = join_last(listed.is_near).astype(np.bool_) & ~joints.is_held
        self.has_any = bool(self.is_near.any())
        if self.has_any or joints.has_locks:
            self._shares, self._grown = share_parts(listed), join_parts(parts)
            slopes = self._shares @ self._grown
            self._rates = np.maximum(measure(slopes), LEAST_RATE)
            self.normals = slopes / self._rates[..., None]
            left = np.where(self.is_near, join_last(listed.left), 0.0)
            self.rooms = np.maximum(left / self._rates, 0.0)

    def bend(self, press: Array) -> Array | None:
        """Return what presses (B, n, 3 edges) on edges add to the curvature, (B, n, 3, 3)."""
        if not self.has_any:
            return None
        weights = np.where(self.is_near, press / self._rates, 0.0)
        if not weights[..., ::2].any():
            return None
        return bend_edges(self._at, self._listed.is_ellipse, self._shares, self._grown, weights)

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


def share_parts(listed: ListedEdges) -> Array:
    """Return how what edges bound grows with s_x, the twist and s_z, (B, n, 3 edges, 3)."""
    first_x, first_z, of_y, of_z = listed.shares
    shares = np.zeros((*first_x.shape, 3, 3))
    shares[..., 0, 0], shares[..., 0, 2] = first_x, first_z
    shares[..., 1, 1], shares[..., 2, 2] = of_y, of_z
    return shares


def join_parts(at: SwingTwist) -> Array:
    """Return the turns by which s_x, the twist and s_z grow, (B, n, 3, 3)."""
    grown = np.empty((*at.twist.shape, 3, 3))
    for part, turn in enumerate(grow_parts(ARRAYS, at)):
        for axis in range(3):
            grown[..., part, axis] = turn[axis]
    return grown


def bend_edges(
    at: SwingTwist, is_ellipse: Flags, shares: Array, grown: Array, weights: Array
) -> Array:
    """Return how what edges bound bends with turns, times weights (B, n, 3 edges), (B, n, 3, 3).

    The end of a twist is flat: turns across its normal leave the twist as it is, however large.
    With p s_x + q s_z what grows, and v the turns by which it does, which tell of s_x and s_z only,
    it bends by dv/ds_x times the turns by which s_x grows, and the same of s_z. The distance from
    the middle of an ellipse grows as the root of its square does.

    Source: derived for this project from ``grow_parts``, tested in
    tests/core/kinematics/test_near_edges.py.
    """
    swing, half = join_last((at.swing_x, at.swing_z)), 0.5 / np.maximum(at.cosine, LEAST_COSINE)
    grown, pull = grown[..., ::2, :], weights[..., 0, None] * shares[..., 0, ::2]
    pull[..., 1] += weights[..., 2] * shares[..., 2, 2]
    way, half = (pull[..., None, :] @ grown) * _ACROSS, half[..., None, None]
    bent: Array = half * np.einsum("ktab,...a,...b->...kt", _BENT, swing, pull)
    bent += (4.0 * half * half) * swing[..., None] * way
    bent[..., 0, 1], bent[..., 1, 1] = -pull[..., 1], pull[..., 0]
    if is_ellipse.any():
        wide = np.where(is_ellipse[..., None], join_last((at.half_x, at.half_z)), 1.0)
        out = np.maximum(wide * wide * at.out[..., None], ON_EDGE)
        bent += ((is_ellipse * weights[..., 0])[..., None] / out)[..., None] * grown
    bent = bent.swapaxes(-1, -2) @ grown
    return 0.5 * (bent + bent.swapaxes(-1, -2))


_ACROSS = np.array([1.0, 0.0, 1.0])
# Of dv/ds_x and dv/ds_z, about X, Y and Z, the parts with s_x and s_z times p and q.
_BENT = np.zeros((2, 3, 2, 2))
_BENT[0, 0], _BENT[0, 2] = [[-2.0, 0.0], [0.0, 1.0]], [[0.0, -4.0], [1.0, 0.0]]
_BENT[1, 0], _BENT[1, 2] = [[0.0, 1.0], [-4.0, 0.0]], [[1.0, 0.0], [0.0, -2.0]]
