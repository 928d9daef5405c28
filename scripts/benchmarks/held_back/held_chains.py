"""The chains that are measured, their targets, and the distances that no pose betters.

The targets are drawn evenly from a ball of 95 % of the chain's length. Those count that no pose
comes nearer to than 1e-4 of the length, of 64 that are drawn and led to a minimum. Beside them
stand targets that poses within 80 % of the ranges reach.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.held_back import nearest
from blender_ik_addon.core import Chain, Chains, JointKind, Joints
from common.console import ROOT

Array = npt.NDArray[np.float64]

SEED = 20280311
LIMIT = 0.6
# Radians by which each bone of the start pose is bent about X, and turned about Z in turn.
BENT, TURNED = 0.1, 0.02
STARTS, STEPS = 64, 500
# Starts and steps that sort out what is reached.
FIRST_STARTS, FIRST_STEPS = 8, 200
HELD = 1e-4
COUNT, REACHED = 1000, 200
DRAWN = 250
CACHE = ROOT / "out" / "held_back"
"""Not in the repository: drawn again, the same, where it is missing."""


class Goals(NamedTuple):
    """Targets out of reach (1000, 3), the least distances (1000,), and others within reach."""

    held: Array
    least: Array
    reached: Array


def start_rotations(bones: int) -> Array:
    """Return the local rotations of the start pose, shape (n, 4)."""
    x, z = np.full(bones, BENT / 2.0), TURNED / 2.0 * (-1.0) ** np.arange(bones)
    return np.stack((np.sqrt(1.0 - x * x - z * z), x, np.zeros(bones), z), axis=1)


def joints_of(wxyz: Array) -> Joints:
    """Return ball joints that start at local rotations (..., n, 4)."""
    shape = wxyz.shape[:-1]
    return Joints(
        kinds=(JointKind.BALL,) * shape[-1],
        offsets=np.tile(np.eye(3), (*shape, 1, 1)),
        start_wxyz=wxyz,
        low=np.full((*shape, 3), -LIMIT),
        high=np.full((*shape, 3), LIMIT),
        mobility=np.ones((*shape, 3)),
        slide_low=np.zeros(shape),
        slide_high=np.zeros(shape),
    )


def chains_from(wxyz: Array) -> Chains:
    """Return chains that start at local rotations (B, n, 4)."""
    _, points = nearest.pose(nearest.coordinates_of(wxyz, LIMIT, 0.0), LIMIT)
    return Chains(points, joints=joints_of(wxyz))


def make_chain(bones: int) -> Chain:
    """Return the chain in its start pose."""
    start = start_rotations(bones)
    return Chain(chains_from(start[None]).joint_positions[0], joints=joints_of(start))


def goals_of(bones: int, folder: Path = CACHE) -> Goals:
    """Return the targets of a chain, from the cache where it has them."""
    file = folder / f"{bones}_bones_{SEED}.npz"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(file, **_draw(bones)._asdict())
    with np.load(file) as found:
        return Goals(*(found[name] for name in Goals._fields))


def _draw(bones: int) -> Goals:
    rng, held, least = np.random.default_rng((SEED, bones)), [], []
    while sum(map(len, held)) < COUNT:
        targets = rng.normal(size=(DRAWN, 3))
        targets *= 0.95 * rng.random((DRAWN, 1)) ** (1.0 / 3.0) / _norm(targets)[:, None]
        first = _find_least(rng, bones, targets, FIRST_STARTS, FIRST_STEPS)
        targets, first = targets[first > HELD], first[first > HELD]
        best = np.minimum(first, _find_least(rng, bones, targets, STARTS, STEPS))
        held.append(targets[best > HELD])
        least.append(best[best > HELD])
    poses = 0.8 * nearest.draw(rng, bones, REACHED)
    tips = nearest.pose(poses, LIMIT)[1][:, -1]
    return Goals(np.concatenate(held)[:COUNT], np.concatenate(least)[:COUNT], tips)


def _find_least(
    rng: np.random.Generator, bones: int, targets: Array, starts: int, steps: int
) -> Array:
    """Return the least distances (B,) of what random poses lead to."""
    poses = nearest.draw(rng, bones, starts * len(targets))
    _, found = nearest.find_nearest(poses, np.repeat(targets, starts, axis=0), LIMIT, steps)
    least: Array = found.reshape(-1, starts).min(axis=1)
    return least


def _norm(vectors: Array) -> Array:
    return np.sqrt((vectors * vectors).sum(axis=-1))
