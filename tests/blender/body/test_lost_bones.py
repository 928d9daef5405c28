"""Pins without targets, bodies without a root or in a ring: status says so, all others go on."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.body import human_bodies as bodies
from tests.blender.interface.drawn import draw, names
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects

whole_body = bpy.ops.pose.chain_ik_body
GONE = f"Bone '{bodies.HIPS}', the root of the body, does not exist: choose another Root."
RENAMED = "Pelvis"


def statuses(ob: bpy.types.Object) -> dict[str, str]:
    return {chain.name: chain.status for chain in ob.chain_ik.chains}


@pytest.mark.parametrize("control", ["EMPTY", "BONE"])
def test_a_pin_whose_target_is_gone_says_so_and_the_other_foot_stays(rigify, control):
    ob = bodies.make_body(control=control)
    leg = ob.chain_ik.chains["Leg.L"]
    sentence = "No target is set: choose an object for the chain to follow."
    if control == "BONE":
        sentence = f"The target bone '{leg.subtarget}' no longer exists: choose another."
        rigs.delete_bones(ob, leg.subtarget)
    else:
        bpy.data.objects.remove(leg.target)
    rigs.updated()
    start = bodies.places(ob)
    others = statuses(ob)
    assert others.pop("Leg.L") == sentence
    assert all(text.startswith("Reached") for text in others.values())
    if control == "BONE":
        bodies.move(ob, "Torso", (0.0, 0.0, -0.1))
    else:
        bpy.data.objects["Torso"].location.z -= 0.1
        rigs.updated()
    after = bodies.places(ob)
    assert np.abs(after["foot.R"] - start["foot.R"]).max() <= bodies.PIN_TOLERANCE
    moved = (after[bodies.HIPS] - start[bodies.HIPS]) * bodies.height(ob)
    assert abs(moved[0, 2] + 0.1) < 0.02
    # Nothing holds the other foot: it goes along with the hips.
    assert np.abs(after["foot.L"] - start["foot.L"]).max() > 0.02


def test_a_body_whose_root_is_deleted_says_so_and_its_limbs_reach_by_themselves(body):
    ob = body
    bodies.move(ob, "Arm Target.L", bodies.AWAY)
    rigs.delete_bones(ob, bodies.HIPS)
    bodies.move(ob, "Arm Target.L", (-0.1, -0.1, 0.1))
    texts = statuses(ob)
    assert texts.pop("Hips") == f"Bone '{bodies.HIPS}' no longer exists: choose another tip."
    assert all(text.startswith("Reached") and text.endswith(GONE) for text in texts.values()), texts
    before = bodies.places(ob)
    bodies.move(ob, "Arm Target.L", (-0.1, 0.0, 0.1))
    assert np.abs(bodies.places(ob)["hand.L"] - before["hand.L"]).max() > 0.01
    select_objects(active=ob)
    assert refusal(whole_body) == GONE
    assert not names(draw(only="Whole Body"), "label")


def muted(ob: bpy.types.Object) -> list[bool]:
    constraints = [item for bone in ob.pose.bones for item in bone.constraints]
    return [item.mute for item in (*constraints, *ob.chain_ik.chains)]


def test_a_body_of_another_root_gives_the_former_one_back_as_if_it_were_off(body):
    in_body, before = muted(body), bodies.places(body)
    body.chain_ik.body.use_body = False
    off = muted(body)
    body.chain_ik.body.use_body = True
    assert muted(body) == in_body != off
    for root in ("spine.003", "gone", ""):
        rigs.change(body.chain_ik.body, root=root)
        assert muted(body) == off
        bodies.move(body, "Root", (0.0, 0.0, 0.1))
        moved = (bodies.places(body)[bodies.HIPS] - before[bodies.HIPS]) * bodies.height(body)
        np.testing.assert_allclose(moved, [(0.0, 0.0, 0.1)] * 2, atol=1e-5)
        if root == "gone":
            texts = [chain.status for chain in body.chain_ik.chains if not chain.mute]
            assert all(text.endswith("choose another Root.") for text in texts)
        bodies.move(body, "Root", (0.0, 0.0, 0.0))
        rigs.change(body.chain_ik.body, root=bodies.HIPS)
        assert muted(body) == in_body
        assert bodies.farthest(before, bodies.places(body)) <= bodies.PLACE_TOLERANCE
        assert not any("Root" in text for text in statuses(body).values())


@pytest.mark.parametrize("is_muted", [False, True], ids=["hips", "hips muted"])
def test_a_root_that_is_renamed_is_followed_and_nothing_moves(human, is_muted):
    ob, initial = human, rigs.channels(human)
    press(whole_body)
    ob.chain_ik.chains["Hips"].mute = is_muted
    bodies.move(ob, "Arm Target.L", bodies.AWAY)
    before = bodies.places(ob)
    mutes = [item.mute for bone in ob.pose.bones for item in bone.constraints]
    rigs.change(ob.data.bones[bodies.HIPS], name=RENAMED)
    assert ob.chain_ik.body.root == ob.chain_ik.chains["Hips"].bone == RENAMED
    assert ob.chain_ik.chains["Hips"].mute == is_muted
    assert mutes == [item.mute for bone in ob.pose.bones for item in bone.constraints]
    before[RENAMED] = before.pop(bodies.HIPS)
    assert bodies.farthest(before, bodies.places(ob)) <= bodies.PLACE_TOLERANCE
    rigs.mute_all_but(ob)
    posed = {RENAMED: initial[bodies.HIPS]} | {
        n: initial[n] for n in ("upper_arm.L", "thigh.R", "spine.003")
    }
    assert bodies.farthest(posed, rigs.channels(ob)) <= bodies.PLACE_TOLERANCE


# Tolerance of a hand that holds another one: the solve tolerances of both, and float32.
HAND_TOLERANCE = 3e-5
IN_FRONT = {"location": (1.0, -0.6, 0.0), "rotation_euler": (0.0, 0.0, 3.0)}
"""A place where a second body can hold the first one's left hand with its right hand."""


