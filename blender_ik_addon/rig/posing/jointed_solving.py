"""Solve chains whose joints are limited: their frames to the core, local rotations back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core import Chains, Forces, Goals, JointKind, Joints, Solutions, Solver
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..frames.chain_frames import ChainFrames
from ..frames.chain_joints import ChainJoints
from ..frames.chain_poses import ChainPoses, angles_between, turned_part_way
from ..frames.tips import turned_goals, turned_to
from ..reading import spaces
from ..reading.bone_joints import NOT_TURNED
from ..reading.refusals import bone_scaled_flat
from .free_solving import Posing, SolvedPoses, solve_as

# Bones that do not take the whole matrix of their parent change their frames as it turns. These are
# measured again on the solved pose then, and the solve goes on from there, as long as the pose and
# the solve come nearer to each other: under strongly sheared parents that gains a digit in a few.
FRAME_PASSES = 24
COMPARED_PASSES, SHRINKS = 2, 0.5
# Bones that grow change the frames of those below as well. After so many passes they keep what they
# have grown to, which is as long as they shall be but for the last turns, and the joints alone
# bring the effector to the target.
LENGTH_PASSES = 6
AGREES = 1e-6
# Axes whose volume is less than this share of a cube's are scaled flat.
FLAT = 1e-9


def solve_with_joints(asked: Posing, joints: ChainJoints, forces: Forces | None) -> SolvedPoses:
    """Solve inside the ranges of the joints.

    Args:
        asked: The chains, or trees.
        joints: Of their written bones.
        forces: On their segments; None for none.
    """
    found: SolvedPoses | None = None
    rows, some, pose = np.arange(len(asked.start.joints)), asked, asked.start
    own_joints, own_forces = joints, forces
    least, before = np.full((2, len(rows)), np.inf)
    for number in range(FRAME_PASSES):
        part = _pass(some, pose, own_joints, own_forces, number)
        gaps = np.abs(part.poses.joints - part.solutions.joint_positions).max(axis=(1, 2))
        nearer = np.flatnonzero((gaps < least[rows]) | (asked.lengths is not None))
        found = part if found is None else found.put(rows[nearer], part.take(nearer))
        least[rows] = np.minimum(least[rows], gaps)
        goes_on = gaps > AGREES * some.frames.lengths(some.start).max(axis=1)
        if asked.lengths is None and number % COMPARED_PASSES == COMPARED_PASSES - 1:
            goes_on &= least[rows] < SHRINKS * before[rows]
            before = least.copy()
        left = np.flatnonzero(goes_on)
        if not left.size:
            break
        rows, pose, some = rows[left], part.poses.take(left), some.take(left)
        own_joints = own_joints.take(left)
        own_forces = None if own_forces is None else own_forces.take(left)
        if number == 0:
            some = replace(some, options=replace(some.options, solver=Solver.NEWTON))
    assert found is not None
    return found


def _pass(
    asked: Posing, pose: ChainPoses, joints: ChainJoints, forces: Forces | None, number: int
) -> SolvedPoses:
    """Solve with the frames that bones have in poses, and pose the bones."""
    frames, count = asked.frames, asked.frames.hanging.count
    chains = asked.chains
    if number > 0 or chains is None:
        chains = chains_for_core(frames, pose, joints, forces)
    goals = turned_goals(asked.goals, frames, pose, asked.tips)
    if asked.floor is not None:
        goals = replace(goals, floor=asked.floor.on(pose.matrices, pose.joints))
    if number == 0 and asked.near is not None:
        pose = asked.near
        goals = _near(goals, pose, joints, count)
    solutions = solve_as(chains, frames.compiled, goals, asked.options)
    if frames.floating is not None:
        solutions = _without_place(solutions)
    assert solutions.local_rotations_wxyz is not None
    rotations = pose.rotations.copy()
    local = joints.local_of(solutions.local_rotations_wxyz)
    rotations[:, :count] = rotation.matrix_from_quaternion(local)
    slides = _slide(frames, pose, solutions)
    frames = frames.rooted(solutions.joint_positions[:, 0])
    if asked.lengths is None or number >= LENGTH_PASSES:
        posed = frames.posed(rotations, pose.scale, slides)
    else:
        posed = frames.stretched(rotations, asked.lengths)
    gaps = np.asarray(solutions.tip_gap)
    return SolvedPoses(solutions, posed, gaps if gaps.ndim else np.zeros(len(rotations)))


def chains_for_core(
    frames: ChainFrames, pose: ChainPoses, joints: ChainJoints, forces: Forces | None = None
) -> Chains:
    """Return chains or trees with their frames as they stand in poses.

    Raises:
        RigError: If a bone is scaled flat.
    """
    hang, sides, points = frames.hanging, frames.natural_sides(pose), pose.joints
    own = frames_for_core(frames, pose, joints, hang.unturned)
    if frames.floating is not None:
        # What floats is a bone of its own for the core, whose head is that of the root.
        points = np.concatenate((points[:, :1], points), axis=1)
        sides = np.concatenate((sides[:, :1], sides), axis=1)
        own = _with_place(own)
    return Chains(
        points,
        sides[:, 0] if hang.topology is None else sides,
        own,
        forces,
        topology=hang.topology,
    )


def _near(goals: Goals, pose: ChainPoses, joints: ChainJoints, count: int) -> Goals:
    """Return the goals of bodies of so many bones that look from poses, and stay near to them."""
    local = joints.turns_of(rotation.quaternion_from_matrix(pose.rotations[:, :count]))
    floating = np.broadcast_to(NOT_TURNED, (len(local), 1, 4))
    turns = np.concatenate((floating, local), axis=1)
    return replace(goals, near_wxyz=turns, near_root=pose.joints[:, 0])


def _with_place(joints: Joints) -> Joints:
    """Return the joints of bones below one that floats."""
    lead, free = joints.shape[:-1], np.full(3, np.inf)
    first = {
        "offsets": np.eye(3),
        "start_wxyz": NOT_TURNED,
        "low": -free,
        "high": free,
        "mobility": np.ones(3),
        "slide_low": 0.0,
        "slide_high": 0.0,
        "slide_axes": np.zeros(3),
    }
    own: dict[str, Array] = {}
    for name, value in first.items():
        values = np.asarray(getattr(joints, name))
        ahead = np.broadcast_to(value, (*lead, 1, *np.shape(value)))
        own[name] = np.concatenate((ahead, values), axis=len(lead))
    kinds, unturned = (JointKind.FLOATING, *joints.kinds), (1 + bone for bone in joints.unturned)
    return Joints(kinds=kinds, unturned=tuple(unturned), **own)


def _without_place(solutions: Solutions) -> Solutions:
    """Return solutions of the bones themselves, without what floats before them."""
    names = ("joint_positions", "local_rotations_wxyz", "holds", "slides", "slide_holds")
    found = {name: getattr(solutions, name) for name in names}
    own = {name: values[:, 1:] for name, values in found.items() if values is not None}
    return replace(solutions, **own)


def frames_for_core(
    frames: ChainFrames, pose: ChainPoses, joints: ChainJoints, unturned: tuple[int, ...] = ()
) -> Joints:
    """Return the joints of bones with their frames as they stand in poses.

    Raises:
        RigError: If a bone is scaled flat.
    """
    hang, local = frames.hanging, rotation.quaternion_from_matrix(pose.rotations)
    rows, above = slice(hang.count), list(hang.parents[: hang.count])
    posed = pose.frames[:, rows]
    sizes = np.linalg.norm(posed, axis=(2, 3))
    if (np.abs(np.linalg.det(posed)) <= FLAT * sizes**3).any():
        raise bone_scaled_flat("chain" if hang.topology is None else "tree")
    # The root's parent stands for all that is above: nothing turns it.
    nothing = np.broadcast_to(np.eye(3), (len(posed), 1, 3, 3))
    carried = np.concatenate((posed @ pose.rotations[:, rows], nothing), axis=1)[:, above]
    offsets = np.linalg.solve(carried, posed)
    offsets[:, list(unturned)] = posed[:, list(unturned)]
    if frames.slide is None or pose.slides is None or hang.topology is not None:
        # Bones of limbs that have slid stay there while the body gives way.
        return joints.for_core(offsets, local, unturned=unturned)
    # Location takes the parent's whole matrix, whatever the bone's rotation inherits.
    parents = np.concatenate((pose.matrices, frames.parent[:, None]), axis=1)[:, above]
    way = spaces.transform_direction(parents, frames.slide.heads[:, rows])
    axes = np.linalg.solve(carried, way[..., None])[..., 0]
    # The core counts from where the pose stands.
    low, high = frames.slide.low - pose.slides, frames.slide.high - pose.slides
    return joints.for_core(offsets, local, (low[:, rows], high[:, rows], axes), unturned)


def _slide(frames: ChainFrames, pose: ChainPoses, solutions: Solutions) -> Array | None:
    """Return the slides (b, k) of solutions that have started from poses."""
    if frames.slide is None or pose.slides is None or solutions.slides is None:
        return None
    slides = pose.slides.copy()
    slides[:, : solutions.slides.shape[1]] += solutions.slides
    return frames.slide.within(slides)


def turn_tips(asked: Posing, found: SolvedPoses, joints: ChainJoints | None) -> SolvedPoses:
    """Turn tips beyond the effectors as they shall be, as far as they may.

    Args:
        asked: The chains, or trees.
        found: As solved.
        joints: Of the written bones; None where all turn freely.
    """
    tips, frames, pose = asked.tips, asked.frames, found.poses
    if tips is None:
        return found
    hang = frames.hanging
    after = [i for i, chain in enumerate(tips.chains) if hang.turns_afterwards(chain)]
    if not after:
        return found
    rows = [hang.tips[tips.chains[i]] for i in after]
    frame = spaces.ParentFrames(pose.frames[:, rows], np.ones(3))
    matrix = turned_to(asked.start.matrices[:, rows], tips.wanted[:, after])
    wanted = spaces.local_from_pose(frame, matrix, frames.scale[:, rows])
    shares = [tips.shares[i] for i in after]
    if min(shares) < 1.0:
        share = np.broadcast_to(shares, wanted.shape[:2])
        wanted = turned_part_way(pose.rotations[:, rows], wanted, share)
    rotations, gaps = pose.rotations.copy(), found.tip_gaps.copy()
    rotations[:, rows] = wanted
    if joints is not None:
        held = joints.clamped(rotation.quaternion_from_matrix(rotations))[:, rows]
        rotations[:, rows] = rotation.matrix_from_quaternion(held)
        left = angles_between(held, rotation.quaternion_from_matrix(wanted))
        gaps.reshape(len(gaps), -1)[:, [tips.chains[i] for i in after]] = left
    posed = frames.rooted(pose.joints[:, 0]).posed(rotations, pose.scale, pose.slides)
    return SolvedPoses(found.solutions, posed, gaps)
