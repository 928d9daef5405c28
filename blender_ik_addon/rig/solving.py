"""Solve one chain on a pose: joints to the core, and back to rotation channels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..core import (
    Chain,
    Goal,
    InvalidChainError,
    Solution,
    SolveOptions,
    Status,
    rotation,
    solve,
)
from . import spaces
from .chain_pose import ChainFrame, ChainPose, framed, part_way
from .channels import Pose, channels_of, matrices_of, with_locks
from .errors import RigError
from .jointed_solving import in_ranges, solved_with_joints
from .joints import BoneJoints
from .outcome import Outcome
from .plan import ChainPlan
from .settling import settled
from .side import flips
from .skeleton import Skeleton
from .spec import ChainSpec, NegativeScale, StartFrom
from .targets import Target

Array = npt.NDArray[np.float64]

# Under parents that scale unevenly a segment's length depends on its direction. Lengths are then
# measured again on the laid bones and the solve repeated, a few times: that finds the pose, though
# not always to the last digit. Without such parents the first pass agrees to what the float32
# matrix of the parent leaves.
LENGTHS_AGREE = 1e-6
SETTLED = 1e-9
LENGTH_PASSES = 4
# A straight chain may be shorter than a bent one then, and stuck there. Settling starts from the
# poses for these shares of the way to the target until one arrives.
SETTLING_STARTS = (1.0, 0.7, 0.4)
SHORTEST_SEGMENT = 1e-9
SHORT_OF_TARGETS = (Status.SOFTENED, Status.EXTENDED)


def solve_chain(
    skeleton: Skeleton,
    pose: Pose,
    plan: ChainPlan,
    spec: ChainSpec,
    target: Target,
    start: Array,
    stored: Array,
    joints: BoneJoints | None,
) -> Outcome:
    """Return the rotation channels that bring a chain to its target.

    Args:
        skeleton: The armature's bones.
        pose: The present pose; the bones above the chain stand where they shall.
        plan: The chain's bones.
        spec: The chain's settings.
        target: What to follow.
        start: Rotation channels of the written bones to start from, shape (k, 4).
        stored: Their stored pose, shape (k, 4).
        joints: Of the written bones; None where all turn freely.

    Raises:
        IKError: If chain, goal or solver do not fit; the text says what to do next.
    """
    if np.linalg.matrix_rank(pose.world[:3, :3]) < 3:
        raise RigError("The armature object is scaled flat: give it a scale above zero.")
    modes = pose.modes[plan.written]
    frame = framed(skeleton, pose, plan)
    zero = matrices_of(stored, modes)
    start_pose = frame.posed(_start_rotations(matrices_of(start, modes), zero, spec))
    _check_segments(skeleton, pose, plan, start_pose)
    tip_turn = _tip_turn(pose, spec, target, start_pose)
    goal = _goal(pose, plan, spec, target, tip_turn)
    use_flip = flips(spec, target, frame, start_pose, frame.posed(zero))
    options = _options(spec, pose.world[:3, :3], use_flip=use_flip)
    held_by: tuple[str, ...] = ()
    tip_gap = 0.0
    if joints is None:
        solution, solved = _solved(frame, start_pose, goal, options, tip_turn)
    else:
        found = solved_with_joints(frame, start_pose, goal, options, tip_turn, joints)
        solution, solved, tip_gap = found.solution, found.pose, found.tip_gap
        held_by = holding(skeleton, plan, solution.holds)
    rotations = part_way(zero, solved.rotations, spec.options.influence)
    if joints is not None and spec.options.influence < 1.0:
        rotations = in_ranges(rotations, joints)
    # Channels stay near those that the chain starts from, or from its zero where that is the rest.
    near = start if spec.start_from is StartFrom.CURRENT else stored
    free = channels_of(rotations, modes, near)
    locks = pose.locks[plan.written]
    channels = with_locks(free, modes, near, locks, pose.uses_4d_locks[plan.written])
    has_locks = bool(locks.any()) and not np.allclose(channels, free, atol=1e-6)
    if has_locks or spec.options.influence < 1.0:
        solved = frame.posed(matrices_of(channels, modes))
    effector = spaces.transform_point(pose.world, solved.joints[-1])
    residual = float(np.linalg.norm(effector - target.matrix[:3, 3]))
    reach = np.linalg.norm(np.diff(solved.joints, axis=0) @ pose.world[:3, :3].T, axis=1).sum()
    status = _status(solution.status, residual - LENGTHS_AGREE * float(reach), spec.options)
    return Outcome(channels, status, residual, solution.iterations, has_locks, held_by, tip_gap)


def holding(
    skeleton: Skeleton, plan: ChainPlan, holds: npt.NDArray[np.bool_] | None
) -> tuple[str, ...]:
    """Return the bones and axes whose limits hold a chain back, in words, root first.

    Args:
        skeleton: The armature's bones.
        plan: The chain's bones.
        holds: Of the segments about X, Y and Z, shape (m, 3); None for none.
    """
    if holds is None:
        return ()
    return tuple(
        f"{skeleton.names[plan.segments[bone]]} {'XYZ'[axis]}"
        for bone, axis in np.argwhere(holds).tolist()
    )


def _start_rotations(start: Array, zero: Array, spec: ChainSpec) -> Array:
    """Return the local rotations to start from, shape (k, 3, 3).

    What stands there now is, of a chain with influence, a share of its last solution. The solve
    goes on from the whole of it; from the share it would creep at every update.
    """
    influence = spec.options.influence
    if spec.start_from is not StartFrom.CURRENT or influence == 1.0:
        return start
    return zero if influence == 0.0 else part_way(zero, start, 1.0 / influence)


def _status(of_core: Status, residual: float, options: SolveOptions) -> Status:
    """Return how the solve ended on the bones themselves.

    Args:
        of_core: How it ended on the joints.
        residual: Less what float32 parents make of a solve that has arrived.
        options: The tolerance in scene units, and the influence.
    """
    if residual <= options.tolerance:
        return Status.REACHED
    if options.influence < 1.0:
        return Status.BLENDED
    return Status.ITERATIONS_USED_UP if of_core is Status.REACHED else of_core


def _check_segments(skeleton: Skeleton, pose: Pose, plan: ChainPlan, start: ChainPose) -> None:
    if not np.isfinite(start.joints).all():
        channels = np.hstack((pose.location, pose.scale, pose.rotation))
        # From the top down: what is broken there breaks everything below it.
        downward = skeleton.ancestors(plan.tip)[::-1]
        broken = [bone for bone in downward if not np.isfinite(channels[bone]).all()]
        raise RigError(
            f"The transform of bone '{skeleton.names[(broken or downward)[0]]}' is not finite:"
            " check its location, rotation, scale and constraints."
        )
    lengths = np.linalg.norm(np.diff(start.joints, axis=0), axis=1)
    short = np.flatnonzero(lengths <= SHORTEST_SEGMENT * lengths.sum())
    if short.size:
        name = skeleton.names[plan.segments[short[0]]]
        raise InvalidChainError(
            f"Bone '{name}' has no length to turn:"
            " check its scale and location, or leave it out of the chain."
        )


def _tip_turn(pose: Pose, spec: ChainSpec, target: Target, start: ChainPose) -> Array | None:
    """Return the turn of the tip bone to the target's orientation, armature space, (3, 3)."""
    if not spec.use_rotation or spec.options.orient_weight == 0.0:
        return None
    wanted = spaces.orientation(np.linalg.solve(pose.world[:3, :3], target.matrix[:3, :3]))
    turn: Array = wanted @ spaces.orientation(start.matrices[-1]).T
    return turn


