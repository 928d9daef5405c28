"""The targets or poles of many chains, found again in bulk."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core import IKError
from ...core.algebra.arithmetic import Array, Flags, Indices
from ..reading.spec import Anchor
from ..reading.world import Order, WorldMatrices


class _OnBones:
    """The anchors that are bones of one armature object, by their rows."""

    def __init__(self, anchors: Sequence[Anchor], rows: list[int]) -> None:
        self.rows = rows
        self._object = anchors[rows[0]].object
        self._bones = [anchors[row].bone for row in rows]
        self._names: list[str] = []
        self._indices: list[int] = []

    def read(self, world: WorldMatrices) -> Array:
        """Return their world matrices, shape (m, 4, 4); NaN for what is gone or hidden."""
        names, matrices = world.bones(self._object)
        if names != self._names:
            index_of = {name: index for index, name in enumerate(names)}
            self._names = names
            self._indices = [index_of.get(bone, -1) for bone in self._bones]
        found: Array = matrices[self._indices]
        return found


class Followed:
    """The targets or the poles of B chains.

    Attributes:
        matrices: World matrices as read last, shape (B, 4, 4); NaN for what cannot be followed.
    """

    def __init__(self, anchors: Sequence[Anchor], word: str) -> None:
        """Take the anchors, and the word that tells what they are."""
        self._anchors, self._word = anchors, word
        on_bones: dict[int, list[int]] = {}
        for row, anchor in enumerate(anchors):
            if anchor.bone:
                on_bones.setdefault(anchor.object.session_uid, []).append(row)
        self._on_bones = [_OnBones(anchors, rows) for rows in on_bones.values()]
        self._objects = [row for row, anchor in enumerate(anchors) if not anchor.bone]
        self._order: Order | None = None
        self._rows: Indices = np.empty(0, dtype=np.int64)
        self.matrices: Array = np.full((len(anchors), 4, 4), np.nan)

    def read(self, world: WorldMatrices, errors: dict[int, str]) -> Flags:
        """Read the matrices; return which have changed, and note what cannot be followed.

        What cannot be followed counts as changed.

        Args:
            world: Where the anchors are.
            errors: Takes what is wrong, by row.
        """
        matrices = np.empty_like(self.matrices)
        if self._objects:
            matrices[self._objects] = self._read_objects(world)
        for each in self._on_bones:
            matrices[each.rows] = each.read(world)
        # One call instead of a look at every number: a sum is finite if all are.
        if not math.isfinite(matrices.sum()):
            self._read_one_by_one(matrices, world, errors)
        count = len(matrices)
        changed: Flags = matrices.reshape(count, 16) != self.matrices.reshape(count, 16)
        self.matrices = matrices
        return changed.any(axis=1)

    def _read_objects(self, world: WorldMatrices) -> Array:
        """Return the matrices of the anchors that are no bones; NaN for what is not visible."""
        if world.order is not self._order:
            self._order, row_of = world.order, world.order.row_of
            owners = [self._anchors[row].object for row in self._objects]
            self._rows = np.array([row_of.get(owner.session_uid, -1) for owner in owners])
        return world.matrices(self._rows)

    def _read_one_by_one(
        self, matrices: Array, world: WorldMatrices, errors: dict[int, str]
    ) -> None:
        """Look at what is not visible, or not finite, and say what is wrong with it."""
        is_finite = np.isfinite(matrices).all(axis=(1, 2))
        for i in np.flatnonzero(~is_finite).tolist():
            try:
                matrices[i] = world.matrix(self._anchors[i], self._word)
            except IKError as error:
                matrices[i] = np.nan
                errors[i] = str(error)
