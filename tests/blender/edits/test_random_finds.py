"""Faults that random edits have found, in the fewest steps."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs
from tests.helpers import make_rng

TARGET, OTHER_TARGET = (0.6, 0.5, 1.2), (-0.7, 0.4, 0.8)
THREE_BONES = ((0, 0, 0), (0.0, -0.1, 1), (0, 0.0, 2), (0, 0.1, 3))


def chain_of(ob: bpy.types.Object) -> bpy.types.PropertyGroup:
    return ob.chain_ik.chains[0]


@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize("way", ["at rest", "hidden", "in edit mode", "beside one in edit mode"])
def test_a_rig_that_cannot_be_posed_no_longer_says_that_it_has_reached_its_target(way, is_live):
    ob, target = rigs.make_arm(TARGET)
    twin = rigs.link(ob.copy()) if way.startswith("beside") else ob
    rigs.updated()
    assert chain_of(twin).status.startswith("Reached")
    bpy.context.scene.chain_ik.use_live = is_live
    if way == "at rest":
        ob.data.pose_position = "REST"
    elif way == "hidden":
        ob.hide_viewport = True
    else:
        rigs.enter(ob, "EDIT")
    bpy.context.scene.chain_ik.use_live = True
    rigs.change(target, location=OTHER_TARGET)
    assert chain_of(twin).status.startswith("Not solved: the armature ")
    assert chain_of(twin).residual == -1.0
    if "edit" in way:
        rigs.enter(ob, "OBJECT")
        rigs.updated()
        rigs.assert_reaches(twin, "Bone.1", target)


@pytest.mark.parametrize("name", ["", "Chain", "Arm"])
def test_a_chain_keeps_its_name_and_follows_in_the_very_update_in_which_its_tip_is_changed(name):
    ob, target = rigs.make_arm(TARGET)
    rigs.change(chain_of(ob), name=name)
    rigs.change(chain_of(ob), bone="Bone.0")
    assert chain_of(ob).name == name
    assert ob.chain_ik.chains.keys() == [name]
    toward = np.array(target.location) / np.linalg.norm(target.location)
    np.testing.assert_allclose(rigs.tail(ob, "Bone.0") / np.linalg.norm(rigs.ARM[1]), toward, 1e-5)


@pytest.mark.parametrize("influence", [1.0, 0.5])
def test_a_dragged_chain_says_where_its_tip_is_however_far_its_locked_bones_have_turned(influence):
    ob = rigs.make_rig()
    rigs.turn_bones(ob, angle=3.0)
    for bone in ob.pose.bones:
        bone.lock_rotation[0] = True
    target, _ = rigs.follow(ob, "Bone.1", (0.0, 0.0, 2.0), solver="FOLLOW", influence=influence)
    for place in make_rng(3).uniform(-3.0, 3.0, (8, 3)):
        target.location = place
        gap = np.linalg.norm(rigs.tail(ob, "Bone.1", rigs.updated()) - rigs.position(target))
        assert chain_of(ob).residual == pytest.approx(gap, abs=1e-5)
        assert influence < 1.0 or gap < 1e-5


def test_an_armature_given_to_an_animated_rig_after_a_frame_was_set_is_posed_by_its_own_bones():
    ob, target = rigs.make_arm(TARGET)
    rigs.key_bones(ob)
    rigs.go_to(1)
    donor = rigs.make_armature("Donor")
    rigs.add_bones(donor, ((-2, 0, 0), (-2, 0, 1), (-2, 0, 2)), prefix="Early")
    rigs.add_bones(donor, rigs.ARM)
    ob.data, target.location = donor.data, OTHER_TARGET
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())


def test_a_bone_at_infinity_stops_no_chain_that_shares_other_bones_with_it():
    ob, target = rigs.make_arm(TARGET)
    rigs.add_bones(ob, [(0, 0, 1), (0, 0.2, 1.8)], prefix="Side", parent="Bone.0")
    rigs.add_chain(ob, "Side.0", rigs.make_empty("Side", (0.3, 0.5, 1.4)))
    rigs.updated()
    rigs.change(ob.pose.bones["Side.0"].location, x=float("inf"))
    assert ob.chain_ik.chains[1].status.startswith("The transform of bone 'Side.0' is not finite")
    rigs.assert_reaches(ob, "Bone.1", target)


def test_a_bone_that_joins_a_chain_is_given_back_as_another_chain_has_stored_it():
    ob = rigs.make_rig()
    rigs.add_bones(ob, [(0, 0, 1), (0, 0.2, 1.8)], prefix="Side", parent="Bone.0")
    rigs.turn_bones(ob)
    turned = rigs.rotations(ob)
    for tip, place in (("Bone.1", TARGET), ("Side.0", OTHER_TARGET)):
        rigs.add_chain(ob, tip, rigs.make_empty(tip, place))
    rigs.updated()
    rigs.hang_bone(ob, "Side.0", "Bone.1")
    rigs.updated()
    rigs.mute_all_but(ob)
    assert rigs.rotations(ob) == turned


@pytest.mark.parametrize("is_in_other_scene", [True, False])
def test_a_rig_that_is_not_shown_follows_a_bone_that_is_renamed_and_then_moved(is_in_other_scene):
    """Earlier, it compared the bones when it was shown, and found neither name nor place."""
    ob, target = rigs.make_arm(TARGET)
    twin = rigs.link(ob.copy())
    rigs.updated()
    bpy.context.scene.collection.objects.unlink(twin)
    if is_in_other_scene:
        bpy.data.scenes.new("Other").collection.objects.link(twin)
    rigs.change(ob.data.bones["Bone.1"], name="Hand")
    with rigs.editing(ob) as bones:
        bones["Hand"].tail.x += 0.5
    assert chain_of(twin).bone == "Hand"
    rigs.link(twin)
    rigs.assert_reaches(twin, "Hand", target, rigs.updated())


@pytest.mark.parametrize("is_beside_torn", [True, False])
@pytest.mark.parametrize("solver", ["NEWTON", "FOLLOW"])
def test_a_bone_that_leaves_a_chain_in_edit_mode_takes_its_stored_pose_back_at_once(
    solver, is_beside_torn
):
    ob = rigs.make_rig(THREE_BONES)
    rigs.add_bones(ob, ((1, 0, 0), (1, 0, 1)), prefix="Side")
    rigs.turn_bones(ob, angle=0.4)
    before = np.array(ob.pose.bones["Bone.0"].rotation_quaternion)
    for tip in ("Bone.2", "Side.0"):
        rigs.add_chain(ob, tip, rigs.make_empty(location=OTHER_TARGET), solver=solver)
    rigs.updated()
    assert np.abs(before - ob.pose.bones["Bone.0"].rotation_quaternion).max() > 0.05
    if is_beside_torn:
        ob.chain_ik.chains[1].stored_pose = "{"
    rigs.hang_bone(ob, "Bone.1")
    rigs.updated()
    np.testing.assert_allclose(ob.pose.bones["Bone.0"].rotation_quaternion, before, atol=1e-6)
    assert "Bone.0" not in chain_of(ob).stored_pose
    assert chain_of(ob).status.startswith(("Reached", "Out of reach"))


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_bone_that_leaves_one_of_two_chains_stays_with_the_other_and_is_forgotten(is_removed):
    """Earlier, the chain restored that bone whenever bones changed parents, as after undo."""
    ob = rigs.make_rig(THREE_BONES)
    before = np.array(ob.pose.bones["Bone.0"].rotation_quaternion)
    for tip in ("Bone.2", "Bone.0"):
        rigs.add_chain(ob, tip, rigs.make_empty(tip, OTHER_TARGET))
    rigs.updated()
    rigs.hang_bone(ob, "Bone.1")
    tail = rigs.tail(ob, "Bone.0", rigs.updated())
    toward = np.array(OTHER_TARGET) / np.linalg.norm(OTHER_TARGET)
    np.testing.assert_allclose(tail / np.linalg.norm(tail), toward, atol=1e-5)
    if is_removed:
        ob.chain_ik.chains.remove(1)
        rigs.updated()
        solved = rigs.rotations(ob)
        rigs.hang_bone(ob, "Bone.2", "Bone.1")
        rigs.updated()
        assert rigs.rotations(ob) == solved
        assert "Bone.0" not in chain_of(ob).stored_pose
        return
    rigs.mute_all_but(ob)
    np.testing.assert_allclose(ob.pose.bones["Bone.0"].rotation_quaternion, before, atol=1e-6)


def test_frames_pose_rigs_beside_one_that_gives_its_bones_back_in_edit_mode(capfd):
    """Blender's list of changes grows during the update, and reading it raised an exception."""
    obs = [rigs.make_rig(rigs.ARM, name=f"Rig {number}") for number in range(2)]
    for ob in obs:
        rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=TARGET))
    rigs.key(obs[0], "chain_ik.chains[0].influence", {1: 1.0, 4: 0.0})
    rigs.key_bones(obs[1], seed=1)
    rigs.updated()
    rigs.enter(obs[0], "EDIT")
    rigs.updated()
    # As in a view layer that was never shown, where only frame changes are reported.
    live.memory.clear()
    for frame in (1, 4, 2, 4):
        bpy.context.scene.frame_set(frame)
    assert "Error" not in capfd.readouterr().err
    assert chain_of(obs[1]).status.startswith("Reached")


@pytest.mark.parametrize("seed", [9, 10, 11])
@pytest.mark.parametrize("solvers", [("FOLLOW",), ("FOLLOW", "NEWTON")])
def test_a_dragged_chain_whose_locks_change_its_pose_comes_to_rest(solvers, seed):
    """Earlier, it turned by the locked part at each update, with its target at rest.

    A refused chain on the same bones also cleared its memory.
    """
    ob = rigs.make_rig(rigs.zigzag(4, seed))
    rigs.turn_bones(ob, seed, 1.0)
    for solver in solvers:
        rigs.add_chain(ob, "Bone.3", rigs.make_empty(location=(0.6, 2.3, -1.6)), solver=solver)
    rigs.updated()
    bone = ob.pose.bones["Bone.0"]
    bone.lock_rotations_4d = bone.lock_rotation_w = True
    for place in ((0.4, 0.3, -1.5), (1.5, -1.0, 0.5)):
        rigs.change(bone, location=place)
    rigs.assert_stays(ob)
