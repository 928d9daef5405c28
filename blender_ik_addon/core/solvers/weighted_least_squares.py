"""Goals that cannot all be met: Newton's method on the sum of weighted squared errors.

Gauss-Newton takes what the effectors' paths curve for nothing, which holds only where errors
vanish. Where some remain it swings from side to side of the best pose; with the curvature it lands.
"""

from __future__ import annotations

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import ARRAYS, Array
from ..algebra.arrays import norm
from ..kinematics.kinematic_tree import TURN, KinematicTree
from . import newton_joints
from .kkt_system import KktSystem, curve_work
from .newton_directions import MOST_DAMPING, next_damping
from .newton_joints import LARGEST_TURN, shrink

# What the first step is damped by: errors far from their least tell little of where that is.
FIRST_DAMPING = 1.0
# Where no joint turns farther than this, in radians, the pose is the best one: the steps converge
# quadratically.
STILL = 1e-7
# Compared with the greatest curvature: turns that move nothing would else be rounding's to choose.
LEAST_DAMPING = 1e-10
# Ways that stiff effectors have strayed from the plan are taken back with this damping: where a
# limb is straight they cannot be.
WAY_BACK = 1e-3


def step(state: Array, tree: KinematicTree, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: a better one, or the same with more damping.

    Args:
        state: As ``kinematic_tree`` describes, shape (n + 1, C, B).
        tree: The trees.
        target: Of the effectors, times the roots of their weights, shape (3 E, B).
        damping: Shape (B,).

    Returns:
        The new state, and the damping for the next iteration; endless where the pose is settled.

    Source: Newton's method in a trust region (Nocedal and Wright, "Numerical Optimization", 2006,
    section 10.3), with a second-order correction (ibid., section 18.3) that brings effectors back
    to where the linear model has them, so that a step may go far along a curved valley. The second
    derivative of an effector by the turns of two joints, a x (b x r) with r from the lower of
    them, is that of rigid bodies. Tested in tests/core/solving/test_tree_compromise.py.
    """
    turn, error = state[:-1, :TURN], target - state[-1, : len(target)]
    size, posed = norm(error), tree.posed(state)
    jacobian = tree.find_jacobian(posed)[:, : len(error)]
    slope = -np.einsum("nkcb,kb->ncb", jacobian, error)
    flat = jacobian.transpose(3, 1, 0, 2).reshape(len(size), len(error), -1)
    pulls = error.reshape(-1, 3, len(size))
    curvature = flat.transpose(0, 2, 1) @ flat
    curvature += curve_work(posed, pulls, jacobian, tree.topology.turns)
    least = np.maximum(damping * size / tree.reach, LEAST_DAMPING)
    # No output is held.
    system = KktSystem(tree, turn, slope, lambda _: curvature, jacobian[:, :0], least)
    move, _, _ = system.solve(np.zeros((0, len(size))))
    move = move * shrink(move)
    moved = tree.clamp_state(turns.turn_by(turn, move))
    planned = state[-1, : len(target)] + np.einsum("nkcb,ncb->kb", jacobian, move)
    moved, _ = newton_joints.step(moved, tree, planned, np.full_like(size, WAY_BACK))
    is_better = norm(target - moved[-1, : len(target)]) < size
    # A step as large as the model holds has been cut: it asks for damping, whether it is good.
    largest = norm(move).max(axis=0)
    is_modest = largest < 0.999 * LARGEST_TURN
    following = next_damping(ARRAYS, damping, is_better & is_modest)
    following = np.where(largest < STILL, MOST_DAMPING, following)
    return tree.choose_states(is_better, moved, state), following
