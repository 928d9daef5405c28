"""Measure the solvers of a checkout by its public names. A worker: one process, one thread.

    python -m benchmarks.measured.core_rows    any Python with NumPy, with the checkout on its path

Ten bones, tolerance 1e-4 of the length. Start poses lie in no plane, as those of posed rigs do,
unless a row says so. Models are built outside of the clock; goals are made within.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import answering
from benchmarks.against import MANY, ROWS, Row
from blender_ik_addon import core as package
from blender_ik_addon.core import (
    Chain,
    Chains,
    Forces,
    Goal,
    Goals,
    JointKind,
    Joints,
    SolveOptions,
    Solver,
    solve,
    solve_batch,
)

Array = npt.NDArray[np.float64]
# A reference may have other names.
core: Any = package

SEED = 20261122
TOLERANCE = 1e-4
ITERATIONS = 500
BALL_LIMIT = np.radians(40.0)
HARD_LIMIT = np.radians(12.0)
# From root to tip, at the middles of the bones between.
STIFFNESS = 4.0, 0.5


@dataclass(frozen=True)
class Work:
    """What a row does.

    Attributes:
        each: Solves the problems one by one; returns residuals and iterations of each.
        all: Solves them in one call.
    """

    each: Callable[[], tuple[Array, Array]]
    all: Callable[[], tuple[Array, Array]]


def rotation_matrices(vectors: Array) -> Array:
    """Return the rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    skew = np.stack(
        [np.stack(r, -1) for r in ((zero, -z, y), (z, zero, -x), (-y, x, zero))], axis=-2
    )
    safe = np.where(angle > 0.0, angle, 1.0)
    shape = np.sin(angle) / safe, (1.0 - np.cos(angle)) / (safe * safe)
    turned: Array = np.eye(3) + shape[0] * skew + shape[1] * skew @ skew
    return turned


def posed(turns: Array) -> Array:
    """Return the joints (B, n + 1, 3) of unit chains along Y with local turns (B, n, 3)."""
    frame = np.tile(np.eye(3), (len(turns), 1, 1))
    joints = np.zeros((len(turns), turns.shape[1] + 1, 3))
    for i in range(turns.shape[1]):
        frame = frame @ rotation_matrices(turns[:, i])
        joints[:, i + 1] = joints[:, i] + frame[:, :, 1]
    return joints


def joints_within(turns: Array, limit: float) -> Joints:
    """Return ball joints that swing and twist up to a limit, started at turns (B, n, 3)."""
    shape = turns.shape
    half = 0.5 * np.linalg.norm(turns, axis=-1, keepdims=True)
    axis = turns / np.maximum(2.0 * half, 1e-300)
    return Joints(
        kinds=(JointKind.BALL,) * shape[1],
        offsets=np.tile(np.eye(3), (*shape[:2], 1, 1)),
        start_wxyz=np.concatenate((np.cos(half), np.sin(half) * axis), axis=-1),
        low=np.full(shape, -limit),
        high=np.full(shape, limit),
        mobility=np.ones(shape),
        slide_low=np.zeros(shape[:2]),
        slide_high=np.zeros(shape[:2]),
    )


