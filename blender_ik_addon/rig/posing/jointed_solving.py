"""Solver of chains whose joints are limited: their frames to the core, local rotations back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core import Chains, Forces, Goals, JointKind, Joints, Solutions, Solver
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import ChainPoses, angles_between, interpolate_rotations
from ..frames.tip_goals import add_tip_turns, turn_to
from ..reading import spaces
from ..reading.bone_joints import NOT_TURNED, BoneJoints
from ..reading.refusals import bone_scaled_flat
from .free_solving import Posing, SolvedPoses, solve_as

# Most passes. Bones that do not take the whole matrix of their parent change their frames as it
# turns. These are then measured again on the solved pose, and the solve continues from there, as
# long as pose and solution approach each other: strongly sheared parents need a few for one digit.
FRAME_PASSES = 24
# Over this number of passes the gap must shrink below this share, or the solve stops.
COMPARED_PASSES, MAX_GAP_RATIO = 2, 0.5
# Bones that grow change the frames of those below as well. After this number of passes they keep
# their lengths, which are right but for the last turns, and the joints alone reach for the target.
LENGTH_PASSES = 6
# Gap between pose and solution that counts as none, as a share of the chain's length.
AGREES = 1e-6
# Least volume of a bone's axes, as a share of a cube's; below it the bone is scaled flat.
MIN_VOLUME_SHARE = 1e-9


def solve_with_joints(posing: Posing) -> SolvedPoses:
    """Solve chains or trees inside the ranges of their joints."""
    best: SolvedPoses | None = None
    rows, inputs, pose = np.arange(len(posing.start.joints)), posing, posing.start
    least_gaps, former_gaps = np.full((2, len(rows)), np.inf)
    for number in range(FRAME_PASSES):
        result = _pass(inputs, pose, number)
        gaps = np.abs(result.poses.joints - result.solutions.joint_positions).max(axis=(1, 2))
        better = np.flatnonzero((gaps < least_gaps[rows]) | (posing.lengths is not None))
        best = result if best is None else best.put(rows[better], result.take(better))
        least_gaps[rows] = np.minimum(least_gaps[rows], gaps)
        is_open = gaps > AGREES * inputs.frames.lengths(inputs.start).max(axis=1)
        if posing.lengths is None and number % COMPARED_PASSES == COMPARED_PASSES - 1:
            is_open &= least_gaps[rows] < MAX_GAP_RATIO * former_gaps[rows]
            former_gaps = least_gaps.copy()
        rest = np.flatnonzero(is_open)
        if not rest.size:
            break
        rows, pose, inputs = rows[rest], result.poses.take(rest), inputs.take(rest)
        if number == 0:
            inputs = replace(inputs, options=replace(inputs.options, solver=Solver.NEWTON))
    assert best is not None
    return best


def _pass(posing: Posing, pose: ChainPoses, number: int) -> SolvedPoses:
    """Solve with the frames that bones have in poses, and pose the bones."""
    frames, joints, chains = posing.frames, posing.frames.joints, posing.chains
    count = frames.hanging.count
    assert joints is not None
    if number > 0 or chains is None:
        chains = chains_for_core(frames, pose, posing.forces)
    goals = add_tip_turns(posing.goals, frames, pose, posing.tips)
    if posing.floor is not None:
        goals = replace(goals, floor=posing.floor.on(pose.matrices, pose.joints))
    if number == 0 and posing.near is not None:
        pose = posing.near
        goals = _stay_near(goals, joints, pose, count)
    solutions = solve_as(chains, frames.compiled, goals, posing.options)
    if frames.floating is not None:
        solutions = _remove_floating_root(solutions)
    assert solutions.local_rotations_wxyz is not None
    rotations = pose.rotations.copy()
    local = joints.local_of(solutions.local_rotations_wxyz)
    rotations[:, :count] = rotation.matrix_from_quaternion(local)
    slides = _slide(frames, pose, solutions)
    frames = frames.rooted(solutions.joint_positions[:, 0])
    if posing.lengths is None or number >= LENGTH_PASSES:
        posed = frames.posed(rotations, pose.scale, slides)
    else:
        posed = frames.stretched(rotations, posing.lengths)
    gaps = np.asarray(solutions.tip_gap)
    return SolvedPoses(solutions, posed, gaps if gaps.ndim else np.zeros(len(rotations)))


def chains_for_core(frames: ChainFrames, pose: ChainPoses, forces: Forces | None = None) -> Chains:
    """Return chains or trees with the frames of their bones in poses.

    Raises:
        RigError: If a bone is scaled flat.
    """
    hang, sides, points = frames.hanging, frames.natural_sides(pose), pose.joints
    core_joints = frames_for_core(frames, pose, hang.unturned)
    if frames.floating is not None:
        # For the core the floating root is one more bone, whose head is the head of the root.
        points = np.concatenate((points[:, :1], points), axis=1)
        sides = np.concatenate((sides[:, :1], sides), axis=1)
        core_joints = _add_floating_root(core_joints)
    return Chains(
        points,
        sides[:, 0] if hang.topology is None else sides,
        core_joints,
        forces,
        topology=hang.topology,
    )


def _stay_near(goals: Goals, joints: BoneJoints, pose: ChainPoses, count: int) -> Goals:
    """Return goals of bodies of ``count`` bones that start from poses and stay near to them."""
    local = joints.turns_of(rotation.quaternion_from_matrix(pose.rotations[:, :count]))
    root_turns = np.broadcast_to(NOT_TURNED, (len(local), 1, 4))
    turns = np.concatenate((root_turns, local), axis=1)
    return replace(goals, near_wxyz=turns, near_root=pose.joints[:, 0])


def _add_floating_root(joints: Joints) -> Joints:
    """Return joints with one more that floats, before the others."""
    shape, unlimited = joints.shape[:-1], np.full(3, np.inf)
    root_values = {
        "offsets": np.eye(3),
        "start_wxyz": NOT_TURNED,
        "low": -unlimited,
        "high": unlimited,
        "mobility": np.ones(3),
        "slide_low": 0.0,
        "slide_high": 0.0,
        "slide_axes": np.zeros(3),
    }
    values_of: dict[str, Array] = {}
    for name, value in root_values.items():
        values = np.asarray(getattr(joints, name))
        root = np.broadcast_to(value, (*shape, 1, *np.shape(value)))
        values_of[name] = np.concatenate((root, values), axis=len(shape))
    kinds, unturned = (JointKind.FLOATING, *joints.kinds), (1 + bone for bone in joints.unturned)
    return Joints(kinds=kinds, unturned=tuple(unturned), **values_of)


def _remove_floating_root(solutions: Solutions) -> Solutions:
    """Return solutions without the floating bone."""
    names = ("joint_positions", "local_rotations_wxyz", "holds", "slides", "slide_holds")
    values_of = {name: getattr(solutions, name) for name in names}
    replaced = {name: values[:, 1:] for name, values in values_of.items() if values is not None}
    return replace(solutions, **replaced)


def frames_for_core(
    frames: ChainFrames, pose: ChainPoses, unturned: tuple[int, ...] = ()
) -> Joints:
    """Return the joints of bones with the frames that these have in poses.

    Raises:
        RigError: If a bone is scaled flat.
    """
    hang, joints = frames.hanging, frames.joints
    assert joints is not None
    local = rotation.quaternion_from_matrix(pose.rotations)
    rows, above = slice(hang.count), list(hang.parents[: hang.count])
    posed = pose.frames[:, rows]
    sizes = np.linalg.norm(posed, axis=(2, 3))
    if (np.abs(np.linalg.det(posed)) <= MIN_VOLUME_SHARE * sizes**3).any():
        raise bone_scaled_flat("chain" if hang.topology is None else "tree")
    # The root's parent represents everything above: nothing turns it.
    identity = np.broadcast_to(np.eye(3), (len(posed), 1, 3, 3))
    carried = np.concatenate((posed @ pose.rotations[:, rows], identity), axis=1)[:, above]
    offsets = np.linalg.solve(carried, posed)
    offsets[:, list(unturned)] = posed[:, list(unturned)]
    if frames.slide is None or pose.slides is None or hang.topology is not None:
        # Bones of limbs keep their slides while the body moves.
        return joints.for_core(offsets, local, unturned=unturned)
    # Location takes the parent's whole matrix, whatever the bone's rotation inherits.
    parents = np.concatenate((pose.matrices, frames.parent[:, None]), axis=1)[:, above]
    directions = spaces.transform_direction(parents, frames.slide.heads[:, rows])
    axes = np.linalg.solve(carried, directions[..., None])[..., 0]
    # The core counts slides from the pose.
    low, high = frames.slide.low - pose.slides, frames.slide.high - pose.slides
    return joints.for_core(offsets, local, (low[:, rows], high[:, rows], axes), unturned)


def _slide(frames: ChainFrames, pose: ChainPoses, solutions: Solutions) -> Array | None:
    """Return the slides (b, k) after solutions that start from poses."""
    if frames.slide is None or pose.slides is None or solutions.slides is None:
        return None
    slides = pose.slides.copy()
    slides[:, : solutions.slides.shape[1]] += solutions.slides
    return frames.slide.within(slides)


def turn_tips(posing: Posing, solved: SolvedPoses, *, is_limited: bool) -> SolvedPoses:
    """Turn tips beyond the effectors to their requested orientations.

    ``is_limited``: their joints limit the turns.
    """
    tips, frames, pose = posing.tips, posing.frames, solved.poses
    if tips is None:
        return solved
    hang = frames.hanging
    indices = [i for i, chain in enumerate(tips.chains) if hang.turns_afterwards(chain)]
    if not indices:
        return solved
    rows = [hang.tips[tips.chains[i]] for i in indices]
    frame = spaces.ParentFrames(pose.frames[:, rows], np.ones(3))
    matrix = turn_to(posing.start.matrices[:, rows], tips.orientations[:, indices])
    goals = spaces.local_from_pose(frame, matrix, frames.scale[:, rows])
    shares = [tips.shares[i] for i in indices]
    if min(shares) < 1.0:
        share = np.broadcast_to(shares, goals.shape[:2])
        goals = interpolate_rotations(pose.rotations[:, rows], goals, share)
    rotations, gaps = pose.rotations.copy(), solved.tip_gaps.copy()
    rotations[:, rows] = goals
    if is_limited and frames.joints is not None:
        clamped = frames.joints.clamped(rotation.quaternion_from_matrix(rotations))[:, rows]
        rotations[:, rows] = rotation.matrix_from_quaternion(clamped)
        angles = angles_between(clamped, rotation.quaternion_from_matrix(goals))
        gaps.reshape(len(gaps), -1)[:, [tips.chains[i] for i in indices]] = angles
    posed = frames.rooted(pose.joints[:, 0]).posed(rotations, pose.scale, pose.slides)
    return SolvedPoses(solved.solutions, posed, gaps)
