"""Own joints changed one value at a time, by scripts, on rigs whose plans are warm."""

from __future__ import annotations

from math import radians

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.warm_rigs import OTHER, assert_right, chain, named

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow

BALL = {"kind": "BALL", "x": (-20, 20), "y": (-20, 20), "z": (-20, 20)}
# What is set, and of what joint.
VALUES = {
    "bone": ("Bone.2", {"kind": "FIXED"}),
    "kind": ("HINGE_X", BALL),
    "relative_to": ("PARENT", BALL),
    "use_limit_x": (False, BALL),
    "min_x": (radians(15.0), BALL),
    "max_x": (radians(-15.0), BALL),
    "use_limit_y": (False, {"kind": "BALL", "y": (20, 40)}),
    "min_y": (radians(30.0), {"kind": "BALL", "y": (20, 40)}),
    "max_y": (radians(-35.0), {"kind": "BALL", "y": (-40, -20)}),
    "use_limit_z": (False, BALL),
    "min_z": (radians(15.0), BALL),
    "max_z": (radians(-15.0), BALL),
    "cone_angle": (radians(10.0), {"kind": "CONE", "cone": 30.0}),
    "stiffness_x": (0.8, {"kind": "HINGE_X"}),
    "stiffness_y": (0.8, {"kind": "ELBOW_X"}),
    "stiffness_z": (0.8, {"kind": "HINGE_Z"}),
}


def joint():
    return chain().joints[0]


def make_warm(name: str) -> object:
    value, settings = VALUES[name]
    warm_rigs.make_pair()
    give(chain(), "Bone.1", **settings)
    warm_rigs.warm_up()
    return value


@pytest.mark.parametrize("name", VALUES)
def test_a_value_of_a_joint_changed_alone_is_used_from_the_next_update_on(name):
    value = make_warm(name)
    before = warm_rigs.shown()
    former = getattr(joint(), name)
    setattr(joint(), name, value)
    after = warm_rigs.shown()
    assert np.abs(after["Rig"] - before["Rig"]).max() > 1e-3, "nothing changes on this rig"
    np.testing.assert_array_equal(after["Other"], before["Other"])
    warm_rigs.forget()
    warm_rigs.assert_shown(warm_rigs.shown(), after)
    setattr(joint(), name, former)
    warm_rigs.assert_shown(warm_rigs.shown(), before)
    assert_right([OTHER])


@pytest.mark.parametrize("edit", ["clear", "remove", "move"])
def test_joints_taken_away_by_script_are_gone_once_the_rig_is_tagged(edit):
    warm_rigs.make_pair()
    give(chain(), "Bone.1", "FIXED")
    give(chain(), "Bone.2", "CONE", cone=5)
    warm_rigs.warm_up()
    {
        "clear": chain().joints.clear,
        "remove": lambda: chain().joints.remove(0),
        "move": lambda: chain().joints.move(0, 1),
    }[edit]()
    named("Rig").update_tag()
    assert_right([OTHER] if edit == "move" else [warm_rigs.RIG, OTHER])


def test_a_joint_added_by_script_holds_as_soon_as_it_has_a_bone():
    warm_rigs.make_pair()
    chain().joints.add().kind = "FIXED"
    joint().bone = "Bone.1"
    turned = rigs.rotations(named("Rig"))["Bone.1"]
    bpy.context.view_layer.update()
    assert rigs.rotations(named("Rig"))["Bone.1"] != turned
    assert_right([OTHER])


def test_joints_are_undone_redone_saved_loaded_and_copied_with_their_object(tmp_path):
    warm_rigs.make_pair()
    bpy.ops.ed.undo_push(message="made")
    free = warm_rigs.shown()["Rig"]
    give(chain(), "Bone.1", "CONE", cone=12, y=(20, 40), relative_to="PARENT", stiffness_z=0.5)
    held = warm_rigs.shown()["Rig"]
    assert np.abs(held - free).max() > 1e-3
    bpy.ops.ed.undo_push(message="held")
    bpy.ops.ed.undo()
    np.testing.assert_allclose(warm_rigs.shown()["Rig"], free, atol=warm_rigs.NOISE)
    bpy.ops.ed.redo()
    np.testing.assert_allclose(warm_rigs.shown()["Rig"], held, atol=warm_rigs.NOISE)
    path = str(tmp_path / "joints.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    np.testing.assert_allclose(warm_rigs.shown()["Rig"], held, atol=warm_rigs.NOISE)
    copy = rigs.link(named("Rig").copy())
    named("Rig").chain_ik.chains[0].joints.clear()
    named("Rig").update_tag()
    shown = warm_rigs.shown()
    np.testing.assert_allclose(shown[copy.name], held, atol=warm_rigs.NOISE)
    np.testing.assert_allclose(shown["Rig"], free, atol=warm_rigs.NOISE)


def test_joints_of_an_override_can_be_changed_and_added_and_are_saved(tmp_path):
    warm_rigs.make_pair()
    give(chain(), "Bone.1", "CONE", cone=12)
    library, user = str(tmp_path / "library.blend"), str(tmp_path / "user.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(library, link=True) as (_found, wanted):
        wanted.objects = ["Rig"]
    bpy.context.scene.collection.objects.link(wanted.objects[0])
    ob = wanted.objects[0].override_create(remap_local_usages=True)
    target = rigs.make_empty("Local Target", (0.6, 0.5, 0.9))
    ob.chain_ik.chains[0].target = target
    ob.chain_ik.chains[0].joints[0].cone_angle = radians(8.0)
    give(ob.chain_ik.chains[0], "Bone.2", "HINGE_X", x=(10, 20))
    bpy.context.view_layer.update()
    pose = rigs.pose(ob)
    bpy.ops.wm.save_as_mainfile(filepath=user)
    bpy.ops.wm.open_mainfile(filepath=user)
    ob = next(o for o in bpy.data.objects if o.type == "ARMATURE" and o.override_library)
    joints = ob.chain_ik.chains[0].joints
    assert [each.bone for each in joints] == ["Bone.1", "Bone.2"]
    assert joints[0].cone_angle == pytest.approx(radians(8.0))
    rigs.assert_same_pose(ob, pose)
