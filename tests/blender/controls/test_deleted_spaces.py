"""Deleted controls that are spaces of others: these keep their motion, and nothing is left over."""

import bpy
import numpy as np
import pytest

from tests.blender.body.human_bodies import make_character
from tests.blender.controls import test_switch_space as spaces
from tests.blender.controls.test_hierarchy import places
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import assign_action, strip_of
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, refusal, select_bones
from tests.helpers import make_rng

remove = bpy.ops.pose.chain_ik_remove


def make_carried(kind: str) -> bpy.types.Object:
    is_image, kind = kind == "IMAGE", "EMPTY" if kind == "IMAGE" else kind
    ob, rng = spaces.make_body(kind), make_rng(2)
    select_bones(ob, rigs.add_bones(ob, ((2, 0, 0), (2, 0, 0.5), (2.1, 0, 1.0)), prefix="Tail"))
    press(bpy.ops.pose.chain_ik_add, control=kind)
    tail = ob.chain_ik.chains[1]
    if is_image:
        # Images, the data of such empties, have no animation.
        tail.target.empty_display_type = "IMAGE"
        tail.target.data = bpy.data.images.new("Image", 4, 4)
    control = ob.pose.bones[tail.subtarget] if tail.subtarget else tail.target
    for frame in (3, 20, 30):
        spaces.move_control(control, rng, frame)
    ob.chain_ik.active_index = 0
    rigs.go_to(5)
    rigs.change(ob.chain_ik.chains[0], space=tail.subtarget or tail.target.name)
    return ob


def test_a_control_is_not_deleted_while_stretched_time_moves_the_keys_of_another():
    ob = make_carried("BONE")
    ob.chain_ik.active_index = 1
    bpy.context.scene.render.frame_map_new = 50
    rigs.go_to(7)
    keys = rigs.keys_of(ob)
    assert refusal(remove, delete_controls=True).startswith("Time stretching moves keys")
    assert rigs.keys_of(ob) == keys


@pytest.mark.parametrize(
    ("kind", "switches"),
    [
        ("BONE", ()),
        ("IMAGE", ()),
        ("BONE", ((10, "Body.0"), (24, "Body.1"))),
        ("EMPTY", ((10, "Body.0"), (24, "Body.1"))),
    ],
)
def test_a_control_whose_space_is_deleted_keeps_its_motion(kind, switches):
    ob = make_carried(kind)
    for frame, space in switches:
        rigs.go_to(frame)
        press(spaces.switch, space=space)
    before = spaces.target_matrices(ob)
    ob.chain_ik.active_index = 1
    rigs.go_to(7)
    press(remove, delete_controls=True)
    assert bpy.context.scene.frame_current == 7
    for frame, matrix in spaces.target_matrices(ob).items():
        np.testing.assert_allclose(matrix, before[frame], atol=spaces.MAX_MOVE, err_msg=str(frame))
    control = spaces.control_of(ob, "TARGET")
    assert len(control.constraints) == len(switches)
    curves = [curve for curve in rigs.curves_of(control.id_data) if "influence" in curve.data_path]
    assert len(curves) == len(control.constraints)


def test_a_space_is_not_deleted_if_the_keys_of_its_control_are_locked():
    ob = make_carried("BONE")
    control = spaces.control_of(ob, "TARGET")
    rigs.key(control, "location", {3: (0.0, 0.0, 0.0), 10: (0.1, 0.0, 0.0)})
    before = spaces.target_matrices(ob)
    ob.chain_ik.active_index = 1
    (curve, *_) = [curve for curve in rigs.curves_of(ob) if control.name in curve.data_path]
    curve.lock = True
    sentence = refusal(remove, delete_controls=True)
    assert sentence.startswith(f"The F-curve 'Location' of '{control.name}' is locked")
    curve.lock = False
    press(remove, delete_controls=True)
    for frame, matrix in spaces.target_matrices(ob).items():
        np.testing.assert_allclose(matrix, before[frame], atol=spaces.MAX_MOVE, err_msg=str(frame))


def test_a_baked_character_keeps_its_motion_when_its_controls_are_deleted(rigify, capfd):
    """Other actions lose what the root moved in them, and one warning says so."""
    ob = make_character("human")
    rigs.key(ob.pose.bones["Root"], "location", {1: (0.0, 0.0, 0.0), 20: (0.0, 1.0, 0.0)})
    other = ob.animation_data.action.copy()
    other.name = "Walk"
    press(bpy.ops.pose.chain_ik_bake, which="ALL", frame_start=1, frame_end=20)
    before = {}
    for frame in rigs.each_frame((1, 8, 20)):
        before[frame] = places(ob)
    while ob.chain_ik.chains:
        press(remove, delete_controls=True)
    assert capfd.readouterr().out.count("came from these controls: Walk. To keep it, undo") == 1
    for frame, bones in before.items():
        rigs.go_to(frame)
        after = places(ob)
        for name in ("spine", "hand.L", "foot.R", "spine.006"):
            np.testing.assert_allclose(after[name], bones[name], atol=spaces.MAX_MOVE, err_msg=name)


def test_nothing_is_deleted_if_the_motion_cannot_be_kept():
    ob = make_carried("BONE")
    ob.chain_ik.active_index = 1
    ob.animation_data.action_influence = 0.5
    message = refusal(remove, delete_controls=True)
    assert message.startswith(f"The NLA of '{ob.name}' blends its action")
    assert len(ob.chain_ik.chains) == 2
    assert ob.chain_ik.chains[1].subtarget in ob.data.bones


