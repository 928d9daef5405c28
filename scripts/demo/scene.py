"""Build the scenes of the demonstration, play them, measure, save, and draw.

    python -m demo.scene out      in scripts/, with the bpy module

Started by demo.py. Writes .blend and .png of demo and of creatures into the folder, and demo.json.
Lines that start with MARK are for the person who waits.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import bpy
from mathutils import Vector

import blender_ik_addon
from common import blender_process
from demo import pictures
from demo.creatures import ACTS, CREATURES, place
from demo.figure import FIGURE, FRAMES, LIMBS, Limb, dress
from demo.report import Row, as_json
from examples import playing
from examples import scene as examples
from examples.parts import studio

MARK = "demo: "
ALL_FRAMES = range(1, FRAMES + 1)
DRAWN_FRAMES, COMPARED = (21, 45, 69, 93, 117), 69

# Title of a row -> solver of the limbs with two bones, and of the others.
SOLVERS = {
    "Two-Bone, spine Newton": ("TWO_BONE", "NEWTON"),
    "FABRIK": ("FABRIK", "FABRIK"),
    "CCD": ("CCD", "CCD"),
    "Newton": ("NEWTON", "NEWTON"),
}
FIRST_TITLE = next(iter(SOLVERS))


def play_figure(folder: Path, frames: Iterable[int] = ALL_FRAMES) -> list[Row]:
    """Build the figure, play it with each solver, and save what was measured and the file."""
    frames = list(frames)
    examples.build(FIGURE)
    rig = bpy.context.scene.objects["Figure"]
    say(f"{len(LIMBS)} chains on {len(rig.pose.bones)} bones of Rigify's metarig")
    mute(rig, True)
    idle = playing.play(frames)
    mute(rig, False)
    rows = []
    for title in SOLVERS:
        say(f"playing {len(frames)} frames: {title}")
        choose(rig, title)
        played = playing.play(frames)
        residuals = {limb.name: _residuals(limb, rig, played) for limb in LIMBS}
        rows.append(Row(title, len(frames), residuals, statistics.median(played.milliseconds)))
    measured = as_json(rows, statistics.median(idle.milliseconds), bpy.app.version_string)
    (folder / "demo.json").write_text(json.dumps(measured), encoding="utf-8")
    choose(rig, FIRST_TITLE)
    dress(rig)
    bpy.context.scene.frame_set(1)
    studio.save(folder / "demo.blend")
    return rows


def choose(rig: bpy.types.Object, title: str) -> None:
    of_two, of_more = SOLVERS[title]
    for limb, chain in zip(LIMBS, rig.chain_ik.chains):
        chain.solver = of_two if len(limb.bones) == 2 else of_more


def mute(rig: bpy.types.Object, is_muted: bool) -> None:
    for chain in rig.chain_ik.chains:
        chain.mute = is_muted


def _residuals(limb: Limb, rig: bpy.types.Object, played: playing.Played) -> list[float]:
    """Return how far a limb is off, in its lengths, where its target is in reach."""
    lengths = [rig.data.bones[name].length for name in limb.bones]
    length = sum(lengths)
    keys = [key for key in played.gaps if key[2] == limb.name]
    distances = {key: (played.targets[key] - played.roots[key]).length for key in keys}
    least = max(0.0, 2.0 * max(lengths) - length)
    return [played.gaps[key] / length for key in keys if least <= distances[key] <= length]


def draw_figure(rows: Sequence[Row], path: Path) -> None:
    rig = bpy.context.scene.objects["Figure"]
    first = [pictures.render(frame, f"frame {frame}", 5, 380) for frame in DRAWN_FRAMES]
    compared = []
    for each in rows:
        choose(rig, each.title)
        worst = max(map(each.worst, each.residuals))
        words = f"frame {COMPARED}: {each.title}\nwithin {worst:.1e} of limb length"
        compared.append(pictures.render(COMPARED, words, 4, 380))
    pictures.save([first, compared], path)


def add_creatures(path: Path) -> None:
    examples.build(CREATURES)
    bpy.context.scene.frame_set(1)
    studio.save(path)


def draw_creatures(path: Path) -> None:
    """Draw one strip of poses a creature; what goes on from its last pose is baked first."""
    strips = []
    for act in ACTS:
        studio.bake(bpy.context.scene.objects[act.name], act.drawn[-1])
    for act in ACTS:
        (centre, distance, angles), strip = act.look, []
        studio.look(tuple(place(act) + Vector(centre)), distance, angles)
        for frame in act.drawn:
            words = f"{act.name}, {act.solver.title()}, frame {frame}"
            strip.append(pictures.render(frame, words, len(act.drawn), 184))
        strips.append(strip)
    pictures.save(strips, path)


def say(line: str) -> None:
    print(MARK + line, flush=True)


def main(folder: Path) -> None:
    blender_ik_addon.register()
    folder.mkdir(parents=True, exist_ok=True)
    draw_figure(play_figure(folder), folder / "demo.png")
    say("three creatures")
    add_creatures(folder / "creatures.blend")
    draw_creatures(folder / "creatures.png")


if __name__ == "__main__":
    blender_process.run(main, Path(sys.argv[-1]).resolve())
