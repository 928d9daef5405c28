"""Selections for +: the run of selected bones is the chain, other selected things are controls."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.records import bones_of_chain
from tests.blender.setups import rigs
from tests.blender.setups.scaled_rigs import axes_of_bone, axes_of_object
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects, unmoved
from tests.helpers import assert_positions_close

add = bpy.ops.pose.chain_ik_add
pole_add = bpy.ops.pose.chain_ik_pole_add
KINDS = ("BONE", "EMPTY")
LIMB = ((0, 0, 0), (0, -0.1, 1), (0, 0, 2), (0.1, 0, 2.4))
COLLECTION = "Chain IK Controls"


def make_rig() -> bpy.types.Object:
    """Return a posed rig of five bones in a chain, and two bones beside it."""
    ob = rigs.make_rig(rigs.zigzag(5))
    rigs.add_bones(ob, ((1, 0, 4.5), (1, 0, 5)), prefix="Near")
    rigs.add_bones(ob, ((0, -3, 2), (0, -3, 3)), prefix="Far")
    rigs.turn_bones(ob, seed=2)
    return ob


def newest(ob: bpy.types.Object) -> bpy.types.PropertyGroup:
    return ob.chain_ik.chains[-1]


def activate(ob: bpy.types.Object, bone: str) -> None:
    rigs.change(ob.data.bones, active=ob.data.bones[bone])


RUN = ["Bone.2", "Bone.3", "Bone.4"]


@pytest.mark.parametrize(
    ("run", "active", "count"),
    # If two separate bones are selected, the active one is the tip, as in Blender.
    [*((RUN, active, 3) for active in ("Bone.2", "Bone.4", "Near.0")), (["Bone.4"], "Bone.4", 0)],
)
def test_the_chain_is_the_selected_run_whichever_bone_is_active(run, active, count):
    ob = make_rig()
    select_bones(ob, ["Near.0", *run])
    activate(ob, active)
    press(add)
    chain = newest(ob)
    assert (chain.bone, chain.chain_count) == ("Bone.4", count)
    assert (chain.target, chain.subtarget) == (ob, "Near.0")


def test_of_two_selected_bones_beside_the_chain_the_nearer_is_the_target_the_other_the_pole():
    ob = make_rig()
    select_bones(ob, ["Far.0", *RUN, "Near.0"])
    press(add)
    chain = newest(ob)
    assert (chain.subtarget, chain.pole_target, chain.pole_subtarget) == ("Near.0", ob, "Far.0")
    rigs.enter(ob, "OBJECT")
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Third")
    select_bones(ob, ["Near.0", "Far.0", "Third.0", *RUN])
    assert refusal(add).startswith("Too much is selected for a chain, a target and a pole")


@pytest.mark.parametrize("count", [1, 2])
def test_a_bone_that_is_selected_alone_in_another_armature_in_pose_mode_is_the_target(count):
    ob, prop = make_rig(), rigs.make_rig(name="Prop")
    select_bones(prop, ["Bone.0", "Bone.1"][:count])
    select_bones(ob, RUN, prop)
    press(add)
    chain = newest(ob)
    assert (chain.target == prop, len(prop.data.bones)) == (count == 1, 2)


def test_an_object_other_than_an_empty_moves_only_on_request(capfd):
    ob = make_rig()
    body = rigs.link(bpy.data.objects.new("Ball", bpy.data.meshes.new("Ball")))
    body.location = (0.5, 0.5, 3.5)
    select_bones(ob, RUN, body)
    press(add)
    assert newest(ob).target == body
    assert tuple(body.location) == (0.5, 0.5, 3.5)
    assert "was moved" not in capfd.readouterr().out
    bpy.ops.ed.undo_push(message="asked")
    press(add, use_snap=True)
    assert_positions_close(rigs.position(bpy.data.objects["Ball"]), rigs.tail(ob, "Bone.4"), 1e-5)
    assert "'Ball' was moved to the tip of the chain" in capfd.readouterr().out


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_a_run_that_ends_with_a_hand_or_foot_reaches_before_it_and_turns_it(share):
    """Also if the bone before it ends elsewhere, as importers leave it beside twist bones."""
    names = ("mixamorig:LeftUpLeg", "mixamorig:LeftLeg", "mixamorig:LeftFoot")
    ob = rigs.make_rig(LIMB, names=names)
    if share < 1.0:
        with rigs.editing(ob) as bones:
            bones[names[2]].use_connect = False
            bones[names[1]].tail = bones[names[1]].head.lerp(bones[names[1]].tail, share)
    select_bones(ob, names)
    with unmoved(ob, 2e-6):
        press(add, control="EMPTY")
    chain, tip = newest(ob), (names[1], "AUTO", True) if share == 1.0 else (names[2], "TIP", False)
    assert (chain.chain_count, chain.solver, chain.use_rotation) == (2, "TWO_BONE", True)
    assert (chain.bone, chain.rotation_bone, chain.use_tail) == tip
    rigs.change(chain.target, location=(0.6, 0.5, 1.2), rotation_euler=(1.0, 0.3, -0.4))
    assert_positions_close(rigs.head(ob, names[2]), rigs.position(chain.target), 1e-5)
    np.testing.assert_allclose(axes_of_bone(ob, names[2]), axes_of_object(chain.target), atol=2e-6)


@pytest.mark.parametrize("is_armature_active", [True, False])
def test_in_object_mode_the_tip_is_asked_for_and_the_selected_empty_is_the_target(
    is_armature_active,
):
    ob, target = make_rig(), rigs.make_empty()
    activate(ob, "Bone.1")
    select_objects(ob, target, active=ob if is_armature_active else target)
    assert refusal(add) == (
        "Choose the bone at the end of the chain, or select its bones in pose mode."
    )
    expected = "Bone 'Gone' does not exist: choose the bone at the end of the chain."
    assert refusal(add, bone="Gone") == expected
    place = tuple(target.location)
    press(add, bone="Bone.4", chain_count=3, use_snap=False)
    assert (newest(ob).bone, newest(ob).target) == ("Bone.4", target)
    assert tuple(target.location) == place
    rigs.assert_reaches(ob, "Bone.4", target)


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_tip_alone_takes_the_bones_up_to_the_first_that_is_not_connected(is_connected, capfd):
    ob = rigs.make_rig([(0, 0, 1), (0, 0, 1.2)], prefix="Hips")
    rigs.add_bones(ob, [(0, 0, 1.2), (0, 0, 1.5)], prefix="Spine", parent="Hips.0")
    knee = [(0.3, 0, 1.2), (0.3, -0.1, 0.6), (0.3, 0, 0)]
    rigs.add_bones(ob, knee, prefix="Leg", parent="Spine.0", is_connected=is_connected)
    select_bones(ob, ["Leg.1"])
    press(add)
    assert bones_of_chain(ob.chain_ik.chains[0]) == ["Leg.0", "Leg.1"]
    message = (
        "'Leg.0' is not connected to its parent, so the chain begins there. To include all"
        " parents, switch Connected Only off in Adjust Last Operation."
    )
    assert message in capfd.readouterr().out
    ob.chain_ik.chains[0].solver = "NEWTON"
    # After a change in the panel, the settings that it shows give the same chain.
    select_objects(active=ob)
    press(add, tip="Leg.1")
    shown = bpy.context.window_manager.operators[-1].properties
    assert (shown.chain_count, shown.use_connected) == (0, True)
    assert message in capfd.readouterr().out
    press(add, tip="Leg.1", use_connected=False)
    assert bones_of_chain(newest(ob)) == ["Hips.0", "Spine.0", "Leg.0", "Leg.1"]


def test_bones_of_zero_scale_are_refused_and_nothing_is_made():
    """Earlier, the control bone had no length: Blender deleted it, and the button failed midway."""
    ob = rigs.make_rig(LIMB)
    ob.pose.bones["Bone.0"].scale = (0.0, 0.0, 0.0)
    select_bones(ob, ["Bone.0", "Bone.1"])
    before = len(bpy.data.objects), len(ob.data.bones)
    with pytest.raises(RuntimeError, match=r"Bone 'Bone\.0' has a length of zero"):
        press(add, control="BONE", use_rotation=True, use_pole=True)
    assert (len(bpy.data.objects), len(ob.data.bones)) == before
    assert not ob.chain_ik.chains


def test_control_bones_are_seen_while_another_bone_collection_is_shown_alone():
    ob = rigs.make_rig(LIMB)
    alone = ob.data.collections.new("Deform")
    for bone in ob.data.bones:
        alone.assign(bone)
    alone.is_solo = True
    select_bones(ob, ["Bone.0", "Bone.1"])
    press(add, control="BONE")
    assert ob.data.collections_all[COLLECTION].is_visible_effectively
    assert ob.data.bones["Bone.0"].collections[0].is_visible_effectively


def test_control_bones_are_what_riggers_expect():
    ob = rigs.make_rig(LIMB)
    select_bones(ob, ["Bone.0", "Bone.1"])
    press(add, control="BONE")
    assert bpy.context.mode == "POSE"
    chain = newest(ob)
    assert (chain.subtarget, chain.pole_subtarget) == ("Bone.1 Target", "Bone.1 Pole")
    shapes = set()
    for name in (chain.subtarget, chain.pole_subtarget):
        bone = ob.pose.bones[name]
        assert not bone.bone.use_deform
        assert bone.parent is None
        assert COLLECTION in bone.bone.collections
        assert not bone.custom_shape.users_scene
        shapes.add(bone.custom_shape.name)
    assert len(shapes) == 2
    pole = rigs.head(ob, chain.pole_subtarget)
    assert np.linalg.norm(pole - rigs.head(ob, "Bone.1")) == pytest.approx(1.5 * 2.01, rel=0.1)
    rigs.shift(ob.pose.bones[chain.subtarget], y=-0.3)
    assert_positions_close(rigs.tail(ob, "Bone.1"), rigs.head(ob, chain.subtarget), rigs.TARGET_GAP)


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_pole_can_be_added_later_and_moves_nothing(kind, shares):
    ob = rigs.make_rig(LIMB)
    rigs.add_bones(ob, [(0, -0.1, 1), (0.6, 0, 1.2), (0.7, 0, 2)], prefix="Twig", parent="Bone.0")
    rigs.turn_bones(ob, seed=3)
    if shares:
        select_bones(ob, ["Bone.0", "Twig.0", "Twig.1"])
        press(add, use_pole=False, control=kind)
    select_bones(ob, ["Bone.0", "Bone.1", *["Bone.2"] * shares])
    with unmoved(ob):
        press(add, use_pole=False, control=kind)
        assert newest(ob).pole_target is None
        press(pole_add, control=kind)
    assert newest(ob).pole_target is not None
    assert refusal(pole_add) == "This chain has a pole already."


@pytest.mark.parametrize("is_limited", [False, True])
def test_a_pole_moves_no_joint_where_the_tip_takes_the_rotation(is_limited):
    ob = rigs.make_rig(LIMB)
    rigs.turn_bones(ob, seed=3)
    select_bones(ob, ["Bone.0", "Bone.1", "Bone.2"])
    press(add, use_pole=False, control="EMPTY")
    rigs.change(newest(ob), use_rotation=True, rotation_bone="TIP")
    if is_limited:
        rigs.limit_bones(ob, x=(-2.5, 2.5))
    rigs.shift(newest(ob).target, x=0.3, z=-0.6)
    before = [rigs.head(ob, bone.name) for bone in ob.pose.bones]
    press(pole_add, control="EMPTY")
    rigs.updated()
    after = [rigs.head(ob, bone.name) for bone in ob.pose.bones]
    assert_positions_close(after, before, 2e-5)


@pytest.mark.parametrize("is_pole_too", [False, True])
@pytest.mark.parametrize(("kind", "deletes"), [("BONE", True), ("EMPTY", True), ("BONE", False)])
def test_removing_a_chain_deletes_the_controls_made_for_it_on_request(kind, deletes, is_pole_too):
    ob = rigs.make_rig(LIMB)
    bones = ["Bone.0", "Bone.1"]
    before = len(bpy.data.objects), len(ob.data.bones)
    select_bones(ob, bones)
    press(add, control=kind, use_pole=not is_pole_too)
    if is_pole_too:
        chain = newest(ob)
        chain.pole_target, chain.pole_subtarget = chain.target, chain.subtarget
    press(bpy.ops.pose.chain_ik_remove, delete_controls=deletes)
    after = len([thing for thing in bpy.data.objects if thing.users_scene]), len(ob.data.bones)
    assert (after == before) == deletes
    assert not ob.chain_ik.chains


@pytest.mark.parametrize("kind", KINDS)
def test_controls_of_another_chain_and_of_the_user_stay(kind):
    ob, control = rigs.make_rig(LIMB), rigs.make_empty("Own")
    select_bones(ob, ["Bone.0", "Bone.1"], control)
    press(add, control=kind)
    shared = newest(ob).pole_target, newest(ob).pole_subtarget
    rigs.add_chain(ob, "Bone.2", control, chain_count=1)
    newest(ob).pole_target, newest(ob).pole_subtarget = shared
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    assert control.name in bpy.context.scene.objects
    assert (newest(ob).pole_target, newest(ob).pole_subtarget) == shared
    if kind == "BONE":
        assert shared[1] in ob.data.bones


ZERO_SCALE = (
    "Bone 'Root.0' has a scale of zero, so it cannot be the parent of controls: choose another"
    " parent for the controls."
)
NOT_FINITE = (
    "The transform of bone 'Root.0' is not finite or too large:"
    " check its location, rotation and scale, its keyframes, drivers and constraints."
)
NO_BONE = "Bone 'Nobody' does not exist: choose another parent for the controls."


@pytest.mark.parametrize(
    ("parent", "scale", "said"),
    [
        ("Nobody", (1.0, 1.0, 1.0), NO_BONE),
        ("Root.0", (1.0, 0.0, 1.0), ZERO_SCALE),
        ("Root.0", (1.0, float("nan"), 1.0), NOT_FINITE),
    ],
)
def test_an_impossible_parent_of_controls_is_refused_and_nothing_is_made(parent, scale, said):
    ob = rigs.make_rig(LIMB, names=("upper_arm.L", "forearm.L", "hand.L"))
    rigs.add_bones(ob, ((1, 0, 0), (1, 0, 1)), prefix="Root")
    rigs.change(ob.pose.bones["Root.0"], scale=scale)
    select_bones(ob, ["upper_arm.L", "forearm.L"])
    count = len(ob.data.bones)
    assert refusal(add, control="BONE", parent=parent) == said
    assert len(ob.data.bones) == count
    assert not ob.chain_ik.chains
    if said == ZERO_SCALE:
        press(add, control="EMPTY", parent=parent)
        assert len(ob.chain_ik.chains) == 1


def test_an_armature_from_a_library_gets_empties(tmp_path, capfd):
    ob = rigs.make_rig(LIMB, names=("upper_arm.L", "forearm.L", "hand.L"))
    library = str(tmp_path / "library.blend")
    bpy.data.libraries.write(library, {ob.data}, fake_user=True)
    with bpy.data.libraries.load(library, link=True) as (_, requested):
        requested.armatures = [ob.data.name]
    rigs.enter(ob, "OBJECT")
    ob.data = requested.armatures[0]
    rigs.enter(ob, "POSE")
    select_bones(ob, ["upper_arm.L", "forearm.L"])
    press(add)
    message = (
        "New bones cannot be added to an armature from a library, so the controls are empties."
    )
    assert message in capfd.readouterr().out
    chain = newest(ob)
    assert (chain.target.type, chain.pole_target.type) == ("EMPTY", "EMPTY")
