"""The edges of ranges that joints are near to, as a step of ``feasible_newton`` keeps to them.

Chains come first, as in ``algebra.chains_first``.
"""

from __future__ import annotations

import numpy as np

from ..algebra.arithmetic import ARRAYS, Array, Flags
from ..algebra.chains_first import apply, join_last, measure, skew
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
            slopes = np.empty((*parts.twist.shape, 3, 3))
            for edge, slope in enumerate(listed.find_slopes(ARRAYS, parts)):
                slopes[:, :, edge] = join_last(slope)
            self._rates = np.maximum(measure(slopes), LEAST_RATE)
            self.normals = slopes / self._rates[..., None]
            left = np.where(self.is_near, join_last(listed.left), 0.0)
            self.rooms = np.maximum(left / self._rates, 0.0)

    def bend(self, press: Array) -> Array | None:
        """Return what presses (B, n, 3 edges) on edges add to the curvature, (B, n, 3, 3)."""
        if not self.has_any:
            return None
        shares = np.where(self.is_near, press / self._rates, 0.0)[:, :, ::2, None, None]
        if not shares.any():
            return None
        bent: Array = (shares * bend_edges(self._at, self._listed)).sum(axis=2)
        return bent

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


def bend_edges(at: SwingTwist, listed: ListedEdges) -> Array:
    """Return how what the edges about X and Z bound bends with turns, (B, n, 2, 3, 3), symmetric.

    The end of a twist is flat: turns across its normal leave the twist as it is, however large.
    With y the swung Y axis, along geodesics by turns w, y_k'' = w_k (w . y) - y_k |w|^2; and
    s_x = h y_z, s_z = -h y_x with h = (2 (1 + y_y))^(-1/2) = 1 / 2c. What bounds a swing grows as
    s_x and s_z do in shares: as the part of h y along a pull.

    Source: derived for this project, tested in tests/core/kinematics/test_limit_edges.py.
    """
    x, z, cosine = at.swing_x, at.swing_z, np.maximum(at.cosine, LEAST_COSINE)
    axis = join_last((-2.0 * cosine * z, 1.0 - 2.0 * (x * x + z * z), 2.0 * cosine * x))
    pulls = np.zeros((*x.shape, 2, 3))
    pulls[..., 0, 2], pulls[..., 0, 0], _, pulls[..., 1, 0] = listed.shares
    pulls[..., 0] *= -1.0
    half = (0.5 / cosine)[..., None, None, None]
    square = half * half
    along = apply(pulls, axis)[..., None, None]
    grown = apply(skew(axis)[..., None, :, :], pulls)
    upright = axis[..., ::-1] * _ACROSS
    over = 1.5 * square * (upright[..., None] * upright[..., None, :])[..., None, :, :]
    fall = 0.5 * _UP * axis[..., None, None, :]
    bent: Array = pulls[..., None] * (0.5 * half * axis[..., None, None, :])
    bent -= upright[..., None, :, None] * (half * square * grown[..., None, :])
    bent += along * half * square * (over - fall)
    bent = bent + bent.swapaxes(-1, -2)
    bent += along * half * (square * axis[..., 1, None, None, None] - 1.0) * _EYE
    if listed.is_ellipse.any():
        bent[..., 0, :, :] += _widen_ellipses(at, listed)
    return bent


def _widen_ellipses(at: SwingTwist, listed: ListedEdges) -> Array:
    """Return what ellipses add: a distance from the middle grows as the root of its square does."""
    by_x, _, by_z = grow_parts(ARRAYS, at)
    added: Array = np.zeros(())
    for by, wide in ((join_last(by_x), at.half_x), (join_last(by_z), at.half_z)):
        wide = np.where(listed.is_ellipse, wide, 1.0)
        share = listed.is_ellipse / np.maximum(wide * wide * at.out, ON_EDGE)
        added = added + (share[..., None] * by)[..., None] * by[..., None, :]
    return added


_EYE = np.eye(3)
_UP = _EYE[1][:, None]
_ACROSS = np.array([-1.0, 0.0, 1.0])
