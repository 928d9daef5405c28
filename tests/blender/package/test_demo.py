"""The demonstration of the README, on a few of its frames and without its pictures."""

import dataclasses
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


def test_limbs_follow_with_every_solver_live_in_the_saved_file_and_not_when_they_are_muted(
    demo_scene, tmp_path
):
    rows = demo_scene.play_figure(tmp_path, FRAMES)
    assert "rigify" not in bpy.context.preferences.addons
    assert [row.title for row in rows] == list(demo_scene.SOLVERS)
    for row in rows:
        for name, residuals in row.residuals.items():
            assert len(residuals) == len(FRAMES), f"{row.title}: {name} is out of reach"
            assert row.worst(name) <= 1e-4, f"{row.title}: {name}"
    assert json.loads((tmp_path / "demo.json").read_text())["is_good"]
    for bad in ([1e-6, 2e-4, 1e-6, 1e-6], [1e-6, 1e-6, float("nan")], [1e-6], []):
        spoilt = dataclasses.replace(rows[0], residuals={**rows[0].residuals, "spine": bad})
        measured = demo_scene.as_json([rows[0], spoilt], 1.0, "5.2")
        assert not measured["is_good"]
        assert measured["verdict"].startswith("FAILED")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "demo.blend"))
    assert bpy.context.scene.camera is not None
    played = demo_scene.playing.play(FRAMES)
    assert len(played.gaps) == len(FRAMES) * len(demo_scene.LIMBS)
    assert played.worst <= 1e-4
    # Else following would prove nothing.
    demo_scene.mute(bpy.data.objects["Figure"], True)
    gaps = demo_scene.playing.play(FRAMES).gaps
    for limb in demo_scene.LIMBS:
        assert max(gap for key, gap in gaps.items() if key[2] == limb.name) > 0.1, limb.name


@pytest.mark.slow
def test_creatures_move_to_their_targets_and_their_bones_keep_their_lengths(demo_scene, tmp_path):
    demo_scene.add_creatures(tmp_path / "creatures.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "creatures.blend"))
    gaps = demo_scene.playing.play(range(1, 6)).gaps
    graph = bpy.context.view_layer.depsgraph
    for name in ("snake", "neck", "rope"):
        rig = bpy.data.objects[name]
        lengths = np.array([bone.length for bone in rig.data.bones])
        posed = [(bone.tail - bone.head).length for bone in rig.evaluated_get(graph).pose.bones]
        np.testing.assert_allclose(posed, lengths, rtol=1e-5)
        # The neck eases: its tip comes nearer.
        allowed = 0.8 * gaps[1, name, name] if name == "neck" else 1e-5 * lengths.sum()
        assert gaps[5, name, name] <= allowed, name
