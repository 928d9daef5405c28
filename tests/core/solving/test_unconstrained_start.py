"""What chains with joints bend from: the same one by one, in floats, as side by side."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core import Goals, SolveOptions
from blender_ik_addon.core.algebra.arithmetic import ARRAYS
from blender_ik_addon.core.kinematics.task import ask_all, relate_to_root
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from blender_ik_addon.core.solving.unconstrained_start import bend_as_free, bend_each
from tests.core.limited_rigs import RIGS, at_rest, poles_of, targets_of
from tests.helpers import make_rng

COUNT = 6
# Sines of half angles between turns.
ALIKE = 1e-9


@pytest.mark.parametrize("flips", [False, True], ids=["plain", "flipped"])
@pytest.mark.parametrize("has_pole", [False, True], ids=["free", "pole"])
@pytest.mark.parametrize("name", ["arm", "tail", "ten_hinges", "mixed_lengths", "bent_rest"])
def test_chains_bend_one_by_one_as_they_do_side_by_side(name, has_pole, flips):
    rig, rng = RIGS[name](), make_rng(87)
    targets = targets_of(rig, COUNT, rng)
    goals = Goals(targets, poles_of(rig, COUNT, rng) if has_pole else None)
    starts = at_rest(len(rig.kinds)) + rng.normal(scale=0.1, size=(COUNT, len(rig.kinds), 4))
    starts /= np.linalg.norm(starts, axis=-1, keepdims=True)
    compiled = compile_chains(rig.started(starts))
    options = SolveOptions(use_flip_bend=flips)
    asked = ask_all(goals, options, COUNT)
    task = relate_to_root(ARRAYS, compiled.start, tuple(targets.T), asked)
    (run,) = compiled.unconstrained_starts.runs
    alone, beside = bend_each(run, task, is_alone=False), bend_as_free(run, task)
    cosine = np.einsum("nib,nib->nb", alone, beside)
    assert np.abs(alone - np.sign(cosine)[:, None] * beside).max() <= ALIKE
    # Of one chain several times the first row tells all.
    np.testing.assert_array_equal(
        bend_each(run, task, is_alone=True), np.repeat(alone[..., :1], COUNT, axis=-1)
    )
