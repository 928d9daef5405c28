"""Build the scenes of the demonstration, play them, measure, save, and draw.

    python -m demo.scene out      in scripts/, with the bpy module

demo.py starts this. It writes .blend and .png of demo and of creatures into the folder.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

import blender_ik_addon
from common import blender_process
from common.tables import make_table
from demo.creatures import ALL_CREATURES, CREATURES, place
from demo.figure import FIGURE, FRAMES, LIMBS, Limb, dress
from examples import playing
from examples.parts import studio
from window.driver import read_pixels, write_pixels

MARK = "demo: "
ALL_FRAMES = range(1, FRAMES + 1)
DRAWN_FRAMES, COMPARED_FRAME = (21, 45, 69, 93, 117), 69
# Width of a sheet and size of its text, pixels.
WIDTH, TEXT_SIZE = 1280, 14

# Title of a row -> solver of limbs with two bones, solver of the others.
SOLVERS = {
    "Two-Bone, spine Newton": ("TWO_BONE", "NEWTON"),
    "FABRIK": ("FABRIK", "FABRIK"),
    "CCD": ("CCD", "CCD"),
    "Newton": ("NEWTON", "NEWTON"),
}
FIRST_TITLE = next(iter(SOLVERS))
# Greatest distance of effector and target on every frame in reach, in limb lengths.
ALLOWED = 1e-4
HEADS = ("solver", "chains", "frames", "in reach", "worst / L", "median / L", "ms / frame")
LEGEND = """
worst, median: distance from effector to target on frames in reach, as Blender's
evaluated pose shows it; L: length of the limb; ms: median over the frames."""
SUCCESS = f"Every limb follows its target to within {ALLOWED:g} of its length."
FAILURE = f"FAILED: a limb misses targets in reach by more than {ALLOWED:g} of its length."


@dataclasses.dataclass(frozen=True)
class Row:
    """A playback with a solver: the number of frames, and the median milliseconds of a frame.

    ``residuals`` are distances from effector to target on frames in reach, by limb and in lengths
    of the limb.
    """

    title: str
    frames: int
    residuals: dict[str, list[float]]
    milliseconds: float

    @property
    def is_good(self) -> bool:
        """Whether half of the frames or more are in reach, and these within `ALLOWED` (not NaN)."""
        return all(
            all(value <= ALLOWED for value in values) and 2 * len(values) >= self.frames
            for values in self.residuals.values()
        )

    def worst(self, limb: str) -> float:
        """Return a limb's largest residual; infinity if no frame was in reach."""
        return max(self.residuals[limb], default=float("inf"))

    def cells(self) -> tuple[str, ...]:
        values = [value for limb in self.residuals.values() for value in limb]
        return (
            *(self.title, str(len(self.residuals)), str(self.frames)),
            f"{len(values)}/{len(self.residuals) * self.frames}",
            f"{max(map(self.worst, self.residuals)):.1e}",
            f"{statistics.median(values):.1e}" if values else "-",
            f"{self.milliseconds:.2f}",
        )


def make_tables(rows: Sequence[Row], muted: float) -> str:
    """Return the tables of all rows; ``muted``: milliseconds of a frame without a solve."""
    last = ("chains muted", "-", str(rows[0].frames), "-", "-", "-", f"{muted:.2f}")
    names = list(rows[0].residuals)
    worst = [(row.title, *(f"{row.worst(name):.1e}" for name in names)) for row in rows]
    solvers = make_table(HEADS, [*(row.cells() for row in rows), last])
    return f"{solvers}\n\n{make_table(('worst / L of each limb', *names), worst)}\n{LEGEND}"


def play_figure(folder: Path, frames: Iterable[int] = ALL_FRAMES) -> list[Row]:
    """Build the figure, play it with each solver, print the measurements, and save the file."""
    frames = list(frames)
    studio.build(FIGURE)
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
    tables = make_tables(rows, statistics.median(idle.milliseconds))
    say(f"\nBlender {bpy.app.version_string}\n\n{tables}\n")
    choose(rig, FIRST_TITLE)
    dress(rig)
    bpy.context.scene.frame_set(1)
    studio.save(folder / "demo.blend")
    return rows


