"""CCD for jointed chains: every joint aims the effector at the target, tip first, in its range."""

from __future__ import annotations

import numpy as np

from . import turns, vectors
from .ccd import SHORT_LEVER
from .jointed import Jointed
from .laying import aimed
from .vectors import Array, norm, smoothstep


def step(state: Array, chain: Jointed, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration.

    Args:
        state: As ``jointed`` tells, shape (n + 1, 7, B).
        chain: The chains.
        target: Of the effectors, shape (3, B).
        damping: Shape (B,); not used, handed through.

    Source: as ``ccd.step``, each turn brought into its range at once.
    """
    posed = chain.posed(state)
    turn, slide = state[:-1, :4].copy(), state[:-1, 4]
    segments = chain.segments_after(slide)
    short = SHORT_LEVER * chain.reach
    lever = np.zeros_like(target)
    for i in reversed(range(len(turn))):
        # The effector as this joint's bone carries it, with what the joints after it have done.
        beyond = segments[i]
        if i + 1 < len(turn):
            beyond = beyond + vectors.rotate(chain.offsets[i + 1], lever)
        own = turns.matrices(turn[i])
        to_effector = vectors.rotate(own, beyond)
        to_target = target - posed.points[i]
        reach = np.minimum(norm(vectors.rotate(posed.frames[i], to_effector)), norm(to_target))
        wanted = vectors.rotate(vectors.inverses(posed.frames[i]), to_target)
        share = smoothstep(reach, 0.0, short)
        turn[i] = aimed(chain, i, turn[i], to_effector, wanted, share)
        lever = vectors.rotate(turns.matrices(turn[i]), beyond)
    return chain.state(turn, slide), damping
