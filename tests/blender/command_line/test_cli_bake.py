"""Bakes and planted feet on the command line, compared with those of the buttons."""

import json

import bpy
import numpy as np
import pytest

from tests.blender.body.human_bodies import HIPS, human, make_human
from tests.blender.body.test_body_bake import keyed
from tests.blender.clips.test_plant_refusals import LAST, make_leg, tails
from tests.blender.command_line import command_lines as lines
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import strip_of
from tests.blender.setups.selecting import press, select_objects

# Arguments, and the operator settings of the same meaning.
OPTIONS = [
    ((), {}),
    (("--step", 2, "--tolerance", 0.05), {"step": 2, "tolerance": 0.05}),
    ((*lines.CLIP, "--smoothness", 0.75), {"method": "CLIP", "smoothness": 0.75}),
]


@pytest.fixture
def file(tmp_path):
    """A saved file with a tail that jumps and an arm; both reach their targets at all 12 frames."""
    lines.make_scene()
    bpy.data.objects["Rig 0"].chain_ik.chains[0].solver = "CCD"
    return lines.save(tmp_path / "scene.blend")


@pytest.mark.parametrize(("options", "settings"), OPTIONS)
def test_bake_gives_the_keys_of_the_operator_and_leaves_the_file_alone(file, options, settings):
    data, modified = file.read_bytes(), file.stat().st_mtime_ns
    output, plain = file.with_name("out.blend"), file.with_name("plain.blend")
    assert lines.run("bake", "--output", output, *options) == 0
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (data, modified)
    assert {path.name for path in file.parent.iterdir()} == {"scene.blend", "out.blend"}
    lines.open_file(file)
    assert lines.run("bake", "--output", plain) == 0
    lines.open_file(file)
    select_objects(active=bpy.data.objects["Rig 0"])
    press(bpy.ops.pose.chain_ik_bake, which="ALL", **settings)
    lines.save(file)
    assert lines.read_bake(output) == lines.read_bake(file)
    assert (lines.read_bake(output) == lines.read_bake(plain)) == (not options)


@pytest.mark.parametrize("method", [(), lines.CLIP], ids=["frames", "clip"])
def test_bake_keys_every_nth_frame_of_each_range(file, method):
    ob = bpy.data.objects["Rig 0"]
    rigs.key_bones(ob, frames=(3, 7, 11))
    lines.save(file)
    before = rigs.keys_of(ob)
    frames = ("--frames", "1-5,8-12", "--step", "3")
    assert lines.run("bake", *frames, *method, "--overwrite") == 0
    lines.open_file(file)
    after = rigs.keys_of(bpy.data.objects["Rig 0"])
    assert after.keys() == before.keys()
    for channel, keys in after.items():
        assert [x for x, _ in keys] == [1, 4, 5, 7, 8, 11, 12]
        assert keys[3] == before[channel][1], "what lies between stays"


def test_a_bake_of_a_part_names_chains_that_hold_still_beside_it(file, capfd):
    for options, is_named in ((("--keep-live",), False), ((), True)):
        lines.open_file(file)
        output = file.with_name("out.blend")
        assert lines.run("bake", "--frames", "1-8", "--output", output, *options) == 0
        sentence = "Warning: 'Rig 0': Outside of the range the bones of 'Bone', 'Arm' now hold"
        assert (sentence in capfd.readouterr().err) == is_named


def test_a_bake_in_stretched_time_says_that_its_keys_play_at_other_frames(file, capfd):
    output, sentence = file.with_name("out.blend"), "Warning: Time stretching moves keys"
    assert lines.run("bake", "--output", output) == 0
    assert sentence not in capfd.readouterr().err
    lines.open_file(file)
    bpy.context.scene.render.frame_map_new = 50
    lines.save(file)
    assert lines.run("bake", "--output", output) == 0
    assert sentence in capfd.readouterr().err


def test_frames_that_strips_play_beside_the_range_have_the_keys_of_the_button(file):
    ob, output = bpy.data.objects["Rig 0"], file.with_name("out.blend")
    rigs.key_bones(ob, frames=(1, 6, 12))
    strip_of(ob)
    lines.save(file)
    assert lines.run("bake", "--frames", "4-6", "--output", output) == 0
    lines.open_file(file)
    ob = bpy.data.objects["Rig 0"]
    select_objects(active=ob)
    press(bpy.ops.pose.chain_ik_bake, which="ALL", frame_start=4, frame_end=6)
    assert {x for keys in rigs.keys_of(ob).values() for x, _ in keys} >= set(range(1, 13))
    lines.save(file)
    assert lines.read_bake(output) == lines.read_bake(file)


