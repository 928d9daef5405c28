"""Drag chains with FOLLOW, once, from their start poses to their targets: records in, records out.

Poles, flips, rotations of the tip, soft distances and joints are for chains whose root stays.
"""

from __future__ import annotations

import numpy as np

from .chain import Chain, Goal, Solution, SolveOptions, Status
from .chains import Chains, Goals, Solutions
from .follow import Lead, follow
from .status_codes import STATUSES
from .task import FINEST_TOLERANCE

NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


def solved_alone(chain: Chain, goal: Goal, options: SolveOptions) -> Solution:
    """Return the pose of one chain; as ``solve``."""
    chains = Chains(chain.joint_positions[None])
    return solved(chains, Goals(goal.target_position[None]), options)[0]


def solved(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Return the poses of chains whose led ends lie on their targets; as ``solve_batch``.

    No chain is turned as a whole: every bone swings from its parent by the shortest rotation.
    """
    targets, start = goals.target_positions, chains.joint_positions
    dragged = follow(start.transpose(1, 2, 0), targets.T[None], options.lead, options.max_bend)
    joints = dragged.transpose(2, 0, 1)
    turns = np.tile(NOT_TURNED, (len(chains), 1))
    led = joints[:, -1 if options.lead is Lead.TIP else 0]
    residuals = np.linalg.norm(led - targets, axis=1)
    rounding = FINEST_TOLERANCE * (np.abs(start).max(axis=(1, 2)) + np.abs(targets).max(axis=1))
    is_there = residuals <= options.tolerance + rounding
    codes = [STATUSES.index(Status.REACHED if there else Status.BLENDED) for there in is_there]
    return Solutions(
        joint_positions=joints,
        chain_rotations_wxyz=turns,
        tip_rotations_wxyz=None,
        residuals=residuals,
        iterations=np.zeros(len(chains), dtype=np.int64),
        status_codes=np.array(codes, dtype=np.int8),
    )
