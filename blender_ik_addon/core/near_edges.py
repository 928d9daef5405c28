"""The edges of ranges that a step may reach: how far they are, and how they curve.

Layout as in ``swings``. A joint that slides along a curved edge is led aside by it, and one that
was on it may stand a little inside after the step: both belong into the equations of the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import swings, turns
from .kinematics.swing_twist import SwingTwist, SwingTwistRange
from .swings import ON_EDGE, Edges
from .vectors import Array, Flags, cross, dot, norm

# Edges farther away than this, in radians or sines, are not looked at before they are hit.
NEAR = 0.2
# Turns by which levels and normals are compared, in radians.
APART = 1e-5


@dataclass(frozen=True)
class NearEdges:
    """Edges near to joints.

    Attributes:
        edges: Those that joints are near to count as on.
        rooms: By how many radians joints may turn along the normals until they stand on them,
            shape (n, 3 edges, B).
    """

    edges: Edges
    rooms: Array

    @property
    def normals(self) -> Array:
        """As ``Edges.normals``, shape (n, 3 edges, 3, B)."""
        return self.edges.normals

    @cached_property
    def is_near(self) -> Flags:
        """Those that joints are near to and that leave a way free, shape (n, 3 edges, B)."""
        near: Flags = self.edges.is_on & ~self.edges.is_held
        return near

    @property
    def is_on(self) -> Flags:
        """Those of them that joints stand on, shape (n, 3 edges, B)."""
        on: Flags = self.is_near & (self.rooms <= ON_EDGE)
        return on


def near(ranges: SwingTwistRange, turn: Array) -> NearEdges:
    """Return the edges near to turns (n, 4, B).

    Source: rooms by the growth of what an edge bounds; derived for this project and tested in
    tests/core/test_near_edges.py.
    """
    at = swings.placed(ranges, turn)
    edges = swings.edges(ranges, at, NEAR)
    is_near, rooms = edges.is_on & ~edges.is_held, np.zeros(edges.is_on.shape)
    for number in range(3):
        if not is_near[:, number].any():
            continue
        back = turns.multiply(turns.by_vectors(-APART * edges.normals[:, number]), turn)
        # Where there is no end, endless would be less endless.
        before, left = (
            np.where(is_near[:, number], _left(ranges, each, number), 0.0)
            for each in (swings.placed(ranges, back), at)
        )
        shrunk = (before - left) / APART
        can_tell = shrunk > 0.0
        rooms[:, number] = np.where(can_tell, left / np.where(can_tell, shrunk, 1.0), 0.0)
    return NearEdges(edges, np.maximum(rooms, 0.0))


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


def curvatures(ranges: SwingTwistRange, turn: Array, edges: NearEdges) -> Array:
    """Return how normals change with turns along edges, (n, 3 edges, 3, 3, B), symmetric.

    Zero where joints are not near, or where the edge ends within ``APART``. The end of a twist is
    flat: turns across its normal leave the twist as it is, however large.

    Args:
        ranges: Of n joints of B chains.
        turn: Shape (n, 4, B).
        edges: Those near to them.

    Source: differences of the normals along both tangents; derived for this project and tested
    in tests/core/test_near_edges.py.
    """
    normals = edges.normals
    tangents = _tangents(normals)
    curved = np.zeros((*normals.shape[:2], 3, 3, normals.shape[-1]))
    for number in (0, 2):
        if not edges.is_near[:, number].any():
            continue
        along = tangents[:, :, number]
        ways = turns.multiply(turns.by_vectors(APART * np.concatenate((along, -along))), turn)
        found: Edges = swings.edges(ranges, swings.placed(ranges, ways), NEAR)
        stays = found.is_on[:, :, number].all(axis=0) & edges.is_near[:, number]
        after, before = np.split(found.normals[:, :, number], 2)
        change = np.einsum("tnib,snib->tsnb", along, after - before) * (0.5 / APART)
        change = np.where(stays, 0.5 * (change + change.swapaxes(0, 1)), 0.0)
        curved[:, number] = np.einsum("tnib,tsnb,snjb->nijb", along, change, along)
    return curved


def _tangents(normals: Array) -> Array:
    """Return two unit vectors (2, n, edges, 3, B) across unit normals (n, edges, 3, B)."""
    least = np.abs(normals).argmin(axis=2)
    aside = np.moveaxis(np.eye(3)[least], -1, 2)
    one = aside - normals * dot(normals, aside)[:, :, None]
    size = norm(one)[:, :, None]
    one = one / np.where(size > 0.0, size, 1.0)
    return np.stack((one, cross(normals, one)))
