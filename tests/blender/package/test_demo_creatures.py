"""The creatures of the demonstration, on a few of their frames and without their picture."""

import dataclasses
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
FRAMES = 5


@pytest.fixture(scope="module")
def played(registered_addon, tmp_path_factory):
    """The modules, what the creatures did on their first frames, and the folder of the file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
        from demo import creatures, scene

        few = tuple(dataclasses.replace(act, frames=FRAMES) for act in creatures.ACTS)
        folder = tmp_path_factory.mktemp("creatures")
        yield scene, scene.play_creatures(folder, few), folder


@pytest.mark.parametrize("name", ["snake", "neck", "rope"])
def test_a_creature_moves_to_its_target_and_its_bones_keep_their_lengths(played, name):
    scene, measured, folder = played
    bpy.ops.wm.open_mainfile(filepath=str(folder / "creatures.blend"))
    gaps = scene.playing.play(range(1, FRAMES + 1)).gaps
    first, last = (gaps[frame, name, name] for frame in (1, FRAMES))
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
