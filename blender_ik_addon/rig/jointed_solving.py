"""Solve chains whose joints are limited: their frames to the core, local rotations back."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import Chains, Forces, Goals, Joints, Solutions, Solver
from ..core.algebra import rotation
from . import spaces
from .chain_frames import ChainFrames, ChainPoses, part_way
from .chain_joints import ChainJoints
from .errors import RigError
from .free_solving import Posing, put_solutions, solve_as

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

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


class JointedPoses(NamedTuple):
    """Solved chains.

    Attributes:
        solutions: Of the segments, from the last pass.
        poses: Of all written bones.
        tip_gaps: Radians that limits leave to the wanted orientations of tips, shape (b,).
    """

    solutions: Solutions
    poses: ChainPoses
    tip_gaps: Array

    def take(self, rows: Indices) -> JointedPoses:
        """Return some of the chains."""
        return JointedPoses(self.solutions.take(rows), self.poses.take(rows), self.tip_gaps[rows])

    def put(self, rows: Indices, part: JointedPoses) -> JointedPoses:
        """Return these with others in some rows."""
        gaps = self.tip_gaps.copy()
        gaps[rows] = part.tip_gaps
        solutions = put_solutions(self.solutions, rows, part.solutions)
        return JointedPoses(solutions, self.poses.put(rows, part.poses), gaps)


def solve_with_joints(asked: Posing, joints: ChainJoints, forces: Forces | None) -> JointedPoses:
    """Solve inside the ranges of the joints.

    Args:
        asked: The chains.
        joints: Of their written bones.
        forces: On their segments; None for none.
    """
    found: JointedPoses | None = None
    rows, some, pose = np.arange(len(asked.start.joints)), asked, asked.start
    own_joints, own_forces = joints, forces
    for number in range(FRAME_PASSES):
        part, reach = _pass(some, pose, own_joints, own_forces, number), some.start.reach
        gaps = np.abs(part.poses.joints - part.solutions.joint_positions).max(axis=(1, 2))
        found = part if found is None else found.put(rows, part)
        left = np.flatnonzero(gaps > AGREES * reach)
        if not left.size:
            break
        rows, pose, some = rows[left], part.poses.take(left), some.take(left)
        own_joints = own_joints.take(left)
        own_forces = None if own_forces is None else own_forces.take(left)
        if number == 0:
            some = replace(some, options=replace(some.options, solver=Solver.NEWTON))
    assert found is not None
    is_tip_beyond = len(asked.frames.rest) > asked.frames.segments.shape[1]
    return _with_tips(asked, found, joints) if is_tip_beyond else found


def _pass(
    asked: Posing, pose: ChainPoses, joints: ChainJoints, forces: Forces | None, number: int
) -> JointedPoses:
    """Solve with the frames that bones have in poses, and pose the bones."""
    frames, start = asked.frames, asked.start
    count = frames.segments.shape[1]
    goals = asked.goals if number == 0 else _go_on(asked, pose)
    own = frames_for_core(frames, pose, joints)
    chains = Chains(pose.joints, frames.natural_side(start), own, forces)
    solutions = solve_as(chains, frames.compiled, goals, asked.options)
    assert solutions.local_rotations_wxyz is not None
    rotations = pose.rotations.copy()
    local = joints.local_of(solutions.local_rotations_wxyz)
    rotations[:, :count] = rotation.matrix_from_quaternion(local)
    slides = _slide(frames, pose, solutions)
    if asked.lengths is None or number >= LENGTH_PASSES:
        posed = frames.posed(rotations, pose.scale, slides)
    else:
        posed = frames.stretched(rotations, asked.lengths)
    gaps = np.zeros(len(rotations)) + solutions.tip_gap
    return JointedPoses(solutions, posed, gaps)


def frames_for_core(frames: ChainFrames, pose: ChainPoses, joints: ChainJoints) -> Joints:
    """Return the joints of chains with their frames as they stand in poses.

    Raises:
        RigError: If a bone is scaled flat.
    """
    count = frames.segments.shape[1]
    local = rotation.quaternion_from_matrix(pose.rotations)
    offsets, axes = np.empty((len(local), count, 3, 3)), np.zeros((len(local), count, 3))
    above, parent = np.broadcast_to(np.eye(3), frames.parent.shape), frames.parent
    for i in range(count):
        posed = spaces.parent_frames(parent, frames.rest[i]).rs
        sizes = np.linalg.norm(posed, axis=(1, 2))
        if (np.abs(np.linalg.det(posed)) <= FLAT * sizes**3).any():
            raise RigError("A bone of the chain is scaled flat: give it a scale above zero.")
        offsets[:, i] = np.linalg.solve(above, posed)
        if frames.slide is not None:
            # Location takes the parent's whole matrix, whatever the bone's rotation inherits.
            way = spaces.transform_direction(parent, frames.slide.heads[:, i])
            axes[:, i] = np.linalg.solve(above, way[..., None])[..., 0]
        above, parent = posed @ pose.rotations[:, i], pose.matrices[:, i]
    if frames.slide is None or pose.slides is None:
        return joints.for_core(offsets, local)
    # The core counts from where the pose stands.
    low, high = frames.slide.low - pose.slides, frames.slide.high - pose.slides
    return joints.for_core(offsets, local, (low[:, :count], high[:, :count], axes))


def _slide(frames: ChainFrames, pose: ChainPoses, solutions: Solutions) -> Array | None:
    """Return the slides (b, k) of solutions that have started from poses."""
    if frames.slide is None or pose.slides is None or solutions.slides is None:
        return None
    slides = pose.slides.copy()
    slides[:, : solutions.slides.shape[1]] += solutions.slides
    return frames.slide.within(slides)


def _go_on(asked: Posing, pose: ChainPoses) -> Goals:
    """Return goals with their tip rotations told from other poses than the start."""
    if asked.tip_turn is None or asked.goals.tip_rotation_wxyz is None:
        return asked.goals
    there = spaces.orientation(asked.start.matrices[:, -1])
    here = spaces.orientation(pose.matrices[:, -1])
    turn = asked.tip_turn @ there @ here.transpose(0, 2, 1)
    return replace(asked.goals, tip_rotation_wxyz=rotation.quaternion_from_matrix(turn))


def _with_tips(asked: Posing, found: JointedPoses, joints: ChainJoints) -> JointedPoses:
    """Turn tips beyond the effectors to pose matrices, as far as they may."""
    if asked.tip_turn is None:
        return found
    frames, pose = asked.frames, found.poses
    frame = spaces.parent_frames(pose.matrices[:, -2], frames.rest[-1])
    matrix = asked.tip_turn @ asked.start.matrices[:, -1]
    wanted = spaces.local_from_pose(frame, matrix, frames.scale[:, -1])
    wanted = part_way(pose.rotations[:, -1], wanted, asked.options.orient_weight)
    rotations = pose.rotations.copy()
    rotations[:, -1] = wanted
    held = joints.clamped(rotation.quaternion_from_matrix(rotations))[:, -1]
    rotations[:, -1] = rotation.matrix_from_quaternion(held)
    left = rotation.quaternion_from_matrix(rotations[:, -1].transpose(0, 2, 1) @ wanted)
    gaps = 2.0 * np.arctan2(np.linalg.norm(left[:, 1:], axis=1), left[:, 0])
    return JointedPoses(found.solutions, frames.posed(rotations, pose.scale, pose.slides), gaps)
