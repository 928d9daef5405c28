"""How the edges of ranges curve: a joint that slides along an edge is led aside by it.

Layout as in ``swings``.
"""

from __future__ import annotations

import numpy as np

from . import swings, turns
from .swings import Edges, Ranges
from .vectors import Array, cross, dot, norm

# Turns by which normals are compared, in radians: an edge curves away from its tangent by less
# than what still counts as standing on it.
APART = 1e-5


def curvatures(ranges: Ranges, turn: Array, edges: Edges) -> Array:
    """Return how normals change with turns along their edges, (n, 3 edges, 3, 3, B), symmetric.

    Zero where joints do not stand on an edge, or where it ends within ``APART``. The end of a twist
    is flat: turns across its normal leave the twist as it is, however large.

    Args:
        ranges: Of n joints of B chains.
        turn: Shape (n, 4, B).
        edges: On which those stand.

    Source: differences of the normals along both tangents; derived for this project and tested
    in tests/core/test_edge_curvature.py.
    """
    normals = edges.normals
    tangents = _tangents(normals)
    curved = np.zeros((*normals.shape[:2], 3, 3, normals.shape[-1]))
    for number in (0, 2):
        if not (edges.is_on[:, number] & ~edges.is_held[:, number]).any():
            continue
        along = tangents[:, :, number]
        ways = turns.multiply(turns.by_vectors(APART * np.concatenate((along, -along))), turn)
        found = swings.edges(ranges, swings.placed(ranges, ways))
        stays = found.is_on[:, :, number].all(axis=0) & edges.is_on[:, number]
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
