"""Helpers for command line tests: scenes, saved files, runs of commands and their reports."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from blender_ik_addon.cli import main
from tests.blender.setups import rigs

ROOT = Path(__file__).resolve().parents[3]
LAST = 12
CLIP = ("--method", "clip")
needs_module = pytest.mark.skipif(
    bool(bpy.app.binary_path),
    reason="the application runs what is installed, so test_package.py starts it",
)


def swing(ob: bpy.types.Object, tip: str, base: tuple[float, float, float], seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    target = rigs.make_empty(f"{ob.name} {tip} Target")
    points = base + rng.uniform(-0.8, 0.8, (3, 3)) + np.array([0.0, 0.0, 1.0])
    places = {1: points[0], 4: points[1], 8: points[1], LAST: points[2]}
    rigs.key(target, "location", {frame: tuple(place) for frame, place in places.items()})
    rigs.add_chain(ob, tip, target, name=tip.split(".")[0])


def make_scene(count: int = 1) -> list[bpy.types.Object]:
    """Return rigs that have a tail and an arm, in a scene of twelve frames."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    objects = []
    for number in range(count):
        ob = rigs.make_rig(rigs.zigzag(4, seed=number), name=f"Rig {number}", modes="QUATERNION")
        rigs.add_bones(ob, rigs.zigzag(2, seed=5) + np.array([3, 0, 0]), prefix="Arm", modes="XYZ")
        swing(ob, "Bone.3", (0.0, 0.0, 0.0), number)
        swing(ob, "Arm.1", (3.0, 0.0, 0.0), number + 100)
        objects.append(ob)
    return objects


def make_rope(name: str, offset: float) -> bpy.types.Object:
    """Return a rig with a dragged chain, which depends on the frames before."""
    ob = rigs.make_rig(rigs.zigzag(5, seed=7), name=name)
    ob.location.y = offset
    target = rigs.make_empty(f"{name} Lead")
    places = {1: (0, offset, 5), 5: (3, offset, 3), LAST: (-2, offset, 4)}
    rigs.key(target, "location", places)
    rigs.add_chain(ob, "Bone.4", target, name="Rope", solver="FOLLOW", use_anchor=True)
    return ob


def make_varied_scene() -> None:
    """Make rigs with keys, limits, a tree, a chain that is muted at times, and a dragged chain."""
    ob, other, tree = make_scene(3)
    rigs.key_bones(ob, frames=(1, 5, LAST))
    other.scale = (1.0, 1.3, -0.8)
    for bone in list(other.pose.bones)[:4]:
        bone.use_ik_limit_x = True
        bone.ik_min_x, bone.ik_max_x = -0.2, 0.3
    rigs.key(other, "chain_ik.chains[1].mute", {1: False, 4: True, 7: False})
    rigs.key(other, "chain_ik.chains[0].influence", {1: 1.0, LAST: 0.3})
    rigs.add_bones(tree, [(0, 0, 3), (0.6, 0.3, 3)], prefix="Thumb", parent="Bone.1")
    target = rigs.make_empty("Thumb Target")
    rigs.key(target, "location", {1: (1, 0, 2), LAST: (-1, 1, 2)})
    rigs.add_chain(tree, "Thumb.0", target, name="Thumb")
    rigs.set_each(tree.chain_ik.chains, solver="NEWTON")
    rope = make_rope("Rope", 6.0)
    # This rig follows the rope, so it depends on the frames before as well.
    hook = rigs.make_rig(name="Hook")
    hook.location.y = 6.0
    rigs.add_chain(hook, "Bone.1", rope, subtarget="Bone.2", name="Hook")


def save(path: Path, **options: object) -> Path:
    """Evaluate the scene, save it, and keep it open as that file."""
    bpy.context.view_layer.update()
    bpy.context.preferences.filepaths.save_version = 0
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False, **options)
    return path


def open_file(path: Path) -> bpy.types.Scene:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.context.scene


def read_bake(path: Path) -> dict[str, object]:
    """Return the data of a file that a bake changes: keys, poses and settings."""
    scene = open_file(path)
    return {
        ob.name: (
            rigs.keys_of(ob),
            [[tuple(row) for row in bone.matrix] for bone in ob.pose.bones],
            [(chain.name, chain.mute, chain.stored_pose) for chain in ob.chain_ik.chains],
            scene.frame_current,
        )
        for ob in scene.objects
        if ob.type == "ARMATURE"
    }


def run(*arguments: object) -> int:
    """Run the command on the open file, in this process; return its exit code."""
    return main([str(argument) for argument in arguments])


def start_process(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start the command in its own process, with pipes for its output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "blender_ik_addon", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, **{**pipes, **options})


def wait_for_line(process: subprocess.Popen[str], prefix: str) -> None:
    if not any(line.startswith(prefix) for line in process.stderr):
        raise AssertionError("it has ended before")


def run_process(*arguments: object) -> tuple[int, str, str]:
    process = start_process(*arguments)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def read_results(text: str) -> dict[str, list[dict[str, Any]]]:
    """Return the results of a report by chain name, after checks of its format."""
    report = json.loads(text)
    assert report["format"] == 1
    assert set(report) == {
        "format", "file", "blender", "scene", "frames", "all_reached", "chains"
    }  # fmt: skip
    for chain in report["chains"]:
        assert set(chain) == {"armature", "chain", "bones", "results"}
        assert [result["frame"] for result in chain["results"]] == report["frames"]
    return {chain["chain"]: chain["results"] for chain in report["chains"]}
