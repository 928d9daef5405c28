"""Where the parents of chains stand that hang under other chains' bones, without evaluating again.

Once such a chain has moved, Blender has not: asking it to evaluate its graph a second time costs as
much as all else. A bone stands where its own channels and its parent put it, unless a constraint or
a driver has a say in it, so the bones above these chains are posed here, from the first one on that
chains write. They always are, not only after a move, so that a pose never depends on who has posed
its parents. What no chain moves stays as Blender has it, to the last digit: chains hang there too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ...core.algebra.arithmetic import Array
from ..planning.live_chain import LiveChain
from ..planning.order import PlannedChain, Point
from ..reading import spaces
from ..reading.animation import may_read_poses
from ..reading.channels import Pose, matrices_of
from ..reading.skeleton import Skeleton
from .rig_state import RigState, place


def can_carry(chain: PlannedChain, moved: Collection[Point]) -> bool:
    """Tell whether nothing but the parents of its root moves a chain.

    Args:
        chain: The chain.
        moved: The bones that are written before it is solved.
    """
    by, owner = chain.moved_by, chain.object
    if may_read_poses(owner):
        return False
    names, root = chain.skeleton.names, chain.plan.root
    line = [(owner.session_uid, names[bone]) for bone in chain.skeleton.ancestors(root)]
    found = {point for point in by.points if point in moved}
    if not found.isdisjoint(by.anchor_points) or not found.issubset(line[1:]):
        return False
    # From the first bone on that is written, only parents may have a say.
    end = max((line.index(point) for point in found), default=0)
    return set(by.tied_points).isdisjoint(line[: end + 1])


class Carry:
    """The bones above the chains of one level, of all rigs that have some."""

    def __init__(
        self,
        members: Sequence[tuple[RigState, list[LiveChain]]],
        written: Mapping[int, Mapping[int, bool]],
    ) -> None:
        """Take armature objects with their chains, and what has been written before.

        Args:
            members: Each object, with its chains.
            written: By uid the bones written, and whether their locations are.
        """
        self._states = [state for state, _ in members]
        self._versions: list[int] = []
        groups: dict[tuple[int, tuple[int, ...], Carried], list[RigState]] = {}
        for state, own in members:
            roots = tuple(sorted({live_chain.plan.root for live_chain in own}))
            bones = _carried_above(state.skeleton, roots, written.get(state.uid, {}))
            groups.setdefault((id(state.skeleton), roots, bones), []).append(state)
        self._groups = [
            _Group(alike, roots, bones) for (_, roots, bones), alike in groups.items() if bones
        ]

    def recall(self, uids: Collection[int]) -> None:
        """Put bones of poses read anew where they were carried, as long as nothing moves them.

        What hangs on them then hangs where it did, to the last digit.
        """
        for group in self._groups:
            group.recall(uids)

    def update(self, *, has_written: bool) -> bool:
        """Pose the bones above the chains where their channels put them; tell as ``place``.

        Args:
            has_written: Whether any chain has been written since.
        """
        versions = [state.version for state in self._states]
        if not has_written and versions == self._versions:
            return False
        moved = [state for group in self._groups for state in group.update()]
        for state in moved:
            state.version += 1
        has_bent = place(moved)
        self._versions = [state.version for state in self._states]
        return has_bent


Carried = tuple[tuple[int, bool], ...]
"""Bones that are written, or hang on one that is, parents first, and whether their heads stay."""


def _carried_above(
    skeleton: Skeleton, roots: Collection[int], written: Mapping[int, bool]
) -> Carried:
    """Return the bones above roots that are carried."""
    found: dict[int, bool] = {}
    for root in roots:
        is_carried = False
        for bone in reversed(skeleton.ancestors(root)[1:]):
            if is_carried or bone in written:
                found[bone] = not (is_carried or written[bone])
                is_carried = True
    return tuple(found.items())


class _Group:
    """Rigs of one skeleton whose chains have the same roots, below the same bones that move."""

    def __init__(self, states: list[RigState], roots: tuple[int, ...], carried: Carried) -> None:
        skeleton, bones = states[0].skeleton, [bone for bone, _ in carried]
        self._states, self._skeleton, self._bones = states, skeleton, np.array(bones)
        parents = skeleton.parents[self._bones].tolist()
        # What stands still comes after the bones that move; the last stands for no parent.
        still = sorted({parent for parent in parents if parent >= 0}.difference(bones))
        self._still = np.array(still, dtype=np.int64)
        row_of = {bone: row for row, bone in enumerate((*bones, *still, -1))}
        above = np.array([row_of[parent] for parent in parents])
        self._stays = np.array([[stays] for _, stays in carried])
        levels = np.array([len(skeleton.ancestors(bone)) for bone in bones])
        generations = [np.flatnonzero(levels == each) for each in np.unique(levels)]
        self._generations = [
            (rows, above[rows], skeleton.frames.take(self._bones[rows])) for rows in generations
        ]
        self._roots = np.array([each for each in roots if int(skeleton.parents[each]) in bones])
        self._of_roots = np.array([row_of[int(skeleton.parents[each])] for each in self._roots])
        self._offsets = skeleton.offsets[self._bones, :3, :3]
        self._hung = np.concatenate((self._bones, self._roots))
        self._poses: dict[int, Pose] = {}
        # Of each bone rotation channels and mode; scale and location; of the roots the last alone.
        self._told = np.full((len(states), len(self._hung), 11), np.nan)
        self._local = np.empty((len(states), len(self._bones), 3, 3))
        self._heads = np.empty((len(states), len(self._hung), 3))

    def update(self) -> list[RigState]:
        """Pose the bones; return the rigs of which any may have moved."""
        poses = [state.pose for state in self._states]
        told = np.array([self._tell(pose) for pose in poses])
        is_other = told != self._told
        turned = np.nonzero(is_other[:, : len(self._bones), :5].any(axis=2))
        if turned[0].size:
            turns = told[turned]
            self._local[turned] = matrices_of(turns[:, :4], turns[:, 4].astype(np.int32))
        has_moved, known = is_other.any(axis=(1, 2)).tolist(), self._poses
        rows = [i for i, pose in enumerate(poses) if has_moved[i] or pose is not known.get(i)]
        if is_other[:, :, 8:].any():
            self._heads = self._skeleton.heads(self._hung, told[:, :, 8:])
        if rows:
            self._pose(poses, rows, told[rows, : len(self._bones), 5:8])
            self._poses, self._told = dict(enumerate(poses)), told
        return [self._states[i] for i in rows]

    def recall(self, uids: Collection[int]) -> None:
        """Put the bones of some rigs where they were carried, as long as nothing moves them."""
        for i, state in enumerate(self._states):
            pose, known = state.pose, self._poses.get(i)
            if state.uid not in uids or known is None:
                continue
            still = (each.matrices[self._still].tobytes() for each in (pose, known))
            if np.array_equal(self._tell(pose), self._told[i]) and next(still) == next(still):
                pose.matrices[self._bones] = known.matrices[self._bones]
                pose.matrices[self._roots, :3, 3] = known.matrices[self._roots, :3, 3]
                self._poses[i] = pose

    def _tell(self, pose: Pose) -> Array:
        """Return what tells where the bones of a rig stand."""
        bones, told = self._bones, np.zeros(self._told.shape[1:])
        of_bones = told[: len(bones)]
        of_bones[:, :4], of_bones[:, 4] = pose.channels[bones], pose.modes[bones]
        of_bones[:, 5:8], told[:, 8:] = pose.scale[bones], pose.location[self._hung]
        return told

    def _pose(self, poses: list[Pose], rigs: list[int], scale: Array) -> None:
        """Put the bones of r rigs where their local rotations, scales (r, m, 3) and heads are."""
        bones, count, local, heads = self._bones, len(rigs), self._local[rigs], self._heads[rigs]
        own = np.zeros((count, len(bones), 4, 4))
        own[..., :3, :3] = (self._offsets @ local) * scale[:, :, None]
        own[..., :3, 3] = heads[:, : len(bones)]
        own[..., 3, 3] = 1.0
        still = np.array([poses[i].matrices[self._still] for i in rigs])
        nothing = np.tile(np.eye(4), (count, 1, 1, 1))
        matrices = np.concatenate((np.empty_like(own), still, nothing), axis=1)
        known = np.array([poses[i].matrices[bones, :3, 3] for i in rigs])
        for rows, parents, rest in self._generations:
            above = matrices[:, parents]
            posed = above @ own[:, rows]
            posed[..., :3, 3] = np.where(self._stays[rows], known[:, rows], posed[..., :3, 3])
            has_parents = parents[0] < matrices.shape[1] - 1
            if has_parents and not rest.is_plain:
                # Their heads go with their parents, and their axes take a part of that.
                frames = spaces.parent_frames(above[..., :3, :3], rest)
                posed[..., :3, :3] = spaces.pose_from_local(frames, local[:, rows], scale[:, rows])
            matrices[:, rows] = posed
        at_roots = spaces.transform_point(matrices[:, self._of_roots], heads[:, len(bones) :])
        for i, moved, ends_at in zip(rigs, matrices, at_roots, strict=True):
            poses[i].matrices[bones] = moved[: len(bones)]
            poses[i].matrices[self._roots, :3, 3] = ends_at