def make_two() -> bpy.types.Object:
    first = bodies.make_body()
    rigs.enter(first, "OBJECT")
    second = bodies.make_human()
    rigs.change(second, **IN_FRONT)
    press(whole_body)
    return first


def hold(ob: bpy.types.Object, chain: str, other: bpy.types.Object, bone: str) -> None:
    settings = ob.chain_ik.chains[chain]
    settings.use_rotation = False
    settings.target, settings.subtarget = other, bone


def follow_hand(ob: bpy.types.Object, leader: bpy.types.Object) -> None:
    """Make a body hold the left hand of another one; of its other goals only feet remain."""
    hold(ob, "Arm.R", leader, "hand.L")
    for chain in ob.chain_ik.chains:
        chain.mute = chain.name in ("Hips", "Spine", "Neck", "Arm.L")
    rigs.updated()


@pytest.fixture
def pair(rigify: None) -> tuple[bpy.types.Object, bpy.types.Object]:
    return opened(make_two), bpy.data.objects["metarig.001"]


@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "the second"])
def test_a_body_that_holds_a_hand_of_another_is_solved_after_it_in_one_update(pair, is_first):
    leader, follower = pair if is_first else pair[::-1]
    follow_hand(follower, leader)
    start, hips = bodies.places(follower), list[np.ndarray]()
    for place in ((0.05, 0.1, -0.2), (-0.2, -0.1, 0.1)):
        bodies.move(leader, "Torso", (0.0, 0.0, -0.05))
        depsgraph = rigs.change(leader.pose.bones["Arm Target.L"], location=place)
        gap = rigs.head(follower, "hand.R", depsgraph) - rigs.head(leader, "hand.L", depsgraph)
        assert np.abs(gap).max() <= HAND_TOLERANCE, place
        solved = bodies.places(leader), bodies.places(follower)
        for foot in bodies.FEET:
            assert np.abs(solved[1][foot] - start[foot]).max() <= bodies.PIN_TOLERANCE, place
        hips.append(solved[1][bodies.HIPS])
        rigs.go_to(bpy.context.scene.frame_current + 1)
        assert bodies.farthest(solved[0], bodies.places(leader)) <= bodies.PLACE_TOLERANCE
        assert bodies.farthest(solved[1], bodies.places(follower)) <= bodies.PLACE_TOLERANCE
    assert np.ptp(hips, axis=0).max() > 0.01


def test_of_two_bodies_that_hold_each_other_one_hand_is_refused_and_the_rest_go_on(pair):
    first, second = pair
    follow_hand(second, first)
    hold(first, "Arm.L", second, "hand.R")
    rigs.updated()
    assert second.chain_ik.chains["Arm.R"].status == (
        f"This chain and chain 'Arm.L' of '{first.name}' follow each other: give one of the two a"
        " target that neither of them moves."
    )
    assert "follow" not in first.chain_ik.chains["Arm.L"].status
    before = bodies.places(second)
    bodies.move(second, "Leg Target.L", (0.0, -0.2, 0.2))
    assert np.abs(bodies.places(second)["foot.L"] - before["foot.L"]).max() > 0.05
    bodies.move(first, "Torso", (0.0, 0.0, -0.1))
    assert first.chain_ik.chains["Leg.L"].status.startswith("Reached")
    hold(first, "Arm.L", first, "Arm Target.L")
    rigs.updated()
    gap = rigs.head(second, "hand.R") - rigs.head(first, "hand.L")
    assert np.abs(gap).max() <= HAND_TOLERANCE


