"""Chains under their parent bones: posed by local rotations, or laid along solutions.

B chains alike of k written bones, of which the first m have a segment; one chain is a batch of one.
Parents may turn, scale, shear and mirror: nothing here needs bones to be rigid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..core import Solutions
from ..core.algebra import rotation
from ..core.kinematics.bend_plane import bend_side
from . import spaces
from .channels import Pose
from .limb import rest_joints, segments_of
from .plan import ChainPlan
from .skeleton import Skeleton
from .slide import ChainSlide
from .spaces import transform_direction
from .stretch import ChainStretch

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64] | slice
Record = TypeVar("Record")

# What float32 matrices of parents leave of lengths, as a share of the chain.
LENGTHS_AGREE = 1e-6


def take_rows(record: Record, rows: Rows) -> Record:
    """Return an array, or a record of arrays, with some of its rows; what is not there stays so."""
    own: Any = record
    if isinstance(own, np.ndarray):
        own = own[rows]
    elif isinstance(own, tuple):
        own = type(own)([take_rows(each, rows) for each in own])
    elif isinstance(own, spaces.RestFrames):
        own = own.take(rows)
    elif is_dataclass(own) and not isinstance(own, type):
        values = {field.name: take_rows(getattr(own, field.name), rows) for field in fields(own)}
        own = replace(own, **values)
    taken: Record = own
    return taken


@dataclass(frozen=True)
class ChainPoses:
    """Posed chains.

    Attributes:
        rotations: Local rotation matrices, shape (B, k, 3, 3).
        matrices: Pose matrices, armature space, shape (B, k, 3, 3).
        joints: Heads and effectors, armature space, shape (B, m + 1, 3).
        scale: Scale channels, shape (B, k, 3).
        slides: How far bones have slid, shape (B, k); None where none is to.
    """

    rotations: Array
    matrices: Array
    joints: Array
    scale: Array
    slides: Array | None = None

    @property
    def reach(self) -> Array:
        """The lengths of the chains, shape (B,)."""
        reach: Array = np.linalg.norm(np.diff(self.joints, axis=1), axis=2).sum(axis=1)
        return reach

    def take(self, rows: Rows) -> ChainPoses:
        """Return the poses of some of the chains."""
        return take_rows(self, rows)

    def put(self, rows: Rows, others: ChainPoses) -> ChainPoses:
        """Return these poses with others in some rows."""
        values = []
        for field in fields(self):
            own, other = getattr(self, field.name), getattr(others, field.name)
            if own is not None:
                own = own.copy()
                own[rows] = other
            values.append(own)
        return ChainPoses(*values)


@dataclass(frozen=True)
class ChainFrames:
    """What of chains stays while their bones rotate.

    Attributes:
        rest: Rest frames of the written bones: k records of B.
        scale: Their scale channels; of bones that may grow without their growth, shape (B, k, 3).
        segments: From head to next joint in the space of the posed bone, shape (B, m, 3).
        parent: Pose matrices of the roots' parents, identity without, shape (B, 3, 3).
        root: The roots' heads without any slide, armature space, shape (B, 3).
        hint: Where a straight chain bends, in the space of the posed root bone, shape (B, 3).
        is_bent: Whether the hint is the side of the rest pose, shape (B,).
        compiled: Of how many chains these are some, which decides how the core solves them.
        stretch: How far bones may grow; None where none is to.
        slide: How far bones may slide; None where none is to.
    """

    rest: tuple[spaces.RestFrames, ...]
    scale: Array
    segments: Array
    parent: Array
    root: Array
    hint: Array
    is_bent: Flags
    compiled: int
    stretch: ChainStretch | None = None
    slide: ChainSlide | None = None

    def take(self, rows: Rows) -> ChainFrames:
        """Return some of the chains."""
        return take_rows(self, rows)

    def posed(
        self, rotations: Array, scale: Array | None = None, slides: Array | None = None
    ) -> ChainPoses:
        """Return the chains posed by their channels.

        Args:
            rotations: Local rotations, shape (B, k, 3, 3).
            scale: Scale channels, shape (B, k, 3).
            slides: How far bones have slid, shape (B, k).
        """
        scale = self.scale if scale is None else scale
        if self.slide is not None and slides is None:
            slides = np.zeros(rotations.shape[:2])
        return self._walked(lambda i, _: (rotations[:, i], scale[:, i]), slides)

    def stretched(self, rotations: Array, lengths: Array) -> ChainPoses:
        """Return the chains posed by local rotations, segments as long as asked, (B, m).

        NaN leaves a segment as long as it is.
        """

        def local(i: int, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            if i >= lengths.shape[1]:
                return rotations[:, i], self.scale[:, i]
            matrix = frame.rs @ rotations[:, i]
            return rotations[:, i], self._scale_giving(i, frame, matrix, lengths[:, i])

        return self._walked(local)

    def along(self) -> Array:
        """Return what share of each segment lies along its bone's Y axis, shape (B, m)."""
        visible = self.scale[:, : self.segments.shape[1]] * self.segments
        share: Array = np.abs(visible[..., 1]) / np.linalg.norm(visible, axis=2)
        return share

    def laid_along(
        self,
        start: ChainPoses,
        solutions: Solutions,
        tip: Array | None,
        tip_share: float,
        is_stretched: Flags | None = None,
    ) -> ChainPoses:
        """Return the chains with their segments along solutions', rolls kept from the start.

        The root bone turns with the chain as a whole; every bone then swings, in the space of its
        own parent, by the shortest rotation that lays its segment along the solved one. That is
        exact for any parent matrix, sheared and mirrored ones too.

        Args:
            start: The start poses.
            solutions: Of the segments.
            tip: Pose matrices that the last bones take, as near as they can, shape (B, 3, 3).
            tip_share: Share of the way that the last bones turn to them, from 0 to 1.
            is_stretched: Whose segments take the solutions' lengths as well, shape (B,).
        """
        whole = rotation.matrix_from_quaternion(solutions.chain_rotation_wxyz)
        directions = np.diff(solutions.joint_positions, axis=1)
        count, last = directions.shape[1], len(self.rest) - 1

        def scale_of(i: int, frame: spaces.ParentFrames, local: Array | None) -> Array:
            scale: Array = self.scale[:, i]
            if is_stretched is None or i >= count:
                return scale
            if local is None:
                # The swing keeps lengths: the segment is compared where it is turned.
                way = transform_direction(np.linalg.pinv(frame.rs), directions[:, i])
                matrix: Array = np.broadcast_to(np.eye(3), frame.rs.shape)
            else:
                way, matrix = directions[:, i], frame.rs @ local
            lengths = np.where(is_stretched, np.linalg.norm(way, axis=1), np.nan)
            return self._scale_giving(i, frame, matrix, lengths)

        def local_turn(i: int, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            local: Array = start.rotations[:, i]
            if tip is not None and i == last:
                turned = spaces.local_from_pose(frame, tip, self.scale[:, i])
                local = part_way(local, turned, tip_share)
                return local, scale_of(i, frame, local)
            if i >= count:
                return local, self.scale[:, i]
            if i == 0:
                turned = whole @ start.matrices[:, 0]
                local = spaces.local_from_pose(frame, turned, self.scale[:, 0])
            scale = scale_of(i, frame, None)
            segment = spaces.local_start(frame, self.segments[:, i], scale)
            segment = transform_direction(local, segment)
            wanted = spaces.local_direction(frame, directions[:, i], segment)
            swing = rotation.matrix_from_quaternion(rotation.between(segment, wanted))
            return swing @ local, scale

        return self._walked(local_turn)

    def nudged(self, pose: ChainPoses, turns: Array, tip: Array | None) -> ChainPoses:
        """Return poses with local rotations turned on by rotation vectors (B, m, 3).

        Tips that take pose matrices of their own keep them, shape (B, 3, 3).
        """
        angles = np.linalg.norm(turns, axis=2, keepdims=True)
        steps = rotation.quaternion_from_axis_angle(np.concatenate((angles, turns), axis=2))
        steps = rotation.matrix_from_quaternion(steps)

        def local_turn(i: int, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            local: Array = pose.rotations[:, i]
            if tip is not None and i == len(self.rest) - 1:
                local = spaces.local_from_pose(frame, tip, pose.scale[:, i])
            elif i < steps.shape[1]:
                local = steps[:, i] @ local
            return local, pose.scale[:, i]

        return self._walked(local_turn)

    def natural_side(self, pose: ChainPoses) -> Array:
        """Return where straight chains bend in poses, armature space, shape (B, 3)."""
        return transform_direction(pose.matrices[:, 0], self.hint)

    def _scale_giving(
        self, i: int, frame: spaces.ParentFrames, matrix: Array, lengths: Array
    ) -> Array:
        """Return the scale channels of bones whose segments take lengths (B,) after matrices."""
        scale: Array = self.scale[:, i]
        if self.stretch is None:
            return scale
        segment = frame.post * self.segments[:, i]
        return scale * self.stretch.scale_giving(i, scale, segment, matrix, lengths)

    def _walked(
        self,
        local_turn: Callable[[int, spaces.ParentFrames], tuple[Array, Array]],
        slides: Array | None = None,
    ) -> ChainPoses:
        """Pose bone after bone, roots first, each by the rotations and scales of a function."""
        matrix, head, segments = self.parent, self.root, self.segments
        if self.slide is not None and slides is not None:
            # A slide moves the head that the segment before it leads to.
            moved = self.slide.heads * slides[..., None]
            head = head + transform_direction(matrix, moved[:, 0])
            count = min(len(self.rest) - 1, segments.shape[1])
            segments = segments.copy()
            segments[:, :count] += moved[:, 1 : count + 1]
        rotations, matrices, joints, scales = [], [], [head], []
        for i, rest in enumerate(self.rest):
            frame = spaces.parent_frames(matrix, rest)
            local, scale = local_turn(i, frame)
            matrix = spaces.pose_from_local(frame, local, scale)
            rotations.append(local)
            scales.append(scale)
            matrices.append(matrix)
            if i < segments.shape[1]:
                head = head + transform_direction(matrix, segments[:, i])
                joints.append(head)
        return ChainPoses(
            np.stack(rotations, axis=1),
            np.stack(matrices, axis=1),
            np.stack(joints, axis=1),
            np.stack(scales, axis=1),
            slides,
        )


class Hung(NamedTuple):
    """One chain to frame: the armature's bones, their pose, which bones, what may grow or slide."""

    skeleton: Skeleton
    pose: Pose
    plan: ChainPlan
    stretch: ChainStretch | None = None
    slide: ChainSlide | None = None


def framed(chains: Sequence[Hung]) -> ChainFrames:
    """Return what of chains alike stays while their bones rotate, where they hang now."""
    # Chains of a crowd have equal bones, and share their plans.
    plans = {id(chain.plan): chain for chain in chains}
    hints = {plan: _hint(chain) for plan, chain in plans.items()}
    rests = {plan: each.skeleton.frames.take(each.plan.written) for plan, each in plans.items()}
    rest = [rests[id(chain.plan)] for chain in chains]
    columns = [
        np.array([getattr(each, field.name) for each in rest])
        for field in fields(spaces.RestFrames)
    ]
    roots = [int(chain.plan.segments[0]) for chain in chains]
    above = [int(chain.skeleton.parents[root]) for chain, root in zip(chains, roots, strict=True)]
    parents = [
        chain.pose.matrices[parent] if parent >= 0 else np.eye(4)
        for chain, parent in zip(chains, above, strict=True)
    ]
    heads = [chain.pose.matrices[root] for chain, root in zip(chains, roots, strict=True)]
    return ChainFrames(
        rest=tuple(
            spaces.RestFrames(*(column[:, bone] for column in columns))
            for bone in range(columns[0].shape[1])
        ),
        scale=np.array([_scale_of(chain) for chain in chains]),
        segments=np.array(
            [segments_of(each.skeleton, each.pose, each.plan, each.slide) for each in chains]
        ),
        parent=np.array(parents)[:, :3, :3],
        root=np.array(heads)[:, :3, 3],
        hint=np.array([hints[id(chain.plan)][0] for chain in chains]),
        is_bent=np.array([hints[id(chain.plan)][1] for chain in chains]),
        compiled=len(chains),
        stretch=_stacked([chain.stretch for chain in chains]),
        slide=_stacked([chain.slide for chain in chains]),
    )


def _scale_of(chain: Hung) -> Array:
    scale: Array = chain.pose.scale[chain.plan.written]
    if chain.stretch is not None:
        # What may be locked holds what stands there, the rest what stood there before any growth.
        scale = np.where(chain.stretch.is_locked, scale, chain.stretch.scale)
    return scale


def _hint(chain: Hung) -> tuple[Array, bool]:
    """Return where a chain bends in its root's space: the rest pose's side, else the Z axis."""
    side = bend_side(rest_joints(chain.skeleton, chain.plan))
    if side is None:
        return np.array([0.0, 0.0, 1.0]), False
    root = chain.plan.segments[0]
    hint: Array = np.linalg.solve(chain.skeleton.rest[root][:3, :3], side)
    return hint, True


def _stacked(records: Sequence[Record | None]) -> Record | None:
    """Return records of chains alike as one of all of them; their names are left out."""
    present: list[Any] = [record for record in records if record is not None]
    if not present:
        return None
    values = {
        field.name: np.array([getattr(each, field.name) for each in present])
        for field in fields(present[0])
        if not isinstance(getattr(present[0], field.name), tuple)
    }
    found: Record = type(present[0])(**values)
    return found


def part_way(start: Array, end: Array, share: float | Array) -> Array:
    """Return rotation matrices (..., 3, 3) turned a share of the short way from start to end.

    Shares may be arrays that go with the matrices' leading axes.
    """
    if isinstance(share, float) and share == 1.0:
        return end
    turn = rotation.quaternion_from_matrix(np.swapaxes(start, -1, -2) @ end)
    between: Array = start @ rotation.matrix_from_quaternion(rotation.power(turn, share))
    return between
