"""A pin without its target and a body without its root say so, and all others go on."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.body.human_bodies import (
    AWAY,
    HELD,
    HIPS,
    STILL,
    channels,
    farthest,
    height,
    make_body,
    most_changed,
    move,
    places,
)
from tests.blender.interface.drawn import draw, names
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal, select_objects

whole_body = bpy.ops.pose.chain_ik_body
GONE = f"Bone '{HIPS}', the root of the body, does not exist: choose another Root."
RENAMED = "Pelvis"


def statuses(ob: bpy.types.Object) -> dict[str, str]:
    return {chain.name: chain.status for chain in ob.chain_ik.chains}


def delete_target(ob: bpy.types.Object) -> str:
    bpy.data.objects.remove(ob.chain_ik.chains["Leg.L"].target)
    return "No target is set: choose an object for the chain to follow."


def delete_bone(ob: bpy.types.Object) -> str:
    name = ob.chain_ik.chains["Leg.L"].subtarget
    rigs.delete_bones(ob, name)
    return f"The target bone '{name}' no longer exists: choose another."


@pytest.mark.parametrize(
    ("lose", "control"),
    [(delete_target, "EMPTY"), (delete_bone, "BONE")],
)
def test_a_pin_whose_target_is_gone_says_so_and_the_other_foot_stays(rigify, lose, control):
    ob = make_body(control=control)
    sentence = lose(ob)
    rigs.updated()
    stood = places(ob)
    told = statuses(ob)
    assert told.pop("Leg.L") == sentence
    assert all(text.startswith("Reached") for text in told.values())
    if control == "BONE":
        move(ob, "Torso", (0.0, 0.0, -0.1))
    else:
        bpy.data.objects["Torso"].location.z -= 0.1
        rigs.updated()
    after = places(ob)
    assert np.abs(after["foot.R"] - stood["foot.R"]).max() <= HELD
    way = (after[HIPS] - stood[HIPS]) * max(bone.head_local.z for bone in ob.data.bones)
    assert abs(way[0, 2] + 0.1) < 0.02
    # Nothing holds the other foot: it goes along with the hips.
    assert np.abs(after["foot.L"] - stood["foot.L"]).max() > 0.02


def test_a_body_whose_root_is_deleted_says_so_and_its_limbs_reach_by_themselves(body):
    ob = body
    move(ob, "Arm Target.L", AWAY)
    rigs.delete_bones(ob, HIPS)
    move(ob, "Arm Target.L", (-0.1, -0.1, 0.1))
    told = statuses(ob)
    assert told.pop("Hips") == f"Bone '{HIPS}' no longer exists: choose another tip."
    assert all(text.startswith("Reached") and text.endswith(GONE) for text in told.values()), told
    before = places(ob)
    move(ob, "Arm Target.L", (-0.1, 0.0, 0.1))
    assert np.abs(places(ob)["hand.L"] - before["hand.L"]).max() > 0.01
    select_objects(active=ob)
    assert refusal(whole_body) == GONE
    assert not names(draw(only="Whole Body"), "label")


def moving(ob: bpy.types.Object) -> list[bool]:
    """Return whether spaces and chains are muted."""
    ties = [tie for bone in ob.pose.bones for tie in bone.constraints]
    return [each.mute for each in (*ties, *ob.chain_ik.chains)]


def test_a_body_of_another_root_gives_the_former_one_back_as_if_it_were_off(body):
    in_body, bare = moving(body), places(body)
    body.chain_ik.body.use_body = False
    off = moving(body)
    body.chain_ik.body.use_body = True
    assert moving(body) == in_body != off
    for root in ("spine.003", "gone", ""):
        body.chain_ik.body.root = root
        rigs.updated()
        assert moving(body) == off
        move(body, "Root", (0.0, 0.0, 0.1))
        way = (places(body)[HIPS] - bare[HIPS]) * height(body)
        np.testing.assert_allclose(way, [(0.0, 0.0, 0.1)] * 2, atol=1e-5)
        if root == "gone":
            told = [chain.status for chain in body.chain_ik.chains if not chain.mute]
            assert all(text.endswith("choose another Root.") for text in told)
        move(body, "Root", (0.0, 0.0, 0.0))
        body.chain_ik.body.root = HIPS
        rigs.updated()
        assert moving(body) == in_body
        assert farthest(bare, places(body)) <= STILL
        assert not any("Root" in text for text in statuses(body).values())


@pytest.mark.parametrize("is_muted", [False, True], ids=["hips", "hips muted"])
def test_a_root_that_is_renamed_is_followed_and_nothing_moves(human, is_muted):
    ob, bare = human, channels(human)
    press(whole_body)
    ob.chain_ik.chains["Hips"].mute = is_muted
    move(ob, "Arm Target.L", AWAY)
    before = places(ob)
    muted = [each.mute for bone in ob.pose.bones for each in bone.constraints]
    ob.data.bones[HIPS].name = RENAMED
    rigs.updated()
    assert ob.chain_ik.body.root == ob.chain_ik.chains["Hips"].bone == RENAMED
    assert ob.chain_ik.chains["Hips"].mute == is_muted
    assert muted == [each.mute for bone in ob.pose.bones for each in bone.constraints]
    before[RENAMED] = before.pop(HIPS)
    assert farthest(before, places(ob)) <= STILL
    for chain in ob.chain_ik.chains:
        chain.mute = True
    rigs.updated()
    posed = {RENAMED: bare[HIPS]} | {n: bare[n] for n in ("upper_arm.L", "thigh.R", "spine.003")}
    after = channels(ob)
    assert most_changed(posed, {name: after[name] for name in posed}) <= STILL
