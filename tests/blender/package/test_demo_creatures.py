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
    """What the creatures did on their first frames, and what they should do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT / "scripts"), *sys.path])
        from demo import creatures_scene
        from demo.acts import ACTS

        few = tuple(dataclasses.replace(act, frames=FRAMES, drawn=(1, FRAMES)) for act in ACTS)
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        folder = tmp_path_factory.mktemp("creatures")
        yield creatures_scene.run(folder, few), few, folder


@pytest.mark.parametrize("name", ["snake", "neck", "rope"])
def test_a_creature_moves_to_its_target_and_its_bones_keep_their_lengths(played, name):
    found, acts, _ = played
    act = next(act for act in acts if act.name == name)
    first, last = (np.array(found[name]["poses"][frame]) for frame in act.drawn)
    lengths = np.linalg.norm(np.diff(act.joints, axis=0), axis=1)
    for bones in (first, last):
        np.testing.assert_allclose(
            np.linalg.norm(bones[:, 1] - bones[:, 0], axis=1), lengths, rtol=1e-5
        )
    target, length = np.array(act.target(FRAMES)), lengths.sum()
    if name == "neck":
        # It eases: the tip is nearer to the target than at first.
        gaps = [np.linalg.norm(bones[-1, 1] - target) for bones in (first, last)]
        assert gaps[1] < 0.8 * gaps[0]
    else:
        assert np.linalg.norm(last[-1, 1] - target) <= 1e-5 * length
        assert found[name]["residual"] <= 1e-5 * length


def test_the_file_with_the_creatures_is_saved(played):
    _, _, folder = played
    assert (folder / "creatures.blend").stat().st_size > 0
