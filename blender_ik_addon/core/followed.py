"""Drag chains with FOLLOW, once, from their start poses to their targets: records in, records out.

Poles, flips, rotations of the tip and soft distances are for chains whose root stays.
"""

from __future__ import annotations

import numpy as np

from .chain import Chain, Goal, Solution, SolveOptions, Status
from .chains import Chains, Goals, Solutions
from .kinematics.compiled_bones import compile_bones
from .solvers.follow import Lead
from .solving.dragging import FEW, Drag, drag_joints, drag_points
from .status_codes import STATUSES
from .task import FINEST_TOLERANCE
from .vectors import Array

NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


def solved_alone(chain: Chain, goal: Goal, options: SolveOptions) -> Solution:
    """Return the pose of one chain; as ``solve``."""
    joints = None if chain.joints is None else chain.joints.as_batch()
    chains = Chains(chain.joint_positions[None], joints=joints)
    return solved(chains, Goals(goal.target_position[None]), options)[0]


def solved(chains: Chains, goals: Goals, options: SolveOptions) -> Solutions:
    """Return the poses of chains whose led ends lie on their targets; as ``solve_batch``.

    No chain is turned as a whole: every bone swings from its parent by the shortest rotation.
    """
    targets, start = goals.target_positions, chains.joint_positions
    drag = Drag(options.lead, options.use_anchor, is_few=chains.compiled_count <= FEW)
    local = None
    if chains.joints is None:
        dragged = drag_points(drag, start.transpose(1, 2, 0), targets.T[None], options.max_bend)
        joints = dragged.transpose(2, 0, 1)
    else:
        joints, local = _dragged_joints(chains, targets, drag)
    turns = np.tile(NOT_TURNED, (len(chains), 1))
    led = joints[:, -1 if options.lead is Lead.TIP else 0]
    residuals = np.linalg.norm(led - targets, axis=1)
    rounding = FINEST_TOLERANCE * (np.abs(start).max(axis=(1, 2)) + np.abs(targets).max(axis=1))
    is_there = residuals <= options.tolerance + rounding
    short = Status.EXTENDED if options.use_anchor else Status.BLENDED
    codes = [STATUSES.index(Status.REACHED if there else short) for there in is_there]
    return Solutions(
        joint_positions=joints,
        chain_rotations_wxyz=turns,
        tip_rotations_wxyz=None,
        residuals=residuals,
        iterations=np.zeros(len(chains), dtype=np.int64),
        status_codes=np.array(codes, dtype=np.int8),
        local_rotations_wxyz=local,
        slides=None if local is None else np.zeros(local.shape[:2]),
    )


def _dragged_joints(chains: Chains, targets: Array, drag: Drag) -> tuple[Array, Array]:
    """Return joints (B, n + 1, 3) and local rotations (B, n, 4) of chains with joints."""
    start, tree = chains.start, chains.tree
    bones = compile_bones(tree, is_few=drag.is_few)
    path = ((targets.T - start.root) / start.unit)[None]
    points, turned = drag_joints(drag, bones, chains.standing_turns, path)
    return (points * start.unit + start.root).transpose(2, 0, 1), tree.joints.outer(turned)
