"""Adding chains, their controls and names, solving once, and refusals: results and messages."""

from functools import partial

import bpy
import numpy as np
import pytest

from tests.blender.interface.drawn import draw, make_active_arm
from tests.blender.setups import rigs, scaled_rigs, selecting
from tests.core.chains import side_of, unit
from tests.helpers import assert_positions_close

add = partial(bpy.ops.pose.chain_ik_add, control="EMPTY")


def make_posed_rig() -> bpy.types.Object:
    ob = rigs.make_rig(rigs.zigzag(5))
    rigs.turn_bones(ob, seed=2)
    return ob


def newest_chain(ob: bpy.types.Object) -> bpy.types.PropertyGroup:
    return ob.chain_ik.chains[-1]


def names(first: int, last: int) -> list[str]:
    return [f"Bone.{i}" for i in range(first, last + 1)]


def length_shown() -> int:
    """Return the chain length that the panel of the last operator shows."""
    return bpy.context.window_manager.operators[-1].properties.chain_count


@pytest.mark.parametrize(
    ("operator", "first", "count"),
    [("chain_ik_add", 1, 4), ("chain_ik_add", 4, 0), ("chain_ik_solve", 3, 2)],
)
def test_the_length_of_the_selection_is_shown_and_gives_the_same_chain(operator, first, count):
    ob, target = make_posed_rig(), rigs.make_empty()
    selecting.select_bones(ob, names(first, 4), target)
    bpy.ops.ed.undo_push(message="selected")
    run = getattr(bpy.ops.pose, operator)
    selecting.press(run)
    # A length of 0 means all bones up to the root, in the settings of the chain as well.
    assert length_shown() == count
    before = selecting.state()
    for shown in (count, 3):
        # Blender does this when a value in that panel changes.
        bpy.ops.ed.undo()
        selecting.press(run, chain_count=shown)
        assert length_shown() == shown
        assert (selecting.state() == before) == (shown == count)
    if operator == "chain_ik_add":
        assert newest_chain(bpy.data.objects["Rig"]).chain_count == 3
        # It is not remembered for the next selection.
        ob = bpy.data.objects["Rig"]
        selecting.select_bones(ob, names(0, 1))
        selecting.press(add)
        assert (newest_chain(ob).bone, newest_chain(ob).chain_count) == ("Bone.1", 2)


@pytest.mark.parametrize(
    ("settings", "solver"),
    [
        ({"chain_count": 1}, "NEWTON"),
        ({"chain_count": 2}, "TWO_BONE"),
        ({"chain_count": 3}, "NEWTON"),
        ({"chain_count": 3, "solver": "CCD"}, "CCD"),
        # The tip takes the target's rotation, so two bones are left to bend.
        ({"chain_count": 3, "use_rotation": True}, "TWO_BONE"),
        ({"chain_count": 2, "use_rotation": True, "use_tail": False}, "TWO_BONE"),
    ],
)
def test_two_bones_that_bend_are_solved_by_two_bone_and_others_by_newton(settings, solver):
    ob, target = make_posed_rig(), rigs.make_empty()
    target.scale = (0.5, 2.0, -1.0)
    selecting.select_bones(ob, ["Bone.4"], target)
    selecting.press(add, **settings)
    np.testing.assert_allclose(target.scale, (0.5, 2.0, -1.0), atol=1e-6)
    chain = newest_chain(ob)
    assert (chain.chain_count, chain.solver) == (settings["chain_count"], solver)
    # Limbs of two bones get a pole, unless it is switched off.
    assert (chain.pole_target is not None) == (solver == "TWO_BONE")
    assert chain.status.startswith("Reached")


def test_without_a_target_an_empty_is_made_at_the_effector_with_the_tip_s_rotation():
    ob = make_posed_rig()
    ob.location, ob.rotation_euler, ob.scale = (1, 2, 3), (0.3, 0.4, 0.5), (2, 2, 2)
    # The mesh that the armature deforms is not a target.
    body = rigs.link(bpy.data.objects.new("Body", bpy.data.meshes.new("Body")))
    body.parent = ob
    body.modifiers.new("Armature", "ARMATURE").object = ob
    selecting.select_bones(ob, names(3, 4), body)
    selecting.press(add)
    assert tuple(body.location) == (0.0, 0.0, 0.0)
    target = newest_chain(ob).target
    assert (target.type, target.name) == ("EMPTY", "Bone.4 Target")
    assert_positions_close(rigs.position(target), rigs.tail(ob, "Bone.4"), 3e-6)
    tip = (ob.matrix_world @ ob.pose.bones["Bone.4"].matrix).to_quaternion()
    assert target.matrix_world.to_quaternion().rotation_difference(tip).angle < 1e-3
    np.testing.assert_allclose(target.matrix_world.to_scale(), 1.0, atol=1e-6)
    length = sum(np.linalg.norm(rigs.tail(ob, n) - rigs.head(ob, n)) for n in names(3, 4))
    assert 0.02 * length < target.empty_display_size < 0.25 * length


