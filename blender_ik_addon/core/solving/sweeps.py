"""FABRIK and CCD: a few chains one by one in floats, many side by side in arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algebra import nested
from ..algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Counts, Number
from ..algebra.nested import Nested
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, norm, subtract
from ..kinematics.bones import Bone, Bones, Pose, pose_bones
from ..solvers import ccd, fabrik
from .iteration import Method, Progress, Work, iterate

# Sweeps after which NEWTON finishes, where it may: they converge linearly, and near full reach very
# slowly.
MOST_SWEEPS = 6
# Up to so many chains compiled together are quicker one by one: measured by `scripts/benchmark.py
# --stages`.
FEW = 24
# Rows that are done leave where half of them are.
CCD, FABRIK = Method(ccd.step, compaction=0.5), Method(fabrik.step, compaction=0.5)


class Swept(NamedTuple):
    """What sweeps have made of B chains.

    Attributes:
        points: Joints, shape (n + 1, 3, B).
        rotations: Local rotations wxyz, shape (n, 4, B); of no meaning for free joints.
        used: Iterations, shape (B,).
    """

    points: Array
    rotations: Array
    used: Counts


class Sweeps(NamedTuple):
    """What is swept.

    Attributes:
        use_ccd: CCD; else FABRIK.
        is_few: Whether to go one by one.
        is_alone: Whether all rows are one chain.
    """

    use_ccd: bool
    is_few: bool
    is_alone: bool = False


def sweeps_of(solver: str, *, is_few: bool, is_alone: bool = False) -> Sweeps | None:
    """Return the sweeps of a solver that has some."""
    return Sweeps(solver == "CCD", is_few, is_alone) if solver in ("FABRIK", "CCD") else None


def sweep_points(
    how: Sweeps, points: Array, lengths: Array, target: Array, tolerance: Array, caps: Counts
) -> Swept:
    """Return what sweeps make of chains of free joints.

    Args:
        how: Which sweeps.
        points: Joints, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        target: Shape (3, B).
        tolerance: Shape (B,).
        caps: Most iterations, shape (B,).
    """

    def sweep(m: Arithmetic, _: None, joints: Nested, sizes: Nested, *asked: Number) -> Nested:
        bones = tuple(
            Bone(size, subtract(end, head))
            for size, head, end in zip(sizes, joints, joints[1:], strict=False)
        )
        one = joints[0][0] * 0.0 + 1.0
        unturned: Quaternion = (one, 0.0 * one, 0.0 * one, 0.0 * one)
        rotations = (unturned,) * len(bones)
        pose = Pose(joints, rotations if how.use_ccd else ())
        chain = Bones(bones, joints[0], sum(sizes))
        swept = _sweep_pose(m, how, chain, pose, *asked)
        return swept[0], rotations, swept[2]

    return _run(how, sweep, None, points, lengths, target, tolerance, caps)


def sweep_joints(
    how: Sweeps,
    chains: list[Bones],
    rotations: Array,
    target: Array,
    tolerance: Array,
    caps: Counts,
) -> Swept:
    """Return what sweeps make of chains with joints.

    Args:
        how: Which sweeps.
        chains: Their bones, one by one; or one record of all of them side by side.
        rotations: Local rotations wxyz, shape (n, 4, B).
        target: Shape (3, B).
        tolerance: Shape (B,).
        caps: Most iterations, shape (B,).
    """

    def sweep(m: Arithmetic, chain: Bones, turns: Nested, *asked: Number) -> Nested:
        return _sweep_pose(m, how, chain, pose_bones(m, chain, turns), *asked)

    return _run(how, sweep, chains, rotations, target, tolerance, caps)


def _sweep_pose(
    m: Arithmetic,
    how: Sweeps,
    chain: Bones,
    pose: Pose,
    target: Vector,
    tolerance: Number,
    cap: Number,
) -> tuple[tuple[Vector, ...], tuple[Quaternion, ...], Number]:
    error = norm(m, subtract(target, pose.points[-1]))
    work = Work(chain, target, tolerance, cap)
    state = pose.rotations if how.use_ccd else pose
    begun = Progress(state, state, error, 0 * cap)
    done = iterate(m, CCD if how.use_ccd else FABRIK, work, begun)
    if how.use_ccd:
        pose = pose_bones(m, chain, done.best)
    else:
        pose = done.best
    return pose.points, pose.rotations, done.used


def _run(
    how: Sweeps, sweep: Callable[..., Nested], chains: list[Bones] | None, *arrays: Array | Counts
) -> Swept:
    """Sweep chains one by one, or side by side, given arrays (..., B)."""
    count = arrays[-1].size
    each = [None] * count if chains is None else chains
    if how.is_few:
        rows = [
            sweep(FLOATS, each[row], *(nested.to_floats(array, row) for array in arrays))
            for row in range(count)
        ]
        parts = [np.moveaxis(np.array([row[i] for row in rows]), 0, -1) for i in range(3)]
        return Swept(*(np.ascontiguousarray(part) for part in parts))
    given = (each[0], *(nested.to_numbers(array, array.ndim - 1) for array in arrays))
    if count == 1:
        # NumPy rounds one row otherwise than several.
        given = nested.take_rows(given, np.zeros(2, dtype=np.int64))
    return Swept(*(np.array(part)[..., :count] for part in sweep(ARRAYS, *given)))
