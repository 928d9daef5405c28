"""The demonstration of the README, on a few of its frames and without its picture."""

import dataclasses
import importlib.util
import json
import sys
from pathlib import Path

import bpy
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
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    return demo_scene.run(folder, FRAMES), folder


def test_every_limb_follows_its_target_with_every_solver(demo, demo_scene):
    report, _ = demo
    assert [row.title for row in report.rows] == list(demo_scene.SOLVERS)
    for row in report.rows:
        for name, limb in row.limbs.items():
            assert len(limb.residuals) == len(FRAMES), f"{row.title}: {name} is out of reach"
            assert limb.worst <= 1e-4, f"{row.title}: {name}"
    assert report.is_good


def test_chains_move_the_limbs_and_not_their_targets_alone(demo_scene):
    """Muted, the same animation must miss: else following would prove nothing."""
    from demo import playback, stage

    armature_object = stage.build()
    demo_scene._mute(armature_object, True)
    played = playback.play(armature_object, FRAMES)
    assert all(max(residuals) > 0.1 for residuals in played.residuals.values())


def test_measured_values_come_back_from_the_file(demo, demo_scene):
    report, folder = demo
    from demo.report import Report

    assert Report.load(folder / "demo.json") == report
    drawn = [frame for frame in FRAMES if frame in demo_scene.DRAWN_FRAMES]
    assert [list(map(int, row.poses)) for row in report.rows] == [drawn] * len(report.rows)
    assert "upper_arm.L" in report.rows[0].poses[str(drawn[0])]
    assert json.loads((folder / "demo.json").read_text())["paths"]["spine"]


def test_saved_file_opens_live(demo, demo_scene):
    _, folder = demo
    from demo import playback

    bpy.ops.wm.open_mainfile(filepath=str(folder / "demo.blend"))
    assert bpy.context.scene.camera is not None
    played = playback.play(bpy.data.objects["Figure"], FRAMES)
    assert all(max(residuals) <= 1e-4 for residuals in played.residuals.values())


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


def test_a_limb_that_misses_or_is_never_in_reach_is_a_failure(demo):
    report, _ = demo
    from demo.report import LimbResult

    row = report.rows[0]
    for bad in (
        LimbResult(frames=4, residuals=[1e-6, 2e-4, 1e-6, 1e-6]),
        LimbResult(frames=4, residuals=[1e-6, float("nan")]),
        LimbResult(frames=4, residuals=[1e-6]),
        LimbResult(frames=4, residuals=[]),
    ):
        spoilt = dataclasses.replace(row, limbs={**row.limbs, "spine": bad})
        assert not dataclasses.replace(report, rows=[spoilt]).is_good
        assert spoilt.title in dataclasses.replace(report, rows=[spoilt]).table()