@pytest.mark.parametrize("scale", [(1, 1, 1), (-2.0, 0.7, 1.2)])
def test_an_added_pole_stands_on_the_bend_side_and_the_limb_bends_toward_it(scale):
    ob = rigs.make_rig(((0, 0, 0), (0.3, -0.5, 1.0), (0, 0, 2.0)))
    ob.rotation_euler, ob.scale = (0.3, 0.2, 0.9), scale
    selecting.select_bones(ob, names(0, 1))
    selecting.press(add, use_pole=True)
    chain = newest_chain(ob)
    root, elbow, hand = rigs.head(ob, "Bone.0"), rigs.head(ob, "Bone.1"), rigs.tail(ob, "Bone.1")
    assert chain.pole_target.name == "Bone.1 Pole"
    pole = rigs.position(chain.pole_target)
    limb = np.linalg.norm(elbow - root) + np.linalg.norm(hand - elbow)
    bend, offset = (side_of(np.array([root, point, hand]), hand) for point in (elbow, pole))
    np.testing.assert_allclose(unit(offset), unit(bend), atol=1e-5)
    assert 0.3 * limb < np.linalg.norm(pole - elbow) < 1.5 * limb

    around = unit(np.cross(hand - root, offset)) * np.linalg.norm(offset)
    rigs.change(chain.pole_target, location=root + (hand - root) / 2 + around)
    new_offset = side_of(np.array([root, rigs.head(ob, "Bone.1"), hand]), hand)
    np.testing.assert_allclose(unit(new_offset), unit(around), atol=1e-5)


def test_every_chain_gets_a_unique_name_and_becomes_the_active_one():
    ob = make_posed_rig()
    rigs.add_bones(ob, rigs.zigzag(2), prefix="Leg")
    ob.data.bones["Leg.0"].name = "Chain"
    for tip in ("Bone.4", "Bone.4", "Leg.1", "Bone.4", "Chain"):
        selecting.select_bones(ob, [tip])
        selecting.press(add, chain_count=1)
        assert ob.chain_ik.active_index == len(ob.chain_ik.chains) - 1
    chain_names = [chain.name for chain in ob.chain_ik.chains]
    assert chain_names == ["Bone.4", "Bone.4.001", "Leg.1", "Bone.4.002", "Chain"]
    # A new name in the list stays unique as well: here the first chain gets a number.
    for name in ("Leg.1", "Leg.1.001"):
        ob.chain_ik.chains[0].name = name
        assert ob.chain_ik.chains.keys()[:3] == ["Leg.1.001", "Bone.4.001", "Leg.1"]


@pytest.mark.parametrize("operator", [bpy.ops.pose.chain_ik_add, bpy.ops.pose.chain_ik_solve])
def test_without_a_rig_or_selected_bones_the_buttons_say_what_to_do(operator):
    for active in (None, rigs.make_empty()):
        selecting.select_objects(active=active)
        assert selecting.refusal(operator) == "Select an armature and make it active."
    ob = make_posed_rig()
    selecting.select_bones(ob, [])
    # An active bone that is not selected is not shown as active.
    ob.data.bones.active = ob.data.bones["Bone.4"]
    selecting.deselect_bones(ob)
    assert selecting.refusal(operator) == "Select the bones of the chain."


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (("Arm", "Arm", "Arm"), ["Arm", "Arm.001", "Arm.002"]),
        (("Arm.001", "Arm.001"), ["Arm.001", "Arm.002"]),
        (("", ""), ["", "Chain.001"]),
        (("Arm", "arm"), ["Arm", "arm"]),
    ],
)
def test_a_name_that_is_taken_in_this_armature_gets_a_number(given, shown):
    for _ in range(2):
        chains = rigs.make_rig().chain_ik.chains
        for name in given:
            chains.add().name = name
        assert chains.keys() == shown


def test_names_that_a_file_holds_twice_stay_and_both_chains_are_solved():
    ob = rigs.make_rig()
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Other")
    for i, bone in enumerate(("Bone.1", "Other.0")):
        rigs.add_chain(ob, bone, rigs.make_empty(f"Target {i}", (2 * i, 0.4, 0.4)))
    # As in files from before names were unique.
    for chain in ob.chain_ik.chains:
        # Since 5.0, Blender stores properties of add-ons elsewhere.
        stored = chain.bl_system_properties_get() if bpy.app.version >= (5, 0) else chain
        stored["name"] = "Chain"
    rigs.updated()
    assert [chain.name for chain in ob.chain_ik.chains] == ["Chain", "Chain"]
    assert all(not chain.status.startswith("Not solved") for chain in ob.chain_ik.chains)


