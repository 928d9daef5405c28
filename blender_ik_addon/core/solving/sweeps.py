"""FABRIK and CCD repeated: on one chain or tree in floats, or on many side by side in arrays."""

from __future__ import annotations

from ..algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Counts, Number
from ..algebra.nested import Nested
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector
from ..kinematics.bones import Bones, SweepPose, Targets, find_distance, lay_bones, pose_bones
from ..model.options import Solver
from ..solvers import ccd, fabrik
from .iteration import Method, Progress, Work, iterate, run_chains

SWEPT = frozenset((Solver.FABRIK, Solver.CCD))
"""The solvers that sweep along chains."""
# Sweeps before NEWTON finishes, where it may: sweeps converge linearly, slowly near full reach.
MOST_SWEEPS = 7
# Rows that are done leave the arrays once half of them are.
CCD, FABRIK = Method(ccd.step, compaction=0.5), Method(fabrik.step, compaction=0.5)


def sweep_points(
    m: Arithmetic,
    solver: Solver,
    points: tuple[Vector, ...],
    lengths: tuple[Number, ...],
    target: Vector,
    tolerance: Number,
    cap: Number,
) -> tuple[tuple[Vector, ...], Number]:
    """Return the joints of chains without limits after sweeps, and the iterations."""
    rotations: tuple[Quaternion, ...] = ()
    if solver is Solver.CCD:
        zero = 0.0 * points[0][0]
        rotations = ((zero + 1.0, zero, zero, zero),) * len(lengths)
    chain, pose = lay_bones(points, lengths), SweepPose(points, rotations)
    pose, used = sweep_bones(m, solver, chain, pose, Targets((target,)), tolerance, cap)
    return pose.points, used


def sweep_joints(
    solver: Solver,
    chains: list[Bones],
    rotations: Array,
    places: Array,
    weights: Array,
    tolerance: Array,
    caps: Counts,
) -> tuple[Array, Counts]:
    """Return the local rotations after sweeps, (n, 4, B), and the iterations.

    Chains or trees are a list as for ``run_chains``; places (E, 3, B) of effectors, weights of all
    points, (n + E, B), or (0, B) for one effector, tolerances and caps (B,).
    """

    def sweep(
        m: Arithmetic, chain: Bones, turns: Nested, ends: Nested, shares: Nested, *limits: Number
    ) -> Nested:
        pose = pose_bones(m, chain, turns)
        pose, used = sweep_bones(m, solver, chain, pose, Targets(ends, shares), *limits)
        return pose.rotations, used

    m = FLOATS if isinstance(chains[0].reach, float) else ARRAYS
    turned, used = run_chains(m, sweep, chains, rotations, places, weights, tolerance, caps)
    return turned, used


def sweep_bones(
    m: Arithmetic,
    solver: Solver,
    chain: Bones,
    pose: SweepPose,
    targets: Targets,
    tolerance: Number,
    cap: Number,
) -> tuple[SweepPose, Number]:
    """Return the pose after sweeps, and the iterations used."""
    work, error = Work(chain, targets, tolerance, cap), find_distance(m, pose.points, targets)
    if solver is Solver.FABRIK:
        swept = iterate(m, FABRIK, work, Progress(pose, pose, error, 0 * cap))
        return swept.best, swept.used
    turned = iterate(m, CCD, work, Progress(pose.rotations, pose.rotations, error, 0 * cap))
    return pose_bones(m, chain, turned.best), turned.used
