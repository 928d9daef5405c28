"""The targets, poles or floors of many chains, read in bulk."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...core import IKError
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.model.message import Message
from ..reading.spec import Anchor
from ..reading.world import FollowedBones, ObjectRows, WorldMatrices, is_sound


class Anchors:
    """The targets, the poles or the floors of B chains.

    Attributes:
        matrices: World matrices as last read, shape (B, 4, 4); NaN for unusable anchors.
    """

    def __init__(self, anchors: Sequence[Anchor], word: str) -> None:
        """Prepare anchors; the word names their role in error messages."""
        self._anchors, self._word = anchors, word
        rows_of: dict[bpy.types.Object, list[int]] = {}
        for i, anchor in enumerate(anchors):
            if anchor.bone:
                rows_of.setdefault(anchor.object, []).append(i)
        # Anchors that are bones, and their rows, by armature object.
        self._bones = [
            FollowedBones(owner, [anchors[row].bone for row in rows])
            for owner, rows in rows_of.items()
        ]
        self._on_bones = [row for rows in rows_of.values() for row in rows]
        self._order: ObjectRows | None = None
        self._rows: Indices = np.empty(0, dtype=np.int64)
        self.matrices: Array = np.full((len(anchors), 4, 4), np.nan)

    def read(self, world: WorldMatrices, errors: dict[int, Message]) -> Flags:
        """Read the matrices; return which have changed, shape (B,).

        Anchors that cannot be used count as changed; ``errors`` gets their messages, by row.
        """
        if world.order is not self._order:
            self._order, row_of = world.order, world.order.row_of
            rows = [row_of.get(anchor.object.session_uid, -1) for anchor in self._anchors]
            self._rows = np.array(rows)
        matrices = world.matrices(self._rows)
        if self._on_bones:
            # NumPy 1 has no product in place.
            local = world.bone_matrices(self._bones)
            matrices[self._on_bones] = matrices[self._on_bones] @ local
        if not is_sound(matrices):
            for i in [row for row, matrix in enumerate(matrices) if not is_sound(matrix)]:
                try:
                    matrices[i] = world.matrix(self._anchors[i], self._word)
                except IKError as error:
                    matrices[i] = np.nan
                    errors[i] = error.message
        count = len(matrices)
        changed: Flags = matrices.reshape(count, 16) != self.matrices.reshape(count, 16)
        self.matrices = matrices
        return changed.any(axis=1)
