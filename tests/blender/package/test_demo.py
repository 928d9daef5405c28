"""The demonstration of the README, on a few of its frames and without its picture."""

import dataclasses
import importlib.util
import json
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
FRAMES = (1, 21, 69, 93)


@pytest.fixture(scope="module")
def demo_scene(registered_addon):
    """scripts/demo/scene.py; while it is in use the package beside it can be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
        from demo import scene as demo_scene

        yield demo_scene


@pytest.fixture(scope="module")
def demo(demo_scene, tmp_path_factory):
    """What the demonstration measured on a few frames, and the folder with its files."""
    folder = tmp_path_factory.mktemp("demo")
    return demo_scene.play_figure(folder, FRAMES), folder


def test_every_limb_follows_its_target_with_every_solver(demo, demo_scene):
    rows, folder = demo
    assert [row.title for row in rows] == list(demo_scene.SOLVERS)
    for row in rows:
        for name, residuals in row.residuals.items():
            assert len(residuals) == len(FRAMES), f"{row.title}: {name} is out of reach"
            assert row.worst(name) <= 1e-4, f"{row.title}: {name}"
    assert json.loads((folder / "demo.json").read_text())["is_good"]


def test_chains_move_the_limbs_and_not_their_targets_alone(demo, demo_scene):
    """Muted, the same animation must miss: else following would prove nothing."""
    _, folder = demo
    assert max(_residuals(demo_scene, folder, "left leg", is_muted=False)) <= 1e-4
    for limb in demo_scene.LIMBS:
        assert max(_residuals(demo_scene, folder, limb.name, is_muted=True)) > 0.1, limb.name


def _residuals(demo_scene, folder, limb, *, is_muted):
    """What the saved file leaves between a limb and its target, in metres."""
    bpy.ops.wm.open_mainfile(filepath=str(folder / "demo.blend"))
    demo_scene.mute(bpy.data.objects["Figure"], is_muted)
    gaps = demo_scene.playing.play(FRAMES).gaps
    return [gap for key, gap in gaps.items() if key[2] == limb]


def test_saved_file_opens_live(demo, demo_scene):
    _, folder = demo
    bpy.ops.wm.open_mainfile(filepath=str(folder / "demo.blend"))
    assert bpy.context.scene.camera is not None
    played = demo_scene.playing.play(FRAMES)
    assert len(played.gaps) == len(FRAMES) * len(demo_scene.LIMBS)
    assert played.worst <= 1e-4


def test_the_command_names_every_file_that_is_written(demo):
    _, folder = demo
    spec = importlib.util.spec_from_file_location("chain_ik_demo", ROOT / "scripts" / "demo.py")
    command = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(command)
    written = {path.name for path in folder.iterdir()}
    assert written
    assert written <= set(command.WRITTEN)


def test_rigify_is_left_as_it_was(demo):
    assert "rigify" not in bpy.context.preferences.addons


def test_a_limb_that_misses_or_is_never_in_reach_is_a_failure(demo, demo_scene):
    (row, *_), _ = demo
    for bad in ([1e-6, 2e-4, 1e-6, 1e-6], [1e-6, 1e-6, float("nan")], [1e-6], []):
        spoilt = dataclasses.replace(row, residuals={**row.residuals, "spine": bad})
        measured = demo_scene.as_json([row, spoilt], 1.0, "5.2")
        assert not measured["is_good"]
        assert measured["verdict"].startswith("FAILED")
        assert measured["table"].count(row.title) == 4


def test_a_sheet_has_its_pictures_where_they_belong(demo_scene, tmp_path):
    """Strips from the top down, pictures from left to right, as they were rendered."""
    colours = np.array([[[1, 0, 0, 1], [0, 1, 0, 1]], [[0, 0, 1, 1], [1, 1, 1, 1]]], np.float32)
    strips = [[np.tile(colour, (3, 2, 1)) for colour in strip] for strip in colours]
    demo_scene.pictures.save(strips, tmp_path / "sheet.png")
    image = bpy.data.images.load(str(tmp_path / "sheet.png"))
    assert tuple(image.size) == (4, 6)
    pixels = np.array(image.pixels).reshape(6, 4, 4)[::-1]
    np.testing.assert_array_equal(pixels[::3, ::2], colours)
