"""One step to the pose of least potential energy, the effector held where it is.

The states are those of ``kinematic_tree`` with one more column; its last entry is the *step norm*,
by how much the joints still had to turn before the last step, times the reach, so that the one loop
stops when a chain rests.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import ARRAYS, Array
from ..algebra.arrays import norm
from ..kinematics.kinematic_tree import STATE_COLUMNS, KinematicTree
from ..solvers import newton_joints
from ..solvers.kkt_system import KktSystem
from ..solvers.newton_directions import FIRST_DAMPING, next_damping
from ..solvers.newton_joints import shrink
from .potential_energy import EnergyAt, PotentialEnergy

# A chain rests when no joint has to turn by more than this, in radians.
RESTS = 1e-6
# The curvature at a pose says little beyond this turn, in radians.
LARGEST_TURN = 1.2
# A damped step is shorter than what is left to go; by so much of the damping it counts for more.
DAMPED = 1e3
# Damping that is always there, compared with the stiffest joint: some joints resist nothing.
LEAST_STIFFNESS = 1e-5
# What rounding leaves of a comparison of energies, as a share of them.
ROUNDING = 1e-13
# A step that saves less, as a share of the energy, has to leave less to go by half.
SLIGHT = 1e-9
# Turns that bring the effector back to its target after each step; nearer than this share of the
# reach it is there.
RETURNS = 2
RETURNED = 1e-14
# How far a chain that rests on a ridge is sent down, in radians.
ESCAPE = 0.2


def step(
    state: Array, sprung: tuple[KinematicTree, PotentialEnergy], target: Array, damping: Array
) -> tuple[Array, Array]:
    """Return the state after one iteration: one of less energy, or the same with more damping.

    A step of Newton's method on the energy, with the effector held to first order by a force; the
    force's own curvature is part of the system. Joints that are on an edge of their range and
    pressed against it keep to it. The effector is then brought back by NEWTON, so that every
    state is as near to the target as the first one was, and the step is taken if energy falls.
    Where a chain rests on a ridge, it is sent down from it, along the way that the energy curves
    down most.

    Args:
        state: With the step norm, which is infinite at first, shape (n + 1, 8, B).
        sprung: The chains and their energy.
        target: Of the outputs, zero for the step norm, shape (8, B).
        damping: Shape (B,).

    Source: sequential quadratic programming with an active set (Nocedal and Wright, "Numerical
    Optimization", 2006, chapters 16 and 18); the curvature of chains of turns, the return to the
    target and the way down from ridges are derived for this project and tested against SciPy's
    SLSQP in tests/core/equilibrium/test_force_equilibrium.py.
    """
    chain, energy = sprung
    at, posed = EnergyAt(energy, chain, state), chain.posed(state)
    jacobian = chain.find_jacobian(posed)
    held, target = state[-1, : jacobian.shape[1]], target[: jacobian.shape[1]]
    curve = partial(at.curve, jacobian)
    floor = LEAST_STIFFNESS + damping
    system = KktSystem(chain, state[:-1, :4], at.slope, curve, jacobian, floor)
    before = at.total
    move, force, bend = system.solve(target - held)
    step_norm = chain.reach * norm(move).max(axis=0) * (1.0 + DAMPED * damping)
    is_done = step_norm <= RESTS * chain.reach
    if is_done.any():
        down, leads_down = system.find_way_down(ESCAPE / (1.0 + DAMPED * damping))
        leads_down &= is_done
        move = np.where(leads_down, down, move)
        step_norm = np.where(leads_down, chain.reach, step_norm)
        bend = np.where(leads_down, 1.0, bend)
    moved = _return(chain, state, move * shrink(move, LARGEST_TURN), target)
    strength = 2.0 * norm(force)
    before = before + strength * norm(target - held)
    after = EnergyAt(energy, chain, moved).total
    after = after + strength * norm(target - moved[-1, : len(target)])
    size = np.abs(before) + system.scale
    # Between springs that are met and left a chain could go to and fro for ever.
    gets_on = before - after > SLIGHT * size
    gets_on |= step_norm < 0.5 * state[-1, STATE_COLUMNS]
    is_better = (after <= before + ROUNDING * size) & (bend >= 0.0) & gets_on
    result = state.copy()
    result[:, :STATE_COLUMNS] = np.where(is_better, moved, state[:, :STATE_COLUMNS])
    result[-1, STATE_COLUMNS] = step_norm
    # Where the bones stand is known.
    chain.posed(result, chain.posed(moved).choose(is_better, posed))
    return result, next_damping(ARRAYS, damping, is_better)


def _return(chain: KinematicTree, state: Array, move: Array, target: Array) -> Array:
    """Return states with turns made and effectors brought back."""
    turn = turns.turn_by(state[:-1, :4], move)
    moved = chain.make_state(
        chain.joints.clamped(turn) if chain.joints.has_edges else turn, state[:-1, 4]
    )
    damping = np.full(state.shape[-1], FIRST_DAMPING)
    for _ in range(RETURNS):
        if (norm(target - moved[-1, : len(target)]) <= RETURNED * chain.reach).all():
            break
        moved, damping = newton_joints.step(moved, chain, target, damping)
    return moved
