"""Chains whose limits hold them back from targets: times, distances and calls of NumPy.

    python -m benchmarks.core.held_back "NEWTON, 3" 5      in a Python with NumPy and SciPy

Bones are ball joints within 0.6 rad, the chain has length 1. Targets are uniform in a ball of 95 %
of that. A target counts if none of 16 random poses, minimised by SciPy, comes nearer than 1e-4.
For comparison there are targets that poses within 80 % of the ranges reach.

Counts do not depend on the machine. Arrays of a special class count the ufuncs and functions that
they pass through; functions that make arrays are wrapped. Methods and indexing are not counted.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.optimize import minimize

from benchmarks.core.cases import Array
from benchmarks.measuring import format_number
from benchmarks.workers import time_round
from blender_ik_addon import core
from common.console import ROOT
from common.tables import make_table

LIMIT, SEED = 0.6, 20280311
COUNT, STARTS, MIN_DISTANCE = 200, 16, 1e-4
TOLERANCE, ITERATIONS = 1e-5, 500
# Number of timed targets, and of solves in a round.
TIMED, SOLVES = 24, 72
EXCESS_SHARES = 1e-4, 1e-3
"""Allowed excess of residuals over the least distance, as shares of the length."""
SOLVERS = ("NEWTON", "FABRIK", "CCD")
CLOCK_TITLE = (
    "One chain of ball joints within 0.6 rad: milliseconds of a solve whose target limits"
    " keep out of reach, and of one whose target is reached; medians of rounds"
)
JUDGE_TITLE = (
    "200 targets out of reach: shares of solutions that stay within parts of the length of"
    " the best of 16 drawn poses led to a minimum, and how far they stay from it"
)
COUNT_TITLE = "Calls of NumPy in a solve of one chain or a hundred that limits hold back"
MAKERS = "array asarray ascontiguousarray empty zeros ones full arange eye".split()
CACHE = ROOT / "out" / "held_back"
"""Not in the repository: if it is missing, the same targets are drawn again."""


class TargetSets(NamedTuple):
    """Targets out of reach (COUNT, 3), least distances (COUNT,), targets in reach (COUNT, 3)."""

    held: Array
    least: Array
    reached: Array


def make_rotations(coordinates: Array) -> Array:
    """Return local rotations wxyz (..., n, 4) of real or complex coordinates (..., n, 3).

    Coordinates are the swing angle, the direction of its axis from X to Z, and the twist angle.
    """
    swing, direction, twist = np.moveaxis(coordinates * np.array([0.5, 1.0, 0.5]), -1, 0)
    x, z = np.sin(swing) * np.cos(direction), np.sin(swing) * np.sin(direction)
    w, c, s = np.cos(swing), np.cos(twist), np.sin(twist)
    return np.stack((w * c, x * c - z * s, w * s, z * c + x * s), axis=-1)


def pose(wxyz: Array) -> Array:
    """Return the joint positions (..., n + 1, 3) of local rotations (..., n, 4)."""
    local = np.moveaxis(wxyz, (-2, -1), (0, 1))
    (w, x, y, z), places = np.eye(4)[0], [np.zeros_like(local[0, :3])]
    for a, b, c, d in local:
        w, x, y, z = (
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        )
        along = 2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)
        places.append(places[-1] + np.stack(along) / len(local))
    return np.moveaxis(np.array(places), (0, 1), (-2, -1))


def find_least_distance(start: Array, target: Array) -> float:
    """Return the least distance to a target, minimised from coordinates (n, 3)."""
    # Complex steps give the gradient, for all coordinates in one call.
    steps = 1e-30j * np.eye(start.size).reshape(-1, *start.shape)

    def half_square(flat: Array) -> tuple[float, Array]:
        offset = pose(make_rotations(flat.reshape(start.shape) + steps))[:, -1] - target
        squares = 0.5 * (offset * offset).sum(axis=1)
        return float(squares[0].real), squares.imag / 1e-30

    bounds = [(-LIMIT, LIMIT), (None, None), (-LIMIT, LIMIT)] * len(start)
    options = {"maxiter": 1000, "gtol": 1e-9, "ftol": 0.0}
    minimum = minimize(half_square, start.ravel(), jac=True, bounds=bounds, options=options)
    return float(np.sqrt(2.0 * minimum.fun))


def draw_pose(rng: np.random.Generator, bones: int) -> Array:
    """Return random coordinates (n, 3): swings uniform over their disc, and twists."""
    swing, direction = LIMIT * np.sqrt(rng.random(bones)), 2.0 * np.pi * rng.random(bones)
    return np.stack((swing, direction, rng.uniform(-LIMIT, LIMIT, bones)), axis=1)


def _draw_targets(bones: int) -> TargetSets:
    rng, held, least = np.random.default_rng((SEED, bones)), [], []
    while len(held) < COUNT:
        target = rng.normal(size=3)
        target *= 0.95 * rng.random() ** (1.0 / 3.0) / np.linalg.norm(target)
        distances: list[float] = []
        while len(distances) < STARTS and min(distances, default=1.0) > MIN_DISTANCE:
            distances.append(find_least_distance(draw_pose(rng, bones), target))
        if min(distances) > MIN_DISTANCE:
            held.append(target)
            least.append(min(distances))
    shares = np.array([0.8, 1.0, 0.8])
    tips = [pose(make_rotations(shares * draw_pose(rng, bones)))[-1] for _ in range(COUNT)]
    return TargetSets(np.array(held), np.array(least), np.array(tips))


@functools.cache
def load_targets(bones: int) -> TargetSets:
    """Return the targets of a chain, from the cache if they are there."""
    file = CACHE / f"{bones}_bones_{SEED}_{COUNT}_of_{STARTS}.npz"
    if not file.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        np.savez(file, **_draw_targets(bones)._asdict())
    with np.load(file) as arrays:
        return TargetSets(*(arrays[name] for name in TargetSets._fields))


def make_start(bones: int) -> Array:
    """Return the local rotations wxyz (n, 4) of the start pose, which is bent a little."""
    x, z = np.full(bones, 0.05), 0.01 * (-1.0) ** np.arange(bones)
    return np.stack((np.sqrt(1.0 - x * x - z * z), x, np.zeros(bones), z), axis=1)


def make_ball_joints(wxyz: Array) -> core.Joints:
    """Return ball joints that start at local rotations (..., n, 4), with one range for all axes."""
    shape = wxyz.shape[:-1]
    high, turned = np.full((*shape, 3), LIMIT), np.tile(np.eye(3), (*shape, 1, 1))
    return core.Joints((core.JointKind.BALL,) * shape[-1], turned, wxyz, -high, high)


def make_options(solver: str) -> core.SolveOptions:
    return core.SolveOptions(core.Solver(solver), iterations=ITERATIONS, tolerance=TOLERANCE)


def clock(bones: int, solver: str, rounds: int) -> dict[str, float]:
    """Return the milliseconds of a solve, as medians over targets and rounds."""
    start, targets = make_start(bones), load_targets(bones)
    chain, options = core.Chain(pose(start), joints=make_ball_joints(start)), make_options(solver)

    def time_solves(goals: Iterator[core.Goal]) -> float:
        return time_round(lambda: None, lambda: core.solve(chain, next(goals), options), SOLVES, 60)

    sides = [itertools.cycle(map(core.Goal, group[:TIMED])) for group in (targets[0], targets[2])]
    # The first round is a warm-up.
    times = [[time_solves(goals) for goals in sides] for _ in range(rounds + 1)][1:]
    held, reached = np.median(times, axis=0).tolist()
    return {"held": held, "reached": reached, "ratio": held / reached}


def judge(bones: int, solver: str) -> dict[str, float]:
    """Return the excess of residuals over the least distances, in lengths, and iterations."""
    targets = load_targets(bones)
    starts = np.tile(make_start(bones), (len(targets.held), 1, 1))
    chains = core.Chains(pose(starts), joints=make_ball_joints(starts))
    solutions = core.solve_batch(chains, core.Goals(targets.held), make_options(solver))
    excess = solutions.residual - targets.least
    return {
        **{f"within {share:g}": float((excess <= share).mean()) for share in EXCESS_SHARES},
        "median excess": float(np.median(excess)),
        "worst": float(excess.max()),
        "below the best": float(-excess.min()),
        "iterations": float(np.median(solutions.iterations)),
    }


class CountingArray(np.ndarray):  # type: ignore[type-arg]
    """An array that counts the functions it passes through."""

    calls = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return pass_through(getattr(ufunc, method), *inputs, **options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return pass_through(func, *args, **kwargs)


def pass_through(work: Any, *inputs: Any, **options: Any) -> Any:
    """Count one call and compute it on plain arrays."""
    CountingArray.calls += 1
    out = options.get("out")
    result = work(*view_as(np.ndarray, inputs), **view_as(np.ndarray, options))
    if out is None:
        return view_as(CountingArray, result)
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def view_as(kind: type[np.ndarray], value: Any) -> Any:
    """Return a value with its arrays, also nested ones, as views of an array class."""
    if isinstance(value, np.ndarray):
        return value.view(kind)
    if isinstance(value, dict):
        return {name: view_as(kind, item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        items = [view_as(kind, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def count(bones: int, solver: str) -> dict[str, float]:
    """Return calls and most iterations of a solve of one chain, and of a batch."""
    figures: dict[str, float] = {}
    for held in (load_targets(bones).held[:1], load_targets(bones).held[:100]):
        size, starts = len(held), np.tile(make_start(bones), (len(held), 1, 1))
        with contextlib.ExitStack() as stack:
            for name in MAKERS:
                maker = functools.partial(pass_through, getattr(np, name))
                stack.enter_context(mock.patch.object(np, name, maker))
            chains = core.Chains(pose(starts), joints=make_ball_joints(starts))
            # The first solve also compiles; only the calls of the second are counted.
            for _ in range(2):
                CountingArray.calls = 0
                solved = core.solve_batch(chains, core.Goals(held), make_options(solver))
        steps = int(np.max(solved.iterations))
        figures[f"calls of {size}"], figures[f"iterations of {size}"] = CountingArray.calls, steps
        figures[f"a step of {size}"] = round(CountingArray.calls / max(steps, 1))
    return figures


def main(only: str, rounds: int) -> None:
    """Print all tables with the rows whose text contains ``only``."""
    for title, task, sizes in (
        (CLOCK_TITLE, functools.partial(clock, rounds=rounds), (2, 3, 5, 10)),
        (JUDGE_TITLE, judge, (3, 5, 10)),
        (COUNT_TITLE, count, (3, 10)),
    ):
        pairs = {f"{solver}, {count}": (count, solver) for solver in SOLVERS for count in sizes}
        rows = {row: task(*pair) for row, pair in pairs.items() if only.lower() in row.lower()}
        cells = [(row, *map(format_number, figures.values())) for row, figures in rows.items()]
        head = ("solver, bones", *next(iter(rows.values()), ()))
        print(f"\n{title}\n\n{make_table(head, cells)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
