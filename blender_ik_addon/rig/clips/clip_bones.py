"""The bones of a clip in their hierarchy: their poses after bones above them have turned."""

from __future__ import annotations

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..frames.chain_frames import ChainFrames
from ..frames.framing import rest_by_generation
from ..planning.bone_hierarchy import find_heads_and_effectors
from ..reading import spaces
from ..reading.channels import Integers, matrices_of
from ..reading.skeleton import Skeleton
from ..trees.driven import Driven
from .frame_records import Notes

# Distance of a bone from the pose of its channels, as a share of the armature's size, beyond which
# something else moves it as well: constraints, or drivers that were evaluated later.
SAME_PLACE = 1e-4


class ClipBones:
    """The recorded bones of F frames.

    Attributes:
        matrices: Present pose matrices, shape (F, N, 4, 4).
        is_moved: Whether they differ from the recorded ones, shape (F, N).
    """

    def __init__(self, skeleton: Skeleton, bones: Indices, modes: Integers, notes: Notes) -> None:
        """Take the bones of an armature, parents before children, and their rotation modes."""
        self._skeleton, self._bones, self._notes, self._modes = skeleton, bones, notes, modes
        self._row_of = {bone: row for row, bone in enumerate(bones.tolist())}
        self.matrices = notes.matrices.astype(np.float64)
        self.is_moved: Flags = np.zeros(self.matrices.shape[:2], dtype=np.bool_)
        farthest = np.max(np.abs(self.matrices[..., :3, 3]))
        self._size = float(farthest + np.max(skeleton.lengths))

    def rows(self, bones: Indices) -> Indices:
        """Return the rows of bones among the recorded ones."""
        return np.array([self._row_of[bone] for bone in bones.tolist()])

    def frame_chain(self, driven: Driven) -> ChainFrames:
        """Return the bones of a chain or tree under their present parents, one row per frame."""
        skeleton, bones, notes = self._skeleton, driven.bones, self._notes
        rows, hang, root = self.rows(bones), driven.hanging, int(bones[0])
        count, parent = len(self.matrices), int(skeleton.parents[root])
        plans = [chain.plan for chain in driven.live_chains]
        ways, ends = find_heads_and_effectors(plans, (bones, hang), self._find_location)
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
            root=spaces.transform_point(above, self._find_heads(root)),
            hints=np.zeros_like(ends),
            is_bent=np.zeros(ends.shape[:2], dtype=np.bool_),
            compiled=count,
        )

    def replace_pose(self, driven: Driven, matrices: Array, is_turned: Flags) -> None:
        """Set the bones of a chain or tree to the matrices (F, k, 3, 3) that it turns them to.

        Other frames keep the recorded pose, to the last bit: rounding beside tiny bones is a miss.
        """
        is_moved = is_turned | self._is_parent_moved(int(driven.bones[0]))
        for row, bone in enumerate(driven.bones.tolist()):
            self._replace(bone, matrices[:, row], is_moved)

    def carry(self, root: int) -> bool:
        """Move bones above a root with their parents; return if only these and channels do so."""
        for bone in reversed(self._skeleton.ancestors(root)[1:]):
            is_moved = self._is_parent_moved(bone) & ~self.is_moved[:, self._row_of[bone]]
            if not is_moved.any():
                continue
            if self._measure_offset(bone) > SAME_PLACE:
                return False
            above = self.matrices[:, self._row_of[int(self._skeleton.parents[bone])]]
            self._replace(bone, self._pose(bone, above), is_moved)
        return self._measure_offset(root) <= SAME_PLACE

    def has_channel_pose(self, driven: Driven, matrices: Array) -> bool:
        """Return whether the recorded pose was that of the channels: matrices (F, k, 3, 3)."""
        record = self._notes.matrices[:, self.rows(driven.bones), :3, :3]
        is_turned = np.abs(matrices - record).max() > SAME_PLACE * max(1.0, np.abs(record).max())
        return not is_turned and max(map(self._measure_offset, driven.bones.tolist())) <= SAME_PLACE

    def _measure_offset(self, bone: int) -> float:
        """Return the distance of a bone's recorded head from its place by parent and channels."""
        parent = int(self._skeleton.parents[bone])
        recorded, above = self._notes.matrices[:, self._row_of[bone]], np.eye(4)[None]
        if parent >= 0:
            above = self._notes.matrices[:, self._row_of[parent]].astype(np.float64)
        offset = spaces.transform_point(above, self._find_heads(bone)) - recorded[:, :3, 3]
        return float(np.abs(offset).max() / self._size)

    def _find_heads(self, bone: int) -> Array:
        """Return the head of a bone in the space of its posed parent, shape (F, 3)."""
        bones = np.array([bone])
        return self._skeleton.heads(bones, self._find_location(bones))[:, 0]

    def _find_location(self, bones: Indices) -> Array:
        """Return the location channels of bones, shape (F, m, 3)."""
        return self._notes.location[:, self.rows(bones)].astype(np.float64)

    def _pose(self, bone: int, above: Array) -> Array:
        """Return the pose matrices (F, 3, 3) of a bone under those (F, 4, 4) of its parent."""
        row = self._row_of[bone]
        channels = self._notes.channels[:, row].astype(np.float64)
        local = matrices_of(channels, np.full(len(channels), self._modes[row]))
        scale = self._notes.scale[:, row].astype(np.float64)
        rest = self._skeleton.frames.take(np.array([bone]))
        frames = spaces.parent_frames(above[:, None, :3, :3], rest)
        return spaces.pose_from_local(frames, local[:, None], scale[:, None])[:, 0]

    def _is_parent_moved(self, bone: int) -> Flags:
        """Return whether a bone's parent has moved, shape (F,)."""
        parent = int(self._skeleton.parents[bone])
        none = np.zeros(len(self.matrices), dtype=np.bool_)
        return self.is_moved[:, self._row_of[parent]] if parent >= 0 else none

    def _replace(self, bone: int, matrices: Array, is_moved: Flags) -> None:
        row, parent = self._row_of[bone], int(self._skeleton.parents[bone])
        self.matrices[is_moved, row, :3, :3] = matrices[is_moved]
        if parent >= 0:
            above = self.matrices[is_moved, self._row_of[parent]]
            heads = self._find_heads(bone)[is_moved]
            self.matrices[is_moved, row, :3, 3] = spaces.transform_point(above, heads)
        self.is_moved[:, row] |= is_moved
