"""Chains that limits keep from their targets: how soon, how near, in how many calls. A worker.

    python -m benchmarks.core.held_back      a Python with NumPy and SciPy, a checkout on its path

Bones are ball joints within 0.6 rad, the chain is 1 long. Targets are drawn evenly from a ball of
95 % of that; those count that no pose comes nearer to than 1e-4, of 16 that are drawn and led to a
minimum by SciPy. Beside them stand targets that poses within 80 % of the ranges reach.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, Callable, NamedTuple

import numpy as np
from scipy.optimize import minimize

from benchmarks.clocks import round_clocks
from benchmarks.core.calls import count_calls
from benchmarks.core.cases import Array
from benchmarks.core.with_core import ball_joints
from benchmarks.workers import serve
from blender_ik_addon.core import (
    Chain,
    Chains,
    Goal,
    Goals,
    SolveOptions,
    Solver,
    solve,
    solve_batch,
)
from common.console import ROOT

LIMIT, SEED = 0.6, 20280311
# Radians by which each bone of the start pose is bent about X, and turned about Z in turn.
BENT, TURNED = 0.1, 0.02
COUNT, STARTS, HELD = 200, 16, 1e-4
# Starts are kept off the fold, where the slope across the edge is none: a share of the range.
OFF_FOLD = 1e-4
TOLERANCE, ITERATIONS = 1e-5, 500
# How many targets are timed.
TIMED = 24
NEAR = 1e-4, 1e-3
"""Shares of the length by which residuals may exceed the least."""
AT_REST = 0.01
"""Radians that a joint may stand from where more iterations lead it."""
CACHE = ROOT / "out" / "held_back"
"""Not in the repository: drawn again, the same, where it is missing."""


class Targets(NamedTuple):
    """Targets out of reach (COUNT, 3), the least distances (COUNT,), and others within reach."""

    held: Array
    least: Array
    reached: Array


def pose(coordinates: Array) -> tuple[Array, Array]:
    """Return local rotations wxyz and joints of coordinates without bounds, complex numbers, too.

    Swings about X and Z and twists are sines of these: the edge of a range is a fold, and a smooth
    minimiser runs along it (MINUIT, James and Roos, 1975).

    Args:
        coordinates: Shape (..., n, 3).

    Returns:
        Shapes (..., n, 4) and (..., n + 1, 3).
    """
    p = np.moveaxis(coordinates, (-2, -1), (0, 1))
    radius = np.sqrt(p[:, 0] ** 2 + p[:, 2] ** 2 + 1e-300)
    x, z = p[:, ::2].swapaxes(0, 1) * (np.sin(LIMIT / 2.0) * np.sin(radius) / radius)
    w, twist = np.sqrt(1.0 - x * x - z * z), LIMIT / 2.0 * np.sin(p[:, 1])
    c, s = np.cos(twist), np.sin(twist)
    local = np.stack((w * c, x * c - z * s, w * s, z * c + x * s), axis=1)
    frame, points = np.array([1.0, 0.0, 0.0, 0.0]), [np.zeros_like(local[0, :3])]
    for turn in local:
        frame = _multiply(frame, turn)
        w, x, y, z = frame
        along = 2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)
        points.append(points[-1] + np.stack(along) / len(local))
    return np.moveaxis(local, (0, 1), (-2, -1)), np.moveaxis(np.array(points), (0, 1), (-2, -1))


def _multiply(a: Array, b: Array) -> Array:
    first = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
    x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]
    y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]
    z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]
    return np.stack((first, x, y, z))


def coordinates_of(wxyz: Array, off_fold: float = 0.0) -> Array:
    """Return the coordinates (..., n, 3) of local rotations (..., n, 4)."""
    w, x, y, z = np.moveaxis(wxyz, -1, 0)
    cosine = np.maximum(np.hypot(w, y), 1e-300)
    twist = (2.0 * np.arctan2(y, w) + np.pi) % (2.0 * np.pi) - np.pi
    swing = np.stack(((w * x + y * z) / cosine, (w * z - x * y) / cosine))
    size, most = np.hypot(*swing), 1.0 - off_fold
    share = np.minimum(size / np.sin(LIMIT / 2.0), most)
    swing *= np.arcsin(share) / np.maximum(size, 1e-300)
    return np.stack((swing[0], np.arcsin(np.clip(twist / LIMIT, -most, most)), swing[1]), axis=-1)


def find_nearest(start: Array, target: Array) -> tuple[Array, float]:
    """Return coordinates (n, 3) of the nearest pose that a start leads to, and its distance."""
    # Complex steps give the slope: all coordinates side by side.
    steps = 1e-30j * np.eye(start.size).reshape(-1, *start.shape)

    def half_square(flat: Array) -> tuple[float, Array]:
        off = pose(flat.reshape(start.shape) + steps)[1][:, -1] - target
        squares = 0.5 * (off * off).sum(axis=1)
        return float(squares[0].real), squares.imag / 1e-30

    found = minimize(
        half_square, start.ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": 1000, "gtol": 1e-9, "ftol": 0.0},
    )  # fmt: skip
    return found.x.reshape(start.shape), float(np.sqrt(2.0 * found.fun))


def draw_pose(rng: np.random.Generator, bones: int) -> Array:
    """Return coordinates (n, 3): swings spread evenly over their disc, and twists."""
    radius, around = np.arcsin(np.sqrt(rng.random(bones))), 2.0 * np.pi * rng.random(bones)
    twist = np.arcsin(rng.uniform(-1.0, 1.0, bones))
    return np.stack((radius * np.cos(around), twist, radius * np.sin(around)), axis=1)


def _draw_targets(bones: int) -> Targets:
    rng, held, least = np.random.default_rng((SEED, bones)), [], []
    while len(held) < COUNT:
        target = rng.normal(size=3)
        target *= 0.95 * rng.random() ** (1.0 / 3.0) / np.linalg.norm(target)
        distances = []
        while len(distances) < STARTS and min(distances, default=1.0) > HELD:
            distances.append(find_nearest(draw_pose(rng, bones), target)[1])
        if min(distances) > HELD:
            held.append(target)
            least.append(min(distances))
    tips = [pose(0.8 * draw_pose(rng, bones))[1][-1] for _ in range(COUNT)]
    return Targets(np.array(held), np.array(least), np.array(tips))


@functools.cache
def targets_of(bones: int) -> Targets:
    """Return the targets of a chain, from the cache where it has them."""
    file = CACHE / f"{bones}_bones_{SEED}_{COUNT}_{STARTS}.npz"
    if not file.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        np.savez(file, **_draw_targets(bones)._asdict())
    with np.load(file) as found:
        return Targets(*(found[name] for name in Targets._fields))


def chains_from(wxyz: Array) -> Chains:
    """Return chains that start at local rotations (B, n, 4)."""
    return Chains(pose(coordinates_of(wxyz))[1], joints=ball_joints(wxyz, LIMIT))


def start_rotations(bones: int) -> Array:
    """Return the local rotations of the start pose, shape (n, 4)."""
    x, z = np.full(bones, BENT / 2.0), TURNED / 2.0 * (-1.0) ** np.arange(bones)
    return np.stack((np.sqrt(1.0 - x * x - z * z), x, np.zeros(bones), z), axis=1)


def make_chains(bones: int, count: int) -> Chains:
    return chains_from(np.repeat(start_rotations(bones)[None], count, axis=0))


def make_chain(bones: int) -> Chain:
    start = start_rotations(bones)
    return Chain(pose(coordinates_of(start))[1], joints=ball_joints(start, LIMIT))


def options_of(solver: str, times: int = 1) -> SolveOptions:
    return SolveOptions(Solver(solver), iterations=times * ITERATIONS, tolerance=TOLERANCE)


def clock(bones: int, solver: str) -> dict[str, float]:
    """Return milliseconds of a solve, medians over targets: held back, reached, and their ratio.

    By the work of this process: others may have the machine meanwhile.
    """
    chain, options, took = make_chain(bones), options_of(solver), {}
    for name in ("held", "reached"):
        goals = itertools.cycle(map(Goal, getattr(targets_of(bones), name)[:TIMED]))
        clocks = round_clocks(
            lambda: None, lambda goals=goals: solve(chain, next(goals), options), 3 * TIMED, 60.0
        )
        took[name] = clocks["work"]
    return {**took, "ratio": took["held"] / took["reached"]}


def judge(bones: int, solver: str) -> dict[str, Any]:
    """Return how much farther solutions stay from targets than need be, and where joints end.

    Excesses are in lengths; ``misses`` are the rows that exceed the larger share. Joints are
    compared, in radians, with those of ten times the cap on iterations, of a solve that starts at
    the solution, and of the minimum nearby.
    """
    targets, chains = targets_of(bones), make_chains(bones, COUNT)
    goals = Goals(targets.held)
    found = solve_batch(chains, goals, options_of(solver))
    wxyz = found.local_rotations_wxyz
    begun = coordinates_of(wxyz, OFF_FOLD)
    ended = [find_nearest(*each)[0] for each in zip(begun, targets.held)]
    again = solve_batch(chains_from(wxyz), goals, options_of(solver))
    longer = solve_batch(chains, goals, options_of(solver, 10))
    angles = [
        _largest_angles(wxyz, each)
        for each in (
            longer.local_rotations_wxyz, again.local_rotations_wxyz, pose(np.array(ended))[0],
        )
    ]  # fmt: skip
    excess = found.residual - targets.least
    misses = np.flatnonzero(excess > NEAR[1])
    return {
        "within": [float((excess <= share).mean()) for share in NEAR],
        "excess": [float(np.median(excess)), float(excess.max()), float(-excess.min())],
        "misses": {int(row): float(excess[row]) for row in misses},
        "rest": [[float((a <= AT_REST).mean()), float(np.quantile(a, 0.95))] for a in angles],
        "iterations": float(np.median(found.iterations)),
    }


def _largest_angles(a: Array, b: Array) -> Array:
    """Return the largest angles (B,) between the joints of poses (B, n, 4)."""
    apart = np.minimum(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    return 4.0 * np.arcsin(np.minimum(apart / 2.0, 1.0)).max(axis=-1)


def count(bones: int, solver: str, many: int) -> dict[str, Any]:
    """Return the calls of NumPy of a solve of one chain or of many, held back by their limits."""
    held, options = targets_of(bones).held[:many], options_of(solver)

    def prepare() -> Callable[[], Any]:
        if many == 1:
            return functools.partial(solve, make_chain(bones), Goal(held[0]), options)
        chains = make_chains(bones, many)
        return functools.partial(solve_batch, chains, Goals(held), options)

    return count_calls(prepare)


class Tasks:
    """The tasks of the worker."""

    clock, judge, count = (staticmethod(task) for task in (clock, judge, count))


if __name__ == "__main__":
    serve(Tasks())
