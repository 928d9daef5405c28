"""What every example has: a scene, a note in the folder `notes`, and a place to look from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import bpy

Point = tuple[float, float, float]
# What a camera looks at and how far away it is, metres; its angles about X and Z, degrees.
Look = tuple[Point, float, tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Example:
    """One example file.

    Attributes:
        name: Of the file, without its ending.
        build: Fills the empty file and returns the armature object to pose first.
        control: Bone of that armature, or else object, that a person is to grab first.
        frames: The loop goes from frame 1 to this one.
        pictured: Frame of the picture.
        look: Of the camera, and of the 3D view.
        giving_way: Chains of a whole body that need not reach: others go before them.
    """

    name: str
    build: Callable[[], bpy.types.Object]
    control: str
    frames: int
    pictured: int
    look: Look
    giving_way: frozenset[str] = frozenset()
