"""One step of Newton's method, where its system is nearly singular."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core.descent.constrained_step import ConstrainedStep, forget
from blender_ik_addon.core.descent.held_outputs import HeldOutputs
from tests.helpers import make_rng

BONES = 5
SHIFTS = 1e-19, 1e-10
"""The least, and the first larger one: as small beside these systems as beside edges that are shut,
which are 1e7 times as stiff as joints."""


@pytest.mark.parametrize("seed", range(10))
def test_joints_that_resist_nothing_beside_stiff_edges_are_rounding_and_no_error(seed):
    rng = make_rng(seed)
    stiffness = np.concatenate(([0.0], 10.0 ** rng.uniform(3.0, 5.0, 9), np.full(5, 1.4e12)))
    ways = np.linalg.qr(rng.normal(size=(3 * BONES, 3 * BONES)))[0]
    curvature = ((ways * stiffness) @ ways.T)[None]
    slope, turn = rng.normal(size=(1, 3 * BONES)), np.zeros((1, BONES, 4))
    axes = np.arange(3 * BONES)
    step = ConstrainedStep(
        axes,
        (slope, curvature),
        (HeldOutputs(np.zeros((1, 0, 3 * BONES)), axes), np.zeros((1, 0))),
        None,
        forget(turn, 0),
        np.zeros(1),
        SHIFTS,
    )
    assert np.isfinite(step.move).all()
    # It leads down.
    assert (step.move.reshape(1, -1) * slope).sum() < 0.0
