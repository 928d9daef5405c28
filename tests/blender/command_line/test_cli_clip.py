"""A bake that sees all frames, on the command line: the operator's keys, wherever frames play."""

from __future__ import annotations

import json

import bpy
import pytest

from blender_ik_addon.cli import main
from tests.blender.command_line.command_lines import (
    contents,
    keys_of,
    make_rope,
    make_scene,
    make_varied_scene,
    needs_module,
    opened,
    ran,
    save,
)
from tests.blender.setups.selecting import press, select_objects

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

CLIP = ("--method", "clip")


def run(*arguments: object) -> int:
    return main([str(each) for each in arguments])


@pytest.fixture
def file(tmp_path):
    """A saved file with a tail and an arm; the tail jumps."""
    make_scene()
    bpy.data.objects["Rig 0"].chain_ik.chains[0].solver = "CCD"
    return save(tmp_path / "scene.blend")


def test_bake_as_a_clip_is_that_of_the_operator(file):
    output, frames = file.with_name("out.blend"), file.with_name("frames.blend")
    assert run("bake", "--output", output, *CLIP, "--smoothness", 0.75) == 0
    opened(file)
    assert run("bake", "--output", frames) == 0
    opened(file)
    select_objects(active=bpy.data.objects["Rig 0"])
    press(bpy.ops.pose.chain_ik_bake, which="ALL", method="CLIP", smoothness=0.75)
    save(file)
    assert contents(output) == contents(file)
    assert contents(output) != contents(frames)


@needs_module
def test_other_processes_one_or_several_give_the_same_keys_to_the_last_bit(tmp_path):
    make_varied_scene()
    file, asked = save(tmp_path / "scene.blend"), (*CLIP, "--accept-unreached")
    here, one, more = (file.with_name(f"{name}.blend") for name in ("here", "one", "more"))
    assert run("bake", "--output", here, *asked) == 0
    for output, jobs in ((one, 1), (more, 3)):
        code, _, err = ran(file, "bake", "--output", output, *asked, "--jobs", jobs)
        assert code == 0, err
        assert contents(output) == contents(here)
    assert any(keys for keys, *_ in contents(here).values())


def test_merge_betters_what_chunks_have_noted(file):
    one, other, whole, merged = (
        file.with_name(name) for name in ("a.npz", "b.npz", "c.blend", "d.blend")
    )
    assert run("bake", "--output", whole, *CLIP, "--step", 3) == 0
    for path, frames in ((other, "6-12"), (one, "1-5")):
        opened(file)
        assert run("chunk", "--output", path, *CLIP, "--frames", frames) == 0
    opened(file)
    assert run("merge", one, other, "--output", merged, *CLIP, "--step", 3) == 0
    assert contents(merged) == contents(whole)
    opened(merged)
    found = {tuple(x for x, _ in keys) for keys in keys_of(bpy.data.objects["Rig 0"]).values()}
    assert found == {(1, 4, 7, 10, 12)}


def test_merge_refuses_chunks_without_notes(file, capfd):
    chunk = file.with_name("a.npz")
    assert run("chunk", "--output", chunk) == 0
    opened(file)
    assert run("merge", chunk, "--overwrite", *CLIP) == 1
    assert "holds no notes for a clip: make it with --method clip." in capfd.readouterr().err


def test_the_report_tells_of_jumps_and_of_what_is_baked_frame_by_frame(file, capfd):
    make_rope("Rope", 6.0)
    save(file)
    report = file.with_name("report.json")
    arguments = ("--report", report, "--accept-unreached")
    assert run("bake", "--output", file.with_name("out.blend"), *CLIP, *arguments) == 0
    chains = {each["chain"]: each for each in json.loads(report.read_text())["chains"]}
    why = "it goes on from its last pose"
    assert chains["Rope"]["frame_by_frame"] == why
    assert chains["Bone"]["frame_by_frame"] == ""
    assert chains["Rope"]["jumps"] == chains["Arm"]["jumps"] == []
    warning = f"Warning: Chain 'Rope' is baked frame by frame: {why}."
    assert warning in capfd.readouterr().err.splitlines()


def test_ranges_with_gaps_are_clips_of_their_own(file):
    output, alone = file.with_name("out.blend"), file.with_name("alone.blend")
    assert run("bake", "--output", output, *CLIP, "--frames", "1-5,8-12") == 0
    opened(file)
    assert run("bake", "--output", alone, *CLIP, "--frames", "8-12") == 0
    later = []
    for path in (output, alone):
        opened(path)
        keys = keys_of(bpy.data.objects["Rig 0"])
        later.append({name: [key for key in own if key[0] >= 8] for name, own in keys.items()})
    assert later[0] == later[1]
