"""Clips that are keyed on a character's controls only: no limb misses, with or without us."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Euler, Vector

from blender_ik_addon.rig.controls.foot_roll import control_above
from blender_ik_addon.rig.reading.spec import Anchor
from tests.blender.body.human_bodies import make_character
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened

FRAMES = range(1, 97, 5)
STEP = 0.3
"""Of a walk, in scene units."""
# Without the extension: the controls, as Blender alone evaluates them.
READ = """
import bpy, json, sys
path, names, frames = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
bpy.ops.wm.open_mainfile(filepath=path)
scene, found = bpy.context.scene, {}
for frame in frames:
    scene.frame_set(frame)
    rig = bpy.data.objects["metarig"].evaluated_get(bpy.context.evaluated_depsgraph_get())
    found[frame] = [[list(row) for row in rig.pose.bones[name].matrix] for name in names]
print("FOUND" + json.dumps(found))
"""


@pytest.fixture
def human(rigify: None) -> bpy.types.Object:
    return opened(make_character)


def key(ob: bpy.types.Object, name: str, frame: int, place=(0, 0, 0), turn=(0, 0, 0)) -> None:
    """Key a control, by what it is moved and turned from rest in armature space."""
    bone = ob.pose.bones[name]
    bone.rotation_mode = "QUATERNION"
    axes = bone.bone.matrix_local.to_3x3()
    bone.location = axes.inverted() @ Vector(place)
    whole = Euler(turn).to_matrix()
    bone.rotation_quaternion = (axes.inverted() @ whole @ axes).to_quaternion()
    for path in ("location", "rotation_quaternion"):
        bone.keyframe_insert(path, frame=frame)


def target(ob: bpy.types.Object, chain: str) -> str:
    """Return the control that people move for the target of a chain to move."""
    return control_above(Anchor(ob, ob.chain_ik.chains[chain].subtarget)).bone


def walk(ob: bpy.types.Object) -> None:
    """Eight steps: the torso goes on evenly, one foot stands while the other is swung."""
    torso, (left, right) = ob.chain_ik.body.root, [target(ob, f"Leg.{side}") for side in "LR"]
    for number in range(9):
        frame, way = 1 + 12 * number, -STEP * number
        key(ob, torso, frame, (0, way, -0.07))
        stands, swings = (left, right) if number % 2 else (right, left)
        key(ob, stands, frame, (0, way - 0.5 * STEP, 0))
        key(ob, swings, frame, (0, way + 0.5 * STEP, 0))
        # Halfway to the next step the one that was behind passes the other.
        key(ob, swings, frame + 6, (0, way - 0.5 * STEP, 0.1))
        for side, swing in (("L", 0.08), ("R", -0.08)):
            place = (0, way + swing * (-1) ** number - 0.05, 0.0)
            key(ob, target(ob, f"Arm.{side}"), frame, place)


def turn(ob: bpy.types.Object) -> None:
    """Once round, on the root alone."""
    for quarter in range(5):
        key(ob, "Root", 1 + 24 * quarter, (0.2 * quarter, 0, 0), (0, 0, 0.5 * np.pi * quarter))


def kick(ob: bpy.types.Object) -> None:
    foot, torso = target(ob, "Leg.L"), ob.chain_ik.body.root
    places = {1: (0, 0, 0), 30: (0, 0.3, 0.2), 50: (0.1, -0.6, 0.7), 70: (0.2, -0.3, 0.4)}
    for frame, place in (*places.items(), (96, (0, 0, 0))):
        key(ob, foot, frame, place, (-0.6 if frame == 50 else 0.0, 0, 0))
        key(ob, torso, frame, (0, 0, -0.04))


CLIPS = {clip.__name__: clip for clip in (walk, turn, kick)}


@pytest.mark.parametrize("clip", CLIPS)
def test_no_limb_misses_in_a_clip_keyed_on_its_controls(human, clip):
    CLIPS[clip](human)
    missed = {}
    for frame in FRAMES:
        rigs.go_to(frame)
        told = {each.name: each.status for each in human.chain_ik.chains}
        missed |= {(frame, name): text for name, text in told.items() if "Reached" not in text}
    assert not missed


def test_without_the_extension_targets_stand_where_they_stood(human, tmp_path):
    for clip in (walk, turn):
        clip(human)
    chains = human.chain_ik.chains
    chains["Arm.L"].space = target(human, "Neck")
    names, frames = [each.subtarget for each in chains], list(FRAMES)[::4]
    stood = {}
    for frame in frames:
        rigs.go_to(frame)
        bones = rigs.evaluated(human).pose.bones
        stood[frame] = np.array([bones[name].matrix for name in names])
    path = tmp_path / "clip.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    command = [sys.executable, "-c", READ, str(path), json.dumps(names), json.dumps(frames)]
    read = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path("/"))
    (line,) = [each for each in read.stdout.splitlines() if each.startswith("FOUND")]
    found = json.loads(line.removeprefix("FOUND"))
    assert found.keys() == {str(frame) for frame in frames}
    for frame, matrices in found.items():
        np.testing.assert_allclose(matrices, stood[int(frame)], atol=1e-6)