LEAVE_EDIT_MODE = "Leave edit mode: chains work on the pose."
# This operator clears results, in any mode.
ALWAYS = {"chain_ik_compare_clear"}


@pytest.mark.parametrize("is_renamed", [True, False])
def test_all_operators_ask_to_leave_edit_mode_but_settings_can_be_changed(is_renamed):
    ob, _ = make_active_arm(solver="FORCE")
    ob.pose.bones[0].lock_ik_x = True
    bpy.ops.pose.chain_ik_compare()
    rigs.enter(ob, "EDIT")
    bones = ob.data.edit_bones
    if is_renamed:
        bones[0].name = "Renamed"
    else:
        bones.remove(bones[-1])
    names = {name for name in dir(bpy.ops.pose) if name.startswith("chain_ik_")} - ALWAYS
    messages = {name: selecting.refusal(getattr(bpy.ops.pose, name)) for name in names}
    assert {name: text for name, text in messages.items() if text != LEAVE_EDIT_MODE} == {}
    assert len(messages) > 20
    chain = ob.chain_ik.chains[0]
    chain.use_tail = chain.use_rotation = chain.use_stretch = True
    chain.use_stretch, chain.chain_count, chain.mute = False, 1, True
    assert chain.status == "Muted"
    chain.mute = False
    assert chain.status == "Not solved: the armature is in edit mode"
    assert draw()
    bpy.context.view_layer.objects.active = chain.target
    assert ob.data.is_editmode
    assert selecting.refusal(bpy.ops.pose.chain_ik_joints_copy) == LEAVE_EDIT_MODE
    rigs.enter(ob, "OBJECT")
    selecting.select_objects(active=ob)
    rigs.updated()
    assert "edit mode" not in ob.chain_ik.chains[0].status


solve = bpy.ops.pose.chain_ik_solve

SOLVERS = ["AUTO", "FABRIK", "CCD", "NEWTON"]


