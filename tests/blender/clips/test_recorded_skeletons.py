"""Skeletons as recorded clips have them."""

import re

import bpy
import numpy as np
import pytest

from tests.blender.operators.test_characters import DATA, LIMBS, MOCAP, found, setup
from tests.blender.setups.selecting import press


@pytest.mark.parametrize("name", MOCAP)
def test_recorded_skeletons_that_are_laid_out_along_one_axis_have_the_same_limbs(name, tmp_path):
    def laid_out(found: re.Match[str]) -> str:
        x, y, z = map(float, found.groups())
        return f"OFFSET {np.hypot(np.hypot(x, y), z):.4f} 0.0 {-0.1 * x:.4f}"

    text = (DATA / f"{name}.bvh").read_text()
    path = tmp_path / f"{name}.bvh"
    path.write_text(re.sub(r"OFFSET (\S+) (\S+) (\S+)", laid_out, text))
    bpy.ops.import_anim.bvh(filepath=str(path))
    ob = bpy.context.object
    press(setup, control="EMPTY")
    assert {limb: found(ob).get(limb) for limb in LIMBS[name]} == LIMBS[name]
