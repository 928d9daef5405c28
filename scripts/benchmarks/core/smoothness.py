"""How evenly chains move along paths, for all solvers, free and limited. A worker.

    python -m benchmarks.core.smoothness      a Python with NumPy

Ten bones of length 0.1, straight at rest along Y; limits of 40 degrees
about every axis. Poses are solved one by one from rest, so none knows of the one before it.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from benchmarks.cells import short
from benchmarks.core.cases import Array
from benchmarks.core.with_core import ball_joints
from benchmarks.workers import serve
from blender_ik_addon.core import (
    Chains,
    Goals,
    SolveOptions,
    Solver,
    solve_batch,
)
from common.tables import make_table

BONES = 10
FRAMES = 400
LIMIT = np.radians(40.0)
# A bend of less is no zig-zag that anybody sees, in radians.
SEEN = np.radians(1.0)
SOLVERS = (Solver.NEWTON, Solver.FABRIK, Solver.CCD)
HEAD = (
    *("path", "joints", "solver", "reached", "max bend", "zig-zag"),
    *("max joint step", "rms acceleration"),
)
SOFT_HEAD = ("soft distance", "elbow step for a target step of 1e-4", "bound of the elbow's speed")


def paths() -> dict[str, Array]:
    """Return targets by the name of their path, shape (frames, 3)."""
    way = np.array([0.4, 0.8, 0.2]) / np.linalg.norm((0.4, 0.8, 0.2))
    turn = np.linspace(0.0, 2.0 * np.pi, FRAMES)
    circle = (0.2 * np.cos(turn), np.full(FRAMES, 0.6), 0.2 * np.sin(turn))
    return {
        "radial, 0.95 to 0.2": np.linspace(0.95, 0.2, FRAMES)[:, None] * way,
        "circle": np.stack(circle, axis=1),
    }


def straight(count: int, *, is_limited: bool) -> Chains:
    """Return so many straight chains."""
    points = np.zeros((count, BONES + 1, 3))
    points[:, :, 1] = np.linspace(0.0, 1.0, BONES + 1)
    side = np.tile((0.0, 0.0, 1.0), (count, 1))
    if not is_limited:
        return Chains(points, side)
    wxyz = np.tile((1.0, 0.0, 0.0, 0.0), (count, BONES, 1))
    return Chains(points, side, ball_joints(wxyz, LIMIT))


def measured(solver: Solver, targets: Array, *, is_limited: bool) -> tuple[str, ...]:
    """Return the cells of one row."""
    chains = straight(len(targets), is_limited=is_limited)
    solved = solve_batch(chains, Goals(targets), SolveOptions(solver=solver, tolerance=1e-6))
    joints = solved.joint_positions
    bones = np.diff(joints, axis=1) * BONES
    normals = np.cross(bones[:, :-1], bones[:, 1:])
    cosine = np.einsum("fij,fij->fi", bones[:, :-1], bones[:, 1:])
    bends = np.arctan2(np.linalg.norm(normals, axis=2), cosine)
    turns_back = np.einsum("fij,fij->fi", normals[:, :-1], normals[:, 1:]) < 0.0
    turns_back &= (bends[:, :-1] > SEEN) & (bends[:, 1:] > SEEN)
    way = np.linalg.norm(np.diff(targets, axis=0), axis=1)
    steps = np.linalg.norm(np.diff(joints, axis=0), axis=2).max(axis=1) / way
    second = np.diff(joints, n=2, axis=0) / way.mean()
    reached = (solved.residual <= 1e-5).mean()
    acceleration = np.sqrt(np.square(second).sum(axis=2).mean())
    figures = (turns_back.mean(), steps.max(), acceleration)
    return f"{100.0 * reached:.0f} %", f"{np.degrees(bends.max()):.1f}", *map(short, figures)


def elbow_steps(soft: float) -> tuple[str, str]:
    """Return the cells of a row of an arm that is pulled straight through full reach."""
    points = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.05], [0.0, 1.0, 0.0]])
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    reach = lengths.sum()
    distances = np.arange(0.9, 1.1, 1e-4) * reach
    targets = distances[:, None] * np.array([0.0, 1.0, 0.0])
    chains = Chains(np.tile(points, (len(targets), 1, 1)))
    options = SolveOptions(solver=Solver.TWO_BONE, soft_distance=soft * reach)
    joints = solve_batch(chains, Goals(targets), options).joint_positions
    bones = np.diff(joints, axis=1)
    across = np.linalg.norm(np.cross(bones[:, 0], bones[:, 1]), axis=1)
    angle = np.arctan2(across, np.einsum("fi,fi->f", bones[:, 0], bones[:, 1]))
    step = np.abs(np.diff(angle)).max()
    if soft == 0.0:
        return f"{step:.2g} rad", "none"
    bound = np.sqrt(reach / (2.0 * lengths[0] * lengths[1] * soft * reach))
    return f"{step:.2g} rad", f"{bound * 1e-4 * reach:.2g} rad"


def make_tables() -> str:
    """Return both tables."""
    rows = [
        (path, "within 40 degrees" if is_limited else "free", str(solver),
         *measured(solver, targets, is_limited=is_limited))
        for path, targets in paths().items()
        for is_limited in (False, True)
        for solver in SOLVERS
    ]  # fmt: skip
    soft = [(f"{soft:g} of the reach", *elbow_steps(soft)) for soft in (0.0, 0.02, 0.1)]
    return f"{make_table(HEAD, rows, 3)}\n\n{make_table(SOFT_HEAD, soft)}"


if __name__ == "__main__":
    serve(SimpleNamespace(make_tables=make_tables))
