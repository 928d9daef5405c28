"""A whole body on the command line: baked with its hips, and feet that are pinned stand still."""

from __future__ import annotations

import json
from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.blender.body.human_bodies import FEET, HELD, HIPS, height, human, make_human
from tests.blender.body.test_body_bake import SAME, keyed, played
from tests.blender.command_line.command_lines import (
    CLIP,
    contents,
    needs_module,
    opened,
    ran,
    save,
)
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects

LAST = 10
STANDING = ("foot.L",)
"""The feet whose targets have no keys."""

pytestmark = [
    pytest.mark.usefixtures("rigify"),
    needs_module,
    pytest.mark.slow,
    pytest.mark.oldest,
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A saved file with a body that reaches with a hand, and steps with one foot."""
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST
    ob = make_human()
    press(bpy.ops.pose.chain_ik_body)
    keyed(ob)
    rigs.go_to(1)
    rigs.enter(ob, "OBJECT")
    return save(tmp_path / "body.blend")


def poses_of(ob: bpy.types.Object, names: tuple[str, ...]) -> np.ndarray:
    """Return the evaluated pose matrices of bones at all frames, shape (F, n, 4, 4)."""
    rows = [row for row, bone in enumerate(ob.pose.bones) if bone.name in names]
    return played(ob)[:, rows]


def test_a_body_baked_without_a_window_has_the_keys_of_the_button_and_shows_what_it_did(file):
    opened(file)
    live, size = played(human()), height(human())
    output = file.with_name("baked.blend")
    # As a clip a body is left to its frames, and that is said.
    report = file.with_name("report.json")
    arguments = ("--output", output, "--report", report, *CLIP)
    code, out, err = ran(file, "bake", *arguments)
    # The body cannot be in all places: chest and hips give way.
    assert code == 3, out + err
    results = {each["chain"]: each["results"] for each in json.loads(report.read_text())["chains"]}
    assert set(results) >= {"Leg.L", "Leg.R", "Hips", "Arm.L"}
    for name in ("Leg.L", "Leg.R"):
        assert {(each["code"], each["reached"]) for each in results[name]} == {("REACHED", True)}
    assert "Chain 'Arm.L' is baked frame by frame: it belongs to a whole body." in out + err
    opened(file)
    select_objects(active=human())
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    save(file)
    assert contents(output) == contents(file)
    opened(output)
    baked = human()
    assert all(chain.mute for chain in baked.chain_ik.chains)
    assert (baked.pose.bones[HIPS].path_from_id("location"), 2) in rigs.keys_of(baked)
    np.testing.assert_allclose(played(baked), live, atol=SAME)
    still = poses_of(baked, STANDING)[:, :, :3, 3]
    assert np.abs(still - still[0]).max() <= HELD * size
    stepped = poses_of(baked, FEET)[:, :, :3, 3]
    assert np.ptp(stepped, axis=0).max() > 0.1