def _goal(
    pose: Pose,
    plan: ChainPlan,
    spec: ChainSpec,
    target: Target,
    tip_turn: Array | None,
) -> Goal:
    to_armature = np.linalg.inv(pose.world)
    angle = spec.pole_angle
    if spec.negative_scale is NegativeScale.KEEP and target.unmirrored is not None:
        angle = -angle
    pole = target.pole
    tip_rotation = None
    if tip_turn is not None and plan.ends_at_tail:
        tip_rotation = rotation.quaternion_from_matrix(tip_turn)
    return Goal(
        target_position=spaces.transform_point(to_armature, target.matrix[:3, 3]),
        pole_position=None if pole is None else spaces.transform_point(to_armature, pole),
        pole_angle=angle,
        tip_rotation_wxyz=tip_rotation,
    )


def _options(spec: ChainSpec, world: Array, *, use_flip: bool) -> SolveOptions:
    """Return the options in armature space; distances that hold in every direction.

    The chain's own zero is the stored pose, not the start: influence is applied afterwards.
    """
    largest = float(np.linalg.svd(world, compute_uv=False)[0])
    return replace(
        spec.options,
        tolerance=spec.options.tolerance / largest,
        soft_distance=spec.options.soft_distance / largest,
        use_flip_bend=use_flip,
        influence=1.0,
    )


