"""Plant Feet on other bodies: an animal, and targets that are empties."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.clips import stepping, walking
from tests.blender.setups.selecting import press

pytestmark = pytest.mark.usefixtures("rigify")


def ends_of(ob: bpy.types.Object, bones: dict[str, str]) -> dict[str, np.ndarray]:
    """Return the ways of the heads of bones, world space, by chain."""
    found = {name: [] for name in bones}
    for frame in stepping.FRAMES:
        bpy.context.scene.frame_set(frame)
        for name, bone in bones.items():
            found[name].append(ob.matrix_world @ ob.pose.bones[bone].head)
    return {name: np.array(path) for name, path in found.items()}


@pytest.mark.parametrize(
    ("body", "control", "feet"),
    [
        ("horse", "BONE", {"Front Leg": "f_hoof", "Hind Leg": "r_hoof"}),
        ("human", "EMPTY", {"Leg": "foot"}),
    ],
)
def test_feet_of_any_body_stand(body, control, feet):
    getattr(bpy.ops.object, f"armature_{body}_metarig_add")()
    ob = bpy.context.object
    press(bpy.ops.pose.chain_ik_setup, control=control)
    stepping.step(ob)
    bones = {f"{limb}.{side}": f"{bone}.{side}" for limb, bone in feet.items() for side in "LR"}
    before = ends_of(ob, bones)
    press(bpy.ops.pose.chain_ik_plant)
    after = ends_of(ob, bones)
    for name in bones:
        kinds = walking.planted(ob, name)
        assert 0.4 < (kinds == 3).mean() < 0.8
        both = (kinds[1:] == 3) & (kinds[:-1] == 3)
        steps = [np.linalg.norm(np.diff(each[name], axis=0), axis=1) for each in (before, after)]
        assert steps[0][both].max() > 1e-3
        assert steps[1][both].max() < 1e-4
        assert walking.acceleration(after[name]) <= 1.2 * walking.acceleration(before[name])
