"""Solve one chain whose joints are limited: its frames to the core, local rotations back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..core import Chain, Forces, Goal, Joints, Solution, SolveOptions, Solver, solve
from ..core.algebra import rotation
from ..core.kinematics.joint_limits import clamp_rotations as clamped
from . import spaces
from .chain_pose import ChainFrame, ChainPose, part_way
from .errors import RigError
from .joints import BoneJoints

Array = npt.NDArray[np.float64]

# Bones that do not take the whole matrix of their parent change their frames as it turns. These are
# measured again on the solved pose then, and the solve goes on from there.
FRAME_PASSES = 8
# Bones that grow change the frames of those below as well. After so many passes they keep what they
# have grown to, which is as long as they shall be but for the last turns, and the joints alone
# bring the effector to the target.
LENGTH_PASSES = 6
AGREES = 1e-6
# Axes whose volume is less than this share of a cube's are scaled flat.
FLAT = 1e-9


@dataclass(frozen=True)
class JointedPose:
    """A solved chain.

    Attributes:
        solution: Of the segments, from the last pass.
        pose: Of all written bones.
        tip_gap: Radians that limits leave to the wanted orientation of the tip.
    """

    solution: Solution
    pose: ChainPose
    tip_gap: float


def solved_with_joints(
    frame: ChainFrame,
    start: ChainPose,
    goal: Goal,
    options: SolveOptions,
    tip_turn: Array | None,
    joints: BoneJoints,
    lengths: Array | None,
    forces: Forces | None = None,
) -> JointedPose:
    """Solve inside the ranges of the joints.

    Args:
        frame: What of the chain stays while its bones rotate.
        start: The start pose.
        goal: In armature space.
        options: In armature space.
        tip_turn: Turn of the tip bone to the target's orientation, shape (3, 3), or None.
        joints: Of the written bones.
        lengths: That segments have grown to in the start pose, shape (m,); None without growth.
        forces: On the segments; None for none.
    """

    def posed(rotations: Array, scale: Array | None, slides: Array | None) -> ChainPose:
        if lengths is None or scale is not None:
            return frame.posed(rotations, scale, slides)
        return frame.stretched(rotations, lengths)

    bend, wanted, count = frame.natural_side(start), goal, len(frame.segments)
    reach = float(np.linalg.norm(np.diff(start.joints, axis=0), axis=1).sum())
    pose = start
    for number in range(FRAME_PASSES):
        chain = Chain(pose.joints, bend, _core_joints(frame, pose, joints, count), forces)
        solution = solve(chain, wanted, options)
        assert solution.local_rotations_wxyz is not None
        rotations = pose.rotations.copy()
        local = joints.take(slice(count)).local_of(solution.local_rotations_wxyz)
        rotations[:count] = rotation.matrix_from_quaternion(local)
        slides = _slid(frame, pose, solution)
        pose = posed(rotations, pose.scale if number >= LENGTH_PASSES else None, slides)
        if np.abs(pose.joints - solution.joint_positions).max() <= AGREES * reach:
            break
        if number == 0:
            options = replace(options, solver=Solver.NEWTON)
        wanted = _onward(goal, tip_turn, start, pose)
    gap = solution.tip_gap
    if tip_turn is not None and len(frame.frames) > count:
        pose, gap = _with_tip(frame, pose, tip_turn @ start.matrices[-1], options, joints)
    return JointedPose(solution, pose, gap)


def in_ranges(rotations: Array, joints: BoneJoints) -> Array:
    """Return local rotation matrices (k, 3, 3) brought inside the ranges of their joints."""
    turned = joints.turns_of(rotation.quaternion_from_matrix(rotations))
    held = clamped(joints.kinds, turned, joints.low, joints.high)
    return rotation.matrix_from_quaternion(joints.local_of(held))


def _core_joints(frame: ChainFrame, pose: ChainPose, joints: BoneJoints, count: int) -> Joints:
    """Return the joints of a chain with its frames as they stand in a pose."""
    offsets, slide_axes = np.empty((count, 3, 3)), np.zeros((count, 3))
    above, parent = np.eye(3), frame.parent
    for i in range(count):
        posed = spaces.parent_frames(parent, frame.frames[i]).rs
        if abs(np.linalg.det(posed)) <= FLAT * np.linalg.norm(posed) ** 3:
            raise RigError("A bone of the chain is scaled flat: give it a scale above zero.")
        offsets[i] = np.linalg.solve(above, posed)
        if frame.slide is not None:
            # Location takes the parent's whole matrix, whatever the bone's rotation inherits.
            slide_axes[i] = np.linalg.solve(above, parent @ frame.slide.heads[i])
        above, parent = posed @ pose.rotations[i], pose.matrices[i]
    own, slide_low, slide_high = joints.take(slice(count)), np.zeros(count), np.zeros(count)
    if frame.slide is not None and pose.slides is not None:
        # The core counts from where the pose stands.
        slide_low = (frame.slide.low - pose.slides)[:count]
        slide_high = (frame.slide.high - pose.slides)[:count]
    if own.zero_wxyz is not None:
        offsets = offsets @ rotation.matrix_from_quaternion(own.zero_wxyz)
    return Joints(
        kinds=own.kinds,
        offsets=offsets,
        start_wxyz=own.turns_of(rotation.quaternion_from_matrix(pose.rotations[:count])),
        low=own.low,
        high=own.high,
        mobility=1.0 - own.stiffness,
        slide_low=slide_low,
        slide_high=slide_high,
        slide_axes=slide_axes,
    )


def _slid(frame: ChainFrame, pose: ChainPose, solution: Solution) -> Array | None:
    """Return the slides (k,) of a solution that has started from a pose."""
    if frame.slide is None or pose.slides is None or solution.slides is None:
        return None
    slides = pose.slides.copy()
    slides[: len(solution.slides)] += solution.slides
    return frame.slide.within(slides)


def _onward(goal: Goal, tip_turn: Array | None, start: ChainPose, pose: ChainPose) -> Goal:
    """Return a goal with its tip rotation told from another start pose."""
    if tip_turn is None or goal.tip_rotation_wxyz is None:
        return goal
    there = spaces.orientation(start.matrices[-1])
    here = spaces.orientation(pose.matrices[-1])
    turn = rotation.quaternion_from_matrix(tip_turn @ there @ here.T)
    return replace(goal, tip_rotation_wxyz=turn)


def _with_tip(
    frame: ChainFrame, pose: ChainPose, matrix: Array, options: SolveOptions, joints: BoneJoints
) -> tuple[ChainPose, float]:
    """Return a pose whose tip, beyond the effector, turns to a pose matrix as far as it may."""
    parent, scale, slides = pose.matrices[-2], pose.scale, pose.slides
    wanted = spaces.local_from_pose(
        spaces.parent_frames(parent, frame.frames[-1]), matrix, frame.scale[-1]
    )
    wanted = part_way(pose.rotations[-1], wanted, options.orient_weight)
    rotations = pose.rotations.copy()
    rotations[-1] = wanted
    rotations = np.concatenate((rotations[:-1], in_ranges(rotations, joints)[-1:]))
    left = rotation.quaternion_from_matrix(rotations[-1].T @ wanted)
    gap = 2.0 * float(np.arctan2(np.linalg.norm(left[1:]), left[0]))
    return frame.posed(rotations, scale, slides), gap
