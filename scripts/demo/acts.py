"""What the three creatures of the demonstration do: their bones, and where their targets go.

A function of the frame; units are lengths of a bone. Every creature stands on the floor, z is up.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

Point = tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class Act:
    """One creature and its target.

    Attributes:
        name: Of the creature.
        heading: Above its pictures.
        joints: At rest, root first.
        target: Where the target is on a frame.
        frames: Last frame; the first is 1.
        drawn: Frames of the pictures.
        colours: Of the root and of the tip, "#rrggbb".
        view: Where the camera stands, and what it looks at.
        width: Of a picture.
    """

    name: str
    heading: str
    joints: tuple[Point, ...]
    target: Callable[[int], Point]
    frames: int
    drawn: tuple[int, ...]
    colours: tuple[str, str]
    view: tuple[Point, Point]
    width: float


def _snake_target(frame: int) -> Point:
    angle = math.tau * frame / 60.0
    return 13.0 * math.cos(angle), 13.0 * math.sin(angle), 6.0 + 4.0 * math.sin(2.0 * angle)


def _neck_target(frame: int) -> Point:
    # It waits, and leaps three times.
    places = ((4.0, -3.0, 9.0), (-6.0, -2.0, 4.0), (6.5, -2.0, 6.0), (-2.0, -4.0, 9.5))
    return places[min((frame - 1) // 40, 3)]


def _rope_target(frame: int) -> Point:
    passed = (frame - 1) / 160.0
    return (
        10.0 * math.cos(math.tau * passed) - 10.0,
        7.0 * math.sin(2.0 * math.tau * passed),
        0.4 + 3.0 * math.sin(math.pi * passed) ** 2,
    )


ACTS = (
    Act(
        "snake",
        "A snake of 30 bones, hinges at right angles, after a target that circles it (Force)",
        tuple((0.12 * (i % 2), 0.0, 0.8 * i) for i in range(31)),
        _snake_target,
        60,
        (10, 22, 34, 46, 58),
        ("#2f9e6e", "#f2e94e"),
        ((26.0, -38.0, 22.0), (0.0, 0.0, 5.0)),
        29.0,
    ),
    Act(
        "neck",
        "A dinosaur's neck, stiff at the body and supple at the head, eases after leaps (Force)",
        tuple((0.0, 0.06 * (i % 2), float(i)) for i in range(13)),
        _neck_target,
        160,
        (40, 46, 56, 80, 92),
        ("#8f5bd7", "#ff9d5c"),
        ((9.0, -26.0, 9.0), (0.0, 0.0, 5.0)),
        15.5,
    ),
    Act(
        "rope",
        "A rope of 24 bones, dragged by its end (Follow)",
        tuple((-24.0 + i, 0.05 * (i % 2), 0.4) for i in range(25)),
        _rope_target,
        160,
        (24, 56, 88, 120, 152),
        ("#5b8def", "#e05c9a"),
        ((4.0, -34.0, 22.0), (-11.5, 0.0, 1.0)),
        27.0,
    ),
)
