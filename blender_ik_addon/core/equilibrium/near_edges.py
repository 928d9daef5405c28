"""The edges of ranges that a step may reach: how far they are, and how they curve.

Layout as in ``arrays``. A joint that slides along a curved edge is led aside by it, and one that
was on it may be a little inside after the step: both belong into the equations of the next one.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Flags
from ..algebra.arrays import cross, dot, norm
from ..kinematics import joint_limits, limit_edges
from ..kinematics.limit_edges import ON_EDGE, Edges
from ..kinematics.swing_twist import SwingTwist, SwingTwistRange

# Edges farther away than this, in radians or sines, are not looked at before they are hit.
NEAR = 0.2
# Turns by which levels and normals are compared, in radians.
APART = 1e-5


class NearEdges:
    """The edges that joints are near to.

    Attributes:
        edges: Those, as if joints were on them.
        normals: As ``Edges.normals``, shape (n, 3 edges, 3, B).
        is_near: Those that leave a way free, shape (n, 3 edges, B).
        is_on: Those of them that joints are on, shape (n, 3 edges, B).
    """

    def __init__(
        self, ranges: SwingTwistRange, turn: Array, edges: Edges, at: SwingTwist | None = None
    ) -> None:
        """Take edges of ranges near to turns (n, 4, B); without a place, none is near."""
        self.edges, self.normals = edges, edges.normals
        self._ranges, self._turn, self._at = ranges, turn, at
        self.is_near: Flags = edges.is_on & ~edges.is_held

    @property
    def is_on(self) -> Flags:
        """Which edges joints are on."""
        on: Flags = self.is_near & (self.rooms <= ON_EDGE)
        return on

    @cached_property
    def rooms(self) -> Array:
        """By how many radians joints may turn along the normals up to them, (n, 3 edges, B).

        Source: the growth of what an edge bounds; derived for this project and tested in
        tests/core/equilibrium/test_near_edges.py.
        """
        rooms = np.zeros(self.is_near.shape)
        for number in np.flatnonzero(self.is_near.any(axis=(0, 2))).tolist():
            assert self._at is not None
            back = turns.from_vectors(-APART * self.normals[:, number])
            before = joint_limits.decompose_turns(self._ranges, turns.multiply(back, self._turn))
            left = _left(self._ranges, self._at, number)
            # Where there is no end, infinite would be less infinite.
            is_near = self.is_near[:, number]
            was_left = np.where(is_near, _left(self._ranges, before, number), 0.0)
            left = np.where(is_near, left, 0.0)
            shrunk = (was_left - left) / APART
            shrinks = shrunk > 0.0
            rooms[:, number] = np.where(shrinks, left / np.where(shrinks, shrunk, 1.0), 0.0)
        return np.maximum(rooms, 0.0)

    def measure_curvatures(self) -> Array:
        """Return how normals change with turns along edges, (n, 3 edges, 3, 3, B), symmetric.

        Zero where joints are not near, or where the edge ends within ``APART``. The end of a twist
        is flat: turns across its normal leave the twist as it is, however large.

        Source: differences of the normals along both tangents; derived for this project and tested
        in tests/core/equilibrium/test_near_edges.py.
        """
        curved = np.zeros((*self.normals.shape[:2], 3, 3, self.normals.shape[-1]))
        for number in (0, 2):
            is_near = self.is_near[:, number]
            if not is_near.any():
                continue
            along = _tangents(self.normals[:, number])
            steps = turns.from_vectors(APART * np.concatenate((along, -along)))
            aside = joint_limits.decompose_turns(self._ranges, turns.multiply(steps, self._turn))
            found = limit_edges.find_edges(self._ranges, aside, NEAR)
            stays = found.is_on[:, :, number].all(axis=0) & is_near
            after, before = np.split(found.normals[:, :, number], 2)
            change = np.einsum("tnib,snib->tsnb", along, after - before) * (0.5 / APART)
            change = np.where(stays, 0.5 * (change + change.swapaxes(0, 1)), 0.0)
            curved[:, number] = np.einsum("tnib,tsnb,snjb->nijb", along, change, along)
        return curved


def find_near_edges(ranges: SwingTwistRange, turn: Array) -> NearEdges:
    """Return the edges of ranges near to turns (n, 4, B)."""
    at = joint_limits.decompose_turns(ranges, turn)
    return NearEdges(ranges, turn, limit_edges.find_edges(ranges, at, NEAR), at)


def _left(ranges: SwingTwistRange, at: SwingTwist, edge: int) -> Array:
    """Return what is left to the nearer end of what an edge bounds, shape (n, B)."""
    left: Array
    if edge == 1:
        left = np.minimum(ranges.twist_high - at.twist, at.twist - ranges.twist_low)
    elif edge == 2:
        left = np.minimum(ranges.above_z - at.offset_z, ranges.below_z + at.offset_z)
    else:
        left = np.minimum(ranges.above_x - at.offset_x, ranges.below_x + at.offset_x)
        left = np.where(at.is_round, 1.0 - at.out, left)
    return left


def _tangents(normals: Array) -> Array:
    """Return two unit vectors (2, n, 3, B) across unit normals (n, 3, B)."""
    least = np.abs(normals).argmin(axis=1)
    aside = np.moveaxis(np.eye(3)[least], -1, 1)
    one = aside - normals * dot(normals, aside)[:, None]
    size = norm(one)[:, None]
    one = one / np.where(size > 0.0, size, 1.0)
    return np.stack((one, cross(normals, one)))
