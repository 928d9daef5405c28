"""FORCE: every joint turned by the torque of a force that pulls the effector to the target."""

from __future__ import annotations

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array
from ..algebra.arrays import cross, dot, norm
from ..kinematics.kinematic_tree import TURN, KinematicTree
from ..kinematics.limit_edges import LEAST_LEAVING, Edges
from ..kinematics.posed import Posed
from ..model.forces import StepMode
from .newton_joints import shrink

# What torques say of a pose says little beyond this turn, in radians.
LARGEST_TURN = np.pi / 4.0
# Torques smaller than this, of a chain about as long as one, turn nothing.
NO_TORQUE = 1e-30
# The classic sign of the triple product jumps where it is zero: here it goes over within this sine.
SIGN_WIDTH = 1e-3


def step(state: Array, chain: KinematicTree, target: Array, memory: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: all joints turned at once.

    A force as large as the error pulls the effector; its torques are J^T e with the Jacobian J. A
    torque that presses a joint against an edge of its range turns it along the edge only. The step
    goes as far as the error falls to first order.

    Args:
        state: As ``kinematic_tree`` describes it, shape (n + 1, 7, B).
        chain: The chains.
        target: Of the effectors, shape (3, B).
        memory: Torques and turns of the iteration before, as ``begin_memory`` begins them.

    Source: Elias, "Inverse Kinematics - Improved Methods" (the pull); Wolovich and Elliott, "A
    computational technique for inverse kinematics", CDC 1984 (the Jacobian transpose); Buss,
    "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped least
    squares methods", 2004, equation 6 (the length of the step), here for any way.
    """
    turn, error = state[:-1, :TURN], target - state[-1, :3]
    jacobian = chain.find_jacobian(chain.posed(state))[:, :3]
    torque = np.einsum("nkcb,kb->ncb", jacobian, error)
    if not chain.joints.is_free:
        edges = chain.joints.edges(turn)
        torque = _turn_along_edges(chain.joints.mobilities(turn, edges), edges, torque)
    way, memory = _make_conjugate(torque, memory)
    if chain.joints.has_edges and edges.is_on.any():
        # What has been a way into a range may by now lead out of it.
        whole = np.broadcast_to(np.eye(3)[:, :, None], (len(turn), 3, 3, turn.shape[-1]))
        way = _turn_along_edges(whole, edges, way)
    effect = np.einsum("nkcb,ncb->kb", jacobian, way)
    size = dot(effect, effect)
    gain = dot(error, effect) / np.where(size > NO_TORQUE, size, np.inf)
    way = way * gain
    turn = turns.turn_by(turn, way * shrink(way, LARGEST_TURN))
    return chain.clamp_state(turn, state[:-1, TURN]), memory


def step_by_gain(
    state: Array, chain: KinematicTree, target: Array, memory: Array, *, mode: StepMode, gain: float
) -> tuple[Array, Array]:
    """Return the state after every joint has turned by its torque times a gain, whatever the lever.

    Elias' torque about an axis a is |f| sin(a, f) sin(b, f) sign(r . f), with f the force, b the
    lever and r = a x b; the length of the lever is left out. In the plane that is the triple
    product; in space it is more wherever the force has a part along the axis, and its sign jumps.
    Forces count in lengths of the chain.

    Args:
        state: As ``step`` takes it, like ``chain`` and ``target``.
        chain: See there.
        target: See there.
        memory: Handed on.
        mode: The product of sines, or the triple product of unit lever, axis and force.
        gain: Below about 2 over the sum of all levers, in lengths of the chain, steps converge.

    Source: Elias, "Inverse Kinematics - Improved Methods"; the sign as s / sqrt(s^2 + width^2) and
    the bound on the gain are derived for this project; tested in tests/core/equilibrium.
    """
    turn = state[:-1, :TURN]
    force = (target - state[-1, :3]) / chain.reach
    torque = _axis_torques(chain.posed(state), force, mode)
    torque = gain * np.einsum("nicb,ncb->nib", turns.to_matrices(turn), torque)
    edges = chain.joints.edges(turn)
    way = _turn_along_edges(chain.joints.mobilities(turn, edges), edges, torque)
    return chain.clamp_state(turns.turn_by(turn, way), state[:-1, TURN]), memory


def begin_memory(bones: int, chains: int) -> Array:
    """Return what the first iteration remembers of one before it: nothing."""
    return np.zeros((2 * bones, 3, chains))


def _make_conjugate(torque: Array, memory: Array) -> tuple[Array, Array]:
    """Return the way that joints turn, (n, 3, B), and the memory for the next iteration.

    Joints that only follow their torques zigzag across the narrow valleys of a chain that is
    nearly straight. A way that is conjugate to the one before does not undo what that has done.

    Source: nonlinear conjugate gradients after Polak and Ribiere, restarted where the way would
    turn against the torques (Nocedal and Wright, "Numerical Optimization", 2006, section 5.2).
    """
    before, way = np.split(memory, 2)
    size = _sum(before, before)
    has_memory = size > NO_TORQUE
    growth = _sum(torque, torque - before) / np.where(has_memory, size, 1.0)
    way = torque + np.where(has_memory, np.maximum(growth, 0.0), 0.0) * way
    way = np.where(_sum(way, torque) > 0.0, way, torque)
    return way, np.concatenate((torque, way))


def _sum(a: Array, b: Array) -> Array:
    total: Array = np.einsum("nib,nib->b", a, b)
    return total


def _turn_along_edges(mobility: Array, edges: Edges, torque: Array) -> Array:
    """Return the turns (n, 3, B) that torques make, none across edges that they would leave by."""
    way: Array = np.einsum("nacb,ncb->nab", mobility, torque)
    if not edges.is_on.any():
        return way
    # What goes along an edge counts as leaving: else rounding would decide.
    leaves = edges.is_on & (edges.along(way) > -LEAST_LEAVING)
    turned: Array = np.einsum("nacb,ncb->nab", edges.block(mobility, leaves), torque)
    return turned


def _axis_torques(posed: Posed, force: Array, mode: StepMode) -> Array:
    """Return torques about the three axes of each posed bone, shape (n, 3, B)."""
    axes = np.einsum("nijb,njkb->nkib", posed.frames, posed.own)
    axes = axes / norm(axes)[:, :, None]
    levers = posed.points[-1] - posed.points[:-1]
    size = norm(levers)
    levers = (levers / np.where(size > 0.0, size, 1.0)[:, None])[:, None]
    strength = norm(force)
    along = force / np.where(strength > 0.0, strength, 1.0)
    # A mirrored frame shows a turn the other way round.
    side = np.sign(dot(cross(axes[:, 0], axes[:, 1]), axes[:, 2]))
    product = dot(cross(axes, levers), along)
    if mode is StepMode.CLASSIC:
        sign = product / np.sqrt(product * product + SIGN_WIDTH**2)
        product = norm(cross(axes, along)) * norm(cross(levers, along)) * sign
    torques: Array = strength * side[:, None] * product
    return torques
