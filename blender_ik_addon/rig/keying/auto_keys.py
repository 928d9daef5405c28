"""Keys that Auto Keying sets on what a person has just moved, as Blender's own transforms do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy

from ..reading.animation import curves
from ..reading.spec import Anchor
from ..reading.world import channels_of


@dataclass(frozen=True)
class AutoKeying:
    """How to key what a person has just moved.

    Attributes:
        frame: Where, with subframe.
        options: As ``keyframe_insert`` takes them.
        kind: Of the keys, as they are shown.
        only_keyed: Whether only channels get keys that have curves already.
    """

    frame: float
    options: frozenset[Any] = frozenset()
    kind: Any = "KEYFRAME"
    only_keyed: bool = False


def key_location(anchor: Anchor, keying: AutoKeying) -> None:
    """Key the location of an object or a bone as it stands.

    Raises:
        RigError: If there is no such bone.
    """
    moved = channels_of(anchor)
    path = moved.path_from_id("location")
    keyed = {curve.array_index for curve in curves(anchor.object) if curve.data_path == path}
    for axis in range(3):
        if axis in keyed or not keying.only_keyed:
            moved.keyframe_insert(
                "location",
                index=axis,
                frame=keying.frame,
                group=anchor.bone or "Object Transforms",
                options=set(keying.options),
                keytype=keying.kind,
            )


def key_setting(owner: bpy.types.Object, path: str, keying: AutoKeying) -> None:
    """Key a setting that has keys already, as Blender does when its field is changed."""
    if any(curve.data_path == path for curve in curves(owner)):
        owner.keyframe_insert(
            path, frame=keying.frame, options=set(keying.options), keytype=keying.kind
        )
