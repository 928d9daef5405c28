"""Pose the parents of chains that hang under other chains, without a second evaluation by Blender.

After a chain has moved bones, Blender has not evaluated the bones below them, and a second
evaluation costs as much as the whole update. Without constraints and drivers, the pose of a bone
follows from its channels and its parent. So the bones above such chains are posed here, from the
first bone that a chain writes. Every update does so: no pose depends on who posed its parents.
Bones that no chain moves keep Blender's matrices to the last digit: chains hang there too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..planning.live_chain import LiveChain
from ..planning.order import PlannedChain, Point
from ..reading import spaces
from ..reading.animation import may_read_poses
from ..reading.channels import Pose, matrices_of
from ..reading.skeleton import Skeleton
from .rig_state import RigState, update_bases


def can_carry(chain: PlannedChain, moved: Collection[Point]) -> bool:
    """Return whether written bones move a chain only through the parents of its root.

    ``moved`` are the bones that are written before it is solved.
    """
    relations, owner = chain.moved_by, chain.object
    if may_read_poses(owner):
        return False
    names, root = chain.skeleton.names, chain.plan.root
    line = [(owner.session_uid, names[bone]) for bone in chain.skeleton.ancestors(root)]
    written = {point for point in relations.points if point in moved}
    if not written.isdisjoint(relations.anchor_points) or not written.issubset(line[1:]):
        return False
    # From the first written bone to the root, nothing but parents may move bones.
    end = max((line.index(point) for point in written), default=0)
    return set(relations.tied_points).isdisjoint(line[: end + 1])


class Carry:
    """The posed bones above the chains of one level, in all rigs that have some."""

    def __init__(
        self,
        members: Sequence[tuple[RigState, list[LiveChain]]],
        written: Mapping[int, Mapping[int, bool]],
    ) -> None:
        """Find the bones to pose.

        Args:
            members: Armature objects with their chains of this level.
            written: By uid, the bones that earlier levels write, and whether also their locations.
        """
        self._states = [state for state, _ in members]
        self._versions: list[int] = []
        groups: dict[tuple[int, tuple[int, ...], Carried], list[RigState]] = {}
        for state, chains in members:
            roots = tuple(sorted({live_chain.plan.root for live_chain in chains}))
            bones = _find_carried(state.bones.skeleton, roots, written.get(state.uid, {}))
            groups.setdefault((id(state.bones.skeleton), roots, bones), []).append(state)
        self._groups = [
            _Group(rigs, roots, bones) for (_, roots, bones), rigs in groups.items() if bones
        ]

    def recall(self, uids: Collection[int]) -> None:
        """Restore the posed matrices in poses that were read again, if no input has changed.

        The chains below these bones then keep their places to the last digit.
        """
        for group in self._groups:
            group.recall(uids)

    def update(self, *, has_written: bool) -> bool:
        """Pose the bones above the chains by their channels; return as ``update_bases`` does.

        Args:
            has_written: Whether any chain has been written since the last call.
        """
        versions = [state.version for state in self._states]
        if not has_written and versions == self._versions:
            return False
        moved = [state for group in self._groups for state in group.update()]
        for state in moved:
            state.version += 1
        has_shape_change = update_bases(moved)
        self._versions = [state.version for state in self._states]
        return has_shape_change


Carried = tuple[tuple[int, bool], ...]
"""Bones that are written, or below a written one, parents first, and whether their heads stay."""


def pose_bones(state: RigState, bones: Indices) -> None:
    """Pose bones of an armature object by their channels, under their parents."""
    _Group([state], (), tuple([(bone, False) for bone in bones.tolist()])).update()


def _find_carried(
    skeleton: Skeleton, roots: Collection[int], written: Mapping[int, bool]
) -> Carried:
    """Return the bones above roots that have to be posed."""
    head_stays: dict[int, bool] = {}
    for root in roots:
        is_carried = False
        for bone in reversed(skeleton.ancestors(root)[1:]):
            if is_carried or bone in written:
                head_stays[bone] = not (is_carried or written[bone])
                is_carried = True
    return tuple(head_stays.items())


class _Group:
    """Rigs of one skeleton whose chains have the same roots below the same carried bones."""

    def __init__(self, states: list[RigState], roots: tuple[int, ...], carried: Carried) -> None:
        skeleton, bones = states[0].bones.skeleton, [bone for bone, _ in carried]
        self._states, self._skeleton, self._bones = states, skeleton, np.array(bones)
        parents = skeleton.parents[self._bones].tolist()
        # Rows: the carried bones, then their fixed parents, last the identity for "no parent".
        fixed = sorted({parent for parent in parents if parent >= 0}.difference(bones))
        self._fixed = np.array(fixed, dtype=np.int64)
        row_of = {bone: row for row, bone in enumerate((*bones, *fixed, -1))}
        above = np.array([row_of[parent] for parent in parents])
        self._head_stays = np.array([[head_stays] for _, head_stays in carried])
        levels = np.array([len(skeleton.ancestors(bone)) for bone in bones])
        generations = [np.flatnonzero(levels == level) for level in np.unique(levels)]
        self._generations = [
            (rows, above[rows], skeleton.frames.take(self._bones[rows])) for rows in generations
        ]
        below = [(root, int(skeleton.parents[root])) for root in roots]
        below = [(root, row_of[parent]) for root, parent in below if parent in bones]
        self._roots, self._of_roots = np.array(below, dtype=np.int64).reshape(-1, 2).T
        self._offsets = skeleton.offsets[self._bones, :3, :3]
        self._all_bones = np.concatenate((self._bones, self._roots))
        self._poses: dict[int, Pose] = {}
        # Columns: rotation channels and mode, scale, location; of the roots only the location.
        self._inputs = np.full((len(states), len(self._all_bones), 11), np.nan)
        self._local = np.empty((len(states), len(self._bones), 3, 3))
        self._heads = np.empty((len(states), len(self._all_bones), 3))

    def update(self) -> list[RigState]:
        """Pose the bones; return the rigs whose bones may have moved."""
        poses = [state.pose for state in self._states]
        inputs = np.array([self._read(pose) for pose in poses])
        is_changed = inputs != self._inputs
        rotated = np.nonzero(is_changed[:, : len(self._bones), :5].any(axis=2))
        if rotated[0].size:
            rotations = inputs[rotated]
            self._local[rotated] = matrices_of(rotations[:, :4], rotations[:, 4].astype(np.int32))
        has_moved, known = is_changed.any(axis=(1, 2)).tolist(), self._poses
        rows = [i for i, pose in enumerate(poses) if has_moved[i] or pose is not known.get(i)]
        if is_changed[:, :, 8:].any():
            self._heads = self._skeleton.heads(self._all_bones, inputs[:, :, 8:])
        if rows:
            self._pose(poses, rows, inputs[rows, : len(self._bones), 5:8])
            self._poses, self._inputs = dict(enumerate(poses)), inputs
        return [self._states[i] for i in rows]

    def recall(self, uids: Collection[int]) -> None:
        """Restore the posed matrices of some rigs, if no input has changed."""
        for i, state in enumerate(self._states):
            pose, known = state.pose, self._poses.get(i)
            if state.uid not in uids or known is None:
                continue
            fixed = (one.matrices[self._fixed].tobytes() for one in (pose, known))
            if np.array_equal(self._read(pose), self._inputs[i]) and next(fixed) == next(fixed):
                pose.matrices[self._bones] = known.matrices[self._bones]
                pose.matrices[self._roots, :3, 3] = known.matrices[self._roots, :3, 3]
                self._poses[i] = pose

    def _read(self, pose: Pose) -> Array:
        """Return the channels that determine the bones of a rig, shape (m + roots, 11)."""
        bones, inputs = self._bones, np.zeros(self._inputs.shape[1:])
        of_bones = inputs[: len(bones)]
        of_bones[:, :4], of_bones[:, 4] = pose.channels[bones], pose.modes[bones]
        of_bones[:, 5:8], inputs[:, 8:] = pose.scale[bones], pose.location[self._all_bones]
        return inputs

    def _pose(self, poses: list[Pose], rigs: list[int], scale: Array) -> None:
        """Pose the bones of r rigs by their local rotations, scales (r, m, 3) and heads."""
        bones, count, local, heads = self._bones, len(rigs), self._local[rigs], self._heads[rigs]
        local_matrices = np.zeros((count, len(bones), 4, 4))
        local_matrices[..., :3, :3] = (self._offsets @ local) * scale[:, :, None]
        local_matrices[..., :3, 3] = heads[:, : len(bones)]
        local_matrices[..., 3, 3] = 1.0
        fixed = np.array([poses[i].matrices[self._fixed] for i in rigs])
        identity = np.tile(np.eye(4), (count, 1, 1, 1))
        matrices = np.concatenate((np.empty_like(local_matrices), fixed, identity), axis=1)
        known = np.array([poses[i].matrices[bones, :3, 3] for i in rigs])
        for rows, parents, rest in self._generations:
            above = matrices[:, parents]
            posed = above @ local_matrices[:, rows]
            posed[..., :3, 3] = np.where(self._head_stays[rows], known[:, rows], posed[..., :3, 3])
            has_parents = parents[0] < matrices.shape[1] - 1
            if has_parents and not rest.is_plain:
                # Heads follow the whole parent, axes inherit a part of its transform.
                frames = spaces.parent_frames(above[..., :3, :3], rest)
                posed[..., :3, :3] = spaces.pose_from_local(frames, local[:, rows], scale[:, rows])
            matrices[:, rows] = posed
        at_roots = spaces.transform_point(matrices[:, self._of_roots], heads[:, len(bones) :])
        for i, rig_matrices, root_heads in zip(rigs, matrices, at_roots, strict=True):
            poses[i].matrices[bones] = rig_matrices[: len(bones)]
            poses[i].matrices[self._roots, :3, 3] = root_heads
