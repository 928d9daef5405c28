"""The demonstration of the README, on a few of its frames and without its pictures."""

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
STEPS = 5


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
    spec = importlib.util.spec_from_file_location("chain_ik_demo", ROOT / "scripts" / "demo.py")
    command = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(command)
    assert {"demo.blend"} <= {path.name for path in folder.iterdir()} <= set(command.WRITTEN)
    assert "rigify" not in bpy.context.preferences.addons


def test_the_saved_file_is_live_and_chains_move_the_limbs_not_their_targets_alone(demo, demo_scene):
    """Muted, the same animation must miss: else following would prove nothing."""
    _, folder = demo
    bpy.ops.wm.open_mainfile(filepath=str(folder / "demo.blend"))
    assert bpy.context.scene.camera is not None
    played = demo_scene.playing.play(FRAMES)
    assert len(played.gaps) == len(FRAMES) * len(demo_scene.LIMBS)
    assert played.worst <= 1e-4
    demo_scene.mute(bpy.data.objects["Figure"], True)
    gaps = demo_scene.playing.play(FRAMES).gaps
    for limb in demo_scene.LIMBS:
        assert max(gap for key, gap in gaps.items() if key[2] == limb.name) > 0.1, limb.name


def test_a_limb_that_misses_or_is_never_in_reach_is_a_failure(demo, demo_scene):
    (row, *_), _ = demo
    for bad in ([1e-6, 2e-4, 1e-6, 1e-6], [1e-6, 1e-6, float("nan")], [1e-6], []):
        spoilt = dataclasses.replace(row, residuals={**row.residuals, "spine": bad})
        measured = demo_scene.as_json([row, spoilt], 1.0, "5.2")
        assert not measured["is_good"]
        assert measured["verdict"].startswith("FAILED")
        assert measured["table"].count(row.title) == 4


@pytest.fixture(scope="module")
def creatures(demo_scene, tmp_path_factory):
    """What the creatures did on their first frames, and the folder of the file."""
    from demo import creatures

    few = tuple(dataclasses.replace(act, frames=STEPS) for act in creatures.ACTS)
    folder = tmp_path_factory.mktemp("creatures")
    return demo_scene.play_creatures(folder, few), folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["snake", "neck", "rope"])
def test_a_creature_moves_to_its_target_and_keeps_its_lengths(creatures, demo_scene, name):
    measured, folder = creatures
    bpy.ops.wm.open_mainfile(filepath=str(folder / "creatures.blend"))
    gaps = demo_scene.playing.play(range(1, STEPS + 1)).gaps
    first, last = (gaps[frame, name, name] for frame in (1, STEPS))
    rig = bpy.data.objects[name]
    lengths = np.array([bone.length for bone in rig.data.bones])
    evaluated = rig.evaluated_get(bpy.context.view_layer.depsgraph)
    posed = [(bone.tail - bone.head).length for bone in evaluated.pose.bones]
    np.testing.assert_allclose(posed, lengths, rtol=1e-5)
    if name == "neck":
        # It eases: the tip is nearer to the target than at first.
        assert last < 0.8 * first
    else:
        assert last <= 1e-5 * lengths.sum()
        assert measured[name]["residual"] <= 1e-5 * lengths.sum()
