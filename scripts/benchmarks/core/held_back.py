"""Chains that limits keep from their targets: how soon, how near, in how many calls of NumPy.

    python -m benchmarks.core.held_back "NEWTON, 3" 5      a Python with NumPy and SciPy

Bones are ball joints within 0.6 rad, the chain is 1 long. Targets are drawn evenly from a ball of
95 % of that; those count that no pose comes nearer to than 1e-4, of 16 that are drawn and led to a
minimum by SciPy. Beside them stand targets that poses within 80 % of the ranges reach.

Calls need no clock. Arrays of a class of their own count the ufuncs and functions that they pass
through; functions that make arrays are wrapped. Methods and indexing are not counted.
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
from benchmarks.measuring import short
from benchmarks.workers import time_round
from blender_ik_addon import core
from common.console import ROOT
from common.tables import make_table

LIMIT, SEED = 0.6, 20280311
COUNT, STARTS, HELD = 200, 16, 1e-4
TOLERANCE, ITERATIONS = 1e-5, 500
# How many targets are timed, and how many solves a round.
TIMED, MOST = 24, 72
NEAR = 1e-4, 1e-3
"""Shares of the length by which residuals may exceed the least."""
SOLVERS = ("NEWTON", "FABRIK", "CCD")
CLOCKED = (
    "One chain of ball joints within 0.6 rad: milliseconds of a solve whose target limits"
    " keep out of reach, and of one whose target is reached; medians of rounds"
)
JUDGED = (
    "200 targets out of reach: shares of solutions that stay within parts of the length of"
    " the best of 16 drawn poses led to a minimum, and how far they stay from it"
)
COUNTED = "Calls of NumPy in a solve of one chain or a hundred that limits hold back"
MAKERS = "array asarray ascontiguousarray empty zeros ones full arange eye".split()
CACHE = ROOT / "out" / "held_back"
"""Not in the repository: drawn again, the same, where it is missing."""


class Targets(NamedTuple):
    """Targets out of reach (COUNT, 3), the least distances (COUNT,), and others within reach."""

    held: Array
    least: Array
    reached: Array


def rotations(coordinates: Array) -> Array:
    """Return local rotations wxyz (..., n, 4) of coordinates (..., n, 3), complex numbers, too.

    These are how far bones swing, about which axis between X and Z, and how far they twist.
    """
    swing, way, twist = np.moveaxis(coordinates * np.array([0.5, 1.0, 0.5]), -1, 0)
    x, z = np.sin(swing) * np.cos(way), np.sin(swing) * np.sin(way)
    w, c, s = np.cos(swing), np.cos(twist), np.sin(twist)
    return np.stack((w * c, x * c - z * s, w * s, z * c + x * s), axis=-1)


def joints(wxyz: Array) -> Array:
    """Return the joints (..., n + 1, 3) of local rotations (..., n, 4)."""
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


def nearest(start: Array, target: Array) -> float:
    """Return the distance of the nearest pose that coordinates (n, 3) lead to."""
    # Complex steps give the slope: all coordinates side by side.
    steps = 1e-30j * np.eye(start.size).reshape(-1, *start.shape)

    def half_square(flat: Array) -> tuple[float, Array]:
        off = joints(rotations(flat.reshape(start.shape) + steps))[:, -1] - target
        squares = 0.5 * (off * off).sum(axis=1)
        return float(squares[0].real), squares.imag / 1e-30

    bounds = [(-LIMIT, LIMIT), (None, None), (-LIMIT, LIMIT)] * len(start)
    options = {"maxiter": 1000, "gtol": 1e-9, "ftol": 0.0}
    found = minimize(half_square, start.ravel(), jac=True, bounds=bounds, options=options)
    return float(np.sqrt(2.0 * found.fun))


def draw_pose(rng: np.random.Generator, bones: int) -> Array:
    """Return coordinates (n, 3): swings spread evenly over their disc, and twists."""
    swing, way = LIMIT * np.sqrt(rng.random(bones)), 2.0 * np.pi * rng.random(bones)
    return np.stack((swing, way, rng.uniform(-LIMIT, LIMIT, bones)), axis=1)


def _draw_targets(bones: int) -> Targets:
    rng, held, least = np.random.default_rng((SEED, bones)), [], []
    while len(held) < COUNT:
        target = rng.normal(size=3)
        target *= 0.95 * rng.random() ** (1.0 / 3.0) / np.linalg.norm(target)
        distances: list[float] = []
        while len(distances) < STARTS and min(distances, default=1.0) > HELD:
            distances.append(nearest(draw_pose(rng, bones), target))
        if min(distances) > HELD:
            held.append(target)
            least.append(min(distances))
    within = np.array([0.8, 1.0, 0.8])
    tips = [joints(rotations(within * draw_pose(rng, bones)))[-1] for _ in range(COUNT)]
    return Targets(np.array(held), np.array(least), np.array(tips))


@functools.cache
def targets_of(bones: int) -> Targets:
    """Return the targets of a chain, from the cache where it has them."""
    file = CACHE / f"{bones}_bones_{SEED}_{COUNT}_of_{STARTS}.npz"
    if not file.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        np.savez(file, **_draw_targets(bones)._asdict())
    with np.load(file) as found:
        return Targets(*(found[name] for name in Targets._fields))


def start_of(bones: int) -> Array:
    """Return the local rotations of the start pose, bent a little."""
    x, z = np.full(bones, 0.05), 0.01 * (-1.0) ** np.arange(bones)
    return np.stack((np.sqrt(1.0 - x * x - z * z), x, np.zeros(bones), z), axis=1)


def ball_joints(wxyz: Array) -> core.Joints:
    """Return joints that start at local rotations (..., n, 4), with one range about all axes."""
    shape = wxyz.shape[:-1]
    high, turned = np.full((*shape, 3), LIMIT), np.tile(np.eye(3), (*shape, 1, 1))
    return core.Joints((core.JointKind.BALL,) * shape[-1], turned, wxyz, -high, high)


def options_of(solver: str) -> core.SolveOptions:
    return core.SolveOptions(core.Solver(solver), iterations=ITERATIONS, tolerance=TOLERANCE)


def clock(bones: int, solver: str, rounds: int) -> dict[str, float]:
    """Return milliseconds of a solve, medians over targets and rounds."""
    start, targets = start_of(bones), targets_of(bones)
    chain, options = core.Chain(joints(start), joints=ball_joints(start)), options_of(solver)

    def time_solves(goals: Iterator[core.Goal]) -> float:
        return time_round(lambda: None, lambda: core.solve(chain, next(goals), options), MOST, 60)

    sides = [itertools.cycle(map(core.Goal, each[:TIMED])) for each in (targets[0], targets[2])]
    # The first round warms up.
    took = [[time_solves(goals) for goals in sides] for _ in range(rounds + 1)][1:]
    held, reached = np.median(took, axis=0).tolist()
    return {"held": held, "reached": reached, "ratio": held / reached}


def judge(bones: int, solver: str) -> dict[str, float]:
    """Return how much farther solutions stay from targets than need be, in lengths."""
    targets = targets_of(bones)
    starts = np.tile(start_of(bones), (len(targets.held), 1, 1))
    chains = core.Chains(joints(starts), joints=ball_joints(starts))
    found = core.solve_batch(chains, core.Goals(targets.held), options_of(solver))
    excess = found.residual - targets.least
    return {
        **{f"within {share:g}": float((excess <= share).mean()) for share in NEAR},
        "median excess": float(np.median(excess)),
        "worst": float(excess.max()),
        "below the best": float(-excess.min()),
        "iterations": float(np.median(found.iterations)),
    }


class Counted(np.ndarray):  # type: ignore[type-arg]
    """An array that counts what it passes through."""

    calls = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return pass_through(getattr(ufunc, method), *inputs, **options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return pass_through(func, *args, **kwargs)


def pass_through(work: Any, *inputs: Any, **options: Any) -> Any:
    """Count, and compute on plain arrays."""
    Counted.calls += 1
    out = options.get("out")
    found = work(*seen_as(np.ndarray, inputs), **seen_as(np.ndarray, options))
    if out is None:
        return seen_as(Counted, found)
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def seen_as(kind: type[np.ndarray], value: Any) -> Any:
    """Return arrays, also within what holds some, as one of the two classes."""
    if isinstance(value, np.ndarray):
        return value.view(kind)
    if isinstance(value, dict):
        return {name: seen_as(kind, each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        each = [seen_as(kind, one) for one in value]
        return type(value)(*each) if hasattr(value, "_fields") else type(value)(each)
    return value


def count(bones: int, solver: str) -> dict[str, float]:
    """Return calls and most iterations of one chain, and of many side by side."""
    found: dict[str, float] = {}
    for held in (targets_of(bones).held[:1], targets_of(bones).held[:100]):
        many, starts = len(held), np.tile(start_of(bones), (len(held), 1, 1))
        with contextlib.ExitStack() as stack:
            for name in MAKERS:
                maker = functools.partial(pass_through, getattr(np, name))
                stack.enter_context(mock.patch.object(np, name, maker))
            chains = core.Chains(joints(starts), joints=ball_joints(starts))
            # In the first solve all is compiled.
            for _ in range(2):
                Counted.calls = 0
                solved = core.solve_batch(chains, core.Goals(held), options_of(solver))
        steps = int(np.max(solved.iterations))
        found[f"calls of {many}"], found[f"iterations of {many}"] = Counted.calls, steps
        found[f"a step of {many}"] = round(Counted.calls / max(steps, 1))
    return found


def main(only: str, rounds: int) -> None:
    """Print all tables, of the rows whose text contains something."""
    for title, task, sizes in (
        (CLOCKED, functools.partial(clock, rounds=rounds), (2, 3, 5, 10)),
        (JUDGED, judge, (3, 5, 10)),
        (COUNTED, count, (3, 10)),
    ):
        pairs = {f"{each}, {count}": (count, each) for each in SOLVERS for count in sizes}
        rows = {row: task(*pair) for row, pair in pairs.items() if only.lower() in row.lower()}
        cells = [(row, *map(short, found.values())) for row, found in rows.items()]
        head = ("solver, bones", *next(iter(rows.values()), ()))
        print(f"\n{title}\n\n{make_table(head, cells)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
