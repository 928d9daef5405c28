"""The edges of ranges that joints press on, as a step of ``feasible_newton`` keeps to them."""

from __future__ import annotations

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..kinematics import limit_edges
from ..kinematics.compiled_joints import CompiledJoints
from ..kinematics.limit_edges import LEAST_LEAVING, ON_EDGE
from .posed_rows import apply, chains_first, chains_last

# A joint that turns less readily than this across an edge does not cross it.
NO_WAY = 1e-12
# A press on an edge that is a smaller share of the largest torque is rounding, of either sign.
NO_PRESS = 1e-9


def find_edges(joints: CompiledJoints, turn: Array) -> PressedEdges | None:
    """Return the edges near to turns (B, n, 4); None where joints turn as they like."""
    if not (joints.has_edges or joints.has_stiffness):
        return None
    return PressedEdges(joints, turn)


class PressedEdges:
    """An active set of edges, and what it leaves of turns.

    Attributes:
        onto: Turns that lead onto edges that are shut, shape (B, n, 3).
    """

    def __init__(self, joints: CompiledJoints, turn: Array) -> None:
        """Take joints and their turns (B, n, 4); no edge is shut."""
        last = chains_last(turn)
        self._at, self._edges = joints.find_near_edges(last)
        self._normals = chains_first(self._edges.normals)
        self._free = chains_first(joints.mobilities(last, self._edges))
        self._is_near: Flags = np.moveaxis(self._edges.is_on & ~joints.is_held, -1, 0)
        self._has_any = bool(self._is_near.any())
        self._rooms = np.zeros(self._is_near.shape)
        if self._has_any:
            self._rooms = chains_first(limit_edges.find_rooms(joints.ranges, self._at, self._edges))
        self._curvature: Array | None = None
        self._shut(np.zeros_like(self._is_near))

    def _shut(self, is_shut: Flags) -> bool:
        """Shut edges: hold turns across them, and find the turns that lead onto them."""
        self._is_shut, held = is_shut, self._free
        self.onto = np.zeros(is_shut.shape)
        for edge in np.flatnonzero(is_shut.any(axis=(0, 1))):
            normal = self._normals[:, :, edge]
            way = apply(held, normal)
            size = (way * normal).sum(axis=-1)
            leads = is_shut[:, :, edge] & (size > NO_WAY)
            share = leads / np.where(leads, size, 1.0)
            rooms = self._rooms[:, :, edge] - (self.onto * normal).sum(axis=-1)
            self.onto += way * (rooms * share)[..., None]
            held = held - (way * share[..., None])[..., None] * way[..., None, :]
        self._held = held
        return True

    def shut_pressed(self, torque: Array) -> bool:
        """Shut the edges that joints stand on and torques (B, n, 3) press on; tell if any."""
        if not self._has_any:
            return False
        press = apply(self._normals, apply(self._free, torque))
        least = NO_PRESS * np.abs(torque).max(axis=(1, 2))[:, None, None]
        is_shut = self._is_near & (self._rooms <= ON_EDGE) & (press > least)
        return bool(is_shut.any()) and self._shut(is_shut)

    def shut_crossed(self, torque: Array, move: Array) -> bool:
        """Shut edges that moves (B, n, 3) cross, open those that torques pull off; tell if any."""
        if not self._has_any:
            return False
        presses = apply(self._normals, apply(self._free, torque)) > -LEAST_LEAVING
        crosses = apply(self._normals, move) > self._rooms + LEAST_LEAVING
        is_shut = self._is_near & np.where(self._is_shut, presses, crosses)
        return not np.array_equal(is_shut, self._is_shut) and self._shut(is_shut)

    def weigh_curvatures(self, torque: Array) -> None:
        """Take how edges curve, by how torques (B, n, 3) press on them."""
        # Edges that the step only comes to count as well, whatever the edges of other chains do.
        if self._has_any:
            press = np.maximum(apply(self._normals, torque), 0.0)
            curved = chains_first(limit_edges.measure_curvatures(self._at, self._edges))
            self._curvature = curved * press[..., None, None]

    def hold(self, turn: Array) -> Array:
        """Return what shut edges leave of turns (B, n, 3)."""
        return apply(self._held, turn)

    def hold_flat(self, turn: Array) -> Array:
        """Return the same of turns (B, 3 n)."""
        return self.hold(turn.reshape(len(turn), -1, 3)).reshape(turn.shape)

    def hold_rows(self, jacobian: Array) -> Array:
        """Return the same of rows (B, k, 3 n)."""
        chains, bones = self._held.shape[:2]
        rows = jacobian.reshape(chains, jacobian.shape[1], bones, 1, 3) @ self._held[:, None]
        return rows.reshape(jacobian.shape)

    def hold_curvature(self, curved: Array) -> Array:
        """Return curvatures (B, 3 n, 3 n) along held turns, with those of the edges."""
        chains, count = self._held.shape[:2]
        if self._curvature is not None:
            blocks = (self._curvature * self._is_shut[..., None, None]).sum(axis=2)
            bones, curved = np.arange(count), curved.copy()
            by_bone = curved.reshape(chains, count, 3, count, 3)
            by_bone[:, bones, :, bones] += blocks.swapaxes(0, 1)
        for _ in range(2):
            # Symmetric: what is held on one side is held on the other once it is turned about.
            held = self._held @ curved.reshape(chains, count, 3, -1)
            curved = held.reshape(curved.shape).swapaxes(1, 2)
        return curved
