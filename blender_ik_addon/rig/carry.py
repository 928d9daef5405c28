"""Where the parents of chains stand that hang under other chains' bones, without evaluating again.

Once such a chain has moved, Blender has not: asking it to evaluate its graph a second time costs as
much as all else. A bone stands where its own channels and its parent put it, unless a constraint or
a driver has a say in it, so the bones above these chains are posed here. They always are, not only
after a move, so that a pose never depends on who has posed its parents.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

import bpy
import numpy as np
import numpy.typing as npt

from . import spaces
from .channels import matrices_of
from .limb import Limb
from .order import Job, Point
from .rig_state import RigState, place
from .skeleton import Skeleton

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def can_carry(job: Job, moved: Collection[Point]) -> bool:
    """Tell whether nothing but the parents of its root moves a chain.

    Args:
        job: The chain.
        moved: The bones that are written before it is solved.
    """
    by, uid = job.moved_by, job.object.session_uid
    data = cast(bpy.types.Armature, job.object.data).animation_data
    if by.has_constraints or (data is not None and data.drivers):
        return False
    anchored = set(by.anchor_points)
    return all(point[0] == uid and point not in anchored for point in by.points if point in moved)


class Carry:
    """The bones above the chains of one level, of all rigs that have some."""

    def __init__(self, members: Sequence[tuple[RigState, list[Limb]]]) -> None:
        """Take armature objects, each with its chains."""
        self._states = [state for state, _ in members]
        self._versions: list[int] = []
        groups: dict[tuple[int, tuple[int, ...]], list[RigState]] = {}
        for state, own in members:
            roots = tuple(sorted({int(limb.job.plan.segments[0]) for limb in own}))
            groups.setdefault((id(state.skeleton), roots), []).append(state)
        self._groups = [_Group(members, np.array(roots)) for (_, roots), members in groups.items()]

    def update(self, *, has_written: bool) -> None:
        """Pose the bones above the chains where their channels put them.

        Args:
            has_written: Whether any chain has been written since.
        """
        versions = [state.version for state in self._states]
        if not has_written and versions == self._versions:
            return
        moved = [state for group in self._groups for state in group.update()]
        if moved:
            for state in moved:
                state.version += 1
            place(moved)
        self._versions = [state.version for state in self._states]


class _Group:
    """Rigs of one skeleton whose chains have the same roots."""

    def __init__(self, states: list[RigState], roots: Indices) -> None:
        skeleton = states[0].skeleton
        assert skeleton is not None
        self._states, self._skeleton, self._roots = states, skeleton, roots
        above = {bone for root in roots.tolist() for bone in skeleton.ancestors(root)[1:]}
        depth = {bone: len(skeleton.ancestors(bone)) for bone in above}
        self._bones = np.array(sorted(above, key=lambda bone: (depth[bone], bone)))
        row_of = {bone: row for row, bone in enumerate(self._bones.tolist())}
        parents = skeleton.parents[self._bones].tolist()
        self._parents = np.array([row_of.get(parent, -1) for parent in parents], dtype=np.int64)
        levels = np.array([depth[bone] for bone in self._bones.tolist()])
        self._generations = [np.flatnonzero(levels == each) for each in np.unique(levels)]
        self._rest = [skeleton.frames.take(self._bones[rows]) for rows in self._generations]
        self._of_roots = np.array([row_of[int(skeleton.parents[root])] for root in roots])

    def update(self) -> list[RigState]:
        """Pose the bones; return the rigs of which any has moved."""
        poses = [state.pose for state in self._states if state.pose is not None]
        bones = self._bones
        modes = np.concatenate([pose.modes[bones] for pose in poses])
        channels = np.concatenate([pose.channels[bones] for pose in poses]).astype(np.float64)
        axes = np.empty((len(poses), len(bones), 3, 3))
        local = matrices_of(channels, modes).reshape(axes.shape)
        scale = np.array([pose.scale[bones] for pose in poses])
        heads = _heads(self._skeleton, bones, np.array([pose.location[bones] for pose in poses]))
        for rows, rest in zip(self._generations, self._rest, strict=True):
            parents = self._parents[rows]
            if parents[0] < 0:
                above: Array = np.broadcast_to(np.eye(3), (len(poses), len(rows), 3, 3))
            else:
                above = axes[:, parents]
                heads[:, rows] = heads[:, parents] + spaces.transform_direction(
                    above, heads[:, rows]
                )
            frames = spaces.parent_frames(above, rest)
            axes[:, rows] = spaces.pose_from_local(frames, local[:, rows], scale[:, rows])
        parents, location = self._of_roots, [pose.location[self._roots] for pose in poses]
        ways = _heads(self._skeleton, self._roots, np.array(location))
        at_roots = heads[:, parents] + spaces.transform_direction(axes[:, parents], ways)
        matrices = np.zeros((len(poses), len(bones), 4, 4))
        matrices[:, :, :3, :3], matrices[:, :, :3, 3] = axes, heads
        matrices[:, :, 3, 3] = 1.0
        return [
            state
            for state, own, ends in zip(self._states, matrices, at_roots, strict=True)
            if self._put(state, own, ends)
        ]

    def _put(self, state: RigState, matrices: Array, heads: Array) -> bool:
        """Note where bones stand; tell whether that is elsewhere than before."""
        pose = state.pose
        assert pose is not None
        is_same = np.array_equal(pose.matrices[self._bones], matrices) and np.array_equal(
            pose.matrices[self._roots, :3, 3], heads
        )
        if is_same:
            return False
        pose.matrices[self._bones] = matrices
        pose.matrices[self._roots, :3, 3] = heads
        return True


def _heads(skeleton: Skeleton, bones: Indices, location: Array) -> Array:
    """Return the heads of bones in the spaces of their posed parents, shape (..., m, 3)."""
    return spaces.head_in_parent(
        skeleton.offsets[bones],
        location,
        skeleton.use_local_location[bones],
        skeleton.use_connect[bones] & (skeleton.parents[bones] >= 0),
    )
