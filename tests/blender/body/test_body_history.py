"""A body that is undone, saved, reopened, switched off and taken apart gives every bone back."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from tests.blender.body.human_bodies import (
    HIPS,
    STILL,
    farthest,
    make_human,
    move,
    places,
)
from tests.blender.body.reaching_bodies import (
    AWAY,
    channels,
    human,
    make_reaching,
    most_changed,
)
from tests.blender.operators.test_characters import USUAL
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press

body = bpy.ops.pose.chain_ik_body
remove = bpy.ops.pose.chain_ik_remove

pytestmark = pytest.mark.usefixtures("rigify")

OF_BODY = ("use_body", "root", "influence")
OF_CHAIN = ("name", "bone", "mute", "priority", "use_pin", "pull", "space", "subtarget")


def settings() -> list[tuple[object, ...]]:
    """Return the settings of the body and of its chains."""
    group = human().chain_ik
    return [
        tuple(getattr(group.body, name) for name in OF_BODY),
        *(tuple(getattr(chain, name) for name in OF_CHAIN) for chain in group.chains),
    ]


def push(step: str) -> None:
    rigs.updated()
    bpy.ops.ed.undo_push(message=step)


def move_torso() -> None:
    move(human(), "Torso", (0.05, 0.0, -0.1))


def unpin() -> None:
    human().chain_ik.chains["Leg.R"].use_pin = False


def pull_less() -> None:
    human().chain_ik.chains["Arm.L"].pull = 0.4


def put_first() -> None:
    human().chain_ik.chains["Arm.L"].priority = 1


def half_body() -> None:
    human().chain_ik.body.influence = 0.5


def switch_off() -> None:
    human().chain_ik.body.use_body = False


STEPS = (move_torso, unpin, pull_less, put_first, half_body, switch_off)


def test_every_step_back_and_forth_shows_the_pose_and_the_settings_of_then():
    make_human()
    push("limbs")
    seen = [(places(human()), settings())]
    press(body)
    seen.append((places(human()), settings()))
    move(human(), "Arm Target.L", AWAY)
    push("reach")
    seen.append((places(human()), settings()))
    for step in STEPS:
        step()
        push(step.__name__)
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


def test_a_saved_body_has_its_pose_and_settings_when_it_is_opened(tmp_path: Path):
    ob = make_reaching()
    ob.chain_ik.body.influence = 0.75
    ob.chain_ik.chains["Arm.L"].priority, ob.chain_ik.chains["Arm.L"].pull = 1, 0.9
    rigs.updated()
    pose, known = places(ob), settings()
    path = str(tmp_path / "body.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    assert settings() == known
    # As it was saved, and as it is solved again.
    assert farthest(pose, places(human())) <= STILL
    move(human(), "Arm Target.L", (0.1, 0.0, 0.0))
    assert farthest(pose, places(human())) > 0.01
    move(human(), "Arm Target.L", AWAY)
    assert farthest(pose, places(human())) <= STILL


@pytest.mark.parametrize("is_reopened", [False, True])
def test_off_each_bone_stands_as_before_the_body(is_reopened, tmp_path: Path):
    ob = make_human()
    move(ob, "Arm Target.L", AWAY)
    before = places(ob)
    press(body)
    assert farthest(before, places(ob)) > 0.01
    if is_reopened:
        path = str(tmp_path / "body.blend")
        bpy.ops.wm.save_as_mainfile(filepath=path)
        bpy.ops.wm.open_mainfile(filepath=path)
    switch_off()
    rigs.updated()
    assert farthest(before, places(human())) <= STILL


@pytest.mark.parametrize("is_first", [True, False], ids=["first first", "last first"])
@pytest.mark.parametrize("delete_controls", [False, True], ids=["controls stay", "controls go"])
def test_a_body_taken_apart_chain_by_chain_gives_every_bone_back(is_first, delete_controls):
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
        ob.chain_ik.active_index = 0 if is_first else count - 1
        press(remove, delete_controls=delete_controls)
    after = channels(ob)
    assert most_changed(before, {name: after[name] for name in before}) <= STILL