def test_the_report_lists_jumps_and_chains_that_are_baked_frame_by_frame(file, capfd):
    lines.make_rope("Rope", 6.0)
    lines.save(file)
    report = file.with_name("report.json")
    arguments = ("--report", report, "--accept-unreached")
    assert lines.run("bake", "--output", file.with_name("out.blend"), *lines.CLIP, *arguments) == 0
    chains = {row["chain"]: row for row in json.loads(report.read_text())["chains"]}
    why = "it starts from its last pose"
    assert chains["Rope"]["frame_by_frame"] == why
    assert chains["Bone"]["frame_by_frame"] == ""
    assert chains["Rope"]["jumps"] == chains["Arm"]["jumps"] == []
    warning = f"Warning: 'Rope': Chain 'Rope' is baked frame by frame: {why}."
    assert warning in capfd.readouterr().err.splitlines()


def test_ranges_with_gaps_between_them_are_separate_clips(file):
    output, alone = file.with_name("out.blend"), file.with_name("alone.blend")
    assert lines.run("bake", "--output", output, *lines.CLIP, "--frames", "1-5,8-12") == 0
    lines.open_file(file)
    assert lines.run("bake", "--output", alone, *lines.CLIP, "--frames", "8-12") == 0
    late = []
    for path in (output, alone):
        lines.open_file(path)
        keys = rigs.keys_of(bpy.data.objects["Rig 0"])
        late.append({name: [key for key in points if key[0] >= 8] for name, points in keys.items()})
    assert late[0] == late[1]


@pytest.fixture
def feet(tmp_path):
    """A saved file with two limbs that stand and slide; one is muted and has keys on its bones."""
    make_leg("Rig 0")
    _, target = make_leg("Rig 1")
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    target.animation_data_clear()
    return lines.save(tmp_path / "scene.blend")


def test_plant_gives_the_keys_of_the_button_for_all_armatures(feet, capfd):
    output = feet.with_name("out.blend")
    assert lines.run("plant", "--output", output) == 0
    err = capfd.readouterr().err
    assert f"frame {LAST} of {LAST}" in err
    assert "Contacts planted: Rig 0 2, Rig 1 2." in err
    lines.open_file(feet)
    for number in range(2):
        select_objects(active=bpy.data.objects[f"Rig {number}"])
        press(bpy.ops.pose.chain_ik_plant)
    expected = {ob.name: rigs.keys_of(ob) for ob in bpy.data.objects}
    lines.open_file(output)
    assert {ob.name: rigs.keys_of(ob) for ob in bpy.data.objects} == expected
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
def test_a_plant_that_is_refused_writes_nothing(feet, capfd, arguments, code, words):
    output = feet.with_name("out.blend")
    assert lines.run("plant", "--output", output, *arguments) == code
    assert words in capfd.readouterr().err
    assert not output.exists()


@pytest.fixture
def body(tmp_path):
    """A saved file with a body that reaches with a hand and steps with a foot."""
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 10
    ob = make_human()
    press(bpy.ops.pose.chain_ik_body)
    keyed(ob)
    rigs.go_to(1)
    rigs.enter(ob, "OBJECT")
    return lines.save(tmp_path / "body.blend")


@pytest.mark.usefixtures("rigify")
@pytest.mark.slow
@pytest.mark.oldest
def test_a_body_baked_without_a_window_has_the_keys_of_the_button(body, capfd):
    """tests/blender/body/test_body_bake.py checks the keys of the button."""
    lines.open_file(body)
    output, report = body.with_name("baked.blend"), body.with_name("report.json")
    # A clip bake of a body goes frame by frame, and a message says so.
    capfd.readouterr()
    code = lines.run("bake", "--output", output, "--report", report, *lines.CLIP)
    err = capfd.readouterr().err
    # The body cannot reach all targets, so chest and hips give way.
    assert code == 3, err
    results = {row["chain"]: row["results"] for row in json.loads(report.read_text())["chains"]}
    assert set(results) >= {"Leg.L", "Leg.R", "Hips", "Arm.L"}
    for name in ("Leg.L", "Leg.R"):
        assert {(row["code"], row["reached"]) for row in results[name]} == {("REACHED", True)}
    assert "Chain 'Arm.L' is baked frame by frame: it belongs to a whole body." in err
    lines.open_file(body)
    select_objects(active=human())
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    lines.save(body)
    assert lines.read_bake(output) == lines.read_bake(body)
    lines.open_file(output)
    assert all(chain.mute for chain in human().chain_ik.chains)
    assert (human().pose.bones[HIPS].path_from_id("location"), 2) in rigs.keys_of(human())
