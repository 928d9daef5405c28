"""One chain under its parent bone: posed by local rotations, or laid along a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core import Solution, bend_side, rotation
from . import spaces
from .channels import Pose
from .limb import rest_joints, segments_of
from .plan import ChainPlan
from .skeleton import Skeleton

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChainPose:
    """A posed chain of k written bones, of which the first m have a segment.

    Attributes:
        rotations: Local rotation matrices, shape (k, 3, 3).
        matrices: Pose matrices, armature space, shape (k, 3, 3).
        joints: Heads and effector, armature space, shape (m + 1, 3).
    """

    rotations: Array
    matrices: Array
    joints: Array


@dataclass(frozen=True)
class ChainFrame:
    """What of a chain stays while its bones rotate.

    Attributes:
        frames: Rest frames of the written bones, k of them.
        scale: Their scale channels, shape (k, 3).
        segments: From head to next joint in the space of the posed bone, shape (m, 3).
        parent: Pose matrix of the root's parent, identity without, shape (3, 3).
        root: The root's head, armature space, shape (3,).
        rest_root: The root's rest matrix, shape (3, 3).
        rest_side: Where the rest pose bends, armature space, shape (3,); None if it is straight.
    """

    frames: tuple[spaces.RestFrames, ...]
    scale: Array
    segments: Array
    parent: Array
    root: Array
    rest_root: Array
    rest_side: Array | None

    def posed(self, rotations: Array) -> ChainPose:
        """Return the chain posed by local rotations (k, 3, 3)."""
        return self._walked(lambda i, _: rotations[i])

    def laid_along(
        self, start: ChainPose, solution: Solution, tip: Array | None, tip_share: float
    ) -> ChainPose:
        """Return the chain with its segments along a solution's, rolls kept from the start.

        The root bone turns with the chain as a whole; every bone then swings, in the space of its
        own parent, by the shortest rotation that lays its segment along the solved one. That is
        exact for any parent matrix, sheared and mirrored ones too.

        Args:
            start: The start pose.
            solution: Of the segments.
            tip: Pose matrix that the last bone takes instead, as near as it can, shape (3, 3).
            tip_share: Share of the way that the last bone turns to it, from 0 to 1.
        """
        chain_rotation = rotation.matrix_from_quaternion(solution.chain_rotation_wxyz)
        directions = np.diff(solution.joint_positions, axis=0)

        def local_rotation(i: int, frame: spaces.ParentFrames) -> Array:
            local: Array = start.rotations[i]
            if tip is not None and i == len(self.frames) - 1:
                turned = spaces.local_from_pose(frame, tip, self.scale[i])
                return part_way(local, turned, tip_share)
            if i >= len(directions):
                return local
            if i == 0:
                turned = chain_rotation @ start.matrices[0]
                local = spaces.local_from_pose(frame, turned, self.scale[0])
            segment = local @ spaces.local_start(frame, self.segments[i], self.scale[i])
            wanted = spaces.local_direction(frame, directions[i], segment)
            swing = rotation.matrix_from_quaternion(rotation.between(segment, wanted))
            swung: Array = swing @ local
            return swung

        return self._walked(local_rotation)

    def nudged(self, pose: ChainPose, turns: Array, tip: Array | None) -> ChainPose:
        """Return a pose with local rotations turned on by rotation vectors (m, 3).

        A tip that takes a pose matrix of its own keeps it, shape (3, 3).
        """
        angles = np.linalg.norm(turns, axis=1)
        steps = rotation.matrix_from_quaternion(
            rotation.quaternion_from_axis_angle(np.column_stack((angles, turns)))
        )

        def local_rotation(i: int, frame: spaces.ParentFrames) -> Array:
            local: Array = pose.rotations[i]
            if tip is not None and i == len(self.frames) - 1:
                local = spaces.local_from_pose(frame, tip, self.scale[i])
            elif i < len(steps):
                local = steps[i] @ local
            return local

        return self._walked(local_rotation)

    def _walked(self, local_rotation: Callable[[int, spaces.ParentFrames], Array]) -> ChainPose:
        """Pose bone after bone, root first, each by what a function gives for it."""
        matrix, head = self.parent, self.root
        rotations, matrices, joints = [], [], [head]
        for i, rest in enumerate(self.frames):
            frame = spaces.parent_frames(matrix, rest)
            local = local_rotation(i, frame)
            matrix = spaces.pose_from_local(frame, local, self.scale[i])
            rotations.append(local)
            matrices.append(matrix)
            if i < len(self.segments):
                head = head + matrix @ self.segments[i]
                joints.append(head)
        return ChainPose(np.array(rotations), np.array(matrices), np.array(joints))

    def natural_side(self, pose: ChainPose) -> Array:
        """Return where the chain bends when a pose is straight: armature space, shape (3,).

        The side of the rest pose, carried by the root bone; of a straight rest pose the root
        bone's Z axis.
        """
        if self.rest_side is None:
            axis: Array = pose.matrices[0][:, 2]
            return axis
        carried: Array = pose.matrices[0] @ np.linalg.solve(self.rest_root, self.rest_side)
        return carried


def part_way(start: Array, end: Array, share: float) -> Array:
    """Return rotation matrices (..., 3, 3) turned a share of the short way from start to end."""
    if share == 1.0:
        return end
    turn = rotation.quaternion_from_matrix(np.swapaxes(start, -1, -2) @ end)
    between: Array = start @ rotation.matrix_from_quaternion(rotation.power(turn, share))
    return between


def framed(skeleton: Skeleton, pose: Pose, plan: ChainPlan) -> ChainFrame:
    """Return what of a chain stays while its bones rotate."""
    root = int(plan.segments[0])
    parent = int(skeleton.parents[root])
    return ChainFrame(
        frames=tuple(skeleton.frames.take(bone) for bone in plan.written),
        scale=pose.scale[plan.written],
        segments=segments_of(skeleton, pose, plan),
        parent=pose.matrices[parent][:3, :3] if parent >= 0 else np.eye(3),
        root=pose.matrices[root][:3, 3],
        rest_root=skeleton.rest[root][:3, :3],
        rest_side=bend_side(rest_joints(skeleton, plan)),
    )
