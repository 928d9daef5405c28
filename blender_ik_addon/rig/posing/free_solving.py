"""Solver of chains whose joints turn freely; their bones are laid along the solutions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core import Chains, Forces, Goals, InvalidChainError, Solutions, SolveOptions, solve_batch
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.model.status import EXTENDED, ITERATIONS_USED_UP, SOFTENED
from ...core.solving.compiled_chains import compile_chains
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import LENGTH_ROUNDING, ChainPoses
from ..frames.tip_goals import TipGoals, add_tip_turns, turn_to
from ..reading.batch_record import BatchRecord
from ..reading.refusals import bone_scaled_flat
from ..trees.body_floor import BodyFloor
from .length_correction import close_gaps

# Under parents that scale unevenly a segment's length depends on its direction. Lengths are then
# measured again on the laid bones and the solve repeated this number of times: that finds the pose,
# though not always to the last digit. Without such parents the first pass agrees except for the
# rounding of the parent's float32 matrix. The tolerance is a share of the chain's length.
LENGTH_TOLERANCE = 1e-9
LENGTH_PASSES = 4
# A straight chain may be shorter than a bent one then, and stuck there. The iteration starts from
# the poses for these shares of the way to the target until one arrives.
SHARES_OF_WAY = (1.0, 0.7, 0.4)


@dataclass(frozen=True)
class Posing(BatchRecord):
    """Inputs of a solve of b chains or trees in armature space.

    Attributes:
        frames: Frames of the chains, which stay while their bones rotate.
        start: Start poses; of stretching chains with the grown lengths.
        goals: Goals of the effectors.
        options: Solve options, with distances in armature space.
        tips: Orientations that tips shall take; None for none.
        lengths: Grown lengths of segments, shape (b, m); NaN for chains without growth, or None.
        forces: Forces on the segments; None for none.
        floor: Floor that bodies do not pass; None for none.
        chains: The start poses as cached for the core; None to build them.
        near: Poses that bodies start from and stay near to; None for their start poses.
    """

    frames: ChainFrames
    start: ChainPoses
    goals: Goals
    options: SolveOptions
    tips: TipGoals | None = None
    lengths: Array | None = None
    forces: Forces | None = None
    floor: BodyFloor | None = None
    chains: Chains | None = None
    near: ChainPoses | None = None

    @property
    def is_stretched(self) -> Flags | None:
        """Whether each chain has grown, shape (b,); None if none has."""
        if self.lengths is None:
            return None
        return ~np.isnan(self.lengths[:, 0])


@dataclass(frozen=True)
class SolvedPoses(BatchRecord):
    """Solved chains.

    Attributes:
        solutions: Solutions of the segments, from the last pass.
        poses: Poses of all written bones.
        tip_gaps: Angles from tips to requested orientations, radians, (b,); of trees (b, E).
    """

    solutions: Solutions
    poses: ChainPoses
    tip_gaps: Array


def solve_as(chains: Chains, compiled: int, goals: Goals, options: SolveOptions) -> Solutions:
    """Solve chains of a batch of ``compiled`` chains: its size decides how they are solved."""
    compile_chains(chains).count = compiled
    return solve_batch(chains, goals, options)


def solve_freely(posing: Posing) -> SolvedPoses:
    """Solve, lay the bones along the solutions, and correct lengths under uneven scales."""
    posing = replace(
        posing, goals=add_tip_turns(posing.goals, posing.frames, posing.start, posing.tips)
    )
    solutions, laid = _lay(posing, posing.goals, passes=1)
    reach = posing.frames.lengths(posing.start)[:, 0]
    gaps = np.abs(laid.joints - solutions.joint_positions).max(axis=(1, 2))
    has_gap = (gaps > LENGTH_ROUNDING * reach) & (solutions.status_code != ITERATIONS_USED_UP)
    rows = np.flatnonzero(has_gap)
    if rows.size:
        laid = laid.put(rows, _correct_lengths(posing.take(rows), laid.take(rows)))
    return SolvedPoses(solutions, laid, np.zeros(len(reach)))


def _correct_lengths(posing: Posing, best: ChainPoses) -> ChainPoses:
    """Return the poses of chains whose bones change their lengths as they turn."""
    options = posing.options
    reach = posing.frames.lengths(posing.start)[:, 0]
    tolerance = np.maximum(0.1 * np.asarray(options.tolerance), LENGTH_TOLERANCE * reach)
    target, root = np.array(posing.goals.target_position), posing.start.joints[:, 0]
    best_gap, rows = np.full(len(root), np.inf), np.arange(len(root))
    for share in SHARES_OF_WAY:
        open_posing = posing.take(rows)
        positions = root[rows] + share * (target[rows] - root[rows])
        goals = replace(open_posing.goals, target_position=positions)
        solutions, laid = _lay(open_posing, goals, passes=LENGTH_PASSES)
        if share == 1.0:
            is_short = np.isin(solutions.status_code, (SOFTENED, EXTENDED))
            is_short &= np.asarray(open_posing.options.soft_distance) > 0.0
            # These chains shall end here, by the lengths that their bones have in this pose.
            target = np.where(is_short[:, None], solutions.joint_positions[:, -1], target)
        tip = None
        if solutions.tip_rotation_wxyz is not None:
            tip = _find_tips(open_posing, solutions)[0]
        laid = close_gaps(open_posing.frames, laid, target[rows], tip, tolerance[rows])
        gap = np.linalg.norm(laid.joints[:, -1] - target[rows], axis=1)
        nearest = np.flatnonzero(gap < best_gap[rows])
        best = best.put(rows[nearest], laid.take(nearest))
        best_gap[rows[nearest]] = gap[nearest]
        rows = rows[gap > tolerance[rows]]
        if not rows.size:
            break
    return best


def _lay(posing: Posing, goals: Goals, *, passes: int) -> tuple[Solutions, ChainPoses]:
    """Solve with the present lengths of the bones, ``passes`` times, and lay the bones along."""
    frames, start = posing.frames, posing.start
    chains = posing.chains or free_chains_for_core(frames, start, start.joints)
    for _ in range(passes):
        solutions = solve_as(chains, frames.compiled, goals, posing.options)
        tip, share = _find_tips(posing, solutions)
        laid = frames.aligned_with(start, solutions, tip, share, posing.is_stretched)
        if passes > 1:
            joints = _with_lengths_of(laid, start, solutions)
            try:
                chains = free_chains_for_core(frames, start, joints)
            except InvalidChainError:
                # Below a bone that is scaled flat, a bone has no length in some directions.
                raise bone_scaled_flat("chain") from None
    return solutions, laid


def free_chains_for_core(frames: ChainFrames, start: ChainPoses, joints: Array) -> Chains:
    """Return chains without joints, with their start joints at points (b, n + 1, 3)."""
    return Chains(joints, frames.natural_sides(start)[:, 0])


def _with_lengths_of(laid: ChainPoses, start: ChainPoses, solutions: Solutions) -> Array:
    """Return start joints with the segment lengths of the laid bones."""
    segments, present = np.diff(start.joints, axis=1), np.diff(laid.joints, axis=1)
    sizes = np.linalg.norm(present, axis=2) / np.linalg.norm(segments, axis=2)
    segments = segments * sizes[..., None]
    if solutions.tip_rotation_wxyz is not None:
        back = rotation.conjugate(solutions.tip_rotation_wxyz)
        segments[:, -1] = rotation.rotate(back, present[:, -1])
    points = start.joints[:, :1] + np.cumsum(segments, axis=1)
    return np.concatenate((start.joints[:, :1], points), axis=1)


def _find_tips(posing: Posing, solutions: Solutions) -> tuple[Array | None, float]:
    """Return the pose matrices that tip bones take, (b, 3, 3), and the share of their turn.

    A tip whose tail is the effector is part of the solution, which weighs the turn already.
    """
    start_matrices = posing.start.matrices[:, -1]
    if solutions.tip_rotation_wxyz is not None:
        return rotation.matrix_from_quaternion(solutions.tip_rotation_wxyz) @ start_matrices, 1.0
    if posing.tips is None:
        return None, 0.0
    return turn_to(start_matrices, posing.tips.orientations[:, 0]), posing.tips.shares[0]
