"""How a chain settles where it makes least effort, its effector staying where it is.

The states are those of ``jointed`` with one more column; its last entry is the *unrest*, by how
much the joints still had to turn before the last iteration, times the reach, so that the one loop
of ``iterate`` stops when a chain rests.
"""

from __future__ import annotations

import numpy as np

from . import turns
from .kinematics.kinematic_tree import STATE_COLUMNS, KinematicTree
from .solvers import newton_joints
from .solvers.newton_directions import (
    DAMPING_DECAY,
    DAMPING_GROWTH,
    FIRST_DAMPING,
    LEAST_DAMPING_AFTER_REJECTION,
)
from .strained import Strained, System, shortened
from .vectors import Array, norm

# A chain rests when no joint has to turn by more than this, in radians.
RESTS = 1e-6
# A damped step is shorter than what is left to go; by so much of the damping it counts for more.
DAMPED = 1e3
# What rounding leaves of a comparison of efforts, as a share of them.
ROUNDING = 1e-13
# A step that saves less, as a share of the effort, has to leave less to go by half.
SLIGHT = 1e-9
# Turns that bring the effector back to its target after each step; nearer than this share of the
# reach it is there.
RETURNS = 2
RETURNED = 1e-14
# How far a chain that rests on a ridge is sent down, in radians.
ESCAPE = 0.2


def begun(state: Array) -> Array:
    """Return states (n + 1, 7, B) with a column for the unrest, which is endless at first."""
    wide = np.concatenate((state, np.zeros((len(state), 1, state.shape[-1]))), axis=1)
    wide[-1, STATE_COLUMNS] = np.inf
    return wide


def step(state: Array, strained: Strained, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: one of less effort, or the same with more damping.

    A step of Newton's method on the effort, with the effector held to first order by a force; the
    force's own curvature is part of the system. Joints that stand on an edge of their range and
    are pressed against it keep to it. The effector is then brought back by NEWTON, so that every
    state is as near to the target as the first one was, and the step is taken if effort falls.
    Where a chain rests on a ridge, it is sent down from it, along the way that the effort curves
    down most; springs that it has just met are left out, for those stand aside on the way back.

    Args:
        state: As ``begun`` begins it, shape (n + 1, 8, B).
        strained: The chains and what acts on them.
        target: Of the outputs, zero for the unrest, shape (8, B).
        damping: Shape (B,).

    Source: sequential quadratic programming with an active set (Nocedal and Wright, "Numerical
    Optimization", 2006, chapters 16 and 18); the curvature of chains of turns, the return to the
    target and the way down from ridges are derived for this project and tested against SciPy's
    SLSQP in tests/core/test_force_equilibrium.py.
    """
    chain, effort = strained.chain, strained.effort
    turn = state[:-1, :4]
    posed = chain.posed(state)
    system = System(strained, posed, turn, damping)
    rows = len(system.answers)
    move, pull, curve = system.solved(target[:rows] - state[-1, :rows])
    size = norm(move).max(axis=0)
    unrest = chain.reach * size * (1.0 + DAMPED * damping)
    is_done = unrest <= RESTS * chain.reach
    if is_done.any():
        down, leads_down = system.down(ESCAPE / (1.0 + DAMPED * damping))
        leads_down &= is_done
        if leads_down.any():
            move = np.where(leads_down, down, move)
            size = np.where(leads_down, norm(down).max(axis=0), size)
            unrest = np.where(leads_down, chain.reach, unrest)
            curve = np.where(leads_down, 1.0, curve)
    moved = _returned(chain, state, shortened(move), target[:rows])
    strength = 2.0 * norm(pull)
    before = effort.total(posed, turn) + strength * norm(target[:rows] - state[-1, :rows])
    after = effort.total(chain.posed(moved), moved[:-1, :4])
    after = after + strength * norm(target[:rows] - moved[-1, :rows])
    slack = ROUNDING * (np.abs(before) + system.scale)
    # Between springs that are met and left a chain could go to and fro for ever.
    falls = before - after > SLIGHT * (np.abs(before) + system.scale)
    gets_on = falls | (unrest < 0.5 * state[-1, STATE_COLUMNS])
    is_better = (after <= before + slack) & (curve >= 0.0) & gets_on
    result = state.copy()
    result[:, :STATE_COLUMNS] = np.where(is_better, moved, state[:, :STATE_COLUMNS])
    result[-1, STATE_COLUMNS] = unrest
    grown = np.maximum(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
    return result, np.where(is_better, damping * DAMPING_DECAY, grown)


def _returned(chain: KinematicTree, state: Array, move: Array, target: Array) -> Array:
    """Return states with turns made and effectors brought back."""
    turned = turns.normalised(turns.multiply(turns.by_vectors(move), state[:-1, :4]))
    moved = chain.make_state(chain.joints.clamped(turned), state[:-1, 4])
    damping = np.full(state.shape[-1], FIRST_DAMPING)
    for _ in range(RETURNS):
        if (norm(target - moved[-1, : len(target)]) <= RETURNED * chain.reach).all():
            break
        moved, damping = newton_joints.step(moved, chain, target, damping)
    return moved
