"""A person who is pulled at one part with both feet pinned, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from blender_ik_addon.core import Goal, Goals, SolveOptions, solve, solve_batch
from tests.core.bodies import FEET, Array, Person
from tests.helpers import make_rng

NEAR = SolveOptions(tolerance=1e-6, stays_near=True)
UPRIGHT = np.tile((1.0, 0.0, 0.0, 0.0), (3, 1))
# Goals are met to so many metres.
MET = 1e-5
# Paths: so many steps, of so many metres; they bend by up to so many radians a metre.
STEPS, STEP, BENT = 300, 1e-3, 6.0
# Bodies side by side; more need much memory, fewer take longer.
BATCH = 100
# A step is at the edge of what can be reached if it is left or entered within so many steps.
EDGE = 10


@dataclass(frozen=True)
class Pulled:
    """A person after a pull.

    Attributes:
        target: Places asked for, shape (3, 3).
        residual: What is left, shape (3,).
        turned: By how many radians feet have turned at most.
        past: By how many radians any joint is out of its range.
        nearness: As ``body_in_scipy.Peer``.
        status: Of the part.
    """

    target: Array
    residual: Array
    turned: float
    past: float
    nearness: float
    status: str

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
    return Pulled(
        goal.target_position,
        solution.residual,
        float(np.max(solution.tip_gap[:2])),
        past_ranges(person, local),
        find_nearness(person, local, solution.joint_positions[0]),
        str(solution.statuses[2]),
    )


def past_ranges(person: Person, local: Array) -> float:
    """Return by how many radians the worst joint is out of its range; rotations wxyz (n, 4)."""
    joints = person.chain.joints
    assert joints is not None
    w, x, y, z = local.T
    twist = 2.0 * np.arctan2(y, w)
    twist = (twist + np.pi) % (2.0 * np.pi) - np.pi
    cosine, sine = np.cos(0.5 * twist), np.sin(0.5 * twist)
    sign = np.sign(w * cosine + y * sine)
    swing = sign * np.stack((x * cosine + z * sine, z * cosine - x * sine))
    ends = np.sin(0.5 * np.where(swing > 0.0, joints.high.T[::2], -joints.low.T[::2]))
    share = np.sqrt(((swing / ends) ** 2).sum(axis=0))
    size = np.hypot(*swing)
    edge = size / np.maximum(share, 1e-300)
    angles = [2.0 * np.arcsin(np.clip(each, 0.0, 1.0)) for each in (size, edge)]
    past = np.where(share > 1.0, angles[0] - angles[1], 0.0)
    over = np.maximum(twist - joints.high[:, 1], joints.low[:, 1] - twist)
    return float(max(past[1:].max(), over[1:].max(), 0.0))


def find_nearness(person: Person, local: Array, place: Array) -> float:
    """Return half the sum of squared turns, and of the root's way in lengths of the reach."""
    angles = 2.0 * np.arctan2(np.linalg.norm(local[:, 1:], axis=1), np.abs(local[:, 0]))
    moved = np.linalg.norm(place - person.heads[0]) / longest_way(person)
    return float(0.5 * (angles**2).sum() + 0.5 * moved**2)


def longest_way(person: Person) -> float:
    """Return the longest way along the bones from the root to an effector."""
    topology = person.chain.topology
    assert topology is not None
    ways = []
    for bone, end in zip(topology.effector_bones, person.ends, strict=True):
        at, way = bone, float(np.linalg.norm(end - person.heads[bone]))
        while at > 0:
            above = topology.parents[at]
            way += float(np.linalg.norm(person.heads[at] - person.heads[above]))
            at = above
        ways.append(way)
    return max(ways)


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


def find_speeds(
    person: Person, path: Array, options: SolveOptions = NEAR
) -> tuple[Array, npt.NDArray[np.str_]]:
    """Return the greatest way of a joint in each step by the target's, and where the target is.

    It is "met" if the part arrives there, as it does nearby; "held back" if it does not; or at the
    "edge" between.
    """
    joints, gaps = [], []
    for first in range(0, len(path), BATCH):
        part = path[first : first + BATCH]
        target = np.tile(person.ends, (len(part), 1, 1))
        target[:, 2] = part
        goals = Goals(
            target,
            tip_rotation_wxyz=np.tile(UPRIGHT, (len(part), 1, 1)),
            priority=(0, 0, 2),
            has_tip_rotation=FEET,
        )
        batch = person.chain.as_batch().take(np.zeros(len(part), dtype=np.int64))
        solutions = solve_batch(batch, goals, options)
        joints.append(solutions.joint_positions)
        gaps.append(solutions.residual[:, 2])
    moved = np.diff(np.concatenate(joints), axis=0)
    way = np.linalg.norm(np.diff(path, axis=0), axis=1)
    speeds: Array = np.linalg.norm(moved, axis=2).max(axis=1) / way
    is_met = np.concatenate(gaps) < MET
    kinds = []
    for step in range(len(speeds)):
        near = is_met[max(step - EDGE, 0) : step + 2 + EDGE]
        kinds.append("met" if near.all() else "edge" if near.any() else "held back")
    return speeds, np.array(kinds)
