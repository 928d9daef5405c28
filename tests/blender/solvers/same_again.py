"""What the chains of a file without a history do on given frames, in this process or another.

    python -m tests.blender.solvers.same_again record       with the newest Blender

writes tests/data/solved.json beside `kept_file.FILE`: rotations, iterations and misses on one
frame. It belongs to the commit that it was made with, as the poses of `kept_file` do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt

from blender_ik_addon.rig.live import live
from tests.blender.kept import kept_file
from tests.blender.setups import rigs

Array = npt.NDArray[Any]
Seen = dict[str, Array]
"""By frame, object and what: ``5 NEWTON free poses``, or its rotations, iterations or misses."""

SOLVED = kept_file.DATA / "solved.json"
SOLVED_FRAME = 5
ROOT = Path(__file__).resolve().parents[3]


def goes_on(chain: bpy.types.PropertyGroup) -> bool:
    """Return whether what a chain does depends on what it did before."""
    eases = chain.solver == "FORCE" and chain.force.use_gradual
    return chain.solver == "FOLLOW" or chain.start_from == "CURRENT" or eases


def open_file(path: Path = kept_file.FILE, muted: Collection[str] = ()) -> list[str]:
    """Open a file, mute what goes on from before, and return the names of the other objects.

    Args:
        path: Of the file.
        muted: Names of objects of which all chains are muted as well.
    """
    bpy.ops.wm.open_mainfile(filepath=str(path))
    found = []
    with rigs.at_rest():
        for ob in bpy.data.objects:
            if ob.type != "ARMATURE" or not ob.chain_ik.chains:
                continue
            if ob.name in muted or any(goes_on(chain) for chain in ob.chain_ik.chains):
                for chain in ob.chain_ik.chains:
                    chain.mute = True
            else:
                found.append(ob.name)
    return sorted(found)


def seen(names: Sequence[str], frames: Sequence[int]) -> Seen:
    """Visit frames in this order and return what the chains of objects do on each."""
    found: Seen = {}
    for frame in frames:
        depsgraph = rigs.go_to(frame)
        for name in names:
            ob = bpy.data.objects[name]
            outcomes = [
                live.memory.outcome_in(bpy.context.scene, (ob.session_uid, i))
                for i in range(len(_chains(ob)))
            ]
            found[f"{frame} {name} poses"] = rigs.pose(ob, depsgraph)
            found[f"{frame} {name} rotations"] = rotations(ob)
            found[f"{frame} {name} iterations"] = np.array([each.iterations for each in outcomes])
            found[f"{frame} {name} misses"] = np.array([each.residual for each in outcomes])
    return found


def _chains(ob: bpy.types.Object) -> Any:
    return ob.chain_ik.chains


def rotations(ob: bpy.types.Object) -> Array:
    """Return what the rotation channels of all bones say, as quaternions (n, 4)."""
    return np.array([kept_file.rotation_of(bone) for bone in ob.pose.bones])


def turns_between(one: Array, other: Array) -> Array:
    """Return the angles in radians between rotations (n, 4)."""
    chords = np.minimum(np.linalg.norm(one - other, axis=-1), np.linalg.norm(one + other, axis=-1))
    # Half the angle, as quaternions have it.
    return 2.0 * chords


def seen_elsewhere(path: Path, frames: Sequence[int], folder: Path) -> Seen:
    """Return what a new process sees on frames of a file, in this order."""
    out = folder / "seen.npz"
    arguments = [str(path), str(out), *map(str, frames)]
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    code += "from tests.blender.solvers import same_again\n"
    code += f"same_again.main('see', *{arguments!r})"
    application = [bpy.app.binary_path, "--background", "--factory-startup", "--python-expr"]
    command = [*application, code] if bpy.app.binary_path else [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert out.exists(), process.stderr[-2000:]
    with np.load(out) as found:
        return dict(found)


def record(path: Path) -> None:
    """Write rotations, iterations and misses of one frame to a text."""
    lines = []
    names = open_file()
    found = seen(names, [SOLVED_FRAME])
    for name in names:
        key = f"{SOLVED_FRAME} {name}"
        row = {
            "rotations": (np.round(found[f"{key} rotations"], 9) + 0.0).tolist(),
            "iterations": found[f"{key} iterations"].tolist(),
            "misses": np.round(found[f"{key} misses"], 9).tolist(),
        }
        lines.append(f"{json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def recorded() -> Seen:
    """Return what was recorded, as `seen` does."""
    kept = json.loads(SOLVED.read_text(encoding="utf-8"))
    return {
        f"{SOLVED_FRAME} {name} {what}": np.array(values)
        for name, row in kept.items()
        for what, values in row.items()
    }


def main(command: str, *arguments: str) -> None:
    """Note what is seen for another process, or record what every version is to show."""
    import blender_ik_addon

    blender_ik_addon.register()
    if command == "record":
        record(SOLVED)
    else:
        path, out, *frames = arguments
        np.savez(out, **seen(open_file(Path(path)), [int(frame) for frame in frames]))
    sys.stdout.flush()
    # The 4.2 module would crash at the normal end, see conftest.py.
    os._exit(0)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    finally:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
