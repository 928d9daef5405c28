"""Plant Feet on other bodies: animals, hands that walk, and targets that are empties."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from blender_ik_addon.rig.controls.foot_roll import control_above
from blender_ik_addon.rig.reading.spec import Anchor
from tests.blender.clips import stepping, walking
from tests.blender.setups.selecting import press
from tests.core.clips.test_contacts import f1

BONES = {"Arm": ("upper_arm", "hand"), "Leg": ("thigh", "foot")}
"""The first bones of a human's limbs, and those that stand."""

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
        ("cat", "BONE", {"Front Leg": "f_toe", "Hind Leg": "r_toe"}),
        ("human", "EMPTY", {"Leg": "foot"}),
    ],
)
def test_feet_of_any_body_stand(body, control, feet):
    stands = stepping.step(make(body, control))
    check_planted(bpy.context.object, feet, stands)


def test_on_hands_and_feet_all_four_stand():
    ob = make("human", "BONE")
    ob.rotation_euler.x = np.pi / 2.0
    bpy.context.view_layer.update()
    reach_down(ob, ("Arm", "Leg"))
    check_planted(ob, {"Arm": "hand", "Leg": "foot"}, stepping.step(ob, ("Arm", "Leg")))


def test_on_hands_alone_hands_stand_and_feet_do_not():
    ob = make("human", "BONE")
    ob.rotation_euler.x = np.pi
    bpy.context.view_layer.update()
    reach_down(ob, ("Arm",))
    check_planted(ob, {"Arm": "hand"}, stepping.step(ob, ("Arm",)))
    assert walking.planted(ob, "Leg.L") is None
    assert walking.planted(ob, "Leg.R") is None


def make(body: str, control: str) -> bpy.types.Object:
    """Return one of Rigify's bodies with its chains."""
    getattr(bpy.ops.object, f"armature_{body}_metarig_add")()
    press(bpy.ops.pose.chain_ik_setup, control=control)
    return bpy.context.object


def reach_down(ob: bpy.types.Object, limbs: tuple[str, ...]) -> None:
    """Put hands or feet of a human below their shoulders or hips, all at one height."""
    world = ob.matrix_world
    for name in [f"{limb}.{side}" for limb in limbs for side in "LR"]:
        root, end = (f"{bone}.{name[-1]}" for bone in BONES[name[:-2]])
        chain = ob.chain_ik.chains[name]
        control = control_above(Anchor(ob, chain.subtarget))
        way = world @ ob.pose.bones[root].head - world @ ob.pose.bones[end].head
        way.z -= 0.35
        moved = ob.pose.bones[control.bone]
        moved.matrix = world.inverted() @ Matrix.Translation(way) @ world @ moved.matrix
    bpy.context.view_layer.update()


def check_planted(
    ob: bpy.types.Object, feet: dict[str, str], stands: dict[str, np.ndarray]
) -> None:
    """Plant feet that skate: they stand when they are to, and move as smoothly as before."""
    bones = {f"{limb}.{side}": f"{bone}.{side}" for limb, bone in feet.items() for side in "LR"}
    before = ends_of(ob, bones)
    press(bpy.ops.pose.chain_ik_plant)
    after = ends_of(ob, bones)
    for name in bones:
        kinds = walking.planted(ob, name)
        assert f1(kinds == 3, stands[name]) >= 0.97
        both = (kinds[1:] == 3) & (kinds[:-1] == 3)
        steps = [np.linalg.norm(np.diff(each[name], axis=0), axis=1) for each in (before, after)]
        assert steps[0][both].max() > 5e-4 * stepping.height_of(ob)
        assert steps[1][both].max() < 1e-4
        assert walking.acceleration(after[name]) <= 1.2 * walking.acceleration(before[name])
