"""Improvement of the played frames of a bake as a whole, whichever process played them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import bpy
import numpy as np

from ..properties.chains import chains_of
from ..properties.records import chain_spec
from ..rig.clips.whole_clip_bake import ClipBake
from ..rig.keying.playing import preserve_frame
from .errors import warn
from .rig_results import RigResults


def improve_clip(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    part: RigResults,
    runs: Sequence[Sequence[int]],
    smoothness: float,
) -> RigResults:
    """Return the improved results of an armature object; each run of frames is a clip.

    Warnings about chains go to stderr.
    """
    assert part.notes is not None
    specs = {
        chain.index: chain_spec(chains_of(rig)[chain.index], with_stored=False)
        for chain in part.chains
    }
    clip, values = ClipBake(scene, rig, specs, smoothness), part.values.copy()
    with preserve_frame(scene, is_reading=True):
        for is_movable in part.notes.is_movable.T:
            if is_movable.any():
                scene.frame_set(part.frames[int(is_movable.argmax())])
                clip.learn()
    row_of = {frame: row for row, frame in enumerate(part.frames)}
    jumps: dict[int, tuple[int, ...]] = {}
    for run in runs:
        rows = [row_of[frame] for frame in run]
        for _ in clip.improve(part.notes.take(np.array(rows))):
            pass
        values[rows] = clip.values(part.channels, range(len(rows)), values[rows])
        for sentence in clip.sentences(run):
            warn(rig.name_full, sentence)
        for index in specs:
            jumps[index] = (*jumps.get(index, ()), *clip.jumps(index, run))
    chains = [
        dataclasses.replace(chain, jumps=jumps[chain.index], left=clip.find_reason(chain.index))
        for chain in part.chains
    ]
    return dataclasses.replace(part, chains=tuple(chains), values=values)