def chain_work(row: Row) -> Work:
    """Return the work of a row about chains."""
    rng = np.random.default_rng(SEED)
    bones, limit = row.bones, HARD_LIMIT if row.is_held_back else BALL_LIMIT
    start = rng.uniform(-0.15, 0.15, (MANY, bones, 3)) * ([0.0, 0.0, 1.0] if row.is_flat else 1.0)
    if row.has_limits:
        start *= limit / BALL_LIMIT
        targets = posed(rng.uniform(-0.8, 0.8, start.shape) * limit / np.sqrt(3.0))[:, -1]
    else:
        directions = rng.normal(size=(MANY, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        targets = directions * (0.95 * bones * rng.uniform(0.1, 1.0, (MANY, 1)))
    if row.is_held_back:
        targets = -targets
    points, options = posed(start), options_of(row)
    poles = rng.normal(size=(MANY, 3)) * 3.0 * bones if row.has_pole else None
    joints = joints_within(start, limit) if row.has_limits else None
    forces = None
    if row.solver == "FORCE":
        middles, free = (np.arange(bones) + 0.5) / bones, np.zeros((bones, 3))
        stiffness = STIFFNESS[0] + (STIFFNESS[1] - STIFFNESS[0]) * middles
        weights, down = np.full(bones, 1.0 / bones), np.array([0.0, 0.0, -1.0])
        given = stiffness, weights, down, free, free
        forces = Forces(*given)
        forces_of_all = Forces(*(np.broadcast_to(each, (MANY, *each.shape)) for each in given))
    chains = Chains(points, None, joints, None if forces is None else forces_of_all)
    alone = [
        Chain(
            points[i],
            None,
            None if joints is None else joints_within(start[i : i + 1], limit).take(0),
            forces,
        )
        for i in range(MANY)
    ]

    def each() -> tuple[Array, Array]:
        found = [
            solve(chain, Goal(target, None if poles is None else poles[i]), options)
            for i, (chain, target) in enumerate(zip(alone, targets))
        ]
        return np.array([s.residual for s in found]), np.array([s.iterations for s in found])

    def together() -> tuple[Array, Array]:
        found = solve_batch(chains, Goals(targets, poles), options)
        return np.linalg.norm(found.joint_positions[:, -1] - targets, axis=1), found.iterations

    return Work(each, together)


def options_of(row: Row) -> SolveOptions:
    """Return how a row is solved."""
    return SolveOptions(
        solver=Solver(row.solver), tolerance=TOLERANCE * row.bones, iterations=ITERATIONS
    )


def tree_work(row: Row) -> Work:
    """Return the work of a spine of four bones with two arms of three."""
    rng = np.random.default_rng(SEED)
    parents = np.array([-1, 0, 1, 2, 3, 4, 5, 3, 7, 8])
    along = np.array([[0, 1, 0]] * 4 + [[0.8, 0.1, 0.1]] * 3 + [[-0.8, 0.1, -0.1]] * 3, dtype=float)
    heads = np.zeros((MANY, 10, 3))
    ways = along + rng.uniform(-0.1, 0.1, (MANY, 10, 3))
    for bone, parent in enumerate(parents):
        if parent >= 0:
            heads[:, bone] = heads[:, parent] + ways[:, parent]
    carriers = np.array([6, 9])
    tips = heads[:, carriers] + ways[:, carriers]
    targets = tips + rng.uniform(-0.5, 0.5, tips.shape)
    options = options_of(row)
    if not hasattr(core, "Topology"):
        return _old_tree_work(parents, heads, carriers, tips, targets, options)
    topology, points = core.Topology(parents, carriers), np.concatenate((heads, tips), axis=1)
    trees = Chains(points, topology=topology)
    alone = [Chain(each, topology=topology) for each in points]

    def each() -> tuple[Array, Array]:
        found = [solve(tree, Goal(targets[i]), options) for i, tree in enumerate(alone)]
        residuals = np.array([s.residual.max() for s in found])
        return residuals, np.array([s.iterations for s in found])

    def together() -> tuple[Array, Array]:
        found = solve_batch(trees, Goals(targets), options)
        return found.residual.max(axis=1), found.iterations

    return Work(each, together)


def _old_tree_work(
    parents: Array, heads: Array, carriers: Array, tips: Array, targets: Array, options: Any
) -> Work:
    """Return the work on a reference whose trees are records of their own."""
    trees = core.Trees(parents, heads, carriers, tips)
    alone = [core.Tree(parents, heads[i], carriers, tips[i]) for i in range(MANY)]
    goals = [core.TreeGoals(each) for each in targets]

    def each() -> tuple[Array, Array]:
        found = [core.solve_tree(*one, options) for one in zip(alone, goals, strict=True)]
        residuals = np.array([s.residuals.max() for s in found])
        return residuals, np.array([s.iterations for s in found])

    def together() -> tuple[Array, Array]:
        found = core.solve_trees(trees, core.TreeGoals(targets), options)
        return found.residuals.max(axis=1), found.iterations

    return Work(each, together)


_known: dict[str, Work] = {}


def _work(name: str) -> Work:
    if name not in _known:
        row = next(row for row in ROWS if row.name == name)
        _known[name] = tree_work(row) if row.is_tree else chain_work(row)
        _known[name].each()
        _known[name].all()
    return _known[name]


def measure(name: str, is_many: bool) -> dict[str, float]:
    """Return milliseconds a call, the share of targets reached, and iterations."""
    work = _work(name)
    run = work.all if is_many else work.each
    begun = time.perf_counter()
    residuals, iterations = run()
    spent = 1e3 * (time.perf_counter() - begun)
    row = next(row for row in ROWS if row.name == name)
    return {
        "milliseconds": spent if is_many else spent / MANY,
        "reached": float((residuals <= 1.01 * TOLERANCE * row.bones).mean()),
        "iterations": float(np.median(iterations)),
        "residual": float(np.median(residuals)),
    }


if __name__ == "__main__":
    answering.serve({"measure": measure})
