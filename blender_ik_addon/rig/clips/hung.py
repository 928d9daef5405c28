"""The bones of a clip under each other: where they stand after bones above have turned."""

from __future__ import annotations

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..frames.chain_frames import ChainFrames
from ..frames.framing import rest_by_generation
from ..planning.hanging import lying
from ..reading import spaces
from ..reading.channels import Integers, matrices_of
from ..reading.skeleton import Skeleton
from ..trees.driven import Driven
from .notes import Notes

# Bones that stand farther from where their channels put them, as a share of the armature, are moved
# by something else as well: constraints, or drivers that were evaluated later.
SAME_PLACE = 1e-4


class HungBones:
    """The noted bones of F frames.

    Attributes:
        matrices: Pose matrices by now, shape (F, N, 4, 4).
        is_moved: Whether they differ from the noted ones, shape (F, N).
    """

    def __init__(self, skeleton: Skeleton, bones: Indices, modes: Integers, notes: Notes) -> None:
        """Take the bones of an armature, every one after its parent, and their rotation modes."""
        self._skeleton, self._bones, self._notes, self._modes = skeleton, bones, notes, modes
        self._row_of = {bone: row for row, bone in enumerate(bones.tolist())}
        self.matrices = notes.matrices.astype(np.float64)
        self.is_moved: Flags = np.zeros(self.matrices.shape[:2], dtype=np.bool_)
        farthest = np.max(np.abs(self.matrices[..., :3, 3]))
        self._size = float(farthest + np.max(skeleton.lengths))

    def rows(self, bones: Indices) -> Indices:
        """Return the rows of bones among the noted ones."""
        return np.array([self._row_of[bone] for bone in bones.tolist()])

    def framed(self, driven: Driven) -> ChainFrames:
        """Return the bones of a chain or tree as they hang by now, a row a frame."""
        skeleton, bones, notes = self._skeleton, driven.bones, self._notes
        rows, hang, root = self.rows(bones), driven.hanging, int(bones[0])
        count, parent = len(self.matrices), int(skeleton.parents[root])
        plans = [each.plan for each in driven.live_chains]
        ways, ends = lying(plans, (bones, hang), self._location)
        above = np.tile(np.eye(4), (count, 1, 1))
        if parent >= 0:
            above = self.matrices[:, self._row_of[parent]]
        return ChainFrames(
            hanging=hang,
            rest=rest_by_generation(hang, [skeleton.frames.take(bones)] * count),
            scale=notes.scale[:, rows].astype(np.float64),
            ways=ways,
            ends=ends,
            parent=above[:, :3, :3],
            root=spaces.transform_point(above, self._heads(root)),
            hints=np.zeros_like(ends),
            is_bent=np.zeros(ends.shape[:2], dtype=np.bool_),
            compiled=count,
        )

    def move(self, driven: Driven, matrices: Array, is_turned: Flags) -> None:
        """Put the bones of a chain or tree where it turns them: matrices (F, k, 3, 3).

        Other frames keep what was noted, to the last bit: rounding beside tiny bones is a miss.
        """
        is_moved = is_turned | self._is_carried(int(driven.bones[0]))
        for row, bone in enumerate(driven.bones.tolist()):
            self._put(bone, matrices[:, row], is_moved)

    def carry(self, root: int) -> bool:
        """Put the bones above a root where the bones above those carry them.

        Returns:
            Whether their channels and parents are all that moves them.
        """
        for bone in reversed(self._skeleton.ancestors(root)[1:]):
            is_moved = self._is_carried(bone) & ~self.is_moved[:, self._row_of[bone]]
            if not is_moved.any():
                continue
            if self._away(bone) > SAME_PLACE:
                return False
            above = self.matrices[:, self._row_of[int(self._skeleton.parents[bone])]]
            self._put(bone, self._posed(bone, above), is_moved)
        return self._away(root) <= SAME_PLACE

    def stands_as_keyed(self, driven: Driven, matrices: Array) -> bool:
        """Tell whether bones stood where their channels put them: matrices (F, k, 3, 3)."""
        noted = self._notes.matrices[:, self.rows(driven.bones), :3, :3]
        is_turned = np.abs(matrices - noted).max() > SAME_PLACE * max(1.0, np.abs(noted).max())
        return not is_turned and max(map(self._away, driven.bones.tolist())) <= SAME_PLACE

    def _away(self, bone: int) -> float:
        """Return how far a bone's head stood from where its parent and channels had put it."""
        parent = int(self._skeleton.parents[bone])
        noted, above = self._notes.matrices[:, self._row_of[bone]], np.eye(4)[None]
        if parent >= 0:
            above = self._notes.matrices[:, self._row_of[parent]].astype(np.float64)
        way = spaces.transform_point(above, self._heads(bone)) - noted[:, :3, 3]
        return float(np.abs(way).max() / self._size)

    def _heads(self, bone: int) -> Array:
        """Return where a bone's head lies in the space of its posed parent, shape (F, 3)."""
        own = np.array([bone])
        return self._skeleton.heads(own, self._location(own))[:, 0]

    def _location(self, bones: Indices) -> Array:
        """Return the location channels of bones, shape (F, m, 3)."""
        return self._notes.location[:, self.rows(bones)].astype(np.float64)

    def _posed(self, bone: int, above: Array) -> Array:
        """Return pose matrices (F, 3, 3) of a bone under pose matrices of its parent."""
        row = self._row_of[bone]
        channels = self._notes.channels[:, row].astype(np.float64)
        local = matrices_of(channels, np.full(len(channels), self._modes[row]))
        scale = self._notes.scale[:, row].astype(np.float64)
        return turned_under(self._skeleton, bone, above, local, scale)

    def _is_carried(self, bone: int) -> Flags:
        """Return at which frames a bone's parent has moved."""
        parent = int(self._skeleton.parents[bone])
        none = np.zeros(len(self.matrices), dtype=np.bool_)
        return self.is_moved[:, self._row_of[parent]] if parent >= 0 else none

    def _put(self, bone: int, matrices: Array, is_moved: Flags) -> None:
        row, parent = self._row_of[bone], int(self._skeleton.parents[bone])
        self.matrices[is_moved, row, :3, :3] = matrices[is_moved]
        if parent >= 0:
            above = self.matrices[is_moved, self._row_of[parent]]
            heads = self._heads(bone)[is_moved]
            self.matrices[is_moved, row, :3, 3] = spaces.transform_point(above, heads)
        self.is_moved[:, row] |= is_moved


def turned_under(skeleton: Skeleton, bone: int, above: Array, local: Array, scale: Array) -> Array:
    """Return F pose matrices of a bone under those of its parent, shape (F, 3, 3).

    Args:
        skeleton: The armature's bones.
        bone: Which one.
        above: Pose matrices of its parent, shape (F, 4, 4).
        local: Its local rotations, shape (F, 3, 3).
        scale: Its scale channels, shape (F, 3).
    """
    rest = skeleton.frames.take(np.array([bone]))
    frames = spaces.parent_frames(above[:, None, :3, :3], rest)
    return spaces.pose_from_local(frames, local[:, None], scale[:, None])[:, 0]
