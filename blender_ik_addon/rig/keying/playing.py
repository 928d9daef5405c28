"""The one player: frames of a scene, one after the other, with its chains live."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

import bpy

from ..live import live
from ..live.standing import standing
from ..reading.refusals import RigError


def check_live(scene: bpy.types.Scene) -> None:
    """Raise if the chains of a scene are not live.

    Raises:
        RigError: The message says what to do next.
    """
    if not scene.chain_ik.use_live:
        raise RigError("Live is off, so no chain moves: turn it on first.")


@contextmanager
def frame_kept(scene: bpy.types.Scene, *, is_reading: bool = False) -> Iterator[None]:
    """Leave a scene at the frame where it stood, and as it stood if not all has been played.

    Args:
        scene: To be played.
        is_reading: Whether to leave it as it stood in any case.
    """
    frame, subframe, before = scene.frame_current, scene.frame_subframe, standing()
    is_whole = False
    try:
        yield
        is_whole = True
    finally:
        with suppress(ReferenceError):
            scene.frame_set(frame, subframe=subframe)
            if is_reading or not is_whole:
                before.put_back()


@contextmanager
def live_off(scene: bpy.types.Scene) -> Iterator[None]:
    """Have no chain of a scene write its bones meanwhile."""
    is_live = scene.chain_ik.use_live
    scene.chain_ik.use_live = False
    try:
        yield
    finally:
        with suppress(ReferenceError):
            scene.chain_ik.use_live = is_live


def moments(frames: Sequence[int], first: int, *, goes_on: bool) -> Sequence[int]:
    """Return the frames to play: more than are wanted where chains go on from frame to frame."""
    return range(first, frames[-1] + 1) if goes_on else frames


def played(
    scene: bpy.types.Scene, armature_objects: Iterable[bpy.types.Object], frames: Iterable[int]
) -> Iterator[int]:
    """Set frame after frame and yield it once the chains are solved.

    Args:
        scene: To play.
        armature_objects: Those whose chains, if they go on from their last pose, start again.
        frames: In rising order.
    """
    for armature_object in armature_objects:
        live.memory.restart(armature_object.session_uid)
    for frame in frames:
        scene.frame_set(frame)
        yield frame


def played_unchanged(
    scene: bpy.types.Scene,
    objects: Sequence[bpy.types.Object],
    frames: Iterable[int],
    refusal: str,
) -> Iterator[int]:
    """Play frames as long as the scene is live and objects are what they were.

    Args:
        scene: To play.
        objects: Chains of armature objects among them that go on from their last pose start again.
        frames: In rising order.
        refusal: What to say if an object has changed.

    Raises:
        RigError: If live is off, or an object has changed.
    """
    before = [_likeness(each) for each in objects]
    all_frames = played(scene, objects, frames)
    while True:
        try:
            check_live(scene)
            is_same = [_likeness(each) for each in objects] == before
            frame = next(all_frames, None) if is_same else None
        except ReferenceError:
            is_same = False
        if not is_same:
            raise RigError(refusal)
        if frame is None:
            return
        yield frame


def _likeness(played_object: bpy.types.Object) -> object:
    """Return what has to stay while frames are played: whether bones can be posed, and all names.

    Raises:
        ReferenceError: If the object has been removed.
    """
    if played_object.type != "ARMATURE":
        return played_object.name
    chains = [chain.name for chain in played_object.chain_ik.chains]
    return played_object.data.is_editmode, played_object.pose.bones.keys(), chains
