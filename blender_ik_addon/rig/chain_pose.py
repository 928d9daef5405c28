"""One chain under its parent bone: posed by local rotations, or laid along a solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core import Solution
from ..core.algebra import rotation
from ..core.kinematics.bend_plane import bend_side
from . import spaces
from .channels import Pose
from .limb import rest_joints, segments_of
from .plan import ChainPlan
from .skeleton import Skeleton
from .slide import ChainSlide, home_root
from .stretch import ChainStretch

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChainPose:
    """A posed chain of k written bones, of which the first m have a segment.

    Attributes:
        rotations: Local rotation matrices, shape (k, 3, 3).
        matrices: Pose matrices, armature space, shape (k, 3, 3).
        joints: Heads and effector, armature space, shape (m + 1, 3).
        scale: Scale channels, shape (k, 3).
        slides: How far bones have slid, shape (k,); None where none is to.
    """

    rotations: Array
    matrices: Array
    joints: Array
    scale: Array
    slides: Array | None = None


@dataclass(frozen=True)
class ChainFrame:
    """What of a chain stays while its bones rotate.

    Attributes:
        frames: Rest frames of the written bones, k of them.
        scale: Their scale channels; of bones that may grow without their growth, shape (k, 3).
        segments: From head to next joint in the space of the posed bone, shape (m, 3).
        parent: Pose matrix of the root's parent, identity without, shape (3, 3).
        root: The root's head without any slide, armature space, shape (3,).
        rest_root: The root's rest matrix, shape (3, 3).
        rest_side: Where the rest pose bends, armature space, shape (3,); None if it is straight.
        stretch: How far bones may grow; None where none is to.
        slide: How far bones may slide; None where none is to.
    """

    frames: tuple[spaces.RestFrames, ...]
    scale: Array
    segments: Array
    parent: Array
    root: Array
    rest_root: Array
    rest_side: Array | None
    stretch: ChainStretch | None = None
    slide: ChainSlide | None = None

    def posed(
        self, rotations: Array, scale: Array | None = None, slides: Array | None = None
    ) -> ChainPose:
        """Return the chain posed by its channels.

        Args:
            rotations: Local rotations, shape (k, 3, 3).
            scale: Scale channels, shape (k, 3).
            slides: How far bones have slid, shape (k,).
        """
        scale = self.scale if scale is None else scale
        if self.slide is not None and slides is None:
            slides = np.zeros(len(self.frames))
        return self._walked(lambda i, _: (rotations[i], scale[i]), slides)

    def stretched(self, rotations: Array, lengths: Array) -> ChainPose:
        """Return the chain posed by local rotations, its segments as long as asked, shape (m,)."""

        def local(i: int, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            if i >= len(lengths):
                return rotations[i], self.scale[i]
            return rotations[i], self._scale_giving(i, frame, frame.rs @ rotations[i], lengths[i])

        return self._walked(local)

    def along(self) -> Array:
        """Return what share of each segment lies along its bone's Y axis, shape (m,)."""
        visible = self.scale[: len(self.segments)] * self.segments
        share: Array = np.abs(visible[:, 1]) / np.linalg.norm(visible, axis=1)
        return share

    def laid_along(
        self,
        start: ChainPose,
        solution: Solution,
        tip: Array | None,
        tip_share: float,
        *,
        is_stretched: bool = False,
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
            is_stretched: Segments take the solution's lengths as well.
        """
        chain_rotation = rotation.matrix_from_quaternion(solution.chain_rotation_wxyz)
        directions = np.diff(solution.joint_positions, axis=0)

        def scale_of(i: int, frame: spaces.ParentFrames, local: Array | None) -> Array:
            if not is_stretched or i >= len(directions):
                scale: Array = self.scale[i]
                return scale
            if local is None:
                # The swing keeps lengths: the segment is compared where it is turned.
                length = np.linalg.norm(np.linalg.pinv(frame.rs) @ directions[i])
                return self._scale_giving(i, frame, np.eye(3), float(length))
            length = np.linalg.norm(directions[i])
            return self._scale_giving(i, frame, frame.rs @ local, float(length))

        def local_turn(i: int, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            local: Array = start.rotations[i]
            if tip is not None and i == len(self.frames) - 1:
                turned = spaces.local_from_pose(frame, tip, self.scale[i])
                local = part_way(local, turned, tip_share)
                return local, scale_of(i, frame, local)
            if i >= len(directions):
                return local, self.scale[i]
            if i == 0:
                turned = chain_rotation @ start.matrices[0]
                local = spaces.local_from_pose(frame, turned, self.scale[0])
            scale = scale_of(i, frame, None)
            segment = local @ spaces.local_start(frame, self.segments[i], scale)
            wanted = spaces.local_direction(frame, directions[i], segment)
            swing = rotation.matrix_from_quaternion(rotation.between(segment, wanted))
            return swing @ local, scale

        return self._walked(local_turn)

    def nudged(self, pose: ChainPose, turns: Array, tip: Array | None) -> ChainPose:
        """Return a pose with local rotations turned on by rotation vectors (m, 3).

        A tip that takes a pose matrix of its own keeps it, shape (3, 3).
        """
        angles = np.linalg.norm(turns, axis=1)
        steps = rotation.matrix_from_quaternion(
            rotation.quaternion_from_axis_angle(np.column_stack((angles, turns)))
        )

        def local_turn(i: int, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            local: Array = pose.rotations[i]
            if tip is not None and i == len(self.frames) - 1:
                local = spaces.local_from_pose(frame, tip, pose.scale[i])
            elif i < len(steps):
                local = steps[i] @ local
            return local, pose.scale[i]

        return self._walked(local_turn)

    def _scale_giving(
        self, i: int, frame: spaces.ParentFrames, matrix: Array, length: float
    ) -> Array:
        """Return the scale channels of a bone whose segment takes a length after a matrix."""
        scale: Array = self.scale[i]
        if self.stretch is None:
            return scale
        segment = frame.post * self.segments[i]
        grown: Array = scale * self.stretch.scale_giving(i, scale, segment, matrix, length)
        return grown

    def _walked(
        self,
        local_turn: Callable[[int, spaces.ParentFrames], tuple[Array, Array]],
        slides: Array | None = None,
    ) -> ChainPose:
        """Pose bone after bone, root first, each by the rotation and scale of a function."""
        matrix, head, segments = self.parent, self.root, self.segments
        if self.slide is not None and slides is not None:
            # A slide moves the head that the segment before it leads to.
            moved = self.slide.heads * slides[:, None]
            head = head + matrix @ moved[0]
            segments = segments.copy()
            segments[: len(moved) - 1] += moved[1 : len(segments) + 1]
        rotations, matrices, joints, scales = [], [], [head], []
        for i, rest in enumerate(self.frames):
            frame = spaces.parent_frames(matrix, rest)
            local, scale = local_turn(i, frame)
            matrix = spaces.pose_from_local(frame, local, scale)
            rotations.append(local)
            scales.append(scale)
            matrices.append(matrix)
            if i < len(self.segments):
                head = head + matrix @ segments[i]
                joints.append(head)
        return ChainPose(
            np.array(rotations), np.array(matrices), np.array(joints), np.array(scales), slides
        )

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


def framed(
    skeleton: Skeleton,
    pose: Pose,
    plan: ChainPlan,
    stretch: ChainStretch | None = None,
    slide: ChainSlide | None = None,
) -> ChainFrame:
    """Return what of a chain stays while its bones rotate."""
    scale = pose.scale[plan.written]
    if stretch is not None:
        # What may be locked holds what stands there, the rest what stood there before any growth.
        scale = np.where(stretch.is_locked, scale, stretch.scale)
    root = int(plan.segments[0])
    parent = int(skeleton.parents[root])
    head = pose.matrices[root][:3, 3]
    if slide is not None and slide.moves_root:
        head = home_root(skeleton, pose, plan, slide)
    return ChainFrame(
        frames=tuple(skeleton.frames.take(bone) for bone in plan.written),
        scale=scale,
        segments=segments_of(skeleton, pose, plan, slide),
        parent=pose.matrices[parent][:3, :3] if parent >= 0 else np.eye(3),
        root=head,
        rest_root=skeleton.rest[root][:3, :3],
        rest_side=bend_side(rest_joints(skeleton, plan)),
        stretch=stretch,
        slide=slide,
    )
