"""Build the scene of the demonstration, play it with each solver, measure, and save it.

    python -m demo.scene out      in scripts/, with the bpy module

Started by demo.py. Writes demo.json and demo.blend into the folder. Lines that start with MARK are
for the person who waits.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable
from pathlib import Path

import bpy

from common import blender_process
from demo import motion, playback, stage
from demo.limbs import LIMBS, Limb
from demo.report import LimbResult, Report, Row

MARK = "demo: "
ALL_FRAMES = range(1, motion.FRAMES + 1)
DRAWN_FRAMES = (21, 45, 69, 93, 117)

# Title of a row -> solver of the limbs with two bones, and of the others.
SOLVERS = {
    "Two-Bone, spine Newton": ("TWO_BONE", "NEWTON"),
    "FABRIK": ("FABRIK", "FABRIK"),
    "CCD": ("CCD", "CCD"),
    "Newton": ("NEWTON", "NEWTON"),
}
FIRST_TITLE = next(iter(SOLVERS))


def run(folder: Path, frames: Iterable[int] = ALL_FRAMES) -> Report:
    """Fill an empty file, play, and save what was measured and the file.

    Args:
        folder: Takes demo.json and demo.blend.
        frames: Frames to play with each solver.
    """
    frames = list(frames)
    armature_object = stage.build()
    say(f"{len(LIMBS)} chains on {len(armature_object.pose.bones)} bones of Rigify's metarig")
    _mute(armature_object, True)
    idle = playback.play(armature_object, frames)
    _mute(armature_object, False)
    rows = []
    for title in SOLVERS:
        say(f"playing {len(frames)} frames: {title}")
        _choose(armature_object, title)
        rows.append(_row(title, playback.play(armature_object, frames, DRAWN_FRAMES)))
    report = Report(
        blender=bpy.app.version_string,
        rows=rows,
        muted_milliseconds=statistics.median(idle.milliseconds),
        paths=idle.targets,
    )
    folder.mkdir(parents=True, exist_ok=True)
    report.save(folder / "demo.json")
    _choose(armature_object, FIRST_TITLE)
    _save_file(armature_object, folder / "demo.blend", report)
    return report


def _choose(armature_object: bpy.types.Object, title: str) -> None:
    """Give every chain the solver that a row of the table stands for."""
    of_two, of_more = SOLVERS[title]
    for limb, chain in zip(LIMBS, armature_object.chain_ik.chains):
        chain.solver = of_two if len(limb.bones) == 2 else of_more


def _mute(armature_object: bpy.types.Object, is_muted: bool) -> None:
    for chain in armature_object.chain_ik.chains:
        chain.mute = is_muted


def _row(title: str, played: playback.Playback) -> Row:
    return Row(
        title=title,
        limbs={limb.name: _limb_result(limb, played) for limb in LIMBS},
        milliseconds=statistics.median(played.milliseconds),
        poses={str(frame): pose for frame, pose in played.poses.items()},
    )


def _limb_result(limb: Limb, played: playback.Playback) -> LimbResult:
    """Keep the residuals of the frames whose target is neither too far nor too near."""
    distances, residuals = played.distances[limb.name], played.residuals[limb.name]
    is_in_reach = [played.min_reaches[limb.name] <= distance <= 1.0 for distance in distances]
    return LimbResult(
        frames=len(residuals),
        residuals=[value for value, reached in zip(residuals, is_in_reach) if reached],
    )


def _save_file(armature_object: bpy.types.Object, path: Path, report: Report) -> None:
    """Save the scene with live chains, ready to be opened and played."""
    for limb in LIMBS:
        stage.draw_path(limb.name, report.paths[limb.name], limb.colour)
    stage.dress(armature_object)
    bpy.context.scene.frame_set(1)
    # Else Blender keeps the former file beside it.
    path.unlink(missing_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True)


def say(line: str) -> None:
    """Print a line for the person who waits."""
    print(MARK + line, flush=True)


def main(folder: Path) -> None:
    """Run in a process of its own: an empty file, the add-on from the checkout."""
    import blender_ik_addon

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    blender_ik_addon.register()
    run(folder)


if __name__ == "__main__":
    blender_process.run(main, Path(sys.argv[-1]).resolve())
