"""This project's core, called for one chain or for a whole batch."""

from __future__ import annotations

import numpy as np

from benchmarks.core import solvers
from benchmarks.core.cases import Array
from blender_ik_addon.core import (
    Chain,
    Chains,
    Goal,
    Goals,
    JointKind,
    Joints,
    SolveOptions,
    solve,
    solve_batch,
)
from blender_ik_addon.core import Solver as Kind


class Solver(solvers.Solver):
    """One chain, and as many of it as there are targets."""

    def __init__(self, initial: Array) -> None:
        self.initial, self.chain = initial, Chain(initial)
        # By what they are made for: settings and chains are no part of a solve.
        self.options: dict[float, SolveOptions] = {}
        self.chains: dict[int, Chains] = {}

    def solve(self, target: Array, tolerance: float) -> None:
        if tolerance not in self.options:
            kind = Kind.TWO_BONE if len(self.initial) == 3 else Kind.NEWTON
            self.options[tolerance] = SolveOptions(
                solver=kind, tolerance=tolerance, iterations=solvers.ITERATIONS
            )
        self.solution = solve(self.chain, Goal(target), self.options[tolerance])

    def joints(self) -> Array:
        return self.solution.joint_positions

    def solve_all(self, targets: Array, tolerance: float, *, is_timed: bool) -> Array:
        if len(targets) not in self.chains:
            self.solve(targets[0], tolerance)
            starts = np.repeat(self.initial[None], len(targets), axis=0)
            self.chains[len(targets)] = Chains(starts)
        chains = self.chains[len(targets)]
        found = solve_batch(chains, Goals(targets), self.options[tolerance])
        return found.joint_positions[: 0 if is_timed else None]


def ball_joints(wxyz: Array, limit: float) -> Joints:
    """Return joints that start at local rotations (..., n, 4), with one range about all axes."""
    shape = wxyz.shape[:-1]
    high, none = np.full((*shape, 3), limit), np.zeros(shape)
    return Joints(
        kinds=(JointKind.BALL,) * shape[-1],
        offsets=np.tile(np.eye(3), (*shape, 1, 1)),
        start_wxyz=wxyz,
        low=-high,
        high=high,
        mobility=np.ones((*shape, 3)),
        slide_low=none,
        slide_high=none,
    )
