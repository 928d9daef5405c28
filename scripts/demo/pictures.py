"""Draw the pictures of the demonstration from what was measured.

    python -m demo.pictures out      in scripts/, with the bpy module

Started by demo.py. Reads demo.json and creatures.json and writes the pictures beside them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from common import blender_process
from demo.acts import ACTS, Act
from demo.limbs import LIMBS
from demo.report import Point, Pose, Report
from demo.sheet import Bone, Cell, Sheet, Strip, Track

EYE, BODY, CHEST = (3.6, -5.8, 2.5), (-0.02, -0.08, 0.92), (-0.06, -0.08, 1.37)
# The frame on which the spines of the solvers differ most, and the height from which on bones are
# shown there.
COMPARED, HEIGHT = "69", 0.85
BONE = "#c9d0dc"
COLOURS = {name: limb.colour for limb in LIMBS for name in (*limb.bones, limb.end)}
# Bones that say nothing here, or would be too thin or thick beside the others.
LEFT_OUT = ("breast", "heel")
THICKNESS = {"spine.006": 1.5, "spine": 1.25, "foot": 1.3, "toe": 1.3, "hand": 1.0}
THICKNESS |= dict.fromkeys(("palm", "thumb", "f_index", "f_middle", "f_ring", "f_pinky"), 0.35)
# How much of the loop, and how many frames, the bright part of a path shows.
TRAIL, FRAMES = 0.3, 40
# What moves farther in a frame has leapt and leaves no trail.
LEAP = 2.0
CREATURE_THICKNESS = 6.0


def draw_humans(report: Report, path: Path) -> None:
    """Draw one strip of poses through time, and one that compares the solvers."""
    first, sheet = report.rows[0], Sheet()
    played = [
        Cell(_bones(pose), _tracks(report, int(frame)), f"frame {frame}")
        for frame, pose in first.poses.items()
    ]
    tracks = [track for track in _tracks(report, int(COMPARED)) if track.way[0][2] > HEIGHT]
    compared = [
        Cell(
            [bone for bone in _bones(row.poses[COMPARED]) if bone.tail[2] > HEIGHT],
            tracks,
            row.title,
            f"within {row.worst:.1e} of limb length",
        )
        for row in report.rows
    ]
    heading = (
        f"Five chains on Rigify's human metarig, live while Blender plays {first.frames} frames"
    )
    instant = f"The same instant, frame {COMPARED}, with each solver"
    sheet.add_legend("Chain IK", {limb.name: limb.colour for limb in LIMBS})
    sheet.add(Strip(heading, played, EYE, BODY, 1.42, 1.48))
    sheet.add(Strip(instant, compared, EYE, CHEST, 1.42, 0.82))
    sheet.render(path)


def _bones(pose: Pose) -> list[Bone]:
    """Return the bones to draw: those of a chain in its colour."""
    return [
        Bone(*ends, COLOURS.get(name, BONE), THICKNESS.get(name, THICKNESS.get(stem, 1.0)))
        for name, ends in pose.items()
        if (stem := name.split(".")[0]) not in LEFT_OUT
    ]


def _tracks(report: Report, frame: int) -> list[Track]:
    tracks = []
    for limb in LIMBS:
        way = report.paths[limb.name]
        # Round, so that it ends where the target is.
        way = way[frame:] + way[:frame]
        fresh = way[-round(TRAIL * len(way)) :]
        tracks.append(Track(limb.colour, fresh, [*way, way[0]]))
    return tracks


def draw_creatures(played: dict[str, dict], path: Path) -> None:
    """Draw one strip of poses a creature."""
    sheet = Sheet()
    for act in ACTS:
        found = played[act.name]
        cells = [
            Cell(_links(act, found["poses"][str(frame)]), [_trail(act, frame)], f"frame {frame}")
            for frame in act.drawn
        ]
        heading = f"{act.heading}; {found['milliseconds']:.1f} ms a frame"
        sheet.add(Strip(heading, cells, *act.view, act.width, 0.72))
    sheet.render(path)


def _links(act: Act, bones: list[list[Point]]) -> list[Bone]:
    """Return the bones of a creature, from the colour of its root to that of its tip."""
    root, tip = (bytes.fromhex(colour[1:]) for colour in act.colours)
    found = []
    for number, ends in enumerate(bones):
        share = number / (len(bones) - 1)
        mixed = bytes(round(a + share * (b - a)) for a, b in zip(root, tip))
        found.append(Bone(*ends, f"#{mixed.hex()}", CREATURE_THICKNESS))
    return found


def _trail(act: Act, frame: int) -> Track:
    way: list[Point] = []
    for each in range(max(1, frame - FRAMES), frame + 1):
        place = list(act.target(each))
        if way and sum((a - b) ** 2 for a, b in zip(place, way[-1])) > LEAP**2:
            way.clear()
        way.append(place)
    return Track(act.colours[1], way)


def main(folder: Path) -> None:
    """Draw both."""
    draw_humans(Report.load(folder / "demo.json"), folder / "demo.png")
    played = json.loads((folder / "creatures.json").read_text(encoding="utf-8"))
    draw_creatures(played, folder / "creatures.png")


if __name__ == "__main__":
    blender_process.run(main, Path(sys.argv[-1]).resolve())
