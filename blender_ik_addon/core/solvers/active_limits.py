"""The edges of their ranges that joints keep to within one step of NEWTON: an active set.

Layout as in ``arrays``. A step turns joints by w = M J^T x, with the Jacobian J, the mobilities M
and the multipliers x. Edges that joints keep to take what leads across them away, which lowers the
system J M J^T by a product of one column an edge: neither is built anew.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.nested import take_rows
from ..kinematics.limit_edges import LEAST_LEAVING, ON_EDGE, Edges

# A normal that others nearly span, in the square of its length, is one of them.
LEAST_NORMAL = 1e-12
POWERS = np.array([1.0, 2.0, 4.0])[:, None]


class Block(Protocol):
    """What adds to systems, and what of it may not move on."""

    def system(self) -> Array | float:
        """Return what is added, shape (k, k, B) or zero."""

    def update(self, multiplier: Array) -> Flags:
        """Hold and release under multipliers (k, B); tell where anything has changed, (B,)."""

    def take(self, chains: Counts) -> None:
        """Go on with some of the chains; what has been found of the others stays."""


class ActiveLimits:
    """The edges that joints of B chains stand on, and which of them they keep to."""

    def __init__(self, edges: Edges, movable: Array, jacobian: Array, active: Array) -> None:
        """Take edges, with those kept to before.

        Args:
            edges: Those that joints stand on.
            movable: The turns that torques along their normals make, shape (n, 3, 3, B).
            jacobian: Of the outputs, shape (n, k, 3, B).
            active: The edges to keep to at first, by powers of two, shape (n, B).
        """
        count = 3 if edges.is_on[:, 2].any() else 2
        normals, self._movable = edges.normals[:, :count], movable[:, :count]
        self._is_on, self._powers = edges.is_on[:, :count], POWERS[:count]
        self._gram = np.einsum("neib,nfib->nefb", normals, self._movable)
        self._effects = np.einsum("nkib,neib->nekb", jacobian, self._movable)
        self._is_active = self._is_on & (active[:, None] // self._powers % 2.0 == 1.0)
        self._chains = np.arange(active.shape[-1])
        self._found = self._is_active, np.zeros(self._is_on.shape)

    def update(self, multiplier: Array) -> Flags:
        """As ``Block.update``.

        Edges that a turn leaves by are kept to, and of those kept to the ones still pressed on.
        """
        pull = np.einsum("nekb,kb->neb", self._effects, multiplier)
        leaving, pulls, is_active = pull, 0.0 * pull, self._is_active
        if self._columns is not None:
            along = np.einsum("nekb,kb->neb", self._columns, multiplier)
            pulls = np.einsum("nefb,neb->nfb", self._basis, along)
            leaving = pull - np.einsum("nefb,nfb->neb", self._gram, pulls)
        self._found[1][..., self._chains] = pulls
        self._found[0][..., self._chains] = is_active
        presses = np.where(is_active, pull > -LEAST_LEAVING, leaving > LEAST_LEAVING)
        self._is_active = self._is_on & presses
        is_changed: Flags = (self._is_active != is_active).any(axis=(0, 1))
        return is_changed

    def take(self, chains: Counts) -> None:
        """As ``Block.take``."""
        self._chains = self._chains[chains]
        self._gram, self._effects = take_rows(self._gram, chains), take_rows(self._effects, chains)
        self._is_on, self._is_active = (
            np.take(each, chains, axis=-1) for each in (self._is_on, self._is_active)
        )

    def held(self, move: Array) -> Array:
        """Return turns (n, 3, B) without what the edges kept to take away."""
        left: Array = move - np.einsum("neib,neb->nib", self._movable, self._found[1])
        return left

    @property
    def active(self) -> Array:
        """The edges kept to, by powers of two, shape (n, B)."""
        active: Array = (self._found[0] * self._powers).sum(axis=1)
        return active

    def system(self) -> Array | float:
        """As ``Block.system``: less what the edges kept to take away."""
        self._columns: Array | None = None
        if not self._is_active.any():
            return 0.0
        # Unit turns across the edges kept to, each across those before it too.
        self._basis = _orthonormal(self._gram, self._is_active)
        self._columns = np.einsum("nefb,nfkb->nekb", self._basis, self._effects)
        taken_away: Array = np.einsum("nekb,nelb->klb", self._columns, self._columns)
        return -taken_away


class Slides:
    """The bones whose heads move along their slide axes.

    Attributes:
        slide: How far they slide, shape (n, B).
    """

    def __init__(self, effects: Array, slide: Array, low: Array, high: Array, rows: int) -> None:
        """Take how effectors move with slides (n, 3, B), the slides (n, B) and their ranges.

        Rows of systems beyond the three of positions have nothing to do with slides.
        """
        self._rows = rows
        self._effects, self._ends = effects, (slide <= low + ON_EDGE, slide >= high - ON_EDGE)
        self._is_free = high > low
        self._chains, self.slide = np.arange(slide.shape[-1]), np.zeros_like(slide)

    def update(self, multiplier: Array) -> Flags:
        """As ``Block.update``: slides that would leave their ranges stay."""
        step = self._is_free * np.einsum("nib,ib->nb", self._effects, multiplier[:3])
        self.slide[:, self._chains] = step
        leaves = ((step < 0.0) & self._ends[0]) | ((step > 0.0) & self._ends[1])
        self._is_free = self._is_free & ~leaves
        is_changed: Flags = leaves.any(axis=0)
        return is_changed

    def take(self, chains: Counts) -> None:
        """As ``Block.take``."""
        self._chains = self._chains[chains]
        self._effects = take_rows(self._effects, chains)
        self._is_free = np.take(self._is_free, chains, axis=-1)
        low, high = self._ends
        self._ends = np.take(low, chains, axis=-1), np.take(high, chains, axis=-1)

    def system(self) -> Array | float:
        """As ``Block.system``."""
        moved = self._effects * self._is_free[:, None]
        whole = np.zeros((self._rows, self._rows, moved.shape[-1]))
        np.einsum("nib,njb->ijb", moved, self._effects, out=whole[:3, :3])
        return whole


def _orthonormal(gram: Array, is_active: Flags) -> Array:
    """Return the shares (n, edges, edges, B) that flagged normals have in orthonormal ones.

    Args:
        gram: The products of the normals, shape (n, edges, edges, B).
        is_active: Shape (n, edges, B); the others get none.

    Source: the Gram-Schmidt process.
    """
    basis = np.zeros_like(gram)
    rows: list[list[Array]] = []
    for edge in range(gram.shape[1]):
        parts = [sum(own * gram[:, edge, f] for f, own in enumerate(row)) for row in rows]
        size = gram[:, edge, edge]
        for part in parts:
            size = size - part * part
        has_size = is_active[:, edge] & (size > LEAST_NORMAL)
        inverse = np.where(has_size, 1.0 / np.sqrt(np.maximum(size, LEAST_NORMAL)), 0.0)
        for f in range(edge):
            shares = (parts[g] * rows[g][f] for g in range(f, edge))
            basis[:, edge, f] = -inverse * sum(shares)
        basis[:, edge, edge] = inverse
        rows.append([basis[:, edge, f] for f in range(edge + 1)])
    return basis