def _solved(
    frame: ChainFrame,
    start: ChainPose,
    goal: Goal,
    options: SolveOptions,
    tip_turn: Array | None,
) -> tuple[Solution, ChainPose]:
    """Solve and lay the bones along the solution; settle what uneven scales leave open."""
    solution, laid, tip_matrix = _laid(frame, start, goal, options, tip_turn, passes=1)
    gaps = np.abs(laid.joints - solution.joint_positions).max()
    reach = float(np.linalg.norm(np.diff(start.joints, axis=0), axis=1).sum())
    if gaps <= LENGTHS_AGREE * reach or solution.status is Status.ITERATIONS_USED_UP:
        return solution, laid
    tip_keeps = tip_matrix if solution.tip_rotation_wxyz is not None else None
    tolerance = max(0.1 * float(options.tolerance), SETTLED * reach)
    target, root = goal.target_position, start.joints[0]
    best, best_gap = laid, np.inf
    for share in SETTLING_STARTS:
        nearer = replace(goal, target_position=root + share * (target - root))
        again, laid, _ = _laid(frame, start, nearer, options, tip_turn, passes=LENGTH_PASSES)
        if share == 1.0 and options.soft_distance and again.status in SHORT_OF_TARGETS:
            # There the chain shall end, told by the lengths that its bones have there.
            target = again.joint_positions[-1]
        laid = settled(frame, laid, target, tip_keeps, tolerance)
        gap = float(np.linalg.norm(laid.joints[-1] - target))
        if gap < best_gap:
            best, best_gap = laid, gap
        if gap <= tolerance:
            break
    return solution, best


def _laid(
    frame: ChainFrame,
    start: ChainPose,
    goal: Goal,
    options: SolveOptions,
    tip_turn: Array | None,
    passes: int,
) -> tuple[Solution, ChainPose, Array | None]:
    """Solve with the lengths that the bones have, as often as asked, and lay the bones along."""
    bend = frame.natural_side(start)
    joints = start.joints
    for _ in range(passes):
        solution = solve(Chain(joints, bend), goal, options)
        tip_matrix, tip_share = _tip_matrix(start, solution, options, tip_turn)
        laid = frame.laid_along(start, solution, tip_matrix, tip_share)
        joints = _with_lengths_of(laid, start, solution)
    return solution, laid, tip_matrix


def _with_lengths_of(laid: ChainPose, start: ChainPose, solution: Solution) -> Array:
    """Return the start pose with the segment lengths that the laid bones have."""
    segments = np.diff(start.joints, axis=0)
    present = np.diff(laid.joints, axis=0)
    sizes = np.linalg.norm(present, axis=1) / np.linalg.norm(segments, axis=1)
    segments = segments * sizes[:, None]
    if solution.tip_rotation_wxyz is not None:
        back = rotation.conjugate(solution.tip_rotation_wxyz)
        segments[-1] = rotation.rotate(back, present[-1])
    return np.vstack((start.joints[:1], start.joints[0] + np.cumsum(segments, axis=0)))


def _tip_matrix(
    start: ChainPose, solution: Solution, options: SolveOptions, tip_turn: Array | None
) -> tuple[Array | None, float]:
    """Return the pose matrix that the tip bone takes, and the share of its way there.

    A tip whose tail is the effector is part of the solution, which weighs it already.
    """
    if solution.tip_rotation_wxyz is not None:
        turn = rotation.matrix_from_quaternion(solution.tip_rotation_wxyz)
        return turn @ start.matrices[-1], 1.0
    if tip_turn is None:
        return None, 0.0
    return tip_turn @ start.matrices[-1], options.orient_weight