def test_bodies_of_objects_that_share_an_armature_move_independently(body):
    first = body
    second = rigs.link(first.copy())
    rigs.change(second, location=(2.0, 0.0, 0.0))
    assert second.data == first.data
    assert all(chain.target == second for chain in second.chain_ik.chains)
    before = bodies.places(first)
    bodies.move(second, "Arm Target.L", bodies.AWAY)
    assert bodies.farthest(before, bodies.places(first)) <= bodies.PLACE_TOLERANCE
    solved = bodies.places(second)
    assert np.abs(solved[bodies.HIPS][:, 1:] - before[bodies.HIPS][:, 1:]).max() > 0.01
    bodies.move(first, "Arm Target.L", bodies.AWAY)
    shift = np.array(second.location) / bodies.height(second)
    assert (
        bodies.farthest({name: ends - shift for name, ends in solved.items()}, bodies.places(first))
        <= bodies.PLACE_TOLERANCE
    )
    rigs.change(first.chain_ik.body, use_body=False)
    assert bodies.farthest(solved, bodies.places(second)) <= bodies.PLACE_TOLERANCE
    select_objects(active=first)
    text = "Object 'metarig.001' has chains on the same armature: give this object its own"
    assert refusal(whole_body).startswith(text)


def test_a_deleted_torso_is_made_again_and_carries_what_it_has_carried_before(body, capfd):
    ob, before = body, bodies.spaces_from(body)
    start = bodies.places(ob)
    rigs.delete_bones(ob, "Torso")
    rigs.updated()
    assert statuses(ob)["Hips"].startswith("The target bone 'Torso' no longer exists")
    for use_body in (False, True):
        rigs.change(ob.chain_ik.body, use_body=use_body)
    press(whole_body)
    assert [chain.name for chain in ob.chain_ik.chains].count("Hips") == 1
    assert bodies.spaces_from(ob) == before
    assert bodies.all_reach(ob)
    assert bodies.farthest(start, bodies.places(ob)) <= bodies.PLACE_TOLERANCE
    bodies.move(ob, "Torso", (0.0, 0.0, -0.1))
    assert bodies.all_reach(ob)
    assert bodies.places(ob)[bodies.HIPS][0, 2] < start[bodies.HIPS][0, 2] - 0.04
    assert "Traceback" not in "".join(capfd.readouterr())


def test_the_armature_itself_is_no_floor(body):
    rigs.change(body.chain_ik.body, floor=body)
    sentence = "The floor is the armature itself: choose another object as floor."
    assert set(statuses(body).values()) == {sentence}


def test_a_body_in_centimetres_stays_when_its_scale_is_applied(rigify):
    """Errors of Blender's floats grow with coordinates, and so does the tolerance for spaces."""
    ob = bodies.add_rig("human")
    select_objects(active=ob)
    for size in (100.0, 0.01):
        rigs.change(ob, scale=(size,) * 3)
        if size > 1.0:
            press(bpy.ops.object.transform_apply, scale=True)
    press(bpy.ops.pose.chain_ik_setup, control="BONE", use_body=True)
    rigs.updated()
    start, size = bodies.places(ob), bodies.height(ob)
    assert {item.type for bone in ob.pose.bones for item in bone.constraints} == {"ARMATURE"}
    press(bpy.ops.object.transform_apply, scale=True)
    rigs.updated()
    start = {name: ends * size / bodies.height(ob) for name, ends in start.items()}
    # Rounding of location channels of about 100 moves nearly straight knees most.
    assert bodies.farthest(start, bodies.places(ob)) <= 1e-4


def test_what_goes_along_with_the_torso_stays_when_a_pose_becomes_the_rest_pose(rigify):
    """The hips lie nearly along -Y, as in animals: there Blender rounds rest poses most."""
    ob = bodies.add_rig("human")
    with rigs.editing(ob) as bones:
        hips = bones[bodies.HIPS]
        hips.tail, hips.roll = hips.head + Vector((0.01, -0.2, 0.003)), 1.3
    press(bpy.ops.pose.chain_ik_setup, control="BONE", use_body=True)
    bodies.move(ob, "Torso", (0.0, -0.01, -0.05))
    assert bodies.all_reach(ob)
    start, size = bodies.places(ob), bodies.height(ob)
    select_bones(ob, [bodies.HIPS])
    press(bpy.ops.pose.armature_apply, selected=False)
    start = {name: ends * size / bodies.height(ob) for name, ends in start.items()}
    assert bodies.farthest(start, bodies.places(ob)) <= 1e-5


def test_a_body_posed_by_hand_before_stays_without_its_chains_after_that_pose_was_applied(rigify):
    ob = bodies.add_rig("human")
    ob.pose.bones[bodies.HIPS].location = (0.0, -0.08, 0.0)
    for name, turn in (("spine.001", 0.25), ("thigh.L", -0.2), ("thigh.R", -0.2)):
        ob.pose.bones[name].rotation_quaternion = (1.0, turn, 0.0, 0.0)
    press(bpy.ops.pose.chain_ik_setup, control="BONE", use_body=True)
    rigs.updated()
    start, size = bodies.places(ob), bodies.height(ob)
    select_bones(ob, [bodies.HIPS])
    press(bpy.ops.pose.armature_apply, selected=False)
    start = {name: ends * size / bodies.height(ob) for name, ends in start.items()}
    for influence in (1.0, 0.0):
        for chain in ob.chain_ik.chains:
            chain.influence = influence
        rigs.updated()
        assert bodies.farthest(start, bodies.places(ob)) <= 1e-5
