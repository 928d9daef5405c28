"""The frames with keys that move a chain, and a visit to these frames that changes nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import bpy
import numpy as np

from ..reading.animation import keyed_frames
from ..reading.spec import ChainSpec
from .frame_dependence import dependencies_of
from .playing import preserve_frame

# As many as a scene has by default: a visit takes no longer than a bake of these frames.
MAX_FRAMES = 250


def frames_of(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    chains: Iterable[ChainSpec],
    bones: set[str],
) -> list[float]:
    """Return the frames with keys of anything that moves chains of a rig.

    Args:
        scene: The scene of the objects that move them.
        rig: The armature object.
        chains: Settings of its chains.
        bones: Names of their bones.

    Returns:
        Frames in rising order, at most ``MAX_FRAMES``, evenly selected.
    """
    moved_by = dependencies_of(rig, chains)
    names: dict[int, set[str]] = {rig.session_uid: set(bones)}
    for uid, bone in moved_by.points:
        names.setdefault(uid, set()).add(bone)
    keyed: set[float] = set()
    for owner in scene.objects:
        if owner.session_uid in moved_by.owners:
            keyed |= keyed_frames(owner, names.get(owner.session_uid, ()))
            if owner.data is not None:
                keyed |= keyed_frames(owner.data, ())
    frames = sorted(keyed)
    if len(frames) <= MAX_FRAMES:
        return frames
    return [frames[i] for i in np.linspace(0, len(frames) - 1, MAX_FRAMES).astype(int)]


def visit_frames(scene: bpy.types.Scene, frames: Sequence[float]) -> Iterator[float]:
    """Set and yield frame after frame; then restore the scene, including values without keys."""
    if not frames:
        return
    with preserve_frame(scene, is_reading=True):
        for frame in frames:
            whole = math.floor(frame)
            scene.frame_set(whole, subframe=frame - whole)
            yield frame
