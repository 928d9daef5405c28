"""Start poses, targets and measures for the tests of core."""

import numpy as np
import numpy.typing as npt

from blender_ik_addon.core import Chain, Goal, Solution, SolveOptions, Solver, solve
from tests.helpers import Array, vector_angles

ITERATIVE = (Solver.FABRIK, Solver.CCD, Solver.NEWTON, Solver.FORCE)
SOLVERS = (Solver.TWO_BONE, *ITERATIVE)
POSES = ("random", "straight", "folded", "arc", "closed")
# Every solver. For more than two bones: steps of all bones at once, and sweeps from bone to bone.
EVERY_SOLVER = (
    (2, Solver.TWO_BONE),
    (2, Solver.NEWTON),
    (3, Solver.FABRIK),
    (3, Solver.CCD),
    (3, Solver.FORCE),
    (6, Solver.NEWTON),
    (6, Solver.FABRIK),
)

# Total turn of the arc pose in radians: bent enough to have a side, straight enough for a limb.
ARC_TURN = np.pi / 3


def counts_and_solvers(*counts: int) -> list[tuple[int, Solver]]:
    """Return pairs of bone counts and solvers; CCD only for short chains, because it is slow."""
    return [
        (count, solver)
        for count in counts
        for solver in (SOLVERS if count == 2 else ITERATIVE)
        if solver is not Solver.CCD or count <= 3
    ]


def unit(vector: npt.ArrayLike) -> Array:
    """Return vectors (..., 3) at unit length."""
    vector = np.asarray(vector, float)
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


def random_direction(rng: np.random.Generator) -> Array:
    """Return a direction; all directions have the same probability."""
    return unit(rng.normal(size=3))


def random_frame(rng: np.random.Generator) -> Array:
    """Return a random rotation matrix: three orthogonal directions as its columns."""
    first = random_direction(rng)
    second = unit(np.cross(first, rng.normal(size=3)))
    return np.stack((first, second, np.cross(first, second)), axis=1)


def turned_about(axis: Array, angle: float) -> Array:
    """Return the matrix of a turn about a unit axis, by Rodrigues' formula."""
    x, y, z = axis
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * k @ k


def uneven_lengths(count: int, ratio: float, rng: np.random.Generator) -> Array:
    """Return lengths between 1 and the ratio, which contain both bounds."""
    lengths = np.exp(rng.uniform(0.0, np.log(ratio), count)) if ratio > 1.0 else np.ones(count)
    if count > 1 and ratio > 1.0:
        lengths[rng.permutation(count)[:2]] = 1.0, ratio
    return lengths


def start_directions(pose: str, count: int, rng: np.random.Generator) -> Array:
    """Return the directions of the segments of a start pose, shape (count, 3)."""
    if pose == "random":
        return unit(rng.normal(size=(count, 3)))
    along, aside, _ = random_frame(rng).T
    index = np.arange(count)[:, None]
    if pose == "straight":
        return np.ones_like(index) * along
    if pose == "folded":
        return np.where(index % 2, -along, along)
    turn = {"arc": ARC_TURN / max(count - 1, 1), "closed": 2.0 * np.pi / count}[pose]
    return np.cos(turn * index) * along + np.sin(turn * index) * aside


def start_joints(pose: str, lengths: Array, rng: np.random.Generator) -> Array:
    """Return the joints of a start pose, away from the origin, shape (n + 1, 3)."""
    segments = lengths[:, None] * start_directions(pose, len(lengths), rng)
    root = rng.normal(size=3)
    return np.vstack((root, root + np.cumsum(segments, axis=0)))


def start_chain(pose: str, count: int, rng: np.random.Generator, ratio: float = 1.0) -> Chain:
    """Return a chain with a bend direction, so that straight poses have a side too."""
    joints = start_joints(pose, uneven_lengths(count, ratio, rng), rng)
    return Chain(joints, bend_direction=random_direction(rng))


def target_at(chain: Chain, distance: float, direction: Array) -> Array:
    """Return the point at a distance from the root."""
    return chain.joint_positions[0] + distance * direction


def pole_beside(chain: Chain, target: Array, rng: np.random.Generator) -> Array:
    """Return a pole far enough off the line from root to target to determine the bend."""
    along = unit(target - chain.joint_positions[0])
    aside = unit(np.cross(along, rng.normal(size=3)))
    angle = rng.uniform(np.radians(30.0), np.radians(150.0))
    return target_at(chain, 2.0 * chain.max_reach, np.cos(angle) * along + np.sin(angle) * aside)


def solved(
    chain: Chain, goal: Goal | npt.ArrayLike, solver: Solver, tolerance: float = 1e-6, **options
) -> Solution:
    """Solve for a goal or a target position; the tolerance is a share of the chain's length."""
    if not isinstance(goal, Goal):
        goal = Goal(np.asarray(goal, float))
    tolerance = tolerance * chain.max_reach
    return solve(chain, goal, SolveOptions(solver=solver, tolerance=tolerance, **options))


def segments_of(joints: Array) -> Array:
    """Return the vectors from joint to joint."""
    return np.diff(joints, axis=0)


def lengths_of(joints: Array) -> Array:
    """Return the distances from joint to joint."""
    return np.linalg.norm(segments_of(joints), axis=1)


def side_of(joints: Array, target: Array) -> Array:
    """Return the mean offset of the inner joints from the line from root to target."""
    along = unit(target - joints[0])
    mean = np.mean(joints[1:-1] - joints[0], axis=0)
    return mean - along * (along @ mean)


def pole_error_degrees(joints: Array, target: Array, pole: Array) -> float:
    """Return the degrees between the side of a chain's bend and the side of its pole."""
    side, goal = side_of(joints, target), side_of(np.array([joints[0], pole, target]), target)
    return np.degrees(vector_angles(side, goal))
