"""The file with every kind of chain, and what its chains do on its frames.

    python -m tests.blender.kept.kept_file   with the newest Blender

writes the poses beside tests/data/every_kind.blend. Both belong to the commit that they were made
with. Blender 4.2 made the file, by this module as it stood in commit 7e5a6cdf: all solvers with all
that a chain or its bones can have, trees, and chains on chains. It is not made anew, as nothing
would be left to compare with then: what comes later gets a file of its own.
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

Seen = dict[str, dict[str, Array]]
"""By name of the object: ``rotations`` (f, bones, 4) as quaternions, ``others`` (f, bones, 6)
locations and scales, ``tips`` (f, chains, 3) tails of tip bones in the world, ``misses``
(f, chains) the residuals, and ``poses`` (f, bones, 4, 4), which are not recorded."""

ROOT = Path(__file__).parents[3]
FILE, POSES = (ROOT / "tests" / "data" / f"every_kind.{end}" for end in ("blend", "json"))
PLAYED = range(1, 8)
RECORDED = (2, 5, 7)
APART = RECORDED[::2]
"""Of chains whose pose does not depend on the frame before."""
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
"""Kinds whose rotations need not be the same, and why only their tips have to stand as before."""
UNMOVED = (0.0, 0.0, 0.0, 1.0, 1.0, 1.0)


def play() -> Seen:
    """Play the file, and return what each kind did on the frames that are recorded.

    All frames are played only of chains whose pose depends on the frame before.
    """
    found = seen(open_file(), APART) | seen(open_file(has_history=True), PLAYED)
    return dict(sorted(found.items()))


def open_file(*, has_history: bool = False) -> list[str]:
    """Open the file, keep the armature objects with or without a history, return their names."""
    bpy.ops.wm.open_mainfile(filepath=str(FILE))
    owners = [ob for ob in bpy.data.objects if ob.type == "ARMATURE" and ob.chain_ik.chains]
    kept = [ob.name for ob in owners if any(map(goes_on, ob.chain_ik.chains)) == has_history]
    bpy.data.batch_remove([ob for ob in owners if ob.name not in kept])
    return kept


def goes_on(chain: bpy.types.PropertyGroup) -> bool:
    """Return whether the pose of a chain depends on the one before."""
    return chain.start_from == "CURRENT" or chain_spec(chain).depends_on_time


def seen(names: Sequence[str], frames: Sequence[int]) -> Seen:
    """Visit frames in this order, and return what objects do on those that are recorded."""
    states: dict[int, list[dict[str, Any]]] = {}
    for frame in frames:
        depsgraph = rigs.go_to(frame)
        if frame in RECORDED:
            states[frame] = [_state(bpy.data.objects[name], depsgraph) for name in names]
    by_frame = [states[frame] for frame in sorted(states)]
    return {
        name: {key: np.array([each[i][key] for each in by_frame]) for key in by_frame[0][i]}
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
    """Return what a bone's rotation channels say, wxyz."""
    if bone.rotation_mode == "QUATERNION":
        found = Quaternion(bone.rotation_quaternion).normalized()
    elif bone.rotation_mode == "AXIS_ANGLE":
        angle, *axis = bone.rotation_axis_angle
        found = Quaternion(axis, angle)
    else:
        found = bone.rotation_euler.to_quaternion()
    return np.array(found)


def record() -> None:
    lines = []
    for name, found in play().items():
        del found["poses"]
        if np.array_equal(found["others"], np.broadcast_to(UNMOVED, found["others"].shape)):
            del found["others"]
        # Adding zero: there is no minus zero then.
        rows = {key: (np.round(rows, DIGITS) + 0.0).tolist() for key, rows in found.items()}
        lines.append(f"{json.dumps(name)}: {json.dumps(rows, separators=(',', ':'))}")
    POSES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def recorded() -> Seen:
    """Return what the chains did when the file was made, as `play` does."""
    kept = json.loads(POSES.read_text(encoding="utf-8"))
    found = {
        name: {key: np.array(rows) for key, rows in all_rows.items()}
        for name, all_rows in kept.items()
    }
    for rows in found.values():
        count = rows["rotations"].shape[:2]
        rows.setdefault("others", np.broadcast_to(UNMOVED, (*count, len(UNMOVED))))
    return found


def seen_elsewhere(frames: Sequence[int], folder: Path) -> Seen:
    """Return what a new process sees on frames of the file, in this order."""
    out = folder / "seen"
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    code += f"from tests.blender.kept import kept_file\nkept_file.note({str(out)!r}, {frames!r})"
    application = [bpy.app.binary_path, "--background", "--factory-startup", "--python-expr"]
    command = [*application, code] if bpy.app.binary_path else [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert out.exists(), process.stderr[-2000:]
    return pickle.loads(out.read_bytes())


def note(out: str, frames: Sequence[int]) -> None:
    """Note what is seen for another process."""
    blender_ik_addon.register()
    run(lambda: Path(out).write_bytes(pickle.dumps(seen(open_file(), frames))))


if __name__ == "__main__":
    blender_ik_addon.register()
    run(record)