def make_selection(
    count: int = 3, location: tuple[float, ...] = (0.5, 0.6, 1.2), **bones: object
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return a posed rig with its last bones selected, and the selected target."""
    ob, target = rigs.make_rig(rigs.zigzag(4), **bones), rigs.make_empty(location=location)
    rigs.turn_bones(ob, seed=3)
    selecting.select_bones(ob, [f"Bone.{i}" for i in range(4 - count, 4)], target)
    return ob, target


@pytest.mark.parametrize("solver", SOLVERS)
def test_solved_once_from_the_present_pose_a_chain_is_not_solved_again_from_its_result(solver):
    """Live chains are, until they come to rest. At rest both starts are the same pose."""
    poses = []
    for use_rest_start in (False, True):
        ob, target = rigs.make_rig(rigs.zigzag(4)), rigs.make_empty(location=(0.5, 0.6, 1.2))
        selecting.select_bones(ob, names(1, 3), target)
        selecting.press(solve, solver=solver, iterations=1, use_rest_start=use_rest_start)
        poses.append([bone.tail[:] for bone in ob.pose.bones])
    assert_positions_close(*poses)


@pytest.mark.parametrize(
    ("solver", "mode"),
    [*(("NEWTON", mode) for mode in rigs.ROTATION_MODES), *((s, "XYZ") for s in SOLVERS)],
)
def test_only_the_selected_bones_turn_until_the_tip_is_at_the_target(solver, mode, capfd):
    ob, target = make_selection(modes=mode)
    before, rotations = selecting.state(), rigs.rotations(ob)
    selecting.press(solve, solver=solver)
    assert "Info: Reached (" in capfd.readouterr().out
    rigs.assert_reaches(ob, "Bone.3", target)
    now = rigs.rotations(ob)
    assert [n for n in now if now[n] != rotations[n]] == ["Bone.1", "Bone.2", "Bone.3"]
    # No chain, anchor or object is added, and the target stays.
    assert selecting.without_rotations(selecting.state()) == selecting.without_rotations(before)
    assert not ob.chain_ik.chains
    # The bones do not follow a later move of the target.
    target.location.z += 0.4
    bpy.context.scene.frame_set(5)
    bpy.context.view_layer.update()
    assert rigs.rotations(ob) == now


def test_chain_length_can_be_given_also_in_object_mode():
    ob, target = make_selection(1)
    rigs.enter(ob, "OBJECT")
    before = rigs.rotations(ob)
    selecting.press(solve, chain_count=3, bone="Bone.3")
    after = rigs.rotations(ob)
    assert ob.mode == "OBJECT"
    assert [n for n in after if after[n] != before[n]] == ["Bone.1", "Bone.2", "Bone.3"]
    rigs.assert_reaches(ob, "Bone.3", target)
    selecting.select_objects(ob, active=target)
    assert selecting.refusal(solve) == (
        "Choose the bone at the end of the chain, or select its bones in pose mode."
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("location", [(0.5, 0.6, 1.2), (9, 9, 9)], ids=["near", "far"])
def test_solving_again_moves_nothing(solver, location, capfd):
    ob, _ = make_selection(location=location)
    selecting.press(solve, solver=solver)
    assert ("Info: Out of reach by 1" in capfd.readouterr().out) == (location == (9, 9, 9))
    before = rigs.pose(ob)
    for _ in range(3):
        selecting.press(solve, solver=solver)
    np.testing.assert_allclose(rigs.pose(ob), before, atol=5e-6)


@pytest.mark.parametrize("solver", ["TWO_BONE", *SOLVERS])
def test_flip_bends_to_the_other_side_and_flips_back_when_pressed_again(solver):
    count = 2 if solver == "TWO_BONE" else 3
    ob, target = make_selection(count)
    selecting.press(solve, solver=solver)
    plain = bend_offset(ob, count)
    for expected in (-1, 1):
        selecting.press(solve, solver=solver, use_flip_bend=True)
        rigs.assert_reaches(ob, "Bone.3", target)
        assert np.sign(bend_offset(ob, count) @ plain) == expected


def bend_offset(ob: bpy.types.Object, count: int) -> np.ndarray:
    """Return the offset of the joints of the last bones from their chord."""
    joints = scaled_rigs.joints(ob, [f"Bone.{i}" for i in range(4 - count, 4)])
    return side_of(joints, joints[-1])


@pytest.mark.parametrize(
    "settings",
    [
        {"influence": 0.0},
        {"influence": 0.4},
        {"use_rest_start": True},
        {"use_tail": False, "use_rotation": True},
        {"solver": "CCD", "iterations": 1},
        {"solver": "FABRIK", "tolerance": 0.1},
        {"negative_scale": "KEEP"},
    ],
    ids=str,
)
def test_settings_have_the_same_effect_as_those_of_a_live_chain(settings):
    ob, target = make_selection()
    target.rotation_euler = (0.4, 0.5, 0.6)
    rigs.change(ob.scale, x=-1.0 if "negative_scale" in settings else 1.0)
    plain, twin = rigs.link(ob.copy()), rigs.link(ob.copy())
    chain_settings = {name: value for name, value in settings.items() if name != "use_rest_start"}
    if "use_rest_start" in settings:
        chain_settings["start_from"] = "REST"
    for copy in (plain, twin):
        copy.select_set(False)
    rigs.add_chain(plain, "Bone.3", target, chain_count=3)
    rigs.add_chain(twin, "Bone.3", target, chain_count=3, **chain_settings)
    rigs.updated()
    selecting.press(solve, **settings)
    rigs.assert_same_pose(ob, twin)
    assert np.abs(rigs.pose(ob) - rigs.pose(plain)).max() > 1e-3, "it makes no difference"


def test_a_selected_bone_off_the_line_is_the_target_and_without_one_the_button_asks_for_it():
    ob = rigs.make_rig(rigs.zigzag(3))
    rigs.add_bones(ob, ((0.5, 0.5, 2), (0.5, 0.5, 2.5)), prefix="Control")
    selecting.select_bones(ob, ["Bone.1", "Bone.2"])
    expected = "Select a target as well: an object, or a bone outside the chain."
    assert selecting.refusal(solve) == expected
    selecting.select_bones(ob, ["Control.0", "Bone.0", "Bone.1", "Bone.2"])
    selecting.press(solve)
    goal = rigs.head(ob, "Control.0")
    assert_positions_close(rigs.tail(ob, "Bone.2"), goal, rigs.TARGET_GAP)
    assert_positions_close(goal, (0.5, 0.5, 2), 1e-6)


@pytest.mark.parametrize(
    ("x", "settings", "words"),
    [
        (float("nan"), {}, "is not finite or too large: check its location"),
        (0.5, {"solver": "TWO_BONE"}, "has 3 to bend: choose Newton, FABRIK or CCD, or shorten"),
        (0.5, {"solver": "TWO_BONE", "chain_count": 1}, "FABRIK or CCD, or lengthen the chain."),
    ],
)
def test_bad_input_is_refused_in_one_sentence_and_changes_nothing(x, settings, words):
    rigs.change(make_selection()[1].location, x=x)
    assert words in selecting.refusal(solve, **settings)
