"""FORCE: every joint turned by the torque of a force that pulls the effector to the target.

Chains come first, as in ``algebra.chains_first``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..algebra.arithmetic import Arithmetic, Array
from ..algebra.chains_first import apply, chains_first, measure, skew
from ..algebra.nested import Nested
from ..descent.bone_rows import BoneRows
from ..descent.near_edges import NearEdges
from ..descent.posed_rows import PosedRows, from_chains_last
from ..model.forces import StepMode

# Largest turn of a joint in one step, in radians: beyond it the torques of a pose say little.
LARGEST_TURN = np.pi / 4.0
# Torques smaller than this, of a chain about as long as one, turn no joint.
NO_TORQUE = 1e-30
# Sine within which the classic sign of the triple product goes over; the sign itself jumps at zero.
SIGN_WIDTH = 1e-3


def begin(bones: BoneRows, turn: Array, target: Array) -> tuple[Nested, Array]:
    """Return the state of turns (n, 4, B) as ``step`` takes it, and distances to targets (3, B)."""
    posed = bones.pose(chains_first(turn))
    return posed.to_chains_last(), measure(target.T - posed.points[:, -1])


def find_move(bones: BoneRows, posed: PosedRows, target: Array) -> Array:
    """Return moves (B, n, 3) of all joints at once, toward targets (B, 3).

    A force as large as the error pulls the effector; its torques are J^T e with the Jacobian J. A
    torque that presses a joint against an edge of its range turns it along the edge only. The step
    goes as far as the error falls to first order.

    Source: Elias, "Inverse Kinematics - Improved Methods" (the pull); Wolovich and Elliott, "A
    computational technique for inverse kinematics", CDC 1984 (the Jacobian transpose); Buss,
    "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and damped least
    squares methods", 2004, equation 6 (the length of the step), here for any direction.
    """
    error = target - posed.points[:, -1]
    jacobian = bones.find_jacobian(posed)[:, :3]
    move = _turn_along_edges(bones, posed, (error[:, None] @ jacobian).reshape(len(error), -1, 3))
    effect = apply(jacobian, move.reshape(len(move), -1))
    size, along = (effect * effect).sum(axis=1), (error * effect).sum(axis=1)
    move = move * (along / np.where(size > NO_TORQUE, size, np.inf))[:, None, None]
    largest = measure(move).max(axis=1)
    return move * (LARGEST_TURN / np.maximum(largest, LARGEST_TURN))[:, None, None]


def step(
    _: Arithmetic,
    bones: BoneRows,
    state: Nested,
    target: Array,
    find: Callable[[BoneRows, PosedRows, Array], Array] = find_move,
) -> tuple[Nested, Array]:
    """Return the state after one iteration, and how far effectors are from targets (3, B)."""
    posed, rows = from_chains_last(state), target.T
    posed = bones.apply_move(posed, find(bones, posed, rows))
    return posed.to_chains_last(), measure(rows - posed.points[:, -1])


def find_move_by_gain(
    bones: BoneRows, posed: PosedRows, target: Array, mode: StepMode, gain: float
) -> Array:
    """Return moves (B, n, 3) of joints: their torques times a gain, whatever the lever.

    Elias' torque about an axis a is |f| sin(a, f) sin(b, f) sign(r . f), with f the force, b the
    lever and r = a x b; the length of the lever is left out. In the plane that is the triple
    product. In space it is larger wherever the force has a part along the axis, and its sign jumps.
    Forces count in lengths of the chain.

    Args:
        bones: The chains.
        posed: Their present pose.
        target: Shape (B, 3).
        mode: The product of sines, or the triple product of unit lever, axis and force.
        gain: Below about 2 over the sum of all levers, in lengths of the chain, steps converge.

    Source: Elias, "Inverse Kinematics - Improved Methods"; the sign as s / sqrt(s^2 + width^2) and
    the bound on the gain are derived for this project; tested in tests/core/equilibrium.
    """
    force = (target - posed.points[:, -1]) / bones.tree.reach[:, None]
    strength = measure(force)[:, None, None]
    along = (force / np.maximum(strength[:, 0], NO_TORQUE))[:, None]
    levers = posed.points[:, -1:] - posed.points[:, :-1]
    levers = levers / np.maximum(measure(levers), NO_TORQUE)[..., None]
    across = apply(skew(levers), along)
    axes = (posed.frames @ posed.turn_matrices).swapaxes(-1, -2)
    if not bones.tree.joints.is_rigid:
        # A mirrored frame shows a turn the other way round.
        axes = axes * (np.sign(np.linalg.det(axes))[..., None] / measure(axes))[..., None]
    product = apply(axes, across)
    if mode is StepMode.CLASSIC:
        sign = product / np.sqrt(product * product + SIGN_WIDTH**2)
        sines = np.sqrt(np.maximum(1.0 - apply(axes, along) ** 2, 0.0))
        product = sines * measure(across)[..., None] * sign
    return _turn_along_edges(bones, posed, apply(posed.turn_matrices, gain * strength * product))


def _turn_along_edges(bones: BoneRows, posed: PosedRows, torque: Array) -> Array:
    """Return the moves (B, n, 3) of torques, none out of the ranges of joints."""
    if not bones.joints.has_edges:
        return apply(bones.joints.weigh_axes(posed.turn), torque)
    return NearEdges(bones.joints, posed.turn).follow(torque)
