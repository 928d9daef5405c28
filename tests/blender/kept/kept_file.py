"""A file with every kind of chain, and the recorded states of its chains at some frames.

    python -m tests.blender.kept.kept_file   with the newest Blender

writes the states beside tests/data/every_kind.blend. File and states belong to one commit. Blender
4.2 made the file, with this module as of commit 7e5a6cdf: all solvers with all features of chains
and bones, trees, and chains below chains. Never make it again: old poses are there to compare with.
New features get a new file.
"""

import json
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Quaternion

import blender_ik_addon
from blender_ik_addon.properties.records import chain_spec
from scripts.common.blender_process import run
from tests.blender.setups import rigs
from tests.helpers import Array

States = dict[str, dict[str, Array]]
"""By object name: ``rotations`` (f, bones, 4) quaternions, ``others`` (f, bones, 6) locations and
scales, ``tips`` (f, chains, 3) tails of tip bones in world space, ``misses`` (f, chains)
residuals, and ``poses`` (f, bones, 4, 4), which are not recorded."""

ROOT = Path(__file__).parents[3]
FILE, POSES = (ROOT / "tests" / "data" / f"every_kind.{end}" for end in ("blend", "json"))
ALL_FRAMES = range(1, 8)
RECORDED_FRAMES = (2, 5, 7)
SINGLE_FRAMES = RECORDED_FRAMES[::2]
"""Frames of the chains whose pose does not depend on the frame before."""
DIGITS = 7
STRETCH = "A straight chain tells its bend by the root of what float32 rounds off."
ONLY_TIPS = {
    **{f"{solver} stretch": STRETCH for solver in ("TWO_BONE", "FABRIK", "CCD", "NEWTON", "FORCE")},
    "FORCE pole and limits": (
        "Settling goes on until little is gained: how far the pole is followed there hangs on the"
        " last digits."
    ),
    "NEWTON held back": (
        "Targets that limits hold back are tried from many poses, of which the best may be several."
    ),
    "FORCE comfort": "With comfort several ends may be equally good.",
    "tree, one tip inherits no rotation": (
        "Was solved as if it did, again and again, and now as it is: another pose that reaches."
    ),
}
"""Kinds that may turn differently while their tips stay, with the reason for each."""
UNMOVED = (0.0, 0.0, 0.0, 1.0, 1.0, 1.0)


def play() -> States:
    """Play the file, and return the states of each kind at the recorded frames.

    Only chains whose pose depends on the frame before are played at all frames.
    """
    states = read(open_file(), SINGLE_FRAMES) | read(open_file(has_history=True), ALL_FRAMES)
    return dict(sorted(states.items()))


def open_file(*, has_history: bool = False) -> list[str]:
    """Open the file, keep only armature objects with or without a history; return their names."""
    bpy.ops.wm.open_mainfile(filepath=str(FILE))
    owners = [ob for ob in bpy.data.objects if ob.type == "ARMATURE" and ob.chain_ik.chains]
    names = [ob.name for ob in owners if any(map(has_memory, ob.chain_ik.chains)) == has_history]
    bpy.data.batch_remove([ob for ob in owners if ob.name not in names])
    return names


def has_memory(chain: bpy.types.PropertyGroup) -> bool:
    """Return whether the pose of a chain depends on the one before."""
    return chain.start_from == "CURRENT" or chain_spec(chain).depends_on_time


def read(names: Sequence[str], frames: Sequence[int]) -> States:
    """Set frames in this order, and return the states of objects at the recorded ones."""
    rows_by_frame: dict[int, list[dict[str, Any]]] = {}
    for frame in frames:
        depsgraph = rigs.go_to(frame)
        if frame in RECORDED_FRAMES:
            rows_by_frame[frame] = [_state(bpy.data.objects[name], depsgraph) for name in names]
    by_frame = [rows_by_frame[frame] for frame in sorted(rows_by_frame)]
    return {
        name: {key: np.array([row[i][key] for row in by_frame]) for key in by_frame[0][i]}
        for i, name in enumerate(names)
    }


def _state(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> dict[str, Any]:
    chains = list(ob.chain_ik.chains)
    return {
        "rotations": [rotation_of(bone) for bone in ob.pose.bones],
        "others": [(*bone.location, *bone.scale) for bone in ob.pose.bones],
        "tips": [rigs.tail(ob, chain.bone, depsgraph) for chain in chains],
        "misses": [chain.residual for chain in chains],
        "poses": rigs.pose(ob, depsgraph),
    }


def rotation_of(bone: bpy.types.PoseBone) -> Array:
    """Return the rotation in a bone's channels as a unit quaternion, wxyz."""
    if bone.rotation_mode == "QUATERNION":
        rotation = Quaternion(bone.rotation_quaternion).normalized()
    elif bone.rotation_mode == "AXIS_ANGLE":
        angle, *axis = bone.rotation_axis_angle
        rotation = Quaternion(axis, angle)
    else:
        rotation = bone.rotation_euler.to_quaternion()
    return np.array(rotation)


def record() -> None:
    lines = []
    for name, arrays in play().items():
        del arrays["poses"]
        if np.array_equal(arrays["others"], np.broadcast_to(UNMOVED, arrays["others"].shape)):
            del arrays["others"]
        # Adding zero turns minus zero into zero.
        rows = {key: (np.round(rows, DIGITS) + 0.0).tolist() for key, rows in arrays.items()}
        lines.append(f"{json.dumps(name)}: {json.dumps(rows, separators=(',', ':'))}")
    POSES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_recorded() -> States:
    """Return the recorded states, in the form of `play`."""
    table = json.loads(POSES.read_text(encoding="utf-8"))
    states = {
        name: {key: np.array(rows) for key, rows in all_rows.items()}
        for name, all_rows in table.items()
    }
    for rows in states.values():
        count = rows["rotations"].shape[:2]
        rows.setdefault("others", np.broadcast_to(UNMOVED, (*count, len(UNMOVED))))
    return states


def read_elsewhere(frames: Sequence[int], folder: Path) -> States:
    """Return the states that a new process reads at frames of the file, in this order."""
    out = folder / "seen"
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    code += f"from tests.blender.kept import kept_file\nkept_file.note({str(out)!r}, {frames!r})"
    application = [bpy.app.binary_path, "--background", "--factory-startup", "--python-expr"]
    command = [*application, code] if bpy.app.binary_path else [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert out.exists(), process.stderr[-2000:]
    return pickle.loads(out.read_bytes())


def note(out: str, frames: Sequence[int]) -> None:
    """Write the states at frames to a file, for another process."""
    blender_ik_addon.register()
    run(lambda: Path(out).write_bytes(pickle.dumps(read(open_file(), frames))))


if __name__ == "__main__":
    blender_ik_addon.register()
    run(record)
