"""A body that is undone, saved, reopened, switched off and taken apart gives every bone back."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from tests.blender.body.human_bodies import (
    AWAY,
    HIPS,
    STILL,
    channels,
    farthest,
    human,
    most_changed,
    move,
    places,
    spaces_from,
)
from tests.blender.operators.test_characters import USUAL
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import reopen
from tests.blender.setups.selecting import press, state

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

whole_body = bpy.ops.pose.chain_ik_body

OF_BODY = ("use_body", "root", "influence")
OF_CHAIN = ("name", "bone", "mute", "priority", "use_pin", "pull", "space", "subtarget")


def settings() -> list[object]:
    """Return the settings of the body and of its chains, and all else that a chain could change."""
    group = human().chain_ik
    return [
        state(),
        human().pose.bones[HIPS].custom_shape is None,
        tuple(getattr(group.body, name) for name in OF_BODY),
        *(tuple(getattr(chain, name) for name in OF_CHAIN) for chain in group.chains),
    ]


def move_torso() -> None:
    move(human(), "Torso", (0.05, 0.0, -0.1))


def reach() -> None:
    move(human(), "Arm Target.L", AWAY)


def change_limbs() -> None:
    chains = human().chain_ik.chains
    chains["Leg.R"].use_pin = False
    chains["Arm.L"].pull, chains["Arm.L"].priority = 0.4, 1


def half_body() -> None:
    human().chain_ik.body.influence = 0.5


def switch_off() -> None:
    human().chain_ik.body.use_body = False


STEPS = (reach, move_torso, change_limbs, half_body, switch_off)


@pytest.mark.usefixtures("rigify", "human")
def test_every_step_back_and_forth_shows_the_pose_and_the_settings_of_then():
    bpy.ops.ed.undo_push(message="limbs")
    seen = [(places(human()), settings())]
    press(whole_body)
    seen.append((places(human()), settings()))
    for step in STEPS:
        step()
        rigs.updated()
        bpy.ops.ed.undo_push(message=step.__name__)
        seen.append((places(human()), settings()))
    for pose, known in seen[-2::-1]:
        bpy.ops.ed.undo()
        assert settings() == known
        assert pose.keys() == places(human()).keys()
        assert farthest(pose, places(human())) <= STILL
    for pose, known in seen[1:]:
        bpy.ops.ed.redo()
        assert settings() == known
        assert farthest(pose, places(human())) <= STILL


@pytest.mark.usefixtures("rigify", "human")
def test_a_saved_body_is_as_it_was_when_it_is_opened_and_off_as_before_there_was_one(
    tmp_path: Path,
):
    reach()
    before = places(human())
    press(whole_body)
    assert farthest(before, places(human())) > 0.01
    change_limbs()
    human().chain_ik.body.influence = 0.75
    rigs.updated()
    pose, known = places(human()), settings()
    reopen(tmp_path / "body.blend")
    assert settings() == known
    # As it was saved, and as it is solved again.
    assert farthest(pose, places(human())) <= STILL
    move(human(), "Arm Target.L", (0.1, 0.0, 0.0))
    assert farthest(pose, places(human())) > 0.01
    reach()
    assert farthest(pose, places(human())) <= STILL
    switch_off()
    rigs.updated()
    assert farthest(before, places(human())) <= STILL


def test_a_body_taken_apart_chain_by_chain_gives_every_bone_back(rigify):
    bpy.ops.object.armature_human_metarig_add()
    ob = bpy.context.object
    rigs.turn_bones(ob, seed=3, angle=0.1)
    ob.pose.bones[HIPS].location = (0.01, -0.02, 0.03)
    rigs.updated()
    before = channels(ob)
    press(bpy.ops.pose.chain_ik_setup, control="BONE", kinds=USUAL, use_body=True)
    move(ob, "Arm Target.L", AWAY)
    assert most_changed({HIPS: before[HIPS]}, {HIPS: channels(ob)[HIPS]}) > 0.01
    while count := len(ob.chain_ik.chains):
        ob.chain_ik.active_index = count - 1
        press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    after = channels(ob)
    assert most_changed(before, {name: after[name] for name in before}) <= STILL
    assert not ob.chain_ik.body.use_body
    assert {"Torso", "Root"}.isdisjoint(ob.data.bones.keys())
    assert not spaces_from(ob)
