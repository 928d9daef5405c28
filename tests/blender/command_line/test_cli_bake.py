"""The options of a bake on the command line: every so many frames, and fewer keys."""

from __future__ import annotations

import bpy
import pytest

from blender_ik_addon.cli import main
from tests.blender.command_line.command_lines import contents, keys_of, make_scene, opened, save
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects


@pytest.fixture
def file(tmp_path):
    """A saved file with a tail and an arm that reach their targets at all of twelve frames."""
    make_scene()
    return save(tmp_path / "scene.blend")


def run(*arguments: object) -> int:
    return main([str(each) for each in arguments])


def test_bake_keys_every_so_many_frames_of_each_range(file):
    ob = bpy.data.objects["Rig 0"]
    rigs.key_bones(ob, frames=(3, 7, 11))
    save(file)
    frames = ("--frames", "1-5,8-12", "--step", "3")
    assert run("bake", *frames, "--overwrite") == 0
    opened(file)
    found = {tuple(x for x, _ in keys) for keys in keys_of(bpy.data.objects["Rig 0"]).values()}
    assert found == {(1, 4, 5, 7, 8, 11, 12)}


def test_bake_with_a_tolerance_is_that_of_the_operator(file):
    output = file.with_name("out.blend")
    options = ("--step", 2, "--tolerance", 0.05)
    assert run("bake", "--output", output, *options) == 0
    opened(file)
    select_objects(active=bpy.data.objects["Rig 0"])
    press(bpy.ops.pose.chain_ik_bake, which="ALL", step=2, tolerance=0.05)
    save(file)
    assert contents(output) == contents(file)
    counts = {len(keys) for keys in keys_of(bpy.data.objects["Rig 0"]).values()}
    assert max(counts) <= 7
    assert min(counts) < 7


def test_merge_takes_every_so_many_frames_of_its_chunks(file):
    chunk, whole, merged = (file.with_name(name) for name in ("a.npz", "b.blend", "c.blend"))
    options = ("--step", 5, "--tolerance", 0.01)
    assert run("bake", "--output", whole, *options) == 0
    opened(file)
    assert run("chunk", "--output", chunk) == 0
    opened(file)
    assert run("merge", chunk, "--output", merged, *options) == 0
    assert contents(merged) == contents(whole)
