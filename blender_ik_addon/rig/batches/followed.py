"""The targets or poles of many chains, found again in bulk."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...core import IKError
from ...core.algebra.arithmetic import Array, Flags, Indices
from ..reading.spec import Anchor
from ..reading.world import Order, WorldMatrices, is_sound


class Followed:
    """The targets or the poles of B chains.

    Attributes:
        matrices: World matrices as read last, shape (B, 4, 4); NaN for what cannot be followed.
    """

    def __init__(self, anchors: Sequence[Anchor], word: str) -> None:
        """Take the anchors, and the word that tells what they are."""
        self._anchors, self._word = anchors, word
        # By armature object the rows of its bones.
        self._on_bones: dict[bpy.types.Object, list[int]] = {}
        for i, anchor in enumerate(anchors):
            if anchor.bone:
                self._on_bones.setdefault(anchor.object, []).append(i)
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
        if world.order is not self._order:
            self._order, row_of = world.order, world.order.row_of
            rows = [row_of.get(anchor.object.session_uid, -1) for anchor in self._anchors]
            self._rows = np.array(rows)
        matrices = world.matrices(self._rows)
        for owner, own in self._on_bones.items():
            bones = [self._anchors[row].bone for row in own]
            matrices[own] = matrices[own] @ world.bone_matrices(owner, bones)
        if not is_sound(matrices):
            self._read_one_by_one(matrices, world, errors)
        count = len(matrices)
        changed: Flags = matrices.reshape(count, 16) != self.matrices.reshape(count, 16)
        self.matrices = matrices
        return changed.any(axis=1)

    def _read_one_by_one(
        self, matrices: Array, world: WorldMatrices, errors: dict[int, str]
    ) -> None:
        """Look at what is not visible, or not sound, and say what is wrong with it."""
        for i in [row for row, each in enumerate(matrices) if not is_sound(each)]:
            try:
                matrices[i] = world.matrix(self._anchors[i], self._word)
            except IKError as error:
                matrices[i] = np.nan
                errors[i] = str(error)