def make_keyed_arms() -> bpy.types.Object:
    ob = make_character("human", kinds={"ARM"})
    for name in ("Arm Target.L", "spine", "Arm Target.R"):
        rigs.key(ob.pose.bones[name], "location", {1: (0.0, 0.0, 0.0), 20: (0.0, 0.0, -0.3)})
    ob.chain_ik.active_index = [chain.name for chain in ob.chain_ik.chains].index("Arm.L")
    return ob


def keyed_bones(ob: bpy.types.Object) -> set[str]:
    return {curve.data_path.split('"')[1] for curve in rigs.curves_of(ob)}


def test_keys_of_a_deleted_control_are_removed_in_the_nla_too_unless_others_play_them(rigify):
    ob = opened(make_keyed_arms)
    for name in ("Arm Target.L", "Arm Target.R"):
        ob.pose.bones[name].driver_add("scale", 0).driver.expression = "1.0"
    bpy.ops.ed.undo_push(message="before")
    press(remove, delete_controls=True)
    assert keyed_bones(ob) == {"spine", "Arm Target.R"}
    assert {driver.data_path.split('"')[1] for driver in ob.animation_data.drivers} == {
        "Arm Target.R"
    }
    bpy.ops.ed.undo()
    assert keyed_bones(bpy.context.object) == {"spine", "Arm Target.R", "Arm Target.L"}

    ob = opened(make_keyed_arms)
    action, strip = ob.animation_data.action, strip_of(ob)
    press(remove, delete_controls=True)
    assign_action(ob, action, getattr(strip, "action_slot", None))
    assert keyed_bones(ob) == {"spine", "Arm Target.R"}

    ob = opened(make_keyed_arms)
    other, data = rigs.make_armature(), ob.animation_data
    assign_action(other, data.action, getattr(data, "action_slot", None))
    bpy.context.view_layer.objects.active = ob
    press(remove, delete_controls=True)
    assert "Arm Target.L" in keyed_bones(ob)


def test_controls_that_a_linked_duplicate_follows_stay_as_long_as_it_does(rigify):
    ob = make_character("human", kinds={"ARM"})
    bones = set(ob.data.bones.keys())
    ob.data.collections.new("Mine", parent=ob.data.collections_all["Chain IK Controls"])
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.object.duplicate(linked=True)
    copy = bpy.context.object
    assert copy != ob
    assert copy.data == ob.data
    while copy.chain_ik.chains:
        press(remove, delete_controls=True)
    rigs.updated()
    assert set(ob.data.bones.keys()) == bones
    assert all(chain.status.startswith("Reached") for chain in ob.chain_ik.chains)
    bpy.context.view_layer.objects.active = ob
    while ob.chain_ik.chains:
        press(remove, delete_controls=True)
    assert not {"Root", "Arm Target.L"} & set(ob.data.bones.keys())
    # A collection that contains one of the user stays.
    assert ob.data.collections_all["Mine"].parent.name == "Chain IK Controls"


def test_a_control_keeps_its_motion_along_a_path_with_keys_on_the_curve():
    ob = make_carried("EMPTY")
    carrier, curve = ob.chain_ik.chains[1].target, bpy.data.curves.new("Path", "CURVE")
    curve.dimensions, curve.use_path = "3D", True
    line = curve.splines.new("POLY")
    line.points.add(1)
    line.points[1].co = (0.0, 2.0, 0.0, 1.0)
    path = bpy.data.objects.new("Path", curve)
    bpy.context.scene.collection.objects.link(path)
    carrier.animation_data_clear()
    carrier.constraints.new("FOLLOW_PATH").target = path
    for frame in (1, 25):
        curve.eval_time = 4.0 * (frame - 1)
        curve.keyframe_insert("eval_time", frame=frame)
    rigs.go_to(5)
    before = spaces.target_matrices(ob)
    ob.chain_ik.active_index = 1
    press(remove, delete_controls=True)
    for frame, matrix in spaces.target_matrices(ob).items():
        np.testing.assert_allclose(matrix, before[frame], atol=spaces.MAX_MOVE, err_msg=str(frame))
    assert np.ptp([matrix[:3, 3] for matrix in before.values()], axis=0).max() > 1.0


@pytest.mark.parametrize("delete", [rigs.delete_bones, rigs.delete_selected])
def test_a_space_deleted_in_edit_mode_is_named_until_set_up_limbs_makes_it_anew(rigify, delete):
    ob = make_character("human")
    ob.pose.bones["Root"].location.x = 0.5
    rigs.updated()
    before = places(ob)
    delete(ob, "Root")
    rigs.updated()
    lost = {chain.name: chain.status.split("The space of ")[-1] for chain in ob.chain_ik.chains}
    text = "no longer exists: choose another space"
    assert lost.pop("Spine") == lost.pop("Neck") == f"'spine' {text}"
    for name in ("Arm.L", "Arm.R", "Leg.L", "Leg.R"):
        assert lost.pop(name) == f"'{name[:3]} Target{name[3:]}' {text}"
    # Toes hang on the feet.
    assert set(lost.values()) == {"Reached"}
    press(bpy.ops.pose.chain_ik_setup)
    bpy.ops.object.mode_set(mode="POSE")
    rigs.updated()
    assert {chain.status for chain in ob.chain_ik.chains} == {"Reached"}
    ob.pose.bones["Root"].location.x = 0.5
    rigs.updated()
    for name in ("hand.L", "foot.R", "spine.006", "Arm Target.L"):
        np.testing.assert_allclose(places(ob)[name], before[name], atol=spaces.MAX_MOVE)
