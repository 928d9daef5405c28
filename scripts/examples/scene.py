"""Build example files, play them, and take their pictures.

    python -m examples.scene out/examples arm leg      in scripts/, with the bpy module

examples.py starts this. Writes a .blend and a .png per name; fails if a chain does not follow.
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
# Metres: the tolerance of a chain, and the rounding of Blender's single precision.
ALLOWED = 5e-5


def faults(example: Example, playback: playing.Playback) -> list[str]:
    """Return a sentence for each frame on which a chain did not reach its target."""
    gaps = {key: gap for key, gap in playback.gaps.items() if key[2] not in example.giving_way}
    return [
        f"{chain} of {rig} is {gap:.2g} m from its target on frame {frame}: {status}"
        for (frame, rig, chain), gap in gaps.items()
        if not (status := playback.statuses[frame, rig, chain]).startswith("Reached")
        or not gap <= ALLOWED
    ]


def make(example: Example, folder: Path) -> None:
    """Write the file and the picture of an example; exit if a chain does not follow its target."""
    path = folder / f"{example.name}.blend"
    studio.build(example)
    studio.save(path)
    playback = playing.play(range(1, example.frames + 1))
    sentences = faults(example, playback)
    median = statistics.median(playback.milliseconds)
    count = len(playback.gaps) // example.frames
    print(
        f"{MARK}{example.name}: {count} chain{'s' * (count > 1)}, {median:.1f} ms a frame,"
        f" at most {1e3 * playback.worst:.4f} mm from a target,"
        f" {path.stat().st_size / 1024.0:.0f} KB",
        flush=True,
    )
    studio.take_picture(example, path.with_suffix(".png"))
    if sentences:
        sentence = f"Chains of '{example.name}' missed their targets {len(sentences)} times."
        raise SystemExit("\n".join((*sentences[:9], sentence)))


def main(folder: Path, names: list[str]) -> None:
    """Register the add-on of the checkout in this new process, and make examples by their names."""
    blender_ik_addon.register()
    folder.mkdir(parents=True, exist_ok=True)
    unknown = [name for name in names if name not in EXAMPLES]
    if unknown:
        raise SystemExit(
            f"There is no example {', '.join(unknown)}: choose from {', '.join(EXAMPLES)}."
        )
    for name in names:
        make(EXAMPLES[name], folder)
    print(f"{MARK}written: {folder}")


if __name__ == "__main__":
    blender_process.run(main, Path(sys.argv[1]).resolve(), sys.argv[2:] or list(EXAMPLES))
