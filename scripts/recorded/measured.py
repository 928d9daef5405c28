"""Plant the feet of one recorded clip, bake it in both ways, and print figures. A worker.

python -m recorded.measured CLIP.bvh FIRST LAST ARRAYS.npz      a Python with the bpy module
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import bpy
import numpy as np
import numpy.typing as npt

import blender_ik_addon
from blender_ik_addon.rig.reading.animation import curves
from common.blender_process import run

Array = npt.NDArray[np.float64]

# Of files with bones longer than so many units.
CENTIMETRE, LONG = 0.01, 5.0
SIDES = "LR"


def unit_of(path: Path) -> float:
    """Return what one unit of a clip is in metres: files count in metres or in centimetres."""
    lines = [line.split() for line in path.read_text(errors="replace").splitlines()]
    offsets = [float(way) for words in lines if words[:1] == ["OFFSET"] for way in words[1:]]
    # The first offset is where the hips begin.
    return CENTIMETRE if max(map(abs, offsets[3:])) > LONG else 1.0


class Recorded:
    """A recorded clip in Blender.

    Attributes:
        rig: Its armature object.
        frames: The part of it that is looked at.
    """

    def __init__(self, path: Path, first: int, last: int) -> None:
        """Import it, and set up its limbs at the first frame, all muted."""
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        blender_ik_addon.register()
        bpy.ops.preferences.addon_enable(module="io_anim_bvh")
        bpy.ops.import_anim.bvh(
            filepath=str(path),
            global_scale=unit_of(path),
            update_scene_fps=True,
            use_fps_scale=False,
        )
        self.rig, self.frames = bpy.context.object, range(first, last + 1)
        bpy.context.scene.frame_set(first)
        bpy.ops.pose.chain_ik_setup(control="BONE")
        self.mute(True)

    def mute(self, value: bool) -> None:
        """Mute all chains, or none."""
        for chain in self.rig.chain_ik.chains:
            chain.mute = value
        bpy.context.view_layer.update()

    def joints(self) -> Array:
        """Return the heads and tails of all bones, world space, shape (f, n, 2, 3)."""
        found = []
        for frame in self.frames:
            bpy.context.scene.frame_set(frame)
            world, bones = np.array(self.rig.matrix_world), self.rig.pose.bones
            ends = np.array([(bone.head, bone.tail) for bone in bones if self.is_body(bone.name)])
            found.append(ends @ world[:3, :3].T + world[:3, 3])
        return np.array(found)

    def is_body(self, bone: str) -> bool:
        """Tell whether a bone is of the recorded body, and no control."""
        return self.rig.data.bones[bone].use_deform

    def names(self) -> list[str]:
        """Return the names of the bones of the body."""
        return [bone.name for bone in self.rig.pose.bones if self.is_body(bone.name)]

    def kinds(self, side: str) -> npt.NDArray[np.int64]:
        """Return what of a foot stands at each frame, as the keys of Planted say."""
        path = self.rig.chain_ik.chains[f"Leg.{side}"].path_from_id("planted")
        curve = next(each for each in curves(self.rig) if each.data_path == path)
        return np.array([round(curve.evaluate(frame)) for frame in self.frames])

    def press(self, name: str, **words: object) -> float:
        """Press a button on the range, and return how many seconds it took."""
        begun = time.perf_counter()
        operator = getattr(bpy.ops.pose, f"chain_ik_{name}")
        operator(which="ALL", frame_start=self.frames[0], frame_end=self.frames[-1], **words)
        return time.perf_counter() - begun


def acceleration(path: Array) -> float:
    """Return the root of the mean square of second differences."""
    return float(np.sqrt(np.square(np.diff(path, 2, axis=0)).mean()))


def slide(joints: Array, recorded: Recorded) -> float:
    """Return the mean way in a frame of what stands, in millimetres."""
    names, steps = recorded.names(), []
    for side, word in zip(SIDES, ("Left", "Right"), strict=True):
        kinds, foot = recorded.kinds(side), joints[:, names.index(f"{word}Foot")]
        for bit, end in ((1, 0), (2, 1)):
            stands = (kinds & bit) > 0
            ways = np.linalg.norm(np.diff(foot[:, end], axis=0), axis=1)
            steps += ways[stands[1:] & stands[:-1]].tolist()
    return 1e3 * float(np.mean(steps))


def measure(path: str, first: str, last: str, arrays: str) -> None:
    """Plant, bake, print, and write what is to be drawn."""
    recorded = Recorded(Path(path), int(first), int(last))
    before, names = recorded.joints(), recorded.names()
    seconds = recorded.press("plant")
    after = recorded.joints()
    print(f"{Path(path).name}, {len(recorded.frames)} frames, planted in {seconds:.1f} s")
    print(
        f"  what stands moved by {slide(before, recorded):.2f} mm a frame, now by"
        f" {slide(after, recorded):.3f}"
    )
    for part in ("LeftFoot", "RightFoot", "LeftLeg", "RightLeg", "Hips"):
        ratio = acceleration(after[:, names.index(part), 0]) / acceleration(
            before[:, names.index(part), 0]
        )
        print(f"  acceleration of {part} beside the clip: {ratio:.3f}")
    statuses = [chain.status for chain in recorded.rig.chain_ik.chains]
    print(f"  at the last frame: {', '.join(sorted({each.split(' (')[0] for each in statuses}))}")
    standing = np.array([recorded.kinds(side) for side in SIDES])
    seconds = recorded.press("bake", method="CLIP")
    baked = recorded.joints()
    print(
        f"  baked as a clip in {seconds:.1f} s; joints moved by at most"
        f" {1e3 * np.linalg.norm(baked - after, axis=-1).max():.2f} mm"
    )
    rate = bpy.context.scene.render.fps / bpy.context.scene.render.fps_base
    np.savez(arrays, names=names, before=before, after=after, standing=standing, rate=rate)


if __name__ == "__main__":
    run(measure, *sys.argv[1:])
