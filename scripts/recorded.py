"""Plant the feet of recorded clips and print the figures of docs/clips.md.

    python3 scripts/recorded.py

The clips come with the source package of bvhtools on the package index, kept in out/recorded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import environment
from common.console import ROOT

PACKAGE = "bvhtools==1.6.0"
FOLDER = ROOT / "out" / "recorded"
# File, metres per unit of the file, first and last frame to measure.
CLIPS = (("test1.bvh", 0.01, 1500, 1740), ("test2.bvh", 0.01, 900, 1140))
FEET = {"L": "LeftFoot", "R": "RightFoot"}


def measure(path: str, unit: str, first: str, last: str) -> None:
    """Plant the feet of a clip in this Blender and print the figures before and after."""
    import bpy
    import numpy as np

    import blender_ik_addon
    from blender_ik_addon.rig.reading.animation import curves

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    blender_ik_addon.register()
    bpy.ops.preferences.addon_enable(module="io_anim_bvh")
    bpy.ops.import_anim.bvh(filepath=path, global_scale=float(unit), update_scene_fps=True)
    rig, frames = bpy.context.object, range(int(first), int(last) + 1)
    bpy.context.scene.frame_set(frames[0])
    bpy.ops.pose.chain_ik_setup(control="BONE")
    for chain in rig.chain_ik.chains:
        chain.mute = True
    names = [bone.name for bone in rig.data.bones if bone.use_deform]

    def read_joints() -> np.ndarray:
        """Return heads and tails of the recorded bones, shape (frames, bones, 2, 3)."""
        poses = []
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            bones = [rig.pose.bones[name] for name in names]
            poses.append(np.array([(bone.head, bone.tail) for bone in bones]))
        return np.array(poses)

    def slip(joints: np.ndarray) -> float:
        """Return the mean slip of planted heels and toes per frame, in millimetres."""
        steps = []
        for side, foot in FEET.items():
            path = rig.chain_ik.chains[f"Leg.{side}"].path_from_id("planted")
            (curve,) = (curve for curve in curves(rig) if curve.data_path == path)
            kinds = np.array([round(curve.evaluate(frame)) for frame in frames])
            distances = np.linalg.norm(np.diff(joints[:, names.index(foot)], axis=0), axis=2)
            for end, bit in enumerate((1, 2)):  # the bits of heel and toe in the setting Planted
                is_planted = (kinds & bit) > 0
                steps += distances[is_planted[1:] & is_planted[:-1], end].tolist()
        return 1e3 * float(np.mean(steps))

    before, start = read_joints(), time.perf_counter()
    bpy.ops.pose.chain_ik_plant(which="ALL", frame_start=frames[0], frame_end=frames[-1])
    seconds, after = time.perf_counter() - start, read_joints()
    print(f"{Path(path).name}, {len(frames)} frames, planted in {seconds:.1f} s")
    print(f"  what stands moved by {slip(before):.2f} mm a frame, now by {slip(after):.3f}")
    for part in (*FEET.values(), "LeftLeg", "RightLeg"):
        heads = (joints[:, names.index(part), 0] for joints in (after, before))
        later, earlier = (np.sqrt(np.square(np.diff(path, 2, axis=0)).mean()) for path in heads)
        print(f"  acceleration of {part} beside the clip: {later / earlier:.3f}")


def main() -> int:
    """Download the clips if they are missing, and measure each of them."""
    if len(sys.argv) > 1:
        from common import blender_process

        blender_process.run(measure, *sys.argv[1:])
    if not list(FOLDER.glob("bvhtools-*/")):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary"]
        subprocess.run([*command, ":all:", "--dest", str(FOLDER), PACKAGE], check=True)
        (archive,) = FOLDER.glob("bvhtools-*.tar.gz")
        shutil.unpack_archive(archive, FOLDER)
    (clips,) = FOLDER.glob("bvhtools-*/tutorials")
    codes = [environment.run_in("bpy-5.2", __file__, clips / name, *more) for name, *more in CLIPS]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
