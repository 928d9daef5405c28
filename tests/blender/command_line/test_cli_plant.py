"""Feet planted on the command line: as the button does, for whole files."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.clips.test_plant_refusals import LAST, STANDS, tails
from tests.blender.command_line.command_lines import command, opened, save
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects


@pytest.fixture
def file(tmp_path):
    """A saved file with two limbs that stand and slide, one of them muted, keyed on its bones."""
    bpy.context.scene.frame_end = LAST
    for number in range(2):
        ob = rigs.make_rig([(0.8, 0, 1.2), (0.9, -0.2, 0.6), (0.8, 0, 0)], name=f"Rig {number}")
        target = rigs.make_empty(f"Target {number}", STANDS[1])
        rigs.add_chain(ob, "Bone.1", target, name="Leg")
        rigs.key(target, "location", STANDS | {LAST: (1.1, 0.25, 0.1), 15: (0.5, 0.25, 0.1)})
        rigs.updated()
    press_bake(ob)
    return save(tmp_path / "scene.blend")


def press_bake(ob: bpy.types.Object) -> None:
    select_objects(active=ob)
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    bpy.data.objects["Target 1"].animation_data_clear()


def test_plant_is_that_of_the_button_for_all_armatures(file, capfd):
    output = file.with_name("out.blend")
    assert command("plant", "--output", output) == 0
    told = capfd.readouterr().err
    assert f"frame {LAST} of {LAST}" in told
    assert "Contacts planted: Rig 0 2, Rig 1 2." in told
    opened(file)
    for number in range(2):
        select_objects(active=bpy.data.objects[f"Rig {number}"])
        press(bpy.ops.pose.chain_ik_plant)
    wanted = {ob.name: rigs.keys_of(ob) for ob in bpy.data.objects}
    opened(output)
    assert {ob.name: rigs.keys_of(ob) for ob in bpy.data.objects} == wanted
    for number in range(2):
        steps = np.linalg.norm(np.diff(tails(bpy.data.objects[f"Rig {number}"]), axis=0), axis=1)
        assert steps[:10].max() < 1e-5


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--frames", "1-5,9-12"), 2, "without gaps"),
        (("--frames", "4"), 1, "two frames"),
        (("--relative-to", "Raft"), 1, "'Raft'"),
        (("--chains", "Arm"), 1, "'Arm'"),
    ],
)
def test_what_cannot_be_planted_writes_nothing(file, capfd, arguments, code, words):
    output = file.with_name("out.blend")
    assert command("plant", "--output", output, *arguments) == code
    assert words in capfd.readouterr().err
    assert not output.exists()
