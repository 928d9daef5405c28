"""FABRIK for jointed chains: a sweep inward from the target and one outward, both in the ranges."""

from __future__ import annotations

import numpy as np

from . import turns, vectors
from .jointed import Jointed
from .laying import laid, rotations_of
from .posed import Posed
from .vectors import Array, unit


def step(state: Array, chain: Jointed, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration.

    Args:
        state: As ``jointed`` tells, shape (n + 1, 7, B).
        chain: The chains.
        target: Of the effectors, shape (3, B).
        damping: Shape (B,); not used, handed through.

    Source: Aristidou and Lasenby, "FABRIK: A fast, iterative solver for the inverse kinematics
    problem", Graphical Models 73 (2011), section 4; here whole bones are carried along, so that any
    joint can be held in both sweeps.
    """
    turn, slide = state[:-1, :4], state[:-1, 4]
    points = _inward(chain, chain.posed(state), turn, target)
    return laid(chain, turn, slide, points), damping


def _inward(chain: Jointed, posed: Posed, turn: Array, target: Array) -> Array:
    """Return the joints (n + 1, 3, B) of chains hung on their targets, tip first."""
    frames = rotations_of(posed.frames)
    bones = turns.multiply(frames, turn)
    segments = np.diff(posed.points, axis=0)
    points = posed.points.copy()
    points[-1] = target
    hung = None
    for i in reversed(range(len(turn))):
        along = unit(segments[i], segments[i])
        swing = turns.between(along, unit(points[i + 1] - points[i], along))
        bone = turns.multiply(swing, bones[i])
        if hung is not None:
            # The bone after this one stands already: their joint has to allow how this one stands.
            offset = turns.multiply(turns.conjugate(bones[i]), frames[i + 1])
            joint = turns.multiply(turns.conjugate(turns.multiply(bone, offset)), hung)
            held = chain.clamped_at(i + 1, turns.normalised(joint))
            before = turns.multiply(hung, turns.conjugate(held))
            bone = turns.multiply(before, turns.conjugate(offset))
        swing = turns.normalised(turns.multiply(bone, turns.conjugate(bones[i])))
        points[i] = points[i + 1] - vectors.rotate(turns.matrices(swing), segments[i])
        hung = bone
    return points
