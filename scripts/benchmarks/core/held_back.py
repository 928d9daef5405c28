"""Chains that limits keep from their targets: how soon, how near, in how many calls. A worker.

    python -m benchmarks.core.held_back      a Python with NumPy and SciPy, a checkout on its path

Bones are ball joints within 0.6 rad, the chain is 1 long. Targets are drawn evenly from a ball of
95 % of that; those count that no pose comes nearer to than 1e-4, of 16 that are drawn and led to a
minimum by SciPy. Beside them stand targets that poses within 80 % of the ranges reach.

Calls of NumPy are counted by arrays of a class of their own, which count the ufuncs and functions
that they pass through; functions that make arrays are wrapped. Methods such as ``reshape`` and
indexing are not counted.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.optimize import minimize

from benchmarks.core.cases import Array
from benchmarks.workers import serve, time_round
from blender_ik_addon import core
from common.console import ROOT

LIMIT, SEED = 0.6, 20280311
COUNT, STARTS, HELD = 200, 16, 1e-4
TOLERANCE, ITERATIONS = 1e-5, 500
# How many targets are timed.
TIMED = 24
NEAR = 1e-4, 1e-3
"""Shares of the length by which residuals may exceed the least."""
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


def make_chain(bones: int) -> core.Chain:
    start = start_of(bones)
    return core.Chain(joints(start), joints=ball_joints(start))


def make_chains(bones: int, many: int) -> core.Chains:
    starts = np.tile(start_of(bones), (many, 1, 1))
    return core.Chains(joints(starts), joints=ball_joints(starts))


MAKERS = (
    *("array", "asarray", "ascontiguousarray", "empty", "zeros", "ones", "full", "arange", "eye"),
    *("identity", "linspace", "fromiter"),
)
calls = [0]


class Counted(np.ndarray):  # type: ignore[type-arg]
    """An array that counts what it passes through."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _compute(getattr(ufunc, method), inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _compute(func, args, kwargs)


def _compute(work: Any, inputs: Any, options: dict[str, Any]) -> Any:
    """Count, and compute on plain arrays."""
    calls[0] += 1
    out = options.get("out")
    found = work(*_seen_as(np.ndarray, inputs), **_seen_as(np.ndarray, options))
    if out is None:
        return _seen_as(Counted, found)
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def _seen_as(kind: type[np.ndarray], value: Any) -> Any:
    """Return arrays, also within what holds some, as one of the two classes."""
    if isinstance(value, np.ndarray):
        return value.view(kind)
    if isinstance(value, dict):
        return {name: _seen_as(kind, each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        each = [_seen_as(kind, one) for one in value]
        return type(value)(*each) if hasattr(value, "_fields") else type(value)(each)
    return value


def count(bones: int, solver: str, many: int) -> dict[str, int]:
    """Return calls and most iterations of a solve of one chain or of many, held back by limits."""
    held, options = targets_of(bones).held[:many], options_of(solver)

    def counting(make: Any) -> Any:
        return lambda *args, **options: _compute(make, args, options)

    with contextlib.ExitStack() as stack:
        for name in MAKERS:
            stack.enter_context(mock.patch.object(np, name, counting(getattr(np, name))))
        if many == 1:
            work = functools.partial(core.solve, make_chain(bones), core.Goal(held[0]), options)
        else:
            work = functools.partial(
                core.solve_batch, make_chains(bones, many), core.Goals(held), options
            )
        # Then all is compiled.
        work()
        calls[0] = 0
        found = work()
    return {"calls": calls[0], "iterations": int(np.max(found.iterations))}


class Tasks:
    """The tasks of the worker: figures by their names."""

    def clock(self, bones: int, solver: str) -> dict[str, float]:
        """Return milliseconds of a solve, medians over targets."""
        chain, options, took = make_chain(bones), options_of(solver), {}
        for name in ("held", "reached"):
            goals = itertools.cycle(map(core.Goal, getattr(targets_of(bones), name)[:TIMED]))
            took[name] = time_round(
                lambda: None,
                lambda goals=goals: core.solve(chain, next(goals), options),
                3 * TIMED,
                60,
            )
        return {**took, "ratio": took["held"] / took["reached"]}

    def judge(self, bones: int, solver: str) -> dict[str, float]:
        """Return how much farther solutions stay from targets than need be, in lengths."""
        targets = targets_of(bones)
        found = core.solve_batch(
            make_chains(bones, COUNT), core.Goals(targets.held), options_of(solver)
        )
        excess = found.residual - targets.least
        return {
            **{f"within {share:g}": float((excess <= share).mean()) for share in NEAR},
            "median excess": float(np.median(excess)),
            "worst": float(excess.max()),
            "below the best": float(-excess.min()),
            "iterations": float(np.median(found.iterations)),
        }

    def count(self, bones: int, solver: str) -> dict[str, float]:
        """Return calls and iterations of one chain, and of many."""
        found: dict[str, float] = {}
        for many in (1, 100):
            each = count(bones, solver, many)
            each["calls an iteration"] = round(each["calls"] / max(each["iterations"], 1))
            found.update({f"{name}, of {many}": value for name, value in each.items()})
        return found


if __name__ == "__main__":
    serve(Tasks())
