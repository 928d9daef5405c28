"""Chains and trees under any parents: posed by local rotations, or along the segments of solutions.

B similar trees have k written bones, of which the first n are solved together, and E effectors. A
chain is a tree with one effector, whose n segments lie one after the other. Parents may turn,
scale, shear and mirror: no bone has to be rigid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...core import Solutions
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ..planning.bone_hierarchy import BoneHierarchy
from ..planning.slide import ChainSlide
from ..planning.stretch import ChainStretch
from ..reading import spaces
from ..reading.batch_record import BatchRecord
from ..reading.bone_joints import BoneJoints
from ..reading.spaces import transform_direction
from ..trees.floating import Floating
from .chain_poses import ChainPoses, interpolate_rotations


@dataclass(frozen=True)
class ChainFrames(BatchRecord):
    """The constants of chains or trees while their bones rotate.

    Attributes:
        hanging: The parents of the bones.
        rest: Rest frames of the written bones: a record of (B, g) for each generation.
        scale: Scale channels of the bones, without the growth of stretch, shape (B, k, 3).
        ways: Vectors from the parent's head to the bone's head in the space of the posed parent,
            shape (B, k, 3); that of the root is not used.
        ends: Effectors in the space of the posed bone that carries them, shape (B, E, 3).
        parent: Pose matrices of the roots' parents, identity without one, shape (B, 3, 3).
        root: Heads of the roots without any slide, armature space, shape (B, 3).
        hints: Bend directions of straight chains, in their posed roots' spaces, shape (B, E, 3).
        is_bent: Whether the hint is the side of the rest pose, shape (B, E).
        compiled: How many were compiled together: the core decides by it between floats and arrays.
        stretch: How far bones of chains may grow; None where no bone may.
        slide: How far bones of chains may slide; None where no bone may.
        floating: How the roots of bodies move; None where roots do not move.
        joints: Joints of the bones; None for chains whose bones all turn freely.
    """

    hanging: BoneHierarchy
    rest: tuple[spaces.RestFrames, ...]
    scale: Array
    ways: Array
    ends: Array
    parent: Array
    root: Array
    hints: Array
    is_bent: Flags
    compiled: int
    stretch: ChainStretch | None = None
    slide: ChainSlide | None = None
    floating: Floating | None = None
    joints: BoneJoints | None = None

    @property
    def segments(self) -> Array:
        """Vectors of chains from head to next joint, in the posed bone's space, shape (B, n, 3)."""
        return np.concatenate((self.ways[:, 1 : self.hanging.count], self.ends), axis=1)

    def rooted(self, heads: Array) -> ChainFrames:
        """Return bodies with the heads of their roots at points (B, 3); other trees unchanged."""
        return self if self.floating is None else replace(self, root=heads)

    def posed(
        self, rotations: Array, scale: Array | None = None, slides: Array | None = None
    ) -> ChainPoses:
        """Return the bones posed by their channels.

        Args:
            rotations: Local rotations, shape (B, k, 3, 3).
            scale: Scale channels, shape (B, k, 3).
            slides: Distances that bones have slid, shape (B, k).
        """
        scale = self.scale if scale is None else scale
        if self.slide is not None and slides is None:
            slides = np.zeros(rotations.shape[:2])
        if all(rest.is_plain for rest in self.rest):
            return self._pose_plainly(rotations, scale, slides)
        return self._pose(lambda rows, _: (rotations[:, rows], scale[:, rows]), slides)

    def stretched(self, rotations: Array, lengths: Array) -> ChainPoses:
        """Return the chains posed by local rotations, with segments of given lengths (B, m).

        A segment with NaN keeps its length.
        """

        def local(rows: slice, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            turn: Array = rotations[:, rows]
            if rows.start >= lengths.shape[1]:
                return turn, self.scale[:, rows]
            return turn, self._find_scale(rows, frame, frame.rs @ turn, lengths[:, rows])

        return self._pose(local)

    def along(self) -> Array:
        """Return the share of each segment that lies along its bone's Y axis, shape (B, n)."""
        visible = self.scale[:, : self.hanging.count] * self.segments
        return np.abs(visible[..., 1]) / np.linalg.norm(visible, axis=2)

    def aligned_with(
        self,
        start: ChainPoses,
        solutions: Solutions,
        tip: Array | None,
        tip_share: float,
        is_stretched: Flags | None = None,
    ) -> ChainPoses:
        """Return the chains with segments along those of solutions and the roll of the start.

        The root bone turns with the chain as a whole. Every bone then swings, in the space of its
        parent, by the shortest rotation that aligns its segment with the solved one. This is exact
        for any parent matrix, also a sheared or mirrored one.

        Args:
            start: The start poses.
            solutions: The solved segments.
            tip: Pose matrices that the last bones turn to as nearly as they can, shape (B, 3, 3).
            tip_share: Share of the turn to ``tip`` that the last bones make, from 0 to 1.
            is_stretched: Which chains also take the solutions' segment lengths, shape (B,).
        """
        whole = rotation.matrix_from_quaternion(solutions.chain_rotation_wxyz)
        directions = np.diff(solutions.joint_positions, axis=1)
        count, last, segments = directions.shape[1], self.hanging.tips[0], self.segments

        def scale_of(rows: slice, frame: spaces.ParentFrames, local: Array | None) -> Array:
            scale: Array = self.scale[:, rows]
            if is_stretched is None or rows.start >= count:
                return scale
            if local is None:
                # The swing keeps lengths in the frame that the bone turns in: measure there.
                way = transform_direction(np.linalg.pinv(frame.rs), directions[:, rows])
                matrix: Array = np.broadcast_to(np.eye(3), frame.rs.shape)
            else:
                way, matrix = directions[:, rows], frame.rs @ local
            lengths = np.where(is_stretched[:, None], np.linalg.norm(way, axis=-1), np.nan)
            return self._find_scale(rows, frame, matrix, lengths)

        def local_turn(rows: slice, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            local: Array = start.rotations[:, rows]
            if tip is not None and rows.start == last:
                turned = spaces.local_from_pose(frame, tip[:, None], self.scale[:, rows])
                local = interpolate_rotations(local, turned, tip_share)
                return local, scale_of(rows, frame, local)
            if rows.start >= count:
                return local, self.scale[:, rows]
            if rows.start == 0:
                turned = whole[:, None] @ start.matrices[:, rows]
                local = spaces.local_from_pose(frame, turned, self.scale[:, rows])
            scale = scale_of(rows, frame, None)
            return _swing(frame, local, segments[:, rows], scale, directions[:, rows]), scale

        return self._pose(local_turn)

    def pointed(
        self, start: ChainPoses, poses: ChainPoses, levers: Array, directions: Array, fixed: Flags
    ) -> ChainPoses:
        """Return poses whose bones swing from a start to directions, but for fixed bones.

        They swing in the space of their parents, by the shortest rotations.

        Args:
            start: Pose that bones swing from.
            poses: Pose whose rotations the fixed bones keep.
            levers: Directions to the ends of each bone in its space, shape (B, n, 3).
            directions: Directions of the levers in armature space, shape (B, n, 3).
            fixed: Bones that keep their whole rotation, shape (n,).
        """

        def local_turn(rows: slice, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            scale: Array = poses.scale[:, rows]
            if rows.start >= self.hanging.count:
                return poses.rotations[:, rows], scale
            start_rows, lever = start.rotations[:, rows], levers[:, rows]
            is_fixed = fixed[rows]
            if is_fixed.all():
                return spaces.local_from_pose(frame, poses.matrices[:, rows], scale), scale
            local = _swing(frame, start_rows, lever, scale, directions[:, rows])
            if is_fixed.any():
                fixed_local = spaces.local_from_pose(frame, poses.matrices[:, rows], scale)
                local = np.where(is_fixed[:, None, None], fixed_local, local)
            return local, scale

        return self._pose(local_turn, poses.slides)

    def nudged(self, pose: ChainPoses, turns: Array, tip: Array | None) -> ChainPoses:
        """Return poses with local rotations turned further by rotation vectors (B, m, 3), radians.

        If ``tip`` gives pose matrices (B, 3, 3), the last bones take these.
        """
        angles = np.linalg.norm(turns, axis=2, keepdims=True)
        steps = rotation.quaternion_from_axis_angle(np.concatenate((angles, turns), axis=2))
        steps, last = rotation.matrix_from_quaternion(steps), self.hanging.tips[0]

        def local_turn(rows: slice, frame: spaces.ParentFrames) -> tuple[Array, Array]:
            local: Array = pose.rotations[:, rows]
            if tip is not None and rows.start == last:
                local = spaces.local_from_pose(frame, tip[:, None], pose.scale[:, rows])
            elif rows.start < steps.shape[1]:
                local = steps[:, rows] @ local
            return local, pose.scale[:, rows]

        return self._pose(local_turn)

    def natural_sides(self, pose: ChainPoses) -> Array:
        """Return the bend directions of straight chains in poses, armature space, (B, n, 3)."""
        sides = np.zeros(pose.scale.shape)
        for chain, rows in reversed(list(enumerate(self.hanging.rows))):
            side = transform_direction(pose.matrices[:, rows[0]], self.hints[:, chain])
            sides[:, rows] = side[:, None]
        return sides[:, : self.hanging.count]

    def lengths(self, pose: ChainPoses, world: Array | None = None) -> Array:
        """Return the path lengths from the root to the effectors along the bones, shape (B, E).

        ``world`` are linear maps (B, 3, 3) to the space to measure in; None for armature space.
        """
        joints = pose.joints if world is None else pose.joints @ world.swapaxes(-1, -2)
        steps = np.linalg.norm(joints - joints[:, self.hanging.above], axis=2)
        return steps @ self.hanging.is_on_way

    def _find_scale(
        self, rows: slice, frame: spaces.ParentFrames, matrix: Array, lengths: Array
    ) -> Array:
        """Return the scale channels of a bone whose segments have lengths (B, 1) after matrices."""
        scale: Array = self.scale[:, rows]
        if self.stretch is None:
            return scale
        bone, segment = rows.start, frame.post * self.segments[:, rows]
        grown = self.stretch.scale_giving(
            bone, scale[:, 0], segment[:, 0], matrix[:, 0], lengths[:, 0]
        )
        return scale * grown[:, None]

    def _pose(
        self,
        local_turn: Callable[[slice, spaces.ParentFrames], tuple[Array, Array]],
        slides: Array | None = None,
    ) -> ChainPoses:
        """Return bones posed generation by generation, by rotations and scales of a function."""
        hanging, (root, ways, ends) = self.hanging, self._apply_slides(slides)
        scales, heads = np.empty(self.scale.shape), np.empty(self.scale.shape)
        rotations, frames, matrices = np.empty((3, *self.scale.shape, 3))
        for rest, (rows, above) in zip(self.rest, hanging.generations, strict=True):
            if above is None:
                parent, heads[:, rows] = self.parent[:, None], root[:, None]
            else:
                parent = matrices[:, above]
                heads[:, rows] = heads[:, above] + transform_direction(parent, ways[:, rows])
            frame = spaces.parent_frames(parent, rest)
            local, scale = local_turn(rows, frame)
            frames[:, rows], rotations[:, rows], scales[:, rows] = frame.rs, local, scale
            matrices[:, rows] = spaces.pose_from_local(frame, local, scale)
        joints = self._joints(heads, matrices, ends)
        return ChainPoses(rotations, frames, matrices, joints, scales, slides)

    def _pose_plainly(self, rotations: Array, scale: Array, slides: Array | None) -> ChainPoses:
        """Return posed bones that take the whole parent matrix; only products go by generation."""
        hanging, (root, ways, ends) = self.hanging, self._apply_slides(slides)
        offsets = np.concatenate([rest.offset for rest in self.rest], axis=1)
        local = (offsets @ rotations) * scale[..., None, :]
        # Row 0 is the parent of the first bone.
        matrices = np.concatenate((self.parent[:, None], local), axis=1)
        above = [parent + 1 for parent in hanging.parents]
        for rows, _ in hanging.generations:
            parents = matrices[:, above[rows]]
            matrices[:, rows.start + 1 : rows.stop + 1] = parents @ local[:, rows]
        parents, matrices = matrices[:, above], matrices[:, 1:]
        heads = transform_direction(parents, ways)
        heads[:, 0] = root
        for rows, carriers in hanging.generations[1:]:
            heads[:, rows] += heads[:, carriers]
        joints = self._joints(heads, matrices, ends)
        frames = parents @ offsets
        return ChainPoses(np.array(rotations), frames, matrices, joints, scale, slides)

    def _apply_slides(self, slides: Array | None) -> tuple[Array, Array, Array]:
        """Return ``root``, ``ways`` and ``ends`` after slides."""
        root, ways, ends = self.root, self.ways, self.ends
        if self.slide is not None and slides is not None:
            # A slide moves the head of its bone, the end of the segment before.
            moved = self.slide.heads * slides[..., None]
            root, ways = root + transform_direction(self.parent, moved[:, 0]), ways + moved
            if self.hanging.turns_afterwards(0):
                ends = ends + moved[:, [self.hanging.tips[0]]]
        return root, ways, ends

    def _joints(self, heads: Array, matrices: Array, ends: Array) -> Array:
        """Return the joints of posed bones, then their effectors."""
        carriers = list(self.hanging.carriers)
        effectors = heads[:, carriers] + transform_direction(matrices[:, carriers], ends)
        return np.concatenate((heads[:, : self.hanging.count], effectors), axis=1)


def _swing(
    frame: spaces.ParentFrames, local: Array, segment: Array, scale: Array, direction: Array
) -> Array:
    """Return local rotations swung until segments of the posed bones lie along directions."""
    before = transform_direction(local, spaces.local_start(frame, segment, scale))
    goal = spaces.local_direction(frame, direction, before)
    return rotation.matrix_from_quaternion(rotation.between(before, goal)) @ local
