"""The frames with keys that move a chain, and a visit to these frames that changes nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import bpy
import numpy as np

from ..reading.animation import keyed_frames
from ..reading.dependencies import Dependencies
from ..reading.spec import ChainSpec
from .frame_dependence import dependencies_of
from .playing import preserve_frame

# As many as a scene has by default: a visit takes no longer than a bake of these frames.
MAX_FRAMES = 250


def frames_of(
    scene: bpy.types.Scene, rig: bpy.types.Object, chains: Iterable[ChainSpec], bones: set[str]
) -> list[float]:
    """Return the frames with keys of anything in a scene that moves chains of a rig.

    ``bones`` are the names of their bones. The frames are in rising order, at most ``MAX_FRAMES``,
    evenly selected.
    """
    moved_by = dependencies_of(rig, chains)
    moved_by.points |= {(rig.session_uid, bone) for bone in bones}
    frames = sorted(keys_moving(moved_by, scene.objects))
    if len(frames) <= MAX_FRAMES:
        return frames
    return [frames[i] for i in np.linspace(0, len(frames) - 1, MAX_FRAMES).astype(int)]


def keys_moving(moved_by: Dependencies, objects: Iterable[bpy.types.Object]) -> set[float]:
    """Return the frames at which objects on which things depend, and their data, have keys."""
    keyed: set[float] = set()
    for owner in objects:
        if (uid := owner.session_uid) in moved_by.owners:
            keyed |= keyed_frames(owner, {bone for other, bone in moved_by.points if other == uid})
            keyed |= set() if owner.data is None else keyed_frames(owner.data, ())
    return keyed


def visit_frames(scene: bpy.types.Scene, frames: Sequence[float]) -> Iterator[float]:
    """Set and yield frame after frame; then restore the scene, including values without keys."""
    if not frames:
        return
    with preserve_frame(scene, is_reading=True):
        for frame in frames:
            whole = math.floor(frame)
            scene.frame_set(whole, subframe=frame - whole)
            yield frame
