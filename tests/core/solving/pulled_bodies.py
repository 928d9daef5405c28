"""A person with pinned feet and one pulled part, and measures of the result."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from blender_ik_addon.core import Goal, Goals, SolveOptions, solve, solve_batch
from tests.core.bodies import FEET, Array, Person
from tests.core.limited_rigs import violation
from tests.helpers import angles_between, make_rng

NEAR = SolveOptions(tolerance=1e-6, stays_near=True)
UPRIGHT = np.tile((1.0, 0.0, 0.0, 0.0), (3, 1))
# Metres: a goal at most this far away is met.
MET = 1e-5
# Of paths: the number of steps, their length in metres, the greatest bend in radians a metre.
STEPS, STEP, BENT = 300, 1e-3, 6.0
# The greatest distance along the bones in metres: from the root to a hand.
REACH = 1.282237484161567


class PullResult(NamedTuple):
    """The result of a pull: residuals of the effectors (3,), other figures of the pose.

    These are the greatest turn of a foot, the violation of ranges, both in radians, and half the
    sum of squared turns, and of the root's move in lengths of the reach.
    """

    residual: Array
    foot_gap: float
    violation: float
    start_cost: float

    @property
    def is_met(self) -> bool:
        return bool(self.residual[2] < MET)


def random_offset(seed: int, least: float = 0.1, most: float = 0.9) -> Array:
    """Return an offset in a random direction, of a length between two bounds."""
    rng = make_rng(seed)
    direction = rng.normal(size=3)
    offset: Array = direction * rng.uniform(least, most) / np.linalg.norm(direction)
    return offset


def pull(person: Person, offset: npt.ArrayLike, priority: tuple[int, ...] = (0, 0, 2)) -> Goal:
    """Return goals that keep place and turn of the feet, and move a part by an offset."""
    target = person.ends.copy()
    target[2] += offset
    return Goal(target, tip_rotation_wxyz=UPRIGHT, priority=priority, has_tip_rotation=FEET)


def pull_at(person: Person, seed: int, options: SolveOptions = NEAR) -> PullResult:
    """Pull the part of a person by a random offset, and return the result."""
    goal = pull(person, random_offset(seed))
    solution = solve(person.chain, goal, options)
    local = solution.local_rotations_wxyz
    angles = angles_between(local, [1.0, 0.0, 0.0, 0.0])
    moved = np.linalg.norm(solution.joint_positions[0] - person.heads[0]) / REACH
    start_cost = float(0.5 * (angles**2).sum() + 0.5 * moved**2)
    gap = float(np.max(solution.tip_gap[:2]))
    return PullResult(solution.residual, gap, range_violation(person, local), start_cost)


def range_violation(person: Person, local: Array) -> float:
    """Return the radians by which the worst joint of a pose, wxyz (n, 4), is out of its range."""
    joints = person.chain.joints
    assert joints is not None
    # The root bone floats: it has no range.
    rows = [*zip(joints.kinds, local, joints.low, joints.high, strict=True)][1:]
    return max(violation(*row) for row in rows)


def smooth_path(person: Person, seed: int) -> Array:
    """Return targets of the part along a path of constant curvature, shape (steps + 1, 3)."""
    rng = make_rng(seed)
    first, around = rng.normal(size=(2, 3))
    first /= np.linalg.norm(first)
    around -= (around @ first) * first
    around /= np.linalg.norm(around)
    curvature = rng.uniform(-BENT, BENT)
    angles = curvature * STEP * (np.arange(STEPS) + 0.5)
    directions = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * around
    start = person.ends[2] + random_offset(seed + 100_000, 0.0, 0.6)
    path: Array = start + STEP * np.concatenate((np.zeros((1, 3)), np.cumsum(directions, axis=0)))
    return path


def find_speeds(person: Person, path: Array) -> Array:
    """Return the greatest move of a joint in each step, as a multiple of the target's."""
    target = np.tile(person.ends, (len(path), 1, 1))
    target[:, 2] = path
    goals = Goals(
        target,
        tip_rotation_wxyz=np.tile(UPRIGHT, (len(path), 1, 1)),
        priority=(0, 0, 2),
        has_tip_rotation=FEET,
    )
    batch = person.chain.as_batch().take(np.zeros(len(path), dtype=np.int64))
    moved = np.diff(solve_batch(batch, goals, NEAR).joint_positions, axis=0)
    speeds: Array = np.linalg.norm(moved, axis=2).max(axis=1) / STEP
    return speeds
