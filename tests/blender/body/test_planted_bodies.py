"""Plant Feet in a clip of a whole body: its pins are keyed while feet stand."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.blender.clips import walking
from tests.blender.setups.selecting import press

pytestmark = pytest.mark.usefixtures("rigify")
SLIDE = 1e-4


@pytest.fixture
def walker(tmp_path: Path) -> bpy.types.Object:
    walking.make(tmp_path / "walk.blend", spoil="skate", seconds=1.5)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "walk.blend"))
    return bpy.data.objects["metarig"]


def pins(ob: bpy.types.Object, name: str) -> np.ndarray:
    found = []
    for frame in range(bpy.context.scene.frame_start, bpy.context.scene.frame_end + 1):
        bpy.context.scene.frame_set(frame)
        found.append(ob.chain_ik.chains[name].use_pin)
    return np.array(found)


def test_feet_of_a_body_are_pinned_while_they_stand(walker):
    press(bpy.ops.pose.chain_ik_body, use_pins=False)
    press(bpy.ops.pose.chain_ik_plant, use_pins=True)
    for name in ("Leg.L", "Leg.R"):
        kinds = walking.planted(walker, name)
        assert 0 < (kinds > 0).sum() < len(kinds)
        np.testing.assert_array_equal(pins(walker, name), kinds > 0)
    assert walking.slides(walker, walking.paths_of(walker)) < SLIDE


def test_without_a_body_no_pin_is_keyed(walker):
    press(bpy.ops.pose.chain_ik_plant, use_pins=True)
    assert not any(pins(walker, "Leg.L"))