def choose(rig: bpy.types.Object, title: str) -> None:
    two_bone_solver, other_solver = SOLVERS[title]
    for limb, chain in zip(LIMBS, rig.chain_ik.chains):
        chain.solver = two_bone_solver if len(limb.bones) == 2 else other_solver


def mute(rig: bpy.types.Object, is_muted: bool) -> None:
    for chain in rig.chain_ik.chains:
        chain.mute = is_muted


def _residuals(limb: Limb, rig: bpy.types.Object, played: playing.Playback) -> list[float]:
    """Return the gaps of a limb on frames with its target in reach, in lengths of the limb."""
    lengths = [rig.data.bones[name].length for name in limb.bones]
    length = sum(lengths)
    keys = [key for key in played.gaps if key[2] == limb.name]
    distances = {key: (played.targets[key] - played.roots[key]).length for key in keys}
    inner_reach = max(0.0, 2.0 * max(lengths) - length)
    return [played.gaps[key] / length for key in keys if inner_reach <= distances[key] <= length]


def render(frame: int, text: str, count: int, height: int) -> np.ndarray:
    """Return the pixels of a frame for a strip of ``count`` pictures, bottom line first."""
    scene = bpy.context.scene
    scene.frame_set(frame)
    settings = scene.render
    settings.resolution_x, settings.resolution_y = WIDTH // count, height
    for name in [name for name in dir(settings) if name.startswith("use_stamp_")]:
        setattr(settings, name, False)
    settings.use_stamp = settings.use_stamp_note = True
    settings.stamp_note_text, settings.stamp_font_size = text, TEXT_SIZE
    settings.stamp_foreground, settings.stamp_background = (1.0,) * 4, (0.0, 0.0, 0.0, 0.6)
    with tempfile.TemporaryDirectory() as folder:
        settings.filepath = str(Path(folder) / "frame.png")
        bpy.ops.render.render(write_still=True)
        return read_pixels(Path(settings.filepath))


def save(strips: Sequence[Sequence[np.ndarray]], path: Path) -> None:
    """Write strips of pictures, from the top down, as one picture."""
    rows = [np.concatenate(strip, axis=1) for strip in reversed(strips)]
    write_pixels(np.concatenate(rows), path)


def draw_figure(rows: Sequence[Row], path: Path) -> None:
    rig = bpy.context.scene.objects["Figure"]
    first = [render(frame, f"frame {frame}", 5, 380) for frame in DRAWN_FRAMES]
    pictures = []
    for row in rows:
        choose(rig, row.title)
        worst = max(map(row.worst, row.residuals))
        text = f"frame {COMPARED_FRAME}: {row.title}\nwithin {worst:.1e} of limb length"
        pictures.append(render(COMPARED_FRAME, text, 4, 380))
    save([first, pictures], path)


def add_creatures(path: Path) -> None:
    studio.build(CREATURES)
    bpy.context.scene.frame_set(1)
    studio.save(path)


def draw_creatures(path: Path) -> None:
    """Draw a strip of poses per creature; bake all first, since some depend on earlier frames."""
    strips = []
    for creature in ALL_CREATURES:
        studio.bake(bpy.context.scene.objects[creature.name], creature.drawn[-1])
    for creature in ALL_CREATURES:
        (centre, distance, angles), strip = creature.look, []
        studio.look(tuple(place(creature) + Vector(centre)), distance, angles)
        for frame in creature.drawn:
            text = f"{creature.name}, {creature.solver.title()}, frame {frame}"
            strip.append(render(frame, text, len(creature.drawn), 184))
        strips.append(strip)
    save(strips, path)


def say(text: str) -> None:
    for line in text.split("\n"):
        print(MARK + line, flush=True)


def main(folder: Path) -> None:
    blender_ik_addon.register()
    folder.mkdir(parents=True, exist_ok=True)
    rows = play_figure(folder)
    draw_figure(rows, folder / "demo.png")
    say("three creatures")
    add_creatures(folder / "creatures.blend")
    draw_creatures(folder / "creatures.png")
    say(f"written: demo and creatures, .blend and .png, in {folder}")
    if not all(row.is_good for row in rows):
        raise SystemExit(FAILURE)
    say(SUCCESS)


if __name__ == "__main__":
    blender_process.run(main, Path(sys.argv[-1]).resolve())
