"""Poses near to their start that goals pull at, as springs do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..algebra.arithmetic import Array
from ..algebra.chains_first import chains_first
from ..descent.bone_rows import BoneRows
from ..descent.posed_rows import PosedRows
from .near_start import measure_nearness
from .potential_energy import PotentialEnergy
from .pulled_energy import PulledAt


class Pulling(NamedTuple):
    """What acts on B trees.

    Attributes:
        near: Springs to the start.
        moved: How far first bones have moved before, shape (3, B).
        target: Of all outputs, shape (rows, B).
    """

    near: PotentialEnergy
    moved: Array
    target: Array


def measure_pulls(
    bones: BoneRows, acting: Pulling, soft: Array
) -> Callable[[PosedRows, Array], PulledAt]:
    """Return the function that measures the energy of poses; outputs have springs (rows,)."""
    near = measure_nearness(bones, (acting.near, acting.moved))
    target = chains_first(acting.target)

    def measure(posed: PosedRows, output: Array) -> PulledAt:
        return PulledAt(near(posed, output), target - output, soft[None])

    return measure
