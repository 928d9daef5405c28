"""A person who is pulled at one part with both feet pinned, and what becomes of it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from blender_ik_addon.core import Goal, Goals, SolveOptions, solve, solve_batch
from tests.core.bodies import FEET, Array, Person
from tests.core.limited_rigs import violation
from tests.helpers import angles_between, make_rng

NEAR = SolveOptions(tolerance=1e-6, stays_near=True)
UPRIGHT = np.tile((1.0, 0.0, 0.0, 0.0), (3, 1))
# Goals are met to so many metres.
MET = 1e-5
# Paths: so many steps, of so many metres; they bend by up to so many radians a metre.
STEPS, STEP, BENT = 300, 1e-3, 6.0
# The longest way along the bones, from the root to a hand.
REACH = 1.282237484161567


class Pulled(NamedTuple):
    """A person after a pull: what is left, (3,), turns of the feet, ranges passed, both radians.

    Nearness is half the sum of squared turns, and of the root's way in lengths of the reach.
    """

    residual: Array
    turned: float
    past: float
    nearness: float

    @property
    def is_met(self) -> bool:
        """Whether the part has arrived."""
        return bool(self.residual[2] < MET)


def random_way(seed: int, least: float = 0.1, most: float = 0.9) -> Array:
    """Return a way to all sides alike, of a length between two."""
    rng = make_rng(seed)
    way = rng.normal(size=3)
    moved: Array = way * rng.uniform(least, most) / np.linalg.norm(way)
    return moved


def pull(person: Person, way: npt.ArrayLike, priority: tuple[int, ...] = (0, 0, 2)) -> Goal:
    """Return the goals of feet that stay, in place and turn, and of a part that goes a way."""
    target = person.ends.copy()
    target[2] += way
    return Goal(target, tip_rotation_wxyz=UPRIGHT, priority=priority, has_tip_rotation=FEET)


def pull_at(person: Person, seed: int, options: SolveOptions = NEAR) -> Pulled:
    """Return a person whose part has been pulled a random way."""
    goal = pull(person, random_way(seed))
    solution = solve(person.chain, goal, options)
    local = solution.local_rotations_wxyz
    angles = angles_between(local, [1.0, 0.0, 0.0, 0.0])
    moved = np.linalg.norm(solution.joint_positions[0] - person.heads[0]) / REACH
    nearness = float(0.5 * (angles**2).sum() + 0.5 * moved**2)
    gap = float(np.max(solution.tip_gap[:2]))
    return Pulled(solution.residual, gap, past_ranges(person, local), nearness)


def past_ranges(person: Person, local: Array) -> float:
    """Return by how many radians the worst joint is out of its range; rotations wxyz (n, 4)."""
    joints = person.chain.joints
    assert joints is not None
    # The root floats.
    rows = [*zip(joints.kinds, local, joints.low, joints.high, strict=True)][1:]
    return max(violation(*row) for row in rows)


def smooth_path(person: Person, seed: int) -> Array:
    """Return targets of the part along a path that bends evenly, shape (steps + 1, 3)."""
    rng = make_rng(seed)
    first, around = rng.normal(size=(2, 3))
    first /= np.linalg.norm(first)
    around -= (around @ first) * first
    around /= np.linalg.norm(around)
    bent = rng.uniform(-BENT, BENT)
    angles = bent * STEP * (np.arange(STEPS) + 0.5)
    ways = np.cos(angles)[:, None] * first + np.sin(angles)[:, None] * around
    begin = person.ends[2] + random_way(seed + 100_000, 0.0, 0.6)
    path: Array = begin + STEP * np.concatenate((np.zeros((1, 3)), np.cumsum(ways, axis=0)))
    return path


def find_speeds(person: Person, path: Array) -> Array:
    """Return the greatest way of a joint in each step, by the target's."""
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
