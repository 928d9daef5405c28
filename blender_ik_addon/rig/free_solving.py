"""Solve one chain whose joints turn freely, and lay its bones along the solution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..core import Chain, Goal, Solution, SolveOptions, Status, solve
from ..core.algebra import rotation
from .chain_pose import ChainFrame, ChainPose
from .settling import settled

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
SHORT_OF_TARGETS = (Status.SOFTENED, Status.EXTENDED)


def solved_freely(
    frame: ChainFrame,
    start: ChainPose,
    goal: Goal,
    options: SolveOptions,
    tip_turn: Array | None,
    *,
    is_stretched: bool,
) -> tuple[Solution, ChainPose]:
    """Solve and lay the bones along the solution; settle what uneven scales leave open.

    Args:
        frame: What of the chain stays while its bones rotate.
        start: The start pose.
        goal: In armature space.
        options: In armature space.
        tip_turn: Turn of the tip bone to the target's orientation, shape (3, 3), or None.
        is_stretched: The start pose has grown; bones then keep the lengths that it has.
    """
    solution, laid, tip_matrix = _laid(
        frame, start, goal, options, tip_turn, passes=1, is_stretched=is_stretched
    )
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
        again, laid, _ = _laid(
            frame,
            start,
            nearer,
            options,
            tip_turn,
            passes=LENGTH_PASSES,
            is_stretched=is_stretched,
        )
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
    *,
    passes: int,
    is_stretched: bool,
) -> tuple[Solution, ChainPose, Array | None]:
    """Solve with the lengths that the bones have, as often as asked, and lay the bones along."""
    bend = frame.natural_side(start)
    joints = start.joints
    for _ in range(passes):
        solution = solve(Chain(joints, bend), goal, options)
        tip_matrix, tip_share = _tip_matrix(start, solution, options, tip_turn)
        laid = frame.laid_along(start, solution, tip_matrix, tip_share, is_stretched=is_stretched)
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
