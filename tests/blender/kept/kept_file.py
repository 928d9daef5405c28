"""The file with every kind of chain, and what its chains do on its frames.

    python -m tests.blender.kept.kept_file   with the newest Blender

writes the poses beside tests/data/every_kind.blend. Both belong to the commit that they were made
with. Blender 4.2 made the file, by this module as it stood in commit 7e5a6cdf: all solvers with all
that a chain or its bones can have, trees, and chains on chains. It is not made anew, as nothing
would be left to compare with then: what comes later gets a file of its own.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt
from mathutils import Quaternion

from blender_ik_addon.properties.records import chain_spec
from tests.blender.setups import rigs

Array = npt.NDArray[np.float64]

DATA = Path(__file__).parents[2] / "data"
FILE, POSES = DATA / "every_kind.blend", DATA / "every_kind.json"
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


def play(path: Path = FILE) -> dict[str, dict[str, Any]]:
    """Play the file, and return what each kind did on the frames that are recorded.

    All frames are played only of chains whose pose depends on the frame before.

    Returns:
        By name of the object: ``rotations`` (f, bones, 4) as quaternions, ``others`` (f, bones, 6)
        locations and scales, ``tips`` (f, chains, 3) tails of tip bones in the world, ``misses``
        (f, chains) the residuals.
    """
    found = _played(path, APART, has_history=False) | _played(path, PLAYED, has_history=True)
    return dict(sorted(found.items()))


def _played(
    path: Path, all_frames: Sequence[int], *, has_history: bool
) -> dict[str, dict[str, Any]]:
    """Open the file, keep the armature objects with or without a history, and play these."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    owners = [ob for ob in bpy.data.objects if ob.type == "ARMATURE" and ob.chain_ik.chains]
    kept = [ob.name for ob in owners if any(map(goes_on, ob.chain_ik.chains)) == has_history]
    bpy.data.batch_remove([ob for ob in owners if ob.name not in kept])
    frames: dict[str, list[dict[str, Any]]] = {name: [] for name in kept}
    for frame in all_frames:
        depsgraph = rigs.go_to(frame)
        if frame in RECORDED:
            for name, found in frames.items():
                found.append(_state(bpy.data.objects[name], depsgraph))
    return {
        name: {key: np.array([each[key] for each in found]) for key in found[0]}
        for name, found in frames.items()
    }


def goes_on(chain: bpy.types.PropertyGroup) -> bool:
    """Return whether the pose of a chain depends on the one before."""
    return chain.start_from == "CURRENT" or chain_spec(chain).goes_on


def _state(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> dict[str, Any]:
    chains = list(ob.chain_ik.chains)
    return {
        "rotations": [rotation_of(bone) for bone in ob.pose.bones],
        "others": [(*bone.location, *bone.scale) for bone in ob.pose.bones],
        "tips": [rigs.tail(ob, chain.bone, depsgraph) for chain in chains],
        "misses": [chain.residual for chain in chains],
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


def record(path: Path) -> None:
    lines = []
    for name, found in play().items():
        if np.array_equal(found["others"], np.broadcast_to(UNMOVED, found["others"].shape)):
            del found["others"]
        rows = {key: _short(rows) for key, rows in found.items()}
        lines.append(f"{json.dumps(name)}: {json.dumps(rows, separators=(',', ':'))}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def recorded() -> dict[str, dict[str, Array]]:
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


def _short(rows: Array) -> Any:
    # Adding zero: there is no minus zero then.
    return (np.round(rows, DIGITS) + 0.0).tolist()


def main() -> None:
    import blender_ik_addon

    blender_ik_addon.register()
    record(POSES)


if __name__ == "__main__":
    exit_code = 1
    try:
        main()
        exit_code = 0
    finally:
        if exit_code:
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
        # The 4.2 module would crash at the normal end, see conftest.py.
        os._exit(exit_code)
