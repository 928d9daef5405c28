"""Build example files, play them, and take their pictures.

    python -m examples.scene out/examples arm leg      in scripts/, with the bpy module

Started by examples.py. Writes a .blend and a .png for each name; fails if a chain does not follow.
"""

from __future__ import annotations

import importlib
import statistics
import sys
from pathlib import Path

import blender_ik_addon
from common import blender_process
from examples import playing
from examples.parts import studio
from examples.parts.rigs import Example

MARK = "examples: "
NAMES = "arm spider snake dragon_neck crowd reach_for_a_shelf climb_a_ladder".split()
EXAMPLES = {name: importlib.import_module(f"examples.{name}").EXAMPLE for name in NAMES}
# Metres: what a chain accepts, and what Blender's single precision adds.
REACHED = 5e-5


def faults(example: Example, played: playing.Played) -> list[str]:
    """Return what is wrong with chains that were played, a sentence each; none if all is well."""
    followed = {key: gap for key, gap in played.gaps.items() if key[2] not in example.giving_way}
    return [
        f"{chain} of {rig} on frame {frame} is {gap:.2g} m off and says: {status}"
        for (frame, rig, chain), gap in followed.items()
        if not (status := played.statuses[frame, rig, chain]).startswith("Reached")
        or not gap <= REACHED
    ]


def make(example: Example, folder: Path) -> None:
    """Write the file and the picture of an example; end if one of its chains does not follow."""
    path = folder / f"{example.name}.blend"
    studio.build(example)
    studio.save(path)
    played = playing.play(range(1, example.frames + 1))
    found = faults(example, played)
    median = statistics.median(played.milliseconds)
    count = len(played.gaps) // example.frames
    print(
        f"{MARK}{example.name}: {count} chain{'s' * (count > 1)}, {median:.1f} ms a frame,"
        f" at most {1e3 * played.worst:.4f} mm off, {path.stat().st_size / 1024.0:.0f} KB",
        flush=True,
    )
    studio.take_picture(example, path.with_suffix(".png"))
    if found:
        sentence = f"{len(found)} times a chain of '{example.name}' did not follow."
        raise SystemExit("\n".join((*found[:9], sentence)))


def main(folder: Path, names: list[str]) -> None:
    """Run in a process of its own: an empty file, the add-on from the checkout."""
    blender_ik_addon.register()
    folder.mkdir(parents=True, exist_ok=True)
    unknown = [name for name in names if name not in EXAMPLES]
    if unknown:
        raise SystemExit(f"No example {', '.join(unknown)}; there are {', '.join(EXAMPLES)}.")
    for name in names:
        make(EXAMPLES[name], folder)
    print(f"{MARK}written: {folder}")


if __name__ == "__main__":
    blender_process.run(main, Path(sys.argv[1]).resolve(), sys.argv[2:] or list(EXAMPLES))
