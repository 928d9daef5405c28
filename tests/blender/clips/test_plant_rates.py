"""Plant Feet at other frame rates, and on people that are scaled unevenly."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.clips import walking
from tests.blender.setups.selecting import press

pytestmark = pytest.mark.usefixtures("rigify")
SLIDE, ROUGHER = 1e-4, 1.2


@pytest.mark.parametrize("rate", [24, 60, 120])
def test_feet_stand_at_any_frame_rate(rate, tmp_path):
    walking.make(tmp_path / "walk.blend", rate=rate, seconds=2.0)
    human = bpy.context.object
    before = walking.paths_of(human)
    press(bpy.ops.pose.chain_ik_plant)
    after = walking.paths_of(human)
    assert walking.slides(human, before) > 10 * SLIDE
    assert walking.slides(human, after) < SLIDE
    check_smooth(before, after)


def test_unevenly_scaled_people_stand_and_nothing_gets_rougher(tmp_path):
    walking.make(tmp_path / "walk.blend", seconds=2.0)
    human = bpy.context.object
    human.scale = (0.7, 0.7, 1.2)
    bpy.context.view_layer.update()
    before = walking.paths_of(human)
    press(bpy.ops.pose.chain_ik_plant)
    after = walking.paths_of(human)
    assert walking.slides(human, before) > 10 * SLIDE
    assert walking.slides(human, after) < SLIDE
    check_smooth(before, after)


def check_smooth(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> None:
    """Check that nothing got rougher."""
    for name, path in before.items():
        assert walking.acceleration(after[name]) <= ROUGHER * walking.acceleration(path), name
