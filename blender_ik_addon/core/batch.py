"""Chains of one bone count as arrays, ready for the solvers.

Layout as in ``vectors``. Each chain is moved to its root and scaled by a power of two, which
rounds nothing, so that its length lies between one half and one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .bend import Pole
from .chain import Chain, Goal, SolveOptions
from .vectors import Array, Counts, Flags

# A tolerance below this share of the chain's length asks for more than rounding leaves.
FINEST_TOLERANCE = 1e-14


@dataclass(frozen=True)
class Batch:
    """B chains of n segments and their goals.

    Attributes:
        points: Start poses relative to the roots, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        hint: Where straight chains bend, zero for no hint, shape (3, B).
        target: Relative to the roots, shape (3, B).
        pole: Relative to the roots.
        use_flip: Shape (B,).
        tolerance: Shape (B,).
        iterations: Caps, shape (B,).
        unit: Length of one unit of the arrays above in armature space, shape (B,).
    """

    points: Array
    lengths: Array
    hint: Array
    target: Array
    pole: Pole
    use_flip: Flags
    tolerance: Array
    iterations: Counts
    unit: Array


def packed(problems: Sequence[tuple[Chain, Goal, SolveOptions]]) -> Batch:
    """Return chains of one bone count as a batch."""
    chains = [chain for chain, _, _ in problems]
    goals = [goal for _, goal, _ in problems]
    options = [option for _, _, option in problems]
    joints = np.stack([chain.joint_positions for chain in chains], axis=-1)
    lengths = np.stack([chain.segment_lengths for chain in chains], axis=-1)
    root = joints[0]
    _, exponent = np.frexp(lengths.sum(axis=0))
    unit = np.ldexp(1.0, exponent)
    no_vector = np.zeros(3)
    hints = [no_vector if c.bend_direction is None else c.bend_direction for c in chains]
    poles = [
        goal.target_position if goal.pole_position is None else goal.pole_position for goal in goals
    ]
    lengths = lengths / unit
    tolerance = np.array([option.tolerance for option in options]) / unit
    return Batch(
        points=(joints - root) / unit,
        lengths=lengths,
        hint=np.stack(hints, axis=-1),
        target=(np.stack([goal.target_position for goal in goals], axis=-1) - root) / unit,
        pole=Pole(
            is_set=np.array([goal.pole_position is not None for goal in goals]),
            position=(np.stack(poles, axis=-1) - root) / unit,
            angle=np.array([goal.pole_angle for goal in goals]),
        ),
        use_flip=np.array([option.use_flip_bend for option in options]),
        tolerance=np.maximum(tolerance, FINEST_TOLERANCE * lengths.sum(axis=0)),
        iterations=np.array([option.iterations for option in options]),
        unit=unit,
    )
