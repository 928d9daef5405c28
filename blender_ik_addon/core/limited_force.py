"""FORCE for jointed chains: torques of a force that pulls the effector, stopped by the limits."""

from __future__ import annotations

import numpy as np

from . import swings, turns
from .active_limits import LEAST_LEAVING
from .force import conjugate, pulled
from .forces import StepMode
from .jointed import Jointed
from .posed import Posed
from .solving.iteration import ArrayStep as Step
from .vectors import Array, cross, dot, norm

# The classic sign of the triple product jumps where it is zero: here it goes over within this sine.
SIGN_WIDTH = 1e-3
# What CLASSIC takes where no gain is given.
CLASSIC_GAIN = 0.2


def step(state: Array, chain: Jointed, target: Array, memory: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: all joints turned at once.

    Args:
        state: As ``jointed`` tells, shape (n + 1, 7, B).
        chain: The chains.
        target: Of the effectors, shape (3, B).
        memory: As ``force.no_memory`` begins it.

    Source: as ``force.step``; a torque that presses a joint against an edge of its range turns it
    along the edge only.
    """
    posed, error = chain.posed(state), target - state[-1, :3]
    answers = chain.answers(posed)[:, :3]
    edges = chain.edges(state[:-1, :4])
    free = chain.mobilities(state[:-1, :4], edges)
    torque = np.einsum("nkcb,kb->ncb", answers, error)
    held = _held(free, edges, torque)
    way, memory = conjugate(_along(held, torque), memory)
    if edges.is_on.any():
        # What has been a way into a range may by now lead out of it.
        whole = np.broadcast_to(np.eye(3)[:, :, None], free.shape)
        way = _along(_held(whole, edges, way), way)
    effect = np.einsum("nkcb,ncb->kb", answers, way)
    return _turned(chain, state, way * pulled(error, effect, way)), memory


def fixed_step(mode: StepMode, gain: float) -> Step:
    """Return a step that turns every joint by its torque times a gain, lever or no lever.

    Elias' torque about an axis a is |f| sin(a, f) sin(b, f) sign(r . f), with f the force, b the
    lever and r = a x b; the length of the lever is left out. In the plane that is the triple
    product; in space it is more wherever the force has a part along the axis, and its sign jumps.
    Forces count in lengths of the chain.

    Args:
        mode: The product of sines, or the triple product of unit lever, axis and force.
        gain: Below about 2 over the sum of all levers, in lengths of the chain, steps converge.

    Source: Elias, "Inverse Kinematics - Improved Methods"; the sign as s / sqrt(s^2 + width^2) and
    the bound on the gain are derived for this project; tested in tests/core/test_force_classic.py
    """

    def step(state: Array, chain: Jointed, target: Array, memory: Array) -> tuple[Array, Array]:
        posed, turn = chain.posed(state), state[:-1, :4]
        force = (target - state[-1, :3]) / chain.reach
        torque = _axis_torques(posed, force, mode)
        axes = turns.matrices(turn)
        whole = gain * np.einsum("nicb,ncb->nib", axes, torque)
        edges = chain.edges(turn)
        free = chain.mobilities(turn, edges)
        held = _held(free, edges, whole)
        return _turned(chain, state, _along(held, whole)), memory

    return step


def _along(mobility: Array, torque: Array) -> Array:
    """Return the turns (n, 3, B) that mobilities make of torques."""
    turn: Array = np.einsum("nacb,ncb->nab", mobility, torque)
    return turn


def _axis_torques(posed: Posed, force: Array, mode: StepMode) -> Array:
    """Return torques about the three axes of each posed bone, shape (n, 3, B)."""
    bones = np.einsum("nijb,njkb->nikb", posed.frames, posed.own)
    axes = bones / np.sqrt(np.einsum("nikb,nikb->nkb", bones, bones))[:, None]
    levers = posed.points[-1] - posed.points[:-1]
    size = norm(levers)
    levers = levers / np.where(size > 0.0, size, 1.0)[:, None]
    strength = norm(force)
    along = force / np.where(strength > 0.0, strength, 1.0)
    # A mirrored frame shows a turn the other way round.
    side = np.sign(dot(cross(axes[:, :, 0], axes[:, :, 1]), axes[:, :, 2]))
    found: Array = np.empty_like(levers)
    for k in range(3):
        product = dot(cross(axes[:, :, k], levers), along)
        if mode is StepMode.CLASSIC:
            sign = product / np.sqrt(product * product + SIGN_WIDTH**2)
            sines = norm(cross(axes[:, :, k], along)) * norm(cross(levers, along))
            product = sines * sign
        found[:, k] = strength * side * product
    return found


def _held(free: Array, edges: swings.Edges, torque: Array) -> Array:
    """Return mobilities without turns across the edges that a torque would have joints leave by."""
    held, way = free, _along(free, torque)
    for edge in range(3):
        # What goes along an edge counts as leaving: else rounding would tell.
        leaves = dot(edges.normals[:, edge], way) > -LEAST_LEAVING
        leaves &= edges.is_on[:, edge]
        if leaves.any():
            held = swings.blocked(held, edges.normals[:, edge], leaves)
    return held


def _turned(chain: Jointed, state: Array, move: Array) -> Array:
    turn = turns.normalised(turns.multiply(turns.by_vectors(move), state[:-1, :4]))
    return chain.state(chain.clamped(turn), state[:-1, 4])
