"""A look at the frames at which something has keys that moves a chain; nothing stays of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import bpy
import numpy as np

from ..reading.animation import keyed_frames
from ..reading.spec import ChainSpec
from .going_on import movers
from .playing import frame_kept

# As many as a scene has by default: a look takes no longer than a bake of these.
MOST_FRAMES = 250


def frames_of(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    chains: Iterable[ChainSpec],
    bones: set[str],
) -> list[float]:
    """Return the frames at which something has keys that moves chains of a rig.

    Args:
        scene: With the objects that move them.
        rig: The armature object.
        chains: Settings of its chains.
        bones: Names of their bones.

    Returns:
        Frames in rising order; of too many as many as are looked at, evenly chosen.
    """
    moved_by = movers(rig, chains)
    names: dict[int, set[str]] = {rig.session_uid: set(bones)}
    for uid, bone in moved_by.points:
        names.setdefault(uid, set()).add(bone)
    found: set[float] = set()
    for ob in scene.objects:
        if ob.session_uid in moved_by.owners:
            found |= keyed_frames(ob, names.get(ob.session_uid, ()))
            if ob.data is not None:
                found |= keyed_frames(ob.data, ())
    frames = sorted(found)
    if len(frames) <= MOST_FRAMES:
        return frames
    return [frames[i] for i in np.linspace(0, len(frames) - 1, MOST_FRAMES).astype(int)]


def looked_at(scene: bpy.types.Scene, frames: Sequence[float]) -> Iterator[float]:
    """Set and yield frame after frame; then the scene is as before, what has no keys included."""
    if not frames:
        return
    with frame_kept(scene, is_reading=True):
        for frame in frames:
            whole = math.floor(frame)
            scene.frame_set(whole, subframe=frame - whole)
            yield frame
