"""Solve chains whose joints turn freely, and lay their bones along the solutions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core import Chains, Goals, InvalidChainError, Solutions, SolveOptions, Status, solve_batch
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.model.status import STATUSES
from ...core.solving.compiled_chains import compile_chains
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import LENGTHS_AGREE, ChainPoses
from ..frames.tips import Tips, turned_goals, turned_to
from ..reading.refusals import bone_scaled_flat
from ..reading.rows import Alike
from ..trees.body_floor import BodyFloor
from .length_settling import settled

# Under parents that scale unevenly a segment's length depends on its direction. Lengths are then
# measured again on the laid bones and the solve repeated, a few times: that finds the pose, though
# not always to the last digit. Without such parents the first pass agrees to what the float32
# matrix of the parent leaves.
SETTLED = 1e-9
LENGTH_PASSES = 4
# A straight chain may be shorter than a bent one then, and stuck there. Settling starts from the
# poses for these shares of the way to the target until one arrives.
SETTLING_STARTS = (1.0, 0.7, 0.4)
SHORT_OF_TARGETS = [STATUSES.index(each) for each in (Status.SOFTENED, Status.EXTENDED)]
USED_UP = STATUSES.index(Status.ITERATIONS_USED_UP)


@dataclass(frozen=True)
class Posing(Alike):
    """What is asked of b chains or trees in armature space, and where they start.

    Attributes:
        frames: What of them stays while their bones rotate.
        start: Their start poses; grown where they stretch.
        goals: Of their effectors.
        options: With distances in armature space.
        tips: Orientations that tips shall take; None for none.
        lengths: That segments have grown to in the start pose, shape (b, m); NaN, or None for all,
            where they have not.
        floor: What bodies do not pass; None for nothing.
        chains: The start poses as the core takes them, kept from solve to solve; None where they
            are made anew.
        near: The poses that bodies look from and stay near to; None for their start poses.
    """

    frames: ChainFrames
    start: ChainPoses
    goals: Goals
    options: SolveOptions
    tips: Tips | None = None
    lengths: Array | None = None
    floor: BodyFloor | None = None
    chains: Chains | None = None
    near: ChainPoses | None = None

    @property
    def is_stretched(self) -> Flags | None:
        """Which chains have grown, shape (b,); None where none has."""
        if self.lengths is None:
            return None
        return ~np.isnan(self.lengths[:, 0])


@dataclass(frozen=True)
class SolvedPoses(Alike):
    """Solved chains.

    Attributes:
        solutions: Of the segments, from the last pass.
        poses: Of all written bones.
        tip_gaps: Radians that limits leave to the wanted orientations of tips, shape (b,); of trees
            (b, E).
    """

    solutions: Solutions
    poses: ChainPoses
    tip_gaps: Array


def solve_as(chains: Chains, compiled: int, goals: Goals, options: SolveOptions) -> Solutions:
    """Solve chains as some of so many: how many of them move decides nothing."""
    compile_chains(chains).count = compiled
    return solve_batch(chains, goals, options)


def solve_freely(asked: Posing) -> SolvedPoses:
    """Solve and lay the bones along the solutions; settle what uneven scales leave open."""
    asked = replace(asked, goals=turned_goals(asked.goals, asked.frames, asked.start, asked.tips))
    solutions, laid = _lay(asked, asked.goals, passes=1)
    reach = asked.frames.lengths(asked.start)[:, 0]
    gaps = np.abs(laid.joints - solutions.joint_positions).max(axis=(1, 2))
    is_off = (gaps > LENGTHS_AGREE * reach) & (solutions.status_code != USED_UP)
    rows = np.flatnonzero(is_off)
    if rows.size:
        laid = laid.put(rows, _settle(asked.take(rows), laid.take(rows)))
    return SolvedPoses(solutions, laid, np.zeros(len(reach)))


def _settle(asked: Posing, best: ChainPoses) -> ChainPoses:
    """Return the poses of chains of which the lengths of bones change as they turn."""
    options = asked.options
    reach = asked.frames.lengths(asked.start)[:, 0]
    tolerance = np.maximum(0.1 * np.asarray(options.tolerance), SETTLED * reach)
    target, root = np.array(asked.goals.target_position), asked.start.joints[:, 0]
    best_gap, rows = np.full(len(root), np.inf), np.arange(len(root))
    for share in SETTLING_STARTS:
        some = asked.take(rows)
        nearer = root[rows] + share * (target[rows] - root[rows])
        goals = replace(some.goals, target_position=nearer)
        again, laid = _lay(some, goals, passes=LENGTH_PASSES)
        if share == 1.0:
            is_short = np.isin(again.status_code, SHORT_OF_TARGETS)
            is_short &= np.asarray(some.options.soft_distance) > 0.0
            # There the chain shall end, told by the lengths that its bones have there.
            target = np.where(is_short[:, None], again.joint_positions[:, -1], target)
        tip = None
        if again.tip_rotation_wxyz is not None:
            tip = _find_tips(some, again)[0]
        laid = settled(some.frames, laid, target[rows], tip, tolerance[rows])
        gap = np.linalg.norm(laid.joints[:, -1] - target[rows], axis=1)
        nearest = np.flatnonzero(gap < best_gap[rows])
        best = best.put(rows[nearest], laid.take(nearest))
        best_gap[rows[nearest]] = gap[nearest]
        rows = rows[gap > tolerance[rows]]
        if not rows.size:
            break
    return best


def _lay(asked: Posing, goals: Goals, *, passes: int) -> tuple[Solutions, ChainPoses]:
    """Solve with the lengths that the bones have, as often as asked, and lay the bones along.

    Raises:
        RigError: If a bone is scaled flat.
    """
    frames, start = asked.frames, asked.start
    chains = asked.chains or free_chains_for_core(frames, start, start.joints)
    for _ in range(passes):
        solutions = solve_as(chains, frames.compiled, goals, asked.options)
        tip, share = _find_tips(asked, solutions)
        laid = frames.laid_along(start, solutions, tip, share, asked.is_stretched)
        if passes > 1:
            joints = _with_lengths_of(laid, start, solutions)
            try:
                chains = free_chains_for_core(frames, start, joints)
            except InvalidChainError:
                # Below a bone that is scaled flat, a bone has no length in some directions.
                raise bone_scaled_flat("chain") from None
    return solutions, laid


def free_chains_for_core(frames: ChainFrames, start: ChainPoses, joints: Array) -> Chains:
    """Return chains without joints that start with theirs there, (b, n + 1, 3)."""
    return Chains(joints, frames.natural_sides(start)[:, 0])


def _with_lengths_of(laid: ChainPoses, start: ChainPoses, solutions: Solutions) -> Array:
    """Return the start poses with the segment lengths that the laid bones have."""
    segments, present = np.diff(start.joints, axis=1), np.diff(laid.joints, axis=1)
    sizes = np.linalg.norm(present, axis=2) / np.linalg.norm(segments, axis=2)
    segments = segments * sizes[..., None]
    if solutions.tip_rotation_wxyz is not None:
        back = rotation.conjugate(solutions.tip_rotation_wxyz)
        segments[:, -1] = rotation.rotate(back, present[:, -1])
    points = start.joints[:, :1] + np.cumsum(segments, axis=1)
    return np.concatenate((start.joints[:, :1], points), axis=1)


def _find_tips(asked: Posing, solutions: Solutions) -> tuple[Array | None, float]:
    """Return the pose matrices that tip bones take, (b, 3, 3), and the share of their way there.

    A tip whose tail is the effector is part of the solution, which weighs it already.
    """
    whole = asked.start.matrices[:, -1]
    if solutions.tip_rotation_wxyz is not None:
        return rotation.matrix_from_quaternion(solutions.tip_rotation_wxyz) @ whole, 1.0
    if asked.tips is None:
        return None, 0.0
    return turned_to(whole, asked.tips.wanted[:, 0]), asked.tips.shares[0]
