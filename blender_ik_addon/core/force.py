"""FORCE: every joint turned by the torque of a force that pulls the effector to the target."""

from __future__ import annotations

import numpy as np

from . import turns, vectors
from .vectors import Array, cross, dot, norm

# What torques say of a pose says little beyond this turn, in radians.
LARGEST_TURN = np.pi / 4.0
# Torques smaller than this, of a chain about as long as one, turn nothing.
NO_TORQUE = 1e-30


def step(points: Array, lengths: Array, target: Array, memory: Array) -> tuple[Array, Array]:
    """Return the joints after one iteration: all joints turned at once.

    A force as large as the error e pulls the effector; its torque about a joint is b x e with b the
    lever, the way from the joint to the effector. About any axis a of that joint it is the triple
    product a . (b x e), so the three axes of a joint need not be told apart.

    Args:
        points: Joints relative to the root, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        target: Relative to the root, shape (3, B).
        memory: Torques and turns of the iteration before, as ``no_memory`` begins them.

    Source: Elias, "Inverse Kinematics - Improved Methods" (the pull); Wolovich and Elliott, "A
    computational technique for inverse kinematics", CDC 1984 (the same as Jacobian transpose);
    the size of the step and the memory as ``pulled`` tells.
    """
    levers = points[-1] - points[:-1]
    error = target - points[-1]
    torque = cross(levers, error)
    way, memory = conjugate(torque, memory)
    move = way * pulled(error, cross(way, levers).sum(axis=0), way)
    rotation = turns.matrices(turns.by_vectors(move))
    segments = np.diff(points, axis=0)
    directions = np.empty_like(segments)
    carried = rotation[0]
    for i, segment in enumerate(segments):
        if i:
            carried = vectors.compose(carried, rotation[i])
        directions[i] = vectors.rotate(carried, segment)
    directions *= (lengths / norm(directions))[:, None, :]
    return vectors.laid(directions), memory


def no_memory(bones: int, chains: int) -> Array:
    """Return what the first iteration remembers of one before it: nothing."""
    return np.zeros((2 * bones, 3, chains))


def conjugate(torque: Array, memory: Array) -> tuple[Array, Array]:
    """Return the way that joints turn, (n, 3, B), and the memory for the next iteration.

    Joints that only follow their torques zigzag across the narrow valleys of a chain that is
    nearly straight. A way that is conjugate to the one before does not undo what that has done.

    Args:
        torque: Shape (n, 3, B).
        memory: The torques and ways of the iteration before, shape (2 n, 3, B).

    Source: nonlinear conjugate gradients after Polak and Ribiere, restarted where the way would
    turn against the torques (Nocedal and Wright, "Numerical Optimization", 2006, section 5.2).
    """
    count = len(torque)
    before, way = memory[:count], memory[count:]
    size = _sum(before, before)
    has_memory = size > NO_TORQUE
    growth = _sum(torque, torque - before) / np.where(has_memory, size, 1.0)
    way = torque + np.where(has_memory, np.maximum(growth, 0.0), 0.0) * way
    way = np.where(_sum(way, torque) > 0.0, way, torque)
    return way, np.concatenate((torque, way))


def pulled(error: Array, effect: Array, way: Array) -> Array:
    """Return how far to go along a way of turns, (B,): as far as the error falls to first order.

    Args:
        error: From effectors to targets, shape (3, B).
        effect: How effectors move with the ways, to first order, shape (3, B).
        way: Turns, shape (n, 3, B).

    Source: Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and
    damped least squares methods", 2004, equation 6; for any way, not the torques' alone.
    """
    size = dot(effect, effect)
    gain = dot(error, effect) / np.where(size > NO_TORQUE, size, np.inf)
    largest = norm(way).max(axis=0) * np.abs(gain)
    shrunk: Array = gain * np.minimum(1.0, LARGEST_TURN / np.maximum(largest, LARGEST_TURN))
    return shrunk


def _sum(a: Array, b: Array) -> Array:
    total: Array = np.einsum("nib,nib->b", a, b)
    return total
